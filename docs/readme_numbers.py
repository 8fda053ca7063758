"""The numbers and pictures of README.md: ``python docs/readme_numbers.py``.

Writes the numbers between the two marks in README.md, docs/picture.svg and its form for
phones. With ``--report`` it takes a picture of the demo's report by Chromium instead,
docs/report.png.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    GridSearchCV,
    RepeatedStratifiedKFold,
    StratifiedKFold,
    cross_val_score,
)
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from krein import SimilarityClassifier, SpectrumSVC, load_dataset
from krein.files.data_sets import digit_strokes

HERE = Path(__file__).parent
METHODS = ("none", "shift", "clip", "flip", "square")
FOLDS = RepeatedStratifiedKFold(n_splits=5, n_repeats=5, random_state=0)
BLUE, RED, GREY = "#2b6cb0", "#c53030", "#a0aec0"
NUMBERS = r"(?s)(?<=<!-- numbers -->\n).*?(?=<!-- end of numbers -->)"


def errors(K, y, C):
    """Error in percent of each fix with a given C (docs/guide/choosing.md)."""
    return {
        method: 100
        * (1 - cross_val_score(SpectrumSVC(method, C=C), K, y, cv=FOLDS).mean())
        for method in METHODS
    }


# ------------------------------------------------------- against tuned alternatives


class Precomputed(ClassifierMixin, BaseEstimator):
    """A classifier of the rows and columns of a matrix, for scikit-learn's searches."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = True
        return tags

    def predict(self, K):
        return self.svc_.predict(self.mapped(K))


class FlipByHand(Precomputed):
    """Flip in ten lines of NumPy: what a careful user writes."""

    def __init__(self, C=1.0):
        self.C = C

    def fit(self, K, y):
        eigenvalues, vectors = np.linalg.eigh(K)
        self.map_ = (vectors * np.sign(eigenvalues)) @ vectors.T
        self.svc_ = SVC(kernel="precomputed", C=self.C, max_iter=10**6)
        self.svc_.fit(self.mapped(K), y)
        self.classes_ = self.svc_.classes_
        return self

    def mapped(self, K):
        return K @ self.map_


class ConvertedSVC(Precomputed):
    """SVC on another form of the similarity; `conversion` is one of `CONVERSIONS`.

    The items of the digits are all similar to themselves by 1, so that a similarity k
    is a distance, d^2 = 2 - 2 k.
    """

    def __init__(self, C=1.0, conversion="as given"):
        self.C = C
        self.conversion = conversion

    def fit(self, K, y):
        squares = 2.0 - 2.0 * K
        self.median_ = np.median(squares[np.triu_indices(len(K), 1)]) ** 0.5
        self.svc_ = SVC(kernel="precomputed", C=self.C, max_iter=10**6)
        self.svc_.fit(self.mapped(K), y)
        self.classes_ = self.svc_.classes_
        return self

    def mapped(self, K):
        distance = np.sqrt(np.maximum(2.0 - 2.0 * K, 0.0)) / self.median_
        return CONVERSIONS[self.conversion](K, distance)


# Similarity and distance in units of its median -> what the SVC is given.
CONVERSIONS = {
    "as given": lambda K, d: K,
    "exponential": lambda K, d: np.exp(-d),
    "wide exponential": lambda K, d: np.exp(-d / 3.0),
    "gaussian": lambda K, d: np.exp(-(d**2) / 2.0),
    "wide gaussian": lambda K, d: np.exp(-(d**2) / 18.0),
}
# Rows of the table: the name in the picture, and the words of README.md.
TITLES = {
    "SVC": "scikit-learn's `SVC`",
    "SVC, converted": "`SVC`, conversion chosen too",
    "flip by hand": "`SVC` after flip, ten lines of NumPy",
    "nearest neighbours": "nearest neighbours",
    "rows as features": "logistic regression on the rows",
    "SimilarityClassifier": "**`krein.SimilarityClassifier`**",
}


def alternatives():
    """What else there is for such a matrix, tuned inside the training part."""
    svc = SVC(kernel="precomputed", max_iter=10**6)
    neighbors = KNeighborsClassifier(metric="precomputed")
    rows = make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000))
    counts = [1, 3, 5, 9, 15]
    Cs = [0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0]
    inner = StratifiedKFold(5, shuffle=True, random_state=0)
    converted = {"C": Cs, "conversion": list(CONVERSIONS)}
    row_grid = {"logisticregression__C": [0.001, 0.01, *Cs]}
    return {
        "SVC": GridSearchCV(svc, {"C": Cs}, cv=inner),
        "SVC, converted": GridSearchCV(ConvertedSVC(), converted, cv=inner),
        "flip by hand": GridSearchCV(FlipByHand(), {"C": Cs}, cv=inner),
        "nearest neighbours": GridSearchCV(
            neighbors, {"n_neighbors": counts}, cv=inner
        ),
        "rows as features": GridSearchCV(rows, row_grid, cv=inner),
        "SimilarityClassifier": SimilarityClassifier(),
    }


def tuned_errors(K, y, folds=FOLDS):
    """Error in percent of each alternative on held-out items."""
    wrong = {name: [] for name in alternatives()}
    for train, test in folds.split(K, y):
        K_train, K_test = K[np.ix_(train, train)], K[np.ix_(test, train)]
        for name, model in alternatives().items():
            # Neighbours take distances; any that falls as the similarity grows will do.
            A, B = (
                (1 - K_train, 1 - K_test)
                if name == "nearest neighbours"
                else (K_train, K_test)
            )
            wrong[name].append(1 - model.fit(A, y[train]).score(B, y[test]))
    return {name: 100 * float(np.mean(shares)) for name, shares in wrong.items()}


def in_words(shown, rest):
    """Return the lines of README.md."""
    lines = ["| on held-out items, all tuned | error | other digits |", "|---|---|---|"]
    for name, title in TITLES.items():
        lines.append(f"| {title} | {shown[name]:.1f} % | {rest[name]:.1f} % |")
    return "\n".join(lines) + "\n"


# --------------------------------------------------------------------------- pictures


def draw_spectrum(ax, eigenvalues):
    ordered = sorted(eigenvalues, reverse=True)
    ax.plot(ordered, color=GREY, linewidth=1)
    split = sum(value > 0 for value in ordered)
    ax.fill_between(range(split), ordered[:split], color=BLUE, step="mid")
    ax.fill_between(range(split, len(ordered)), ordered[split:], color=RED, step="mid")
    ax.set_yscale("symlog", linthresh=0.05)
    ax.axhline(0, color="black", linewidth=0.8)
    ax.set(title="Eigenvalues of the similarity", xlabel="rank")
    ax.set_yticks([-1, 0, 1, 10, 100], ["-1", "0", "1", "10", "100"])
    note = {"color": RED, "ha": "right", "transform": ax.transAxes}
    ax.text(0.82, 0.1, "negative: no inner product", **note)


def draw_errors(ax, found):
    names, values = list(found), list(found.values())
    colours = [BLUE if name == "SimilarityClassifier" else GREY for name in names]
    bars = ax.barh(names[::-1], values[::-1], color=colours[::-1])
    ax.bar_label(bars, fmt="%.1f %%", padding=4)
    ax.set(title="Error on held-out items", xlim=(0, 1.25 * max(values)))
    ax.xaxis.set_visible(False)


def draw_picture(K, found):
    plt.switch_backend("svg")
    plt.rcParams.update({"svg.hashsalt": "krein", "font.size": 11})
    plt.rcParams["svg.fonttype"] = "none"
    eigenvalues = np.linalg.eigvalsh(K)
    forms = {"picture.svg": (1, 2, (9, 3)), "picture_narrow.svg": (2, 1, (4.4, 5.6))}
    for name, (rows, columns, size) in forms.items():
        figure, axes = plt.subplots(rows, columns, figsize=size, layout="constrained")
        for ax in axes:
            ax.spines[["top", "right"]].set_visible(False)
        draw_spectrum(axes[0], eigenvalues)
        draw_errors(axes[1], found)
        figure.savefig(HERE / name, metadata={"Date": None})


def photograph_report():
    """Write docs/report.png: the upper part of the demo's report."""
    from krein.report.demo import write_demo

    with tempfile.TemporaryDirectory() as folder:
        page = write_demo(folder)["report"]
        subprocess.run(
            [
                shutil.which("chromium") or "chromium",
                *("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"),
                *("--disable-background-networking", "--disable-sync"),
                f"--user-data-dir={folder}/profile",
                "--hide-scrollbars",
                "--window-size=1100,1250",
                f"--screenshot={HERE / 'report.png'}",
                Path(page).as_uri(),
            ],
            check=True,
        )


def main():
    strokes = load_dataset("digit_strokes")
    shown = tuned_errors(strokes.data, strokes.target)
    halves = [digit_strokes(0, 180), digit_strokes(360, 539)]
    others = [tuned_errors(half.data, half.target) for half in halves]
    print(shown, *others, sep="\n")
    rest = {name: (others[0][name] + others[1][name]) / 2 for name in shown}
    text = in_words(shown, rest)
    print(text)
    readme = HERE.parent / "README.md"
    readme.write_text(re.sub(NUMBERS, text, readme.read_text("utf-8")), "utf-8")
    draw_picture(strokes.data, shown)


if __name__ == "__main__":
    photograph_report() if "--report" in sys.argv else main()
