"""What `chance.py` measures: for every table its cells, one run, and one line.

A run is one data set. It returns numbers by name, which are kept; a line of a table is
made of the numbers of all runs of a cell.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from chance_simulation import FRESH, NAMES, Simulation

from krein import KreinRidge, SpectrumSVC, SpectrumSVCCV, sigmoid_kernel, tl1_kernel
from krein.comparison.recommendation import default_method
from krein.diagnostics.facts import label_relation
from krein.verdicts.reasons import Fix, SpectrumFix, Verdict

LEVEL = 0.05

Settings = Mapping[str, Any]
Values = Mapping[str, np.ndarray]


@dataclass(frozen=True)
class Table:
    """One table of the page.

    Attributes
    ----------
    about : str
        What it shows.
    cells : list of dict
        Settings of each line.
    run : callable
        (settings, number of the run) -> numbers by name.
    line : callable
        (settings, values of all runs by name) -> text by column.
    kept_as : str
        Name of the file of its runs; tables with the same runs share one.
    """

    about: str
    cells: list[dict[str, Any]]
    run: Callable[[Settings, int], dict[str, float]]
    line: Callable[[Settings, Values], dict[str, object]]
    kept_as: str


def cells_of(names: str, *rows: tuple) -> list[dict[str, Any]]:
    """Settings by name, one dict a row."""
    return [dict(zip(names.split(), row, strict=True)) for row in rows]


def share(values: Any) -> str:
    """A share with three digits."""
    return f"{np.mean(values):.3f}"


def points(differences: Any) -> str:
    """A mean difference in points of a hundred."""
    return f"{100.0 * np.mean(differences):+.1f}"


# -------------------------------------------------------------------- tests, and power


EQUAL = cells_of(
    "n methods learner scoring rare groups",
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
)


def equal_run(cell: Settings, run: int) -> dict[str, float]:
    """What is said of methods that are equal."""
    rng = np.random.default_rng([run, cell["n"], cell["methods"]])
    made = Simulation(
        rng,
        cell["n"],
        [0.7] * cell["methods"],
        learner=cell["learner"],
        rare=cell["rare"],
        groups=cell["groups"],
    )
    found = made.comparison(cell["scoring"])
    answer = found.recommendation
    fixes = [x.outcome for x in answer.reasons if isinstance(x, SpectrumFix)]
    default = default_method(found.ranking, indefinite=True)
    return {
        "told": min(found.p_values.values()) <= LEVEL,
        "clear": answer.verdict is Verdict.CLEAR,
        "fix": fixes == [Fix.MATTERS],
        "left": answer.contender != default,
    }


def equal_line(cell: Settings, values: Values) -> dict[str, object]:
    return {
        "items": cell["n"],
        "methods": cell["methods"],
        "learner": cell["learner"],
        "score": cell["scoring"],
        "rare class": f"{cell['rare']:.0%}",
        "groups of": cell["groups"],
        "told apart": share(values["told"]),
        "clearly better": share(values["clear"]),
        "the fix matters": share(values["fix"]),
        "default left": share(values["left"]),
    }


POWER = cells_of(
    "n scoring", (100, "accuracy"), (300, "accuracy"), (300, "neg_log_loss")
)


def power_run(cell: Settings, run: int) -> dict[str, float]:
    """Whether a method that is ten points better is told from the default."""
    rng = np.random.default_rng([run, cell["n"], 10])
    made = Simulation(rng, cell["n"], [0.7, 1.1])
    comparison = made.comparison(cell["scoring"])
    default, better = NAMES[:2]
    sure = comparison.p_value(default, better) <= LEVEL
    higher = comparison.mean(better) > comparison.mean(default)
    return {"found": sure and higher, "gain": made.truth(1) - made.truth(0)}


def power_line(cell: Settings, values: Values) -> dict[str, object]:
    return {
        "items": cell["n"],
        "score": cell["scoring"],
        "true gain in accuracy": share(values["gain"]),
        "found": share(values["found"]),
    }


# ------------------------------------------------------------- noise, scores, optimism


NOISE = cells_of(
    "n methods rare signal",
    (20, 6, 0.5, 0.0),
    (40, 6, 0.5, 0.0),
    (100, 6, 0.5, 0.0),
    (300, 6, 0.5, 0.0),
    (100, 13, 0.5, 0.0),
    (100, 6, 0.2, 0.0),
    (40, 6, 0.5, 0.7),
    (100, 6, 0.5, 0.4),
    (300, 6, 0.5, 0.4),
)


def noise_run(cell: Settings, run: int) -> dict[str, float]:
    """What is said where labels have no relation to items, or hardly any."""
    rng = np.random.default_rng([run, cell["n"], cell["methods"], 7])
    signals = [cell["signal"]] * cell["methods"]
    made = Simulation(rng, cell["n"], signals, rare=cell["rare"])
    verdict = made.comparison().recommendation.verdict
    return {
        "nothing": verdict is Verdict.NOTHING_LEARNT,
        "not_shown": verdict is Verdict.NOT_SHOWN,
        "truth": made.truth(0),
    }


def noise_line(cell: Settings, values: Values) -> dict[str, object]:
    return {
        "items": cell["n"],
        "methods": cell["methods"],
        "rare class": f"{cell['rare']:.0%}",
        "true accuracy": f"{np.mean(values['truth']):.2f}",
        "nothing learnt": share(values["nothing"]),
        "not shown": share(values["not_shown"]),
        "one of both": share(values["nothing"] + values["not_shown"]),
    }


INTERVALS = cells_of(
    "n signal learner scoring rare groups",
    (20, 4.0, "ridge", "accuracy", 0.5, 1),
    (20, 2.6, "ridge", "accuracy", 0.5, 1),
    (20, 0.7, "ridge", "accuracy", 0.5, 1),
    (40, 0.7, "ridge", "accuracy", 0.5, 1),
    (40, 0.7, "neighbours", "accuracy", 0.5, 1),
    (100, 0.7, "ridge", "accuracy", 0.5, 1),
    (100, 0.7, "neighbours", "accuracy", 0.5, 1),
    (100, 2.0, "ridge", "accuracy", 0.5, 1),
    (300, 0.7, "ridge", "accuracy", 0.5, 1),
    (300, 2.0, "neighbours", "accuracy", 0.5, 1),
    (100, 0.7, "ridge", "accuracy", 0.5, 4),
    (40, 1.2, "ridge", "balanced_accuracy", 0.15, 1),
    (100, 1.2, "ridge", "balanced_accuracy", 0.06, 1),
    (100, 2.5, "neighbours", "balanced_accuracy", 0.06, 1),
    (40, 0.7, "ridge", "roc_auc", 0.5, 1),
    (100, 0.7, "ridge", "roc_auc", 0.5, 1),
    (40, 0.7, "ridge", "neg_log_loss", 0.5, 1),
    (100, 0.7, "ridge", "neg_log_loss", 0.5, 1),
)


def interval_run(cell: Settings, run: int) -> dict[str, float]:
    """The interval of one method, and the scores that it should hold."""
    rng = np.random.default_rng([run, cell["n"], 3])
    made = Simulation(
        rng,
        cell["n"],
        [cell["signal"]],
        learner=cell["learner"],
        rare=cell["rare"],
        groups=cell["groups"],
    )
    scoring = cell["scoring"]
    comparison = made.comparison(scoring)
    sign = comparison.deciding.sign
    low, high = comparison.interval(NAMES[0])
    return {
        "low": low,
        "high": high,
        "of_splits": sign * made.truth(0, scoring),
        "of_all": sign * made.truth_of_all(0, scoring),
    }


def interval_line(cell: Settings, values: Values) -> dict[str, object]:
    low, high = values["low"] - 1e-12, values["high"] + 1e-12
    of_splits, of_all = values["of_splits"], values["of_all"]
    return {
        "items": cell["n"],
        "score": cell["scoring"],
        "learner": cell["learner"],
        "rare class": f"{cell['rare']:.0%}",
        "groups of": cell["groups"],
        "true score": f"{np.mean(of_splits):.3f}",
        "promised": "0.95",
        "models of the splits": share((low <= of_splits) & (of_splits <= high)),
        "model of all items": share((low <= of_all) & (of_all <= high)),
        "mean width": f"{np.mean(high - low):.2f}",
    }


OPTIMISM = cells_of("n methods", (20, 6), (40, 6), (40, 13), (100, 6), (300, 6))


def optimism_run(cell: Settings, run: int) -> dict[str, float]:
    """By how much the highest and the recommended score are above the truth."""
    rng = np.random.default_rng([run, cell["n"], cell["methods"], 5])
    made = Simulation(rng, cell["n"], [0.7] * cell["methods"])
    found = made.comparison()
    name = found.recommendation.contender
    of_best = made.truth(NAMES.index(found.best))
    of_chosen = made.truth(NAMES.index(name))
    return {
        "highest": found.mean(found.best) - of_best,
        "chosen": found.mean(name) - of_chosen,
        "corrected": found.corrected_best() - of_best,
    }


def optimism_line(cell: Settings, values: Values) -> dict[str, object]:
    return {
        "items": cell["n"],
        "methods": cell["methods"],
        "highest": points(values["highest"]),
        "recommended": points(values["chosen"]),
        "highest, corrected": points(values["corrected"]),
    }


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


MODELS: dict[str, Callable[[], Any]] = {
    "SpectrumSVC": lambda: SpectrumSVC("clip", probability=True, random_state=0),
    "SpectrumSVCCV": lambda: SpectrumSVCCV(random_state=0),
}


def of_models(*rows: tuple) -> list[dict[str, Any]]:
    """Every data set with every model."""
    return cells_of(
        "n classes signal shares model", *((*row, m) for row in rows for m in MODELS)
    )


LEARNABLE = of_models(
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
)
HARD = of_models((40, 2, 0.0, None), (40, 2, 0.3, None))


def model_run(cell: Settings, run: int) -> dict[str, float]:
    """Sets at 0.9 and probabilities of one model, on fresh items."""
    classes = cell["classes"]
    rng = np.random.default_rng([run, cell["n"], classes])
    data = gaussians(rng, cell["n"], classes, cell["signal"], cell["shares"])
    K, y, new, truth = data
    model = MODELS[cell["model"]]().fit(K, y)
    proba = model.predict_proba(new)
    predicted = model.predict(new)
    sets = model.predict_set(new, coverage=0.9)
    holds = sets[np.arange(truth.size), truth]
    return {
        "holds": holds.mean(),
        "last": holds[truth == classes - 1].mean(),
        "size": sets.sum(axis=1).mean(),
        "empty": np.mean(~sets.any(axis=1)),
        "right": np.mean(predicted == truth),
        "contradicts": np.mean(proba.argmax(axis=1) != predicted),
        "calibration": calibration_error(proba, truth),
    }


def set_line(cell: Settings, values: Values) -> dict[str, object]:
    rare = min(cell["shares"] or [1 / cell["classes"]])
    return {
        "items": cell["n"],
        "classes": cell["classes"],
        "rare class": f"{rare:.0%}",
        "model": cell["model"],
        "accuracy": f"{np.mean(values['right']):.2f}",
        "promised": "0.90",
        "all items": share(values["holds"]),
        "last class": share(values["last"]),
        "classes in a set": f"{np.mean(values['size']):.2f}",
        "empty": share(values["empty"]),
    }


def proba_line(cell: Settings, values: Values) -> dict[str, object]:
    return {
        "items": cell["n"],
        "classes": cell["classes"],
        "signal": cell["signal"],
        "model": cell["model"],
        "contradicts": share(values["contradicts"]),
        "calibration error": share(values["calibration"]),
    }


def calibration_error(proba, truth, bins=10):
    """Mean difference of the highest probability and how often it is right."""
    sure, right = proba.max(axis=1), proba.argmax(axis=1) == truth
    place = np.minimum((sure * bins).astype(int), bins - 1)
    parts = [place == b for b in np.unique(place)]
    return sum(abs(sure[p].mean() - right[p].mean()) * p.mean() for p in parts)


# ------------------------------------------------------------------- labels, regression


LABELS = cells_of("n classes", (20, 2), (40, 2), (100, 2), (100, 5))


def label_run(cell: Settings, run: int) -> dict[str, float]:
    """The p-value of `diagnose` on labels without relation."""
    n, classes = cell["n"], cell["classes"]
    rng = np.random.default_rng([run, n, classes, 9])
    X = rng.standard_normal((n, 5))
    labels = rng.permutation(n) % classes
    return {"p": label_relation(np.tanh(X @ X.T), labels, run).p_value}


def label_line(cell: Settings, values: Values) -> dict[str, object]:
    return {
        "items": cell["n"],
        "classes": cell["classes"],
        "p <= 0.05": share(values["p"] <= 0.05),
        "p <= 0.10": share(values["p"] <= 0.10),
    }


KERNELS = {"tl1": tl1_kernel, "sigmoid": sigmoid_kernel}
RIDGE = cells_of(
    "n kernel fix",
    *((n, k, f) for n in (15, 30, 100, 300) for k in KERNELS for f in ("clip", "flip")),
)
NEW_TARGETS = 500
QUANTILE = 1.6448536  # of 90 % intervals


def ridge_run(cell: Settings, run: int) -> dict[str, float]:
    """The 90 % interval of a measurement, by a penalty that is chosen."""
    n = cell["n"]
    size = n + NEW_TARGETS
    rng = np.random.default_rng([run, n, 4])
    X = rng.standard_normal((size, 5))
    y = np.sin(X[:, 0]) + 0.5 * X[:, 1] + 0.3 * rng.standard_normal(size)
    kernel = KERNELS[cell["kernel"]]
    K = kernel(X, X[:n])
    own = np.diagonal(kernel(X[n:]))
    model = KreinRidge("auto", method=cell["fix"]).fit(K[:n], y[:n])
    mean, std = model.predict(K[n:], return_std=True, k_diag=own)
    reach = QUANTILE * np.sqrt(std**2 + model.noise_variance_)
    off = np.abs(y[n:] - mean)
    return {
        "covered": np.mean(off <= reach),
        "width": 2.0 * np.mean(reach) / y.std(),
        "error": np.sqrt(np.mean(off**2)) / y.std(),
    }


def ridge_line(cell: Settings, values: Values) -> dict[str, object]:
    return {
        "items": cell["n"],
        "kernel": cell["kernel"],
        "fix": cell["fix"],
        "promised": "0.90",
        "measured": share(values["covered"]),
        "under 0.70": share(values["covered"] < 0.7),
        "width": f"{np.mean(values['width']):.2f}",
        "error": f"{np.mean(values['error']):.2f}",
    }


# --------------------------------------------------------------------------- the tables


TABLES = {
    "TESTS": Table(
        "Equal methods: how often they are told apart.",
        EQUAL,
        equal_run,
        equal_line,
        "equal",
    ),
    "POWER": Table(
        "How often a method that is ten points better is found.",
        POWER,
        power_run,
        power_line,
        "power",
    ),
    "NOISE": Table(
        "Labels without relation, and labels that are hard to learn.",
        NOISE,
        noise_run,
        noise_line,
        "noise",
    ),
    "INTERVALS": Table(
        "Coverage of 95 % intervals.",
        INTERVALS,
        interval_run,
        interval_line,
        "intervals",
    ),
    "OPTIMISM": Table(
        "Points by which the highest and the recommended score are above the truth.",
        OPTIMISM,
        optimism_run,
        optimism_line,
        "optimism",
    ),
    "SETS": Table(
        "Coverage of prediction sets at 0.9.", LEARNABLE, model_run, set_line, "models"
    ),
    "PROBA": Table(
        "Probabilities against predictions, and how well they are calibrated.",
        HARD + LEARNABLE,
        model_run,
        proba_line,
        "models",
    ),
    "LABELS": Table(
        "P-values of `diagnose` on labels without relation.",
        LABELS,
        label_run,
        label_line,
        "labels",
    ),
    "RIDGE": Table(
        "90 % intervals of a Gaussian process whose penalty is chosen.",
        RIDGE,
        ridge_run,
        ridge_line,
        "ridge",
    ),
}
