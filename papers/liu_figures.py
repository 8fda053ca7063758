"""Liu et al.: Figures 2 and 3 (the inexact parameter, convergence)."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np

from papers.claims import MORE_THAN, Measured, lookup
from papers.experiments import accuracy, status_of
from papers.liu_data import LABELS, has_status, logistic, published, tl1, under
from papers.liu_solvers import BOTH, THREE, cut_half, timed_fit
from papers.runs import Means, Run, Table, Task, Values

__all__ = ["FIGURES"]

# ------------------------------------------------------------------ Figure 2: epsilon

_EPSILONS = (0.0001, 0.001, 0.01, 0.1, 0.5, 1.0, 5.0)


def _figure2_tasks(quick: bool) -> list[Task]:
    return [
        Task(name, under("CCICP-GD", reading) + f", epsilon={epsilon:g}", run)
        for reading in BOTH
        for name in (("monks1",) if quick else ("monks1", "guide1-t"))
        for epsilon in (_EPSILONS[::3] if quick else _EPSILONS)
        for run in range(1 if quick else 10)
    ]


def _figure2(task: Task, quick: bool, earlier: Any) -> Values:
    method, epsilon = task.method.split(", epsilon=")
    X, y, X_new, y_new = cut_half(task, quick)
    model = logistic(method, 0.01, epsilon=float(epsilon))
    model, seconds = timed_fit(model, tl1(X), y)
    return {
        "accuracy": accuracy(model, tl1(X_new, X), y_new),
        "status": status_of(model),
        "training seconds": seconds,
        "residual": float(model.residual_[0]),
    }


def _derive_figure2(measured: Means, runs: list[Run]) -> Means:
    extra: Means = {}
    for name in ("monks1", "guide1-t"):
        for method in published(("CCICP-GD",), BOTH):
            names = [f"{method}, epsilon={epsilon:g}" for epsilon in _EPSILONS]
            rows = lookup(measured, [(name, m, "accuracy") for m in names])
            ends = (names[0], f"{method}, epsilon=1")
            times = lookup(measured, [(name, m, "training seconds") for m in ends])
            if rows is None or times is None:
                continue
            values = [row.value for row in rows]
            key = (name, method, "largest difference of accuracy between epsilons")
            extra[key] = Measured(max(values) - min(values), None, len(values))
            key = (name, method, "time at epsilon 1e-4 / time at 1")
            ratio = times[0].value / times[1].value
            extra[key] = Measured(ratio, None, times[0].count)
            key = (name, method, "faster at epsilon 1 than at 1e-4")
            extra[key] = Measured("yes" if ratio > 1 else "no", None, times[0].count)
            every = lookup(measured, [(name, m, "training seconds") for m in names])
            if every is not None:
                least = int(np.argmin([found.value for found in every]))
                key = (name, method, "epsilon of the least time")
                extra[key] = Measured(_EPSILONS[least], None, times[0].count)
    return extra


def _draw_figure2(runs: list[Run], path: Path) -> None:
    from krein.result import new_axes

    axes = new_axes(2, figsize=(9, 3.2))
    colours = {"monks1": "#c1121f", "guide1-t": "#2a6f97"}
    curves: dict[tuple[str, str], dict[float, list[Run]]] = {}
    for run in [run for run in runs if not run.diverged]:
        method, epsilon = run.task.method.split(", epsilon=")
        curve = curves.setdefault((run.task.dataset, method), {})
        curve.setdefault(float(epsilon), []).append(run)
    for (name, method), points in curves.items():
        style = "o-" if "printed" in method else "o:"
        label = f"{name}, {method.partition(', ')[2] or 'corrected equations'}"
        at = sorted(points)
        for ax, quantity in zip(axes, ("accuracy", "training seconds"), strict=True):
            mean = [np.mean([run.values[quantity] for run in points[e]]) for e in at]
            ax.semilogx(at, mean, style, color=colours[name], label=label)
            ax.set(xlabel="epsilon", title=quantity)
    axes[1].set_yscale("log")
    axes[0].legend(frameon=False, fontsize=7)
    axes[0].figure.savefig(path, dpi=90)


# -------------------------------------------------------------- Figure 3: convergence


def _figure3_tasks(quick: bool) -> list[Task]:
    names = ("monks1",) if quick else ("monks1", "ijcnn1-tr")
    return [Task(n, m) for n in names for m in published(THREE, BOTH)]


def _figure3(task: Task, quick: bool, earlier: Any) -> Values:
    X, y, _, _ = cut_half(task, quick)
    model = logistic(task.method, 0.01)
    with warnings.catch_warnings():  # a figure shows divergence, it scores nothing
        warnings.simplefilter("ignore")
        model.fit(tl1(X), y)
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
        key = (run.task.dataset, run.task.method, "iterations to converge")
        extra[key] = Measured(_settled(run.values["objective"]), None, 1)
    return {**extra, **_orders(extra)}


def _orders(found: Means) -> Means:
    """Say whether CCICP-GD needs fewer iterations than CCCP-GD, as claimed."""
    orders: Means = {}
    for (name, method, quantity), inexact in found.items():
        exact = (name, method.replace("CCICP-GD", "CCCP-GD", 1), quantity)
        if quantity != "iterations to converge" or "CCICP-GD" not in method:
            continue
        fewer = _number(inexact.value) < _number(found[exact].value)
        key = (name, method, "fewer iterations than CCCP-GD")
        orders[key] = Measured("yes" if fewer else "no", None, 1)
    return orders


def _number(steps: float | str) -> float:
    """Of "more than 20" the 20."""
    return float(str(steps).removeprefix(MORE_THAN))


def _settled(curve: list[float]) -> float | str:
    """Steps after which none changes the objective by 1 % of its first value."""
    moves = np.flatnonzero(np.abs(np.diff(curve)) > 0.01 * abs(curve[0]))
    last = int(moves[-1]) + 1 if moves.size else 0
    return f"{MORE_THAN}{last}" if last == len(curve) - 1 else float(last)


def _draw_figure3(runs: list[Run], path: Path) -> None:
    from krein.result import new_axes

    names = sorted({run.task.dataset for run in runs})
    colours = {"CCCP-GD": "#c1121f", "CCICP-GD": "#2a6f97", "CCICP-SGD": "#3a7d44"}
    axes = np.atleast_1d(new_axes(len(names), figsize=(4.5 * len(names), 3.4)))
    for ax, name in zip(axes, names, strict=True):
        for run in runs:
            if run.task.dataset == name:
                method = run.task.method
                curve = run.values["objective"]
                style = "-" if "printed" in method else ":"
                colour = colours[method.partition(", ")[0]]
                ax.plot(curve, style, color=colour, label=method)
        ax.set(title=name, xlabel="outer iteration", ylabel="objective")
        ax.set_yscale("symlog")
    axes[0].legend(frameon=False, fontsize=7)
    axes[0].figure.savefig(path, dpi=90)


FIGURES = [
    Table(
        "liu-figure2",
        "liu",
        "accuracy and time against the inexact parameter epsilon",
        _figure2_tasks,
        _figure2,
        _derive_figure2,
        _draw_figure2,
        version=2,
        current=has_status,
        readings=BOTH,
        under=under,
    ),
    Table(
        "liu-figure3",
        "liu",
        "objective per outer iteration of the three procedures",
        _figure3_tasks,
        _figure3,
        _derive_figure3,
        _draw_figure3,
        current=has_status,
        # Its curves fall, as those of a gradient do.
        readings={name: LABELS[name] for name in ("", "printed equations")},
        under=under,
    ),
]
