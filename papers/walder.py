"""Walder, Chapelle (2007): Table 1, the USPS digits, Figure 1."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from krein.arrays import Array
from papers.claims import Measured, lookup, printed
from papers.experiments import accuracy, folds_of, quiet_fit, timed, vectors
from papers.runs import Means, Run, Table, Task, Values, seed_of

__all__ = ["TABLES"]

# Name in the paper -> file, and whether equal rows are counted once.
SETS = {
    "banana": ("ida_banana", False),
    "breast": ("ida_breast_cancer", True),
    "diabetes": ("pima_diabetes", False),
    "flare": ("ida_flare_solar", True),
    "german": ("ida_german", False),
    "heart": ("heart_statlog", False),
    "image": ("ida_image", True),
    "ringnm": ("ida_ringnorm", False),
    "splice": ("splice", True),
    "thyroid": ("ida_thyroid", False),
    "twonm": ("ida_twonorm", False),
    "wavefm": ("ida_waveform", False),
}
_MOST = 1500  # points per class where there are more than 3000, as n in the paper
_SIGMAS = tuple(2.0**k for k in range(-3, 4))  # times the median distance
_ALPHAS = tuple(10.0**k for k in np.arange(2.0, -6.5, -0.5))
_KERNELS = ("Thin-Plate", "Gaussian")


def _points(name: str, quick: bool) -> tuple[Array, np.ndarray]:
    """Standardised features; of the large sets 1500 points per class."""
    from krein import load_dataset

    if quick:
        return vectors(name, True)
    file, once = SETS[name]
    loaded = load_dataset(file)
    X, y = np.asarray(loaded.data, dtype=float), np.asarray(loaded.target)
    if once and hasattr(loaded, "first_of_duplicates"):
        X, y = X[loaded.first_of_duplicates], y[loaded.first_of_duplicates]
    if len(X) > 2 * _MOST:
        order = np.random.default_rng(seed_of(Task(name, "points"))).permutation(len(X))
        kept = [order[y[order] == label][:_MOST] for label in np.unique(y)]
        rows = np.sort(np.concatenate(kept))
        X, y = X[rows], y[rows]
    scale = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(scale > 0, scale, 1.0), y


def _table1_tasks(quick: bool) -> list[Task]:
    names = ("thyroid",) if quick else tuple(SETS)
    return [
        Task(name, kernel, split)
        for split in range(2 if quick else 5)
        for name in names
        for kernel in _KERNELS
    ]


def _table1(task: Task, quick: bool, earlier: Any) -> Values:
    X, y = _points(task.dataset, quick)
    parts = folds_of(Task(task.dataset, "splits"), y, 5)
    train, test = parts[task.split]
    folds = folds_of(task, y[train], 5)
    alphas = _ALPHAS[::6] if quick else _ALPHAS
    if task.method == "Thin-Plate":
        model, sigma = _thin_plate(X[train], y[train], folds, alphas), 0.0
    else:
        model, sigma = _gaussian(X[train], y[train], folds, alphas, quick)
    return {
        "error": 100 * (1 - accuracy(model, X[test], y[test])),
        "alpha": model.best_params_["alpha"],
        "sigma": sigma,
        "n": len(X),
    }


def _thin_plate(X: Array, y: np.ndarray, folds: Any, alphas: Any) -> Any:
    from krein import CPDSVCCV

    return quiet_fit(CPDSVCCV(alphas=alphas, cv=folds), X, y)


def _gaussian(
    X: Array, y: np.ndarray, folds: Any, alphas: Any, quick: bool
) -> tuple[Any, float]:
    """The same machine with a Gaussian: one path of alphas per width."""
    from sklearn.metrics import pairwise_distances

    from krein import CPDSVCCV

    sample = X[:: max(1, len(X) // 500)]
    unit = np.median(pairwise_distances(sample))
    best, chosen = None, 0.0
    for width in _SIGMAS[2:5:2] if quick else _SIGMAS:
        sigma = width * unit
        model = CPDSVCCV(
            alphas=alphas,
            cv=folds,
            kernel="rbf",
            kernel_params={"gamma": 0.5 / sigma**2},
            scale=False,
        )
        quiet_fit(model, X, y)
        if best is None or model.best_score_ > best.best_score_:
            best, chosen = model, sigma
    return best, chosen


def _derive_table1(measured: Means, runs: list[Run]) -> Means:
    """Say whether the thin plate matches the Gaussian."""
    extra: Means = {}
    matches = []
    for name in SETS:
        pair = lookup(measured, [(name, kernel, "error") for kernel in _KERNELS])
        if pair is None or any(p.spread is None for p in pair):
            continue
        error = np.hypot(pair[0].spread, pair[1].spread) / np.sqrt(pair[0].count)
        for kernel, found in zip(_KERNELS, pair, strict=True):
            deviation = found.spread / np.sqrt(found.count)
            extra[(name, kernel, "standard error")] = Measured(deviation, None, 5)
        matches.append(pair[0].value <= pair[1].value + 2 * error)
        key = (name, "Thin-Plate", "not worse than the Gaussian by two standard errors")
        word = "yes" if matches[-1] else "no"
        extra[key] = Measured(word, None, pair[0].count)
    if matches:
        key = ("all", "Thin-Plate", "matches the Gaussian on every set")
        word = "yes" if all(matches) else "no"
        extra[key] = Measured(word, None, len(matches))
    return extra


# ------------------------------------------------------------------------------ USPS


_USPS_METHODS = (
    "Thin-Plate, beta = 0",
    "Thin-Plate, 1500 basis points",
    "Thin-Plate, free polynomials",
    "Gaussian",
)
_PER_CLASS = "tuned per class"
_VIOLATORS = f"violators of {_USPS_METHODS[0]}"
_USPS_READINGS = {
    _PER_CLASS: "lambda (and sigma) per class on all 7291 images",
    "": "one lambda, tuned on 2000 images; sigma fixed",
}


def _usps_tasks(quick: bool) -> list[Task]:
    every = [*_USPS_METHODS, *(f"{m}, {_PER_CLASS}" for m in _USPS_METHODS)]
    return [Task("usps", method) for method in (*every, _VIOLATORS)]


def _usps_data(quick: bool) -> tuple[Array, np.ndarray, Array, np.ndarray]:
    from sklearn.datasets import load_digits

    from krein import load_dataset

    if quick:
        digits = load_digits()
        X, y = digits.data[:240], digits.target[:240]
        return X[:160], y[:160], X[160:], y[160:]
    loaded = load_dataset("usps")
    test = loaded.is_test
    X, y = loaded.data, loaded.target
    return X[~test], y[~test], X[test], y[test]


def _usps(task: Task, quick: bool, earlier: Any) -> Values:
    """Alpha tuned on 2000 training images, the model fitted on all of them."""
    from krein import CPDSVC, CPDSVCCV

    method = task.method.removesuffix(f", {_PER_CLASS}")
    if method == _VIOLATORS:
        tuned = Task("usps", f"{_USPS_METHODS[0]}, {_PER_CLASS}")
        return _violators(quick, earlier(tuned)["alphas"])
    if method != task.method:
        return _usps_per_class(Task("usps", method), quick)
    X, y, X_new, y_new = _usps_data(quick)
    settings = _usps_settings(task.method, X, quick)
    few = np.random.default_rng(0).permutation(len(X))[: 100 if quick else 2000]
    alphas = _ALPHAS[::6] if quick else _ALPHAS[::2]
    tuning = {k: v for k, v in settings.items() if k != "n_basis"}
    folds = folds_of(task, y[few], 5)
    search = quiet_fit(CPDSVCCV(alphas=alphas, cv=folds, **tuning), X[few], y[few])
    model = CPDSVC(search.best_params_["alpha"], **settings)
    model, seconds = timed(model, X, y)
    wrong = int(np.sum(model.predict(X_new) != y_new))
    return {
        "errors": wrong,
        "alpha": search.best_params_["alpha"],
        "seconds per class": seconds / len(model.classes_),
    }


def _usps_per_class(task: Task, quick: bool) -> Values:
    """As in the paper: one machine per digit, tuned on all training images."""
    X, y, X_new, y_new = _usps_data(quick)
    labels = np.unique(y)
    settings = _usps_settings(task.method, X, quick)
    grid = [settings]
    if task.method == "Gaussian":
        gamma = settings["kernel_params"]["gamma"]
        widths = (1.0,) if quick else (0.25, 1.0, 4.0)
        grid = [{**settings, "kernel_params": {"gamma": gamma * w}} for w in widths]
    scores = np.empty((len(X_new), len(labels)))
    alphas = []
    for column, label in enumerate(labels):
        model = _best_for_digit(task, X, y == label, grid, quick)
        scores[:, column] = model.decision_function(X_new)
        alphas.append(model.best_params_["alpha"])
    wrong = int(np.sum(labels[np.argmax(scores, axis=1)] != y_new))
    return {"errors": wrong, "alphas": alphas}


def _best_for_digit(
    task: Task, X: Array, is_digit: np.ndarray, grid: list[dict[str, Any]], quick: bool
) -> Any:
    """Best machine for one digit by five folds over alphas and settings."""
    from krein import CPDSVCCV

    alphas = _ALPHAS[::6] if quick else _ALPHAS[::2]
    folds = folds_of(task, is_digit, 5)
    fitted = [
        quiet_fit(CPDSVCCV(alphas=alphas, cv=folds, **settings), X, is_digit)
        for settings in grid
    ]
    return max(fitted, key=lambda model: model.best_score_)


def _usps_settings(method: str, X: Array, quick: bool) -> dict[str, Any]:
    if method == "Gaussian":
        from sklearn.metrics import pairwise_distances

        unit = np.median(pairwise_distances(X[:: max(1, len(X) // 500)]))
        gamma = 0.5 / (0.5 * unit) ** 2
        return {"kernel": "rbf", "kernel_params": {"gamma": gamma}, "scale": False}
    settings: dict[str, Any] = {"polynomial": "zero", "random_state": 0}
    if "1500" in method:
        settings["n_basis"] = 100 if quick else 1500
    if "free" in method:
        settings["polynomial"] = "free"
    return settings


def _violators(quick: bool, alphas: list[float]) -> Values:
    """Share of images within the margin, over the ten machines as tuned per class."""
    from krein import CPDSVC

    X, y, _, _ = _usps_data(quick)
    settings = _usps_settings(_USPS_METHODS[0], X, quick)
    labels, shares = np.unique(y), []
    for alpha in sorted(set(alphas)):
        values = quiet_fit(CPDSVC(alpha, **settings), X, y).decision_function(X)
        margins = np.where(y[:, None] == labels, values, -values)
        shares += np.mean(margins[:, np.equal(alphas, alpha)] < 1, axis=0).tolist()
    return {"margin violators, %": 100 * float(np.mean(shares))}


def _derive_usps(measured: Means, runs: list[Run]) -> Means:
    extra: Means = {}
    what = "margin violators, %"
    if found := measured.get(("usps", _VIOLATORS, what)):
        extra[("usps", f"{_USPS_METHODS[0]}, {_PER_CLASS}", what)] = found
    for claim in printed("walder"):
        if claim.quantity == "errors" and runs:
            share = Measured(100 * float(claim.paper) / 2007, None, 1)
            extra[("usps", claim.method, "printed errors, % of 2007")] = share
    for method in _USPS_METHODS[:2]:
        keys = [("usps", m, "seconds per class") for m in (method, "Gaussian")]
        if times := lookup(measured, keys):
            ratio = Measured(times[0].value / times[1].value, None, 1)
            extra[("usps", method, "seconds / seconds of the Gaussian")] = ratio
    for ending in ("", f", {_PER_CLASS}"):
        methods = [f"{_USPS_METHODS[i]}{ending}" for i in (0, 2)]
        pair = lookup(measured, [("usps", method, "errors") for method in methods])
        if pair is not None:
            word = "yes" if pair[0].value <= pair[1].value else "no"
            key = ("usps", methods[0], "better than free polynomials")
            extra[key] = Measured(word, None, 1)
    return extra


# -------------------------------------------------------------------------- Figure 1

_FIGURE_ALPHAS = (1e-8, 1e-4, 1e-2, 1.0, 1e2, 1e6)


def _figure1_tasks(quick: bool) -> list[Task]:
    alphas = _FIGURE_ALPHAS[::3] if quick else _FIGURE_ALPHAS
    return [Task("circles and boxes", f"lambda={alpha:g}") for alpha in alphas]


def _toy() -> tuple[Array, np.ndarray]:
    """Two crescents: the paper's points are not given."""
    from sklearn.datasets import make_moons

    return make_moons(60, noise=0.25, random_state=0)


def _figure1(task: Task, quick: bool, earlier: Any) -> Values:
    """Decision values on a grid; how far the boundary is from a straight line."""
    from krein import CPDSVC

    alpha = float(task.method.removeprefix("lambda="))
    X, y = _toy()
    model = quiet_fit(CPDSVC(alpha, exponent=2, scale=False), X, y)
    # Dilation by 2 equals another regularisation (Corollary 2.3): same decisions.
    twice = quiet_fit(CPDSVC(alpha * 4, exponent=2, scale=False), 2 * X, y)
    side = np.linspace(-2.0, 3.0, 12 if quick else 40)
    grid = np.array([[a, b] for b in side for a in side])
    values = model.decision_function(grid)
    change = np.max(np.abs(twice.decision_function(2 * grid) - values))
    plane = np.column_stack([grid, np.ones(len(grid))])
    residual = values - plane @ np.linalg.lstsq(plane, values, rcond=None)[0]
    return {
        "values": np.round(values, 3).tolist(),
        "training errors": int(np.sum(model.predict(X) != y)),
        "share not linear": float(np.linalg.norm(residual) / np.linalg.norm(values)),
        "change under dilation": float(change / np.max(np.abs(values))),
    }


def _derive_figure1(measured: Means, runs: list[Run]) -> Means:
    """Small lambda separates the points, large lambda gives a straight line."""
    name = "circles and boxes"
    first, last = (f"lambda={end:g}" for end in (_FIGURE_ALPHAS[0], _FIGURE_ALPHAS[-1]))
    keys = [(name, first, "training errors"), (name, last, "share not linear")]
    found = lookup(measured, keys)
    if found is None:
        return {}
    separates, line = found
    changes = [run.values["change under dilation"] for run in runs]
    return {
        (name, "lambda near 0", "separates the training points"): Measured(
            "yes" if separates.value == 0 else "no", None, 1
        ),
        (name, "lambda near infinity", "boundary is a straight line"): Measured(
            "yes" if line.value < 0.01 else "no", None, 1
        ),
        (name, "dilation", "is the same as another lambda"): Measured(
            "yes" if max(changes) < 1e-5 else "no", None, len(changes)
        ),
    }


def _draw_figure1(runs: list[Run], path: Path) -> None:
    from krein.result import new_axes

    X, y = _toy()
    runs = sorted(runs, key=lambda r: float(r.task.method.removeprefix("lambda=")))
    axes = np.atleast_1d(new_axes(len(runs), figsize=(2.4 * len(runs), 2.6)))
    for ax, run in zip(axes, runs, strict=True):
        n = int(np.sqrt(len(run.values["values"])))
        side = np.linspace(-2.0, 3.0, n)
        values = np.reshape(run.values["values"], (n, n))
        ax.contour(side, side, values, levels=[-1, 0, 1], colors=["k", "#c1121f", "k"])
        ax.scatter(*X.T, c=y, s=8, cmap="coolwarm")
        ax.set(title=run.task.method, xticks=[], yticks=[])
    axes[0].figure.savefig(path, dpi=90)


TABLES = [
    Table(
        "walder-table1",
        "walder",
        "thin-plate against Gaussian SVM on 12 sets",
        _table1_tasks,
        _table1,
        _derive_table1,
    ),
    Table(
        "walder-usps",
        "walder",
        "errors on the USPS digits, one against the rest",
        _usps_tasks,
        _usps,
        _derive_usps,
        readings=_USPS_READINGS,
    ),
    Table(
        "walder-figure1",
        "walder",
        "decision functions of the thin-plate SVM from small to large lambda",
        _figure1_tasks,
        _figure1,
        _derive_figure1,
        _draw_figure1,
    ),
]
