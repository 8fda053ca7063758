"""How often krein's statements about chance are wrong: nominal against measured.

    python benchmarks/chance.py [--runs 250] [--only TESTS,SETS,...] [--page FILE]

Data with known truth: methods that are equal by construction, labels without any
relation to the items, 3000 fresh items to measure what a model is really worth. Every
line is one cell: the settings, the number of runs, what is promised and what was
measured. With --page the tables replace those of a documentation page, between its
marks ``<!-- chance: NAME -->`` and ``<!-- end -->``; nothing is typed by hand.

TESTS      equal methods: how often any is told from the recommended one, called clearly
           better, or the fix said to matter; and a method 10 points better, found
NOISE      labels without relation: "nothing was learnt" or "not shown"
INTERVALS  95 % intervals of a score, and optimism of the highest one
SETS       90 % prediction sets, overall and of the smallest class; empty sets
PROBA      probabilities that contradict the prediction; calibration error
LABELS     p-values of `diagnose` on labels without relation
RIDGE      90 % intervals of ``KreinRidge(alpha="auto")``
"""

from __future__ import annotations

import argparse
import re
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from krein.comparison.reasons import Fix, SpectrumFix, Verdict

from krein import KreinRidge, SpectrumSVC, SpectrumSVCCV, tl1_kernel
from krein.comparison.comparison import Comparison
from krein.comparison.contenders import CONTENDERS
from krein.comparison.problem import Problem
from krein.diagnostics.facts import label_p_value
from krein.selection.folds import outer_splits
from krein.selection.scores import log_losses, score
from krein.training import Classes

FRESH = 3000  # items with which the truth is measured
LEVEL = 0.05
NAMES = [name for name in CONTENDERS if name != "balanced"]  # as many as are needed
SCORES = ("accuracy", "balanced_accuracy", "neg_log_loss", "roc_auc")


class Line(NamedTuple):
    """One line of a table."""

    cells: dict[str, object]
    runs: int


# -------------------------------------------------------------- learners of equal worth


def ridge_values(X, y, new, penalty=1.0):
    """Decision values of a ridge regression on signs."""
    mean, sign = X.mean(axis=0), 2.0 * y - 1.0
    A = X - mean
    gram = A.T @ A + penalty * np.eye(X.shape[1])
    slopes = np.linalg.solve(gram, A.T @ (sign - sign.mean()))
    return (new - mean) @ slopes + sign.mean()


def neighbour_values(X, y, new):
    """Three nearest items: changes with every training set."""
    squared = (new**2).sum(1)[:, None] - 2.0 * new @ X.T + (X**2).sum(1)
    near = np.argpartition(squared, 3, axis=1)[:, :3]
    return (2.0 * y[near] - 1.0).mean(axis=1)


LEARNERS = {"ridge": ridge_values, "neighbours": neighbour_values}


def labels_of(rng, n, rare):
    """Two classes; the share of the rare one is `rare`."""
    y = np.zeros(n, dtype=int)
    y[: max(2, round(rare * n))] = 1
    return rng.permutation(y)


class Simulation:
    """Methods that see different blocks of features; blocks of equal signal are equal.

    A comparison is built of what they predict, as `compare` builds it, so that the
    verdict and all its numbers are those that a user reads.
    """

    def __init__(self, rng, n, signals, *, learner="ridge", rare=0.5, groups=1):
        self.learner, self.signals = LEARNERS[learner], signals
        y = labels_of(rng, n // groups, rare)
        self.y = np.repeat(y, groups)
        self.fresh = labels_of(rng, FRESH, rare)
        self.groups = np.repeat(np.arange(n // groups), groups) if groups > 1 else None
        self.blocks = [
            (self._block(rng, y, s, groups), self._block(rng, self.fresh, s, 1))
            for s in signals
        ]
        target = Classes(self.y, 2)
        self.splits = outer_splits(target, None, self.groups, 0)
        self.problem = Problem(
            np.diag(np.linspace(-1.0, 1.0, n)),
            target,
            np.array(["a", "b"]),
            groups=self.groups,
        )

    def _block(self, rng, y, signal, groups):
        """Six features; items of a group are nearly copies."""
        X = rng.standard_normal((y.size, 6))
        X[:, 0] += signal * (2 * y - 1)
        X = np.repeat(X, groups, axis=0)
        return X + (0.3 * rng.standard_normal(X.shape) if groups > 1 else 0.0)

    def comparison(self, scoring="accuracy"):
        """Return what `compare` would."""
        records = [
            self._record(name, X, s, train, test)
            for s, (train, test) in enumerate(self.splits)
            for name, (X, _) in zip(NAMES, self.blocks, strict=False)
        ]
        names = tuple(NAMES[: len(self.blocks)])
        return Comparison(
            tuple(records), names, scoring, self.problem, tuple(self.splits)
        )

    def _record(self, name, X, split, train, test):
        values = self.learner(X[train], self.y[train], X[test])
        scores, predicted, losses = judged(values, self.y[test])
        return {
            "method": name,
            "split": split,
            "params": {},
            "scores": scores,
            "predicted": predicted.tolist(),
            "loss": losses.tolist(),
            "fit_seconds": 0.0,
            "predict_seconds": 0.0,
            "search_seconds": 0.0,
            "converged": True,
        }

    def truth(self, m, scoring="accuracy"):
        """Mean score of method m on fresh items, by the models of all splits."""
        X, new = self.blocks[m]
        found = []
        for train, _ in self.splits:
            values = self.learner(X[train], self.y[train], new)
            found.append(judged(values, self.fresh)[0][scoring])
        return float(np.mean(found))


def judged(values, y):
    """Scores, predictions and losses of decision values."""
    predicted = (values > 0).astype(int)
    positive = 1.0 / (1.0 + np.exp(-2.0 * values))
    proba = np.column_stack([1.0 - positive, positive])
    said = predicted, values[:, None], proba
    scores = {name: score(name, y, *said) for name in SCORES}
    return scores, predicted, log_losses(y, proba)


# -------------------------------------------------------------------- tests, and power


def tests(runs: int) -> Iterator[Line]:
    """Equal methods, and one that is better by about ten points."""
    for n, m, learner, scoring, rare, groups in EQUAL:
        told, clear, fix, switched = [], [], [], []
        for r in range(runs):
            rng = np.random.default_rng([r, n, m])
            made = Simulation(
                rng, n, [0.7] * m, learner=learner, rare=rare, groups=groups
            )
            found = made.comparison(scoring)
            answer = found.recommendation
            told.append(min(found.p_values.values()) <= LEVEL)
            clear.append(answer.verdict is Verdict.CLEAR)
            outcome = [x.outcome for x in answer.reasons if isinstance(x, SpectrumFix)]
            fix.append(outcome == [Fix.MATTERS])
            switched.append(answer.contender != "average")
        about = {
            "items": n,
            "methods": m,
            "learner": learner,
            "score": scoring,
            "rare class": f"{rare:.0%}",
            "groups of": groups,
        }
        yield Line(
            about
            | {
                "told apart": share(told),
                "clearly better": share(clear),
                "the fix matters": share(fix),
                "default left": share(switched),
            },
            runs,
        )


EQUAL = [
    (20, 2, "ridge", "accuracy", 0.5, 1),
    (40, 2, "ridge", "accuracy", 0.5, 1),
    (40, 6, "ridge", "accuracy", 0.5, 1),
    (40, 6, "neighbours", "accuracy", 0.5, 1),
    (100, 6, "ridge", "accuracy", 0.5, 1),
    (100, 13, "ridge", "accuracy", 0.5, 1),
    (300, 6, "ridge", "accuracy", 0.5, 1),
    (100, 6, "ridge", "accuracy", 0.5, 4),
    (40, 6, "ridge", "balanced_accuracy", 0.2, 1),
    (100, 6, "ridge", "balanced_accuracy", 0.15, 1),
    (40, 6, "ridge", "neg_log_loss", 0.5, 1),
    (100, 6, "ridge", "neg_log_loss", 0.5, 1),
    (40, 6, "ridge", "roc_auc", 0.5, 1),
    (100, 6, "ridge", "roc_auc", 0.5, 1),
]


def power(runs: int) -> Iterator[Line]:
    """How often a method that is ten points better is told from the default."""
    for n, scoring in ((100, "accuracy"), (300, "accuracy"), (300, "neg_log_loss")):
        found, gains = [], []
        for r in range(runs):
            rng = np.random.default_rng([r, n, 10])
            made = Simulation(rng, n, [0.7, 1.1])
            comparison = made.comparison(scoring)
            better = NAMES[1]
            sure = comparison.p_value(NAMES[0], better) <= LEVEL
            found.append(sure and comparison.mean(better) > comparison.mean(NAMES[0]))
            gains.append(made.truth(1) - made.truth(0))
        yield Line(
            {
                "items": n,
                "score": scoring,
                "true gain in accuracy": f"{np.mean(gains):.3f}",
                "found": share(found),
            },
            runs,
        )


def noise(runs: int) -> Iterator[Line]:
    """Labels without relation, and labels that are hard to learn."""
    for n, m, rare, signal in (
        (20, 6, 0.5, 0.0), (40, 6, 0.5, 0.0), (100, 6, 0.5, 0.0), (300, 6, 0.5, 0.0),
        (100, 13, 0.5, 0.0), (100, 6, 0.2, 0.0),
        (40, 6, 0.5, 0.7), (100, 6, 0.5, 0.4), (300, 6, 0.5, 0.4),
    ):  # fmt: skip
        nothing, not_shown, truth = [], [], []
        for r in range(runs):
            rng = np.random.default_rng([r, n, m, 7])
            made = Simulation(rng, n, [signal] * m, rare=rare)
            verdict = made.comparison().recommendation.verdict
            nothing.append(verdict is Verdict.NOTHING_LEARNT)
            not_shown.append(verdict is Verdict.NOT_SHOWN)
            if r < 20:
                truth.append(made.truth(0))
        said = np.array(nothing) | np.array(not_shown)
        yield Line(
            {
                "items": n,
                "methods": m,
                "rare class": f"{rare:.0%}",
                "true accuracy": f"{np.mean(truth):.2f}",
                "nothing learnt": share(nothing),
                "not shown": share(not_shown),
                "one of both": share(said),
            },
            runs,
        )


def intervals(runs: int) -> Iterator[Line]:
    """Coverage of intervals, and by how much the highest score flatters."""
    for n, signal, scoring, rare, groups in (
        (20, 2.0, "accuracy", 0.5, 1), (20, 0.7, "accuracy", 0.5, 1),
        (40, 0.7, "accuracy", 0.5, 1), (100, 0.7, "accuracy", 0.5, 1),
        (300, 0.7, "accuracy", 0.5, 1), (100, 0.7, "accuracy", 0.5, 4),
        (40, 1.2, "balanced_accuracy", 0.15, 1),
        (100, 1.2, "balanced_accuracy", 0.06, 1),
        (40, 0.7, "roc_auc", 0.5, 1), (100, 0.7, "roc_auc", 0.5, 1),
        (40, 0.7, "neg_log_loss", 0.5, 1), (100, 0.7, "neg_log_loss", 0.5, 1),
    ):  # fmt: skip
        hits, widths = [], []
        for r in range(runs):
            rng = np.random.default_rng([r, n, 3])
            made = Simulation(rng, n, [signal], rare=rare, groups=groups)
            comparison = made.comparison(scoring)
            low, high = comparison.interval(NAMES[0])
            truth = comparison.deciding.sign * made.truth(0, scoring)
            hits.append(low <= truth <= high)
            widths.append(high - low)
        yield Line(
            {
                "items": n,
                "score": scoring,
                "rare class": f"{rare:.0%}",
                "groups of": groups,
                "true score": f"{truth:.2f}",
                "promised": "0.95",
                "measured": share(hits),
                "mean width": f"{np.mean(widths):.2f}",
            },
            runs,
        )


def optimism(runs: int) -> Iterator[Line]:
    """Points by which the highest and the recommended score are above the truth."""
    for n, m in ((20, 6), (40, 6), (40, 13), (100, 6), (300, 6)):
        highest, chosen, corrected = [], [], []
        for r in range(runs):
            rng = np.random.default_rng([r, n, m, 5])
            made = Simulation(rng, n, [0.7] * m)
            found = made.comparison()
            truth = [made.truth(k) for k in range(m)]
            highest.append(found.mean(found.best) - truth[NAMES.index(found.best)])
            name = found.recommendation.contender
            chosen.append(found.mean(name) - truth[NAMES.index(name)])
            corrected.append(found.corrected_best() - truth[NAMES.index(found.best)])
        yield Line(
            {
                "items": n,
                "methods": m,
                "highest": points(highest),
                "recommended": points(chosen),
                "highest, corrected": points(corrected),
            },
            runs,
        )


# ------------------------------------------------------------- sets and probabilities


def class_numbers(shares, n):
    """Classes of n items, in these shares."""
    ends = np.round(np.cumsum(shares) * n)
    found = np.searchsorted(ends, np.arange(n), side="right")
    return np.minimum(found, len(shares) - 1)


def gaussians(rng, n, classes, signal, shares=None, dimension=8):
    """A sigmoid similarity of n items and of FRESH new ones, with their classes."""
    shares = np.full(classes, 1.0 / classes) if shares is None else np.asarray(shares)
    parts = [class_numbers(shares, k) for k in (n, FRESH)]
    y = np.concatenate(parts)
    means = np.zeros((classes, max(dimension, classes)))
    means[np.arange(classes), np.arange(classes)] = signal * np.sqrt(2.0)
    X = rng.standard_normal((y.size, means.shape[1])) + means[y]
    K = np.tanh(X @ X[:n].T / X.shape[1] - 0.3)
    return K[:n], y[:n], K[n:], y[n:]


MODELS: dict[str, Callable[[], object]] = {
    "SpectrumSVC": lambda: SpectrumSVC("clip", probability=True, random_state=0),
    "SpectrumSVCCV": lambda: SpectrumSVCCV(random_state=0),
}
DATA = [
    (40, 2, 0.5, None),
    (100, 2, 0.5, None),
    (300, 2, 0.5, None),
    (40, 2, 1.5, None),
    (100, 2, 1.5, None),
    (100, 2, 0.8, (0.85, 0.15)),
    (300, 2, 0.8, (0.9, 0.1)),
    (100, 4, 1.0, None),
    (300, 4, 1.0, None),
    (200, 10, 1.5, None),
]


def sets(runs: int) -> Iterator[Line]:
    """Coverage of prediction sets at 0.9."""
    for n, classes, signal, shares in DATA:
        for name, make in MODELS.items():
            found = []
            for r in range(runs):
                rng = np.random.default_rng([r, n, classes])
                K, y, new, truth = gaussians(rng, n, classes, signal, shares)
                model = make().fit(K, y)
                inside = model.predict_set(new, coverage=0.9)
                hit = inside[np.arange(truth.size), truth]
                each = [hit[truth == k].mean() for k in range(classes)]
                right = np.mean(model.predict(new) == truth)
                empty = ~inside.any(axis=1)
                size = inside.sum(axis=1).mean()
                found.append([hit.mean(), each[-1], size, empty.mean(), right])
            mean = np.mean(found, axis=0)
            yield Line(
                {
                    "items": n,
                    "classes": classes,
                    "rare class": f"{min(shares or [1 / classes]):.0%}",
                    "model": name,
                    "accuracy": f"{mean[4]:.2f}",
                    "promised": "0.90",
                    "all items": f"{mean[0]:.3f}",
                    "last class": f"{mean[1]:.3f}",
                    "classes in a set": f"{mean[2]:.2f}",
                    "empty": f"{mean[3]:.3f}",
                },
                runs,
            )


def proba(runs: int) -> Iterator[Line]:
    """Probabilities against predictions, and how well they are calibrated."""
    for n, classes, signal, shares in [(40, 2, 0.0, None), (40, 2, 0.3, None), *DATA]:
        for name, make in MODELS.items():
            wrong, error = [], []
            for r in range(runs):
                rng = np.random.default_rng([r, n, classes, 1])
                K, y, new, truth = gaussians(rng, n, classes, signal, shares)
                model = make().fit(K, y)
                said, predicted = model.predict_proba(new), model.predict(new)
                wrong.append(np.mean(said.argmax(axis=1) != predicted))
                error.append(calibration_error(said, truth))
            yield Line(
                {
                    "items": n,
                    "classes": classes,
                    "signal": signal,
                    "model": name,
                    "contradicts": f"{np.mean(wrong):.3f}",
                    "calibration error": f"{np.mean(error):.3f}",
                },
                runs,
            )


def calibration_error(said, truth, bins=10):
    """Mean difference of the highest probability and how often it is right."""
    sure, right = said.max(axis=1), said.argmax(axis=1) == truth
    place = np.minimum((sure * bins).astype(int), bins - 1)
    parts = [place == b for b in np.unique(place)]
    return sum(abs(sure[p].mean() - right[p].mean()) * p.mean() for p in parts)


# ------------------------------------------------------------------- labels, regression


def labels(runs: int) -> Iterator[Line]:
    """P-values of `diagnose` on labels without relation."""
    for n, classes in ((20, 2), (40, 2), (100, 2), (100, 5)):
        p = []
        for r in range(runs):
            rng = np.random.default_rng([r, n, classes, 9])
            X = rng.standard_normal((n, 5))
            p.append(label_p_value(np.tanh(X @ X.T), rng.permutation(n) % classes, r))
        yield Line(
            {
                "items": n,
                "classes": classes,
                "p <= 0.05": share(np.array(p) <= 0.05),
                "p <= 0.10": share(np.array(p) <= 0.10),
            },
            runs,
        )


def ridge(runs: int) -> Iterator[Line]:
    """90 % intervals of a Gaussian process whose penalty is chosen."""
    for n, fix in ((30, "clip"), (30, "flip"), (100, "clip"), (100, "flip")):
        cover = []
        for r in range(runs):
            rng = np.random.default_rng([r, n, 4])
            X = rng.standard_normal((n + 500, 5))
            y = np.sin(X[:, 0]) + 0.5 * X[:, 1] + 0.3 * rng.standard_normal(n + 500)
            K = tl1_kernel(X, X[:n])
            own = float(tl1_kernel(X[:1])[0, 0])  # the same for all items
            model = KreinRidge("auto", method=fix).fit(K[:n], y[:n])
            mean, std = model.predict(K[n:], return_std=True, k_diag=np.full(500, own))
            cover.append(np.mean(np.abs(y[n:] - mean) <= 1.6448536 * std))
        yield Line(
            {
                "items": n,
                "fix": fix,
                "promised": "0.90",
                "measured": f"{np.mean(cover):.3f}",
                "under 0.70": share(np.array(cover) < 0.7),
            },
            runs,
        )


# --------------------------------------------------------------------------- the tables


TABLES: dict[str, Callable[[int], Iterator[Line]]] = {
    "TESTS": tests,
    "POWER": power,
    "NOISE": noise,
    "INTERVALS": intervals,
    "OPTIMISM": optimism,
    "SETS": sets,
    "PROBA": proba,
    "LABELS": labels,
    "RIDGE": ridge,
}


def share(values) -> str:
    """A share with two digits and a half."""
    return f"{np.mean(values):.3f}"


def points(differences) -> str:
    """A mean difference in points of a hundred."""
    return f"{100.0 * np.mean(differences):+.1f}"


def table(lines) -> Iterator[str]:
    """Lines of a table in Markdown, as they are computed."""
    for i, line in enumerate(lines):
        cells = line.cells | {"runs": line.runs}
        if i == 0:
            yield f"| {' | '.join(cells)} |"
            yield f"|{'---|' * len(cells)}"
        yield f"| {' | '.join(str(cell) for cell in cells.values())} |"


def write_page(path: Path, name: str, lines: list[str]) -> None:
    """Put a table between its marks."""
    mark = f"<!-- chance: {name} -->"
    text = path.read_text("utf-8")
    found = re.compile(f"{re.escape(mark)}.*?<!-- end -->", re.DOTALL)
    if not found.search(text):
        raise SystemExit(f"{path} has no place for {name}: write {mark} <!-- end -->")
    body = "\n".join(lines)
    replaced = found.sub(lambda _: f"{mark}\n\n{body}\n\n<!-- end -->", text)
    path.write_text(replaced, "utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=250, help="data sets a cell")
    parser.add_argument("--only", default=",".join(TABLES), help="names of tables")
    parser.add_argument("--page", type=Path, help="page whose tables are replaced")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in options.only.split(","):
        print(f"\n{name}: {TABLES[name].__doc__}\n", flush=True)
        lines = []
        for line in table(TABLES[name](options.runs)):
            print(line, flush=True)
            lines.append(line)
        if options.page is not None:
            write_page(options.page, name, lines)


if __name__ == "__main__":
    main()
