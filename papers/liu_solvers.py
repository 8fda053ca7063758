"""Liu et al.: Tables IV, VI, VII and Figures 2, 3 (the concave-convex procedures).

What the paper leaves open and what is chosen here is in the protocol of the paper.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from krein.arrays import Array
from papers.claims import Claim, Measured, lookup
from papers.experiments import accuracy, folds_of, split_of, timed, tune
from papers.liu_data import LARGE, READINGS, liu_vectors, readings, tl1
from papers.runs import Means, Run, Table, Task, Values, seed_of

__all__ = ["SOLVER_TABLES"]

_GRID = (10.0, 5.0, 1.0, 0.1, 0.01, 0.001, 0.0001)
_MOST = 2000  # training points; EEG and ijcnn1 halves are cut to this
_TUNED_ON = 400  # points on which lambda is chosen
# Name in the paper -> solver and inexact parameter epsilon.
_SOLVERS: dict[str, tuple[str, dict[str, Any]]] = {
    "CCCP-GD": ("cccp-gd", {"epsilon": 1e-4}),
    "CCICP-GD": ("ccicp-gd", {"epsilon": 1.0}),
    **{name: ("ccicp-gd", {"epsilon": 1.0, **how}) for name, how in READINGS.items()},
    "CCICP-SGD": ("ccicp-sgd", {"epsilon": 1e-4}),
    "CCICP-SGD-I": ("ccicp-sgd", {"epsilon": 1.0}),
    "IKLR certified": ("newton", {}),
}


def _model(
    method: str, alpha: float, *, seed: int = 0, init: str = "zeros", **options: Any
) -> Any:
    from krein import KreinLogisticRegression

    solver, published = _SOLVERS[method]
    return KreinLogisticRegression(
        alpha,
        fit_intercept=False,
        solver=solver,
        indefinite="raise-alpha" if solver == "newton" else "allow",
        solver_options={"init": init, **published, **options},
        random_state=seed,
    )


def _split(task: Task, quick: bool) -> tuple[Array, np.ndarray, Array, np.ndarray]:
    """Training half, cut to `_MOST` points, and at most 5000 test points."""
    X, y = liu_vectors(task.dataset, quick)
    train, test = split_of(task, y, 0.5)
    rng = np.random.default_rng([*seed_of(task), 2])
    train, test = rng.permutation(train)[:_MOST], rng.permutation(test)[:5000]
    return X[train], y[train], X[test], y[test]


def _alpha(task: Task, X: Array, y: np.ndarray, method: str, quick: bool) -> float:
    """Lambda by five-fold cross-validation on at most 400 training points."""
    X, y = X[:_TUNED_ON], y[:_TUNED_ON]
    grid = [{"alpha": a} for a in (_GRID[2:4] if quick else _GRID)]

    def make(alpha: float) -> Any:
        return _model(method, alpha, seed=task.split)

    return tune(make, grid, tl1(X), y, folds_of(task, y, 5))["alpha"]


# ------------------------------------------------------------- Tables IV and VII: times


def _time_tasks(methods: tuple[str, ...]) -> Any:
    def tasks(quick: bool) -> list[Task]:
        names = ("guide1-t",) if quick else LARGE
        return [
            Task(name, method, split)
            for split in range(1 if quick else 10)
            for name in names
            for method in methods
        ]

    return tasks


def _timed_accuracy(task: Task, quick: bool, earlier: Any) -> Values:
    X, y, X_new, y_new = _split(task, quick)
    alpha = _alpha(task, X, y, task.method, quick)
    model, seconds = timed(_model(task.method, alpha, seed=task.split), tl1(X), y)
    return {
        "accuracy": accuracy(model, tl1(X_new, X), y_new),
        "training seconds": seconds,
        "alpha": alpha,
        "residual": float(model.residual_[0]),
        "n": len(X),
    }


def _ratios(to: str) -> Any:
    """Training time over that of one method, from the same splits."""

    def derive(measured: Means, runs: list[Run]) -> Means:
        seconds: dict[tuple[str, str, int], float] = {
            (run.task.dataset, run.task.method, run.task.split): run.values[
                "training seconds"
            ]
            for run in runs
        }
        found: dict[tuple[str, str], list[float]] = {}
        for (dataset, method, split), value in seconds.items():
            if (dataset, to, split) in seconds and method != to:
                ratio = value / seconds[dataset, to, split]
                found.setdefault((dataset, method), []).append(ratio)
        return {
            (dataset, method, f"training time / {to}"): Measured(
                float(np.median(values)), float(np.std(values)), len(values)
            )
            for (dataset, method), values in found.items()
        }

    return derive


_WHY_TIMES_ARE_ALIKE = (
    "eta falls by a fifth with every inner step, so that an inner loop ends after some "
    "30 steps however small epsilon is; one eigendecomposition is part of both times"
)


def _explain_table4(claim: Claim, measured: Means) -> str:
    """Say what the other readings of the step give, and how far a run got."""
    if claim.quantity.startswith("training time"):
        return _WHY_TIMES_ARE_ALIKE
    if claim.quantity != "accuracy":
        return ""
    residual = measured.get((claim.dataset, claim.method, "residual"))
    far = "" if residual is None else f"stops at a residual of {residual.value:.2g}"
    return "; ".join(part for part in (far, readings(measured, claim.dataset)) if part)


# ------------------------------------------------------------- Table VI: initialisation

_INITS = ("zeros", "ones", "minus-ones", "uniform")


def _table6_tasks(quick: bool) -> list[Task]:
    return [
        Task(name, f"{method}, {init}", run)
        for name in (("monks1",) if quick else ("monks1", "guide1-t"))
        for method in ("CCICP-GD", "CCICP-SGD", *READINGS)
        for init in _INITS
        for run in range(1 if quick else 10)
    ]


def _table6(task: Task, quick: bool, earlier: Any) -> Values:
    """A fixed split; only the start and the random samples change with the run."""
    method, init = task.method.rsplit(", ", 1)
    fixed = Task(task.dataset, method, 0)
    X, y, X_new, y_new = _split(fixed, quick)
    model = _model(method, 0.01, seed=task.split, init=init)
    model, seconds = timed(model, tl1(X), y)
    return {
        "accuracy": accuracy(model, tl1(X_new, X), y_new),
        "seconds": seconds,
        "residual": float(model.residual_[0]),
    }


def _derive_table6(measured: Means, runs: list[Run]) -> Means:
    """The largest difference of mean accuracy between starts."""
    extra: Means = {}
    for name in ("monks1", "guide1-t"):
        for method in ("CCICP-GD", "CCICP-SGD", *READINGS):
            keys = [(name, f"{method}, {init}", "accuracy") for init in _INITS]
            found = lookup(measured, keys)
            if found is not None:
                values = [value.value for value in found]
                key = (name, method, "largest difference between starts")
                extra[key] = Measured(max(values) - min(values), None, len(values))
    return extra


def _explain_table6(claim: Claim, measured: Means) -> str:
    """Say what the other readings of the step give from the same start."""
    method, _, start = claim.method.partition(", ")
    if method != "CCICP-GD":
        return ""
    if start:
        return readings(measured, claim.dataset, f", {start}")
    found = lookup(measured, [(claim.dataset, m, claim.quantity) for m in READINGS])
    if found is None:
        return ""
    values = " and ".join(f"{value.value:.2g}" for value in found)
    return f"{values} with eta never reset and with steps 1/L"


# ------------------------------------------------------------------ Figure 2: epsilon

_EPSILONS = (0.0001, 0.001, 0.01, 0.1, 0.5, 1.0, 5.0)


def _figure2_tasks(quick: bool) -> list[Task]:
    return [
        Task(name, f"epsilon={epsilon:g}", run)
        for name in (("monks1",) if quick else ("monks1", "guide1-t"))
        for epsilon in (_EPSILONS[::3] if quick else _EPSILONS)
        for run in range(1 if quick else 10)
    ]


def _figure2(task: Task, quick: bool, earlier: Any) -> Values:
    epsilon = float(task.method.removeprefix("epsilon="))
    X, y, X_new, y_new = _split(task, quick)
    model, seconds = timed(_model("CCICP-GD", 0.01, epsilon=epsilon), tl1(X), y)
    return {
        "accuracy": accuracy(model, tl1(X_new, X), y_new),
        "training seconds": seconds,
        "residual": float(model.residual_[0]),
    }


def _derive_figure2(measured: Means, runs: list[Run]) -> Means:
    extra: Means = {}
    for name in ("monks1", "guide1-t"):
        methods = [f"epsilon={epsilon:g}" for epsilon in _EPSILONS]
        rows = lookup(measured, [(name, m, "accuracy") for m in methods])
        ends = (methods[0], "epsilon=1")
        times = lookup(measured, [(name, m, "training seconds") for m in ends])
        if rows is None or times is None:
            continue
        values = [row.value for row in rows]
        key = (name, "CCICP-GD", "largest difference of accuracy between epsilons")
        extra[key] = Measured(max(values) - min(values), None, len(values))
        key = (name, "CCICP-GD", "time at epsilon 1e-4 / time at 1")
        extra[key] = Measured(times[0].value / times[1].value, None, times[0].count)
    return extra


def _explain_figure2(claim: Claim, measured: Means) -> str:
    """Say what the two ends of the range of epsilon give."""
    ends = [f"epsilon={epsilon:g}" for epsilon in (_EPSILONS[0], 1.0)]
    found = lookup(measured, [(claim.dataset, end, "accuracy") for end in ends])
    if found is None or "accuracy" not in claim.quantity:
        return ""
    said = " and ".join(
        f"{m.value:.3f} at {e}" for m, e in zip(found, ends, strict=True)
    )
    return (
        f"{said}: where eta = 0.02 exceeds 2/L the first inner step overshoots, and "
        "further ones with a smaller eta repair it"
    )


def _draw_figure2(runs: list[Run], path: Path) -> None:
    from krein.plotting import new_axes

    axes = new_axes(2, figsize=(9, 3.2))
    for name, colour in (("monks1", "#c1121f"), ("guide1-t", "#2a6f97")):
        for ax, quantity in zip(axes, ("accuracy", "training seconds"), strict=True):
            points: dict[float, list[float]] = {}
            for run in runs:
                if run.task.dataset == name:
                    epsilon = float(run.task.method.removeprefix("epsilon="))
                    points.setdefault(epsilon, []).append(run.values[quantity])
            at = sorted(points)
            mean = [float(np.mean(points[epsilon])) for epsilon in at]
            ax.semilogx(at, mean, "o-", color=colour, label=name)
            ax.set(xlabel="epsilon", title=quantity)
    axes[1].set_yscale("log")
    axes[0].legend(frameon=False)
    axes[0].figure.savefig(path, dpi=90)


# -------------------------------------------------------------- Figure 3: convergence


def _figure3_tasks(quick: bool) -> list[Task]:
    names = ("monks1",) if quick else ("monks1", "ijcnn1-tr")
    return [Task(n, m) for n in names for m in ("CCCP-GD", "CCICP-GD", "CCICP-SGD")]


def _figure3(task: Task, quick: bool, earlier: Any) -> Values:
    X, y, _, _ = _split(task, quick)
    model, _ = timed(_model(task.method, 0.01), tl1(X), y)
    history = model.result_.history
    curve = history["value"].tolist()
    falls = bool(np.all(np.diff(curve) <= 1e-12 * np.abs(curve[:-1])))
    return {
        "objective": curve,
        "residuals": history["residual"].tolist(),
        "falls at every step": "yes" if falls else "no",
        "last residual": float(model.residual_[0]),
        "status": model.result_.status,
    }


def _derive_figure3(measured: Means, runs: list[Run]) -> Means:
    extra: Means = {}
    for run in runs:
        for word in ("falls at every step", "status"):
            key = (run.task.dataset, run.task.method, word)
            extra[key] = Measured(run.values[word], None, 1)
        small = run.values["last residual"] <= 1e-3
        key = (run.task.dataset, run.task.method, "ends at a stationary point")
        extra[key] = Measured("yes" if small else "no", None, 1)
    return extra


def _draw_figure3(runs: list[Run], path: Path) -> None:
    from krein.plotting import new_axes

    names = sorted({run.task.dataset for run in runs})
    colours = {"CCCP-GD": "#c1121f", "CCICP-GD": "#2a6f97", "CCICP-SGD": "#3a7d44"}
    axes = np.atleast_1d(new_axes(len(names), figsize=(4.5 * len(names), 3.4)))
    for ax, name in zip(axes, names, strict=True):
        for run in runs:
            if run.task.dataset == name:
                method = run.task.method
                curve = run.values["objective"]
                ax.plot(curve, color=colours[method], label=method)
        ax.set(title=name, xlabel="outer iteration", ylabel="objective")
        ax.set_yscale("symlog")
    axes[0].legend(frameon=False)
    axes[0].figure.savefig(path, dpi=90)


SOLVER_TABLES = [
    Table(
        "liu-table4",
        "liu",
        "CCCP-GD, CCICP-GD, CCICP-SGD on four larger sets: accuracy and time",
        _time_tasks(("CCCP-GD", "CCICP-GD", "CCICP-SGD", "IKLR certified", *READINGS)),
        _timed_accuracy,
        _ratios("CCICP-GD"),
        explain=_explain_table4,
        grid="accuracy",
    ),
    Table(
        "liu-table6",
        "liu",
        "different starting points on monks1 and guide1-t",
        _table6_tasks,
        _table6,
        _derive_table6,
        explain=_explain_table6,
    ),
    Table(
        "liu-table7",
        "liu",
        "CCICP-SGD against CCICP-SGD-I on four larger sets",
        _time_tasks(("CCICP-SGD", "CCICP-SGD-I")),
        _timed_accuracy,
        _ratios("CCICP-SGD-I"),
        explain=_explain_table4,
    ),
    Table(
        "liu-figure2",
        "liu",
        "accuracy and time against the inexact parameter epsilon",
        _figure2_tasks,
        _figure2,
        _derive_figure2,
        _draw_figure2,
        explain=_explain_figure2,
    ),
    Table(
        "liu-figure3",
        "liu",
        "objective per outer iteration of the three procedures",
        _figure3_tasks,
        _figure3,
        _derive_figure3,
        _draw_figure3,
    ),
]
