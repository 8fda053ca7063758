"""The numbers of README.md: ``python docs/readme_numbers.py``.

Writes docs/picture.svg and its form for phones, and prints the table of errors where
KREIN_DATA has the data.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import RepeatedStratifiedKFold, cross_val_score

from krein import SpectrumSVC, load_dataset

METHODS = ("none", "shift", "clip", "flip", "square")
BLUE, RED, GREY = "#2b6cb0", "#c53030", "#a0aec0"


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
    ax.text(0.74, 0.15, "negative: no inner product", **note)


def errors(K, y, C):
    """Error of each method in percent, five times 5-fold cross-validation."""
    folds = RepeatedStratifiedKFold(n_splits=5, n_repeats=5, random_state=0)
    return {
        method: 100
        * (1 - cross_val_score(SpectrumSVC(method, C=C), K, y, cv=folds).mean())
        for method in METHODS
    }


def draw_errors(ax, found):
    names = [{"none": "raw"}.get(method, method) for method in found]
    values = list(found.values())
    colours = [BLUE if value == min(values) else GREY for value in values]
    bars = ax.barh(names[::-1], values[::-1], color=colours[::-1])
    ax.bar_label(bars, fmt=" %.1f %%")
    ax.set(title="Error of the SVM on it", xlim=(0, 1.2 * max(values)))
    ax.xaxis.set_visible(False)


def draw_picture():
    plt.switch_backend("svg")
    plt.rcParams.update({"svg.hashsalt": "krein", "font.size": 11})
    shapes = load_dataset("digit_shapes")
    K, y = shapes.data, shapes.target
    eigenvalues, found = np.linalg.eigvalsh(K), errors(K, y, C=1.0)
    print("digits", {method: round(error, 1) for method, error in found.items()})
    forms = {"picture.svg": (1, 2, (9, 3)), "picture_narrow.svg": (2, 1, (4.4, 5.6))}
    for name, (rows, columns, size) in forms.items():
        figure, axes = plt.subplots(rows, columns, figsize=size, layout="constrained")
        for ax in axes:
            ax.spines[["top", "right"]].set_visible(False)
        draw_spectrum(axes[0], eigenvalues)
        draw_errors(axes[1], found)
        figure.savefig(Path(__file__).with_name(name), metadata={"Date": None})


if __name__ == "__main__":
    draw_picture()
    for name in ("sim_protein", "sim_aural_sonar", "sim_voting"):
        data = load_dataset(name)
        print(
            name,
            {m: round(e, 1) for m, e in errors(data.data, data.target, 1.0).items()},
        )
