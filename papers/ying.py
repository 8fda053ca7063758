"""Ying, Campbell, Girolami (2009): Table 3 and Figure 1.

Parameters are tuned once per split with krein's fast solver; the published solvers
then run at these parameters with the stopping rule of the paper. Times are measured on
the first split alone, with one eigendecomposition per step as published.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

from papers.claims import MORE_THAN, Claim, Measured, lookup
from papers.experiments import accuracy, folds_of, quiet_fit, timed
from papers.noisy_kernels import SETS, Noisy, noisy_kernel
from papers.runs import Means, Run, Table, Task, Values
from papers.ying_times import (
    BASE,
    LEAST,
    RATIO,
    largest_ratio,
    order_of_times,
    steps_timed,
    time_ratios,
)

__all__ = ["TABLES"]

_NOISE = 0.1
_CS = (0.1, 1.0, 10.0, 100.0)
_RHOS = (0.01, 0.1, 1.0, 10.0, 100.0)
_TUNING = "tuning"
# The set Q1 as printed, not cut by krein's bound on the solutions.
_AS_PRINTED = {"domain": "paper"}
# Published names; those that stop by the change of the objective are so asked to.
SOLVERS: dict[str, dict[str, Any]] = {
    "SMM": {"solver": "smm", "solver_options": {"stop": "change"}},
    "SPGM": {"solver": "spgm", "solver_options": {"stop": "change"}},
    "ACCPM": {
        "solver": "accpm",
        "tol": 1e-4,
        "max_iter": 300,
        "solver_options": _AS_PRINTED,
    },
    # The early stopping of Chen and Ye, section 6.2: further kernels change little.
    "SIQCLP": {
        "solver": "siqclp",
        "tol": 2e-2,
        "max_iter": 100,
        "solver_options": _AS_PRINTED,
    },
    "auto": {"solver": "auto"},
}
# They solved the master problem by Mosek, and stopped by the change of the objective.
_EXACT, _CONIC = "exact master", "conic solver"
_CHANGE = "published stop"
_GRID, _POWER = "LIBSVM's grid", "one power of two"
_READINGS = {
    _GRID: "all features standardised, gamma = 2^odd by cross-validation",
    _CONIC: "SIQCLP with an exact master problem by a general conic solver, cut short "
    "at 60 kernels",
    _EXACT: "SIQCLP with krein's exact master problem, until a change below 1e-6",
    _CHANGE: "ACCPM until the objective changes by less than 1e-6",
    "": "widths by krein's grid; SIQCLP to a gap of 2 %, ACCPM to 1e-4 or 300 cuts",
    _POWER: "one gamma = 2^odd a set, read off the printed lambda_max",
}
# Reading -> what it concerns.
_ONLY = {_GRID: "kernel", _POWER: "kernel", _CHANGE: "ACCPM"}
_ONLY |= {_EXACT: "SIQCLP", _CONIC: "SIQCLP"}
# Exponents whose largest eigenvalue is nearest on the first split of the first seed.
_POWERS = {"Sonar": -5, "Ionosphere": -5, "Heart": -7, "Diabetes": -7}
_POWERS |= {"Breast-cancer": -3, "USPS-35": -7}
# The conic solver takes 2 to 3 minutes on the smaller sets and up to five hours on
# others. It is cut short when it took so many times the longest time that would hold.
_MARGIN = 1.2
# It was given so many kernels, by our choice: the paper stops by the change of the
# objective, so that the time of a run that took all of them is a lower bound.
_KERNELS = 60
_PUBLISHED = (f"SIQCLP, {_CONIC}", f"ACCPM, {_CHANGE}")
_METHODS = (*SOLVERS, *_PUBLISHED, f"SIQCLP, {_EXACT}")
# Which should be slower than which.
_ORDER = [("SPGM", "SMM"), ("SIQCLP", "SPGM"), ("ACCPM", "SMM")]
_ORDER += list(zip(_PUBLISHED, ("SPGM", "SMM"), strict=True))
_LIMITS = {"tol": 1e-6, "max_iter": 2000}
_QUICK_ITER = 10
_CLEAN = "auto, test rows without noise"


def _model(method: str, C: float, rho: float, quick: bool, **more: Any) -> Any:
    from krein import ProxySVC

    method, _, reading = method.partition(", ")
    settings = {**_LIMITS, **SOLVERS[method]}
    if reading == _CONIC:
        settings |= {"max_iter": _KERNELS, "tol": 1e-6}
    elif reading == _EXACT:
        settings |= _LIMITS
        more = {**more, "master": "exact", "stop": "change"}
    elif reading == _CHANGE:
        settings |= _LIMITS
        more = {**more, "stop": "change"}
    if quick and method != "auto":
        settings["max_iter"] = _QUICK_ITER
    options = {**settings.pop("solver_options", {}), **more}
    return ProxySVC(C, rho=rho, **settings, solver_options=options)


def _under(method: str, reading: str) -> str:
    return f"{method}, {reading}" if method == _ONLY.get(reading) else method


def _timed_as_published(claim: Claim) -> bool:
    """Tell whether a claim is on times that krein's own stops say nothing about."""
    timed = "seconds" in claim.quantity or "slower" in claim.quantity
    return timed and claim.method in ("SIQCLP", "ACCPM")


def _table3_tasks(quick: bool) -> list[Task]:
    names = ("Sonar",) if quick else tuple(SETS)
    splits = range(1 if quick else 10)
    tasks = [Task(name, _TUNING, split) for split in splits for name in names]
    tasks += [
        Task(name, method, split)
        for split in splits
        for name in names
        for method in (*SOLVERS, _CLEAN, *(f"kernel, {r}" for r in (_GRID, _POWER)))
    ]
    tasks += [Task(name, f"time of {m}") for name in names for m in SOLVERS]
    if quick:
        return tasks
    tasks += [Task(name, f"time of {m}") for m in _PUBLISHED for name in names]
    return [*tasks, Task("Sonar", f"time of SIQCLP, {_EXACT}")]


def _table3(task: Task, quick: bool, earlier: Any) -> Values:
    if task.method == _TUNING:
        return _tuning(task, quick)
    if task.method.startswith("kernel"):
        return _kernel(task, quick)
    tuned = earlier(Task(task.dataset, _TUNING, task.split))
    data = noisy_kernel(task, quick, _NOISE, tuned["gamma"])
    K, y = data.training
    if task.method == _CLEAN:
        model = quiet_fit(_model("auto", tuned["C"], tuned["rho"], quick), K, y)
        return {"accuracy": 100 * accuracy(model, *data.clean_new)}
    method = task.method.removeprefix("time of ")
    timing = task.method.startswith("time of ")
    more = {"oracle": "eigh"} if timing and method != "auto" else {}
    if method == _under("SIQCLP", _CONIC):
        return _conic_time(task, data, tuned)
    model = _model(method, tuned["C"], tuned["rho"], quick, **more)
    return _fitted(model, data, timing)


def _fitted(model: Any, data: Noisy, timing: bool) -> Values:
    model, seconds = timed(model, *data.training)
    result = model.result_
    values = {
        "accuracy": 100 * accuracy(model, *data.new),
        "objective": result.value,
        "relative gap": result.certificate.relative,
        "iterations": result.n_iter,
    }
    return {**values, "seconds": seconds} if timing else values


def _conic_time(task: Task, data: Noisy, tuned: Values) -> Values:
    """Time SMM, and then SIQCLP until it took too long for the printed ratio."""
    from papers.conic_master import OutOfTimeError, conic_master_for

    def model(method: str, **more: Any) -> Any:
        return _model(method, tuned["C"], tuned["rho"], False, oracle="eigh", **more)

    base = timed(model("SMM"), *data.training)[1]
    master = conic_master_for(_MARGIN * largest_ratio(task.dataset) * base)
    start = time.process_time()
    try:
        values = _fitted(model(_under("SIQCLP", _CONIC), master=master), data, True)
    except OutOfTimeError as error:
        values = {LEAST: time.process_time() - start, "iterations": error.steps}
    return {**values, BASE: base}


def _tuning(task: Task, quick: bool) -> Values:
    """Width, C and rho of one split, and the eigenvalues of its training part."""
    from krein import ProxySVCCV

    data = noisy_kernel(task, quick, _NOISE)
    K, y = data.training
    search = ProxySVCCV(
        Cs=_CS[1:3] if quick else _CS,
        rhos=_RHOS[2:4] if quick else _RHOS,
        cv=folds_of(task, y, 5),
    )
    quiet_fit(search, K, y)
    best = search.best_params_
    return {"C": best["C"], "rho": best["rho"], **_eigenvalues(data)}


def _kernel(task: Task, quick: bool) -> Values:
    """Eigenvalues at a width of LIBSVM's grid, features of all sets standardised."""
    tuned = task.method == _under("kernel", _GRID)
    gamma = None if tuned else 2.0 ** _POWERS[task.dataset]
    data = noisy_kernel(
        task, quick, _NOISE, gamma, scaling="all standardised", libsvm_grid=tuned
    )
    return _eigenvalues(data)


def _eigenvalues(data: Noisy) -> Values:
    """Of the training part, as the caption of Table 3 says."""
    eigenvalues = np.linalg.eigvalsh(data.training[0])
    return {
        "gamma": data.gamma,
        "lambda_min": eigenvalues[0],
        "lambda_max": eigenvalues[-1],
    }


def _cut_by_kernels(measured: Means) -> Means:
    """Call the time of a run that used up its kernels what it is, a lower bound."""
    found = dict(measured)
    for name in SETS:
        run = (name, f"time of {_under('SIQCLP', _CONIC)}")
        steps, seconds = (found.get((*run, q)) for q in ("iterations", "seconds"))
        if steps is not None and seconds is not None and steps.value >= _KERNELS:
            found[(*run, LEAST)] = found.pop((*run, "seconds"))
    return found


def _derive_table3(measured: Means, runs: list[Run]) -> Means:
    measured, extra = _cut_by_kernels(measured), {}
    for name in SETS:
        for quantity in ("lambda_min", "lambda_max"):
            found = measured.get((name, _TUNING, quantity))
            if found is not None:
                extra[(name, "kernel", quantity)] = found
        extra.update(time_ratios(name, _METHODS, measured))
        extra.update(_agreement(name, measured))
    extra.update(order_of_times(extra, tuple(SETS), _ORDER))
    return extra


def _agreement(name: str, measured: Means) -> Means:
    """Say whether the published solvers agree within two standard errors."""
    found = lookup(measured, [(name, m, "accuracy") for m in list(SOLVERS)[:4]])
    if found is None or any(f.spread is None for f in found):
        return {}
    values = [f.value for f in found]
    error = max(f.spread / np.sqrt(f.count) for f in found)
    word = "yes" if max(values) - min(values) <= 2 * error else "no"
    key = (name, "all solvers", "accuracies agree within two standard errors")
    return {key: Measured(word, None, found[0].count)}


def _explain_table3(claim: Claim, measured: Means) -> str:
    """Say what noise in the test rows does, and how far the solvers ran when timed."""
    if claim.quantity == "accuracy":
        found = measured.get((claim.dataset, _CLEAN, "accuracy"))
        return "" if found is None else f"{found.value:.4g} if test rows had no noise"
    if claim.quantity == RATIO:
        return steps_timed(claim, measured)
    return ""


# ------------------------------------------------------------------------ Figure 1


def _figure1_tasks(quick: bool) -> list[Task]:
    names = ("Sonar",) if quick else ("Sonar", "Diabetes")
    return [Task(n, m) for n in names for m in ("SMM", "SPGM", "ACCPM")]


def _figure1(task: Task, quick: bool, earlier: Any) -> Values:
    """Objective per iteration at C = 1, rho = 1 (the paper does not say which)."""
    data = noisy_kernel(task, quick, _NOISE)
    K, y = data.training
    model = _model(task.method, 1.0, 1.0, quick)
    if not quick:  # to the optimum, not to where the published rule stops
        steps = 750 if task.method == "ACCPM" else 5000
        options = _AS_PRINTED if task.method == "ACCPM" else {"stop": "gap"}
        model.set_params(max_iter=steps, tol=1e-4, solver_options=options)
    quiet_fit(model, K, y)
    best = quiet_fit(_model("auto", 1.0, 1.0, quick), K, y)
    history = model.result_.history
    curve = history["value"]
    goal = float(best.objective_[0])
    start = float(best.result_.history["value"][0])
    near = curve >= goal - 1e-3 * max(goal - start, 1e-300)
    return {
        "objective": curve[:500].tolist(),
        "optimum": goal,
        "iterations": len(curve) - 1,
        **({"iterations to 0.1%": int(np.argmax(near))} if near.any() else {}),
    }


def _derive_figure1(measured: Means, runs: list[Run]) -> Means:
    extra: Means = {}
    for name in ("Sonar", "Diabetes"):
        run_of = lookup(measured, [(name, m, "iterations") for m in ("SMM", "SPGM")])
        ours, theirs = (
            measured.get((name, m, "iterations to 0.1%")) for m in ("SMM", "SPGM")
        )
        if run_of is None or ours is None:
            continue
        # A run that did not get there needs more than it was given.
        other = run_of[1].value + 1 if theirs is None else theirs.value
        key = (name, "SMM", "needs fewer iterations than SPGM")
        extra[key] = Measured("yes" if ours.value < other else "no", None, 1)
        words = f"{MORE_THAN if theirs is None else ''}{other:.0f}"
        extra[(name, "SMM and SPGM", "iterations to 0.1%")] = Measured(
            f"{ours.value:.0f} and {words}", None, 1
        )
        cuts = measured.get((name, "ACCPM", "iterations to 0.1%"))
        given = measured.get((name, "ACCPM", "iterations"))
        key = (name, "ACCPM", "iterations / iterations of SMM")
        if cuts is not None:
            extra[key] = Measured(cuts.value / ours.value, None, 1)
        elif given is not None:
            least = f"{MORE_THAN}{given.value / ours.value:.2f}"
            extra[key] = Measured(least, None, 1)
    return extra


def _draw_figure1(runs: list[Run], path: Path) -> None:
    from krein.result import new_axes

    names = sorted({run.task.dataset for run in runs}, reverse=True)
    colours = {"SMM": "#2a6f97", "SPGM": "#c1121f", "ACCPM": "black"}
    axes = np.atleast_1d(new_axes(len(names), figsize=(4.5 * len(names), 3.4)))
    for ax, name in zip(axes, names, strict=True):
        for run in runs:
            if run.task.dataset == name:
                curve = run.values["objective"]
                method = run.task.method
                ax.plot(range(len(curve)), curve, color=colours[method], label=method)
                ax.axhline(run.values["optimum"], color="#c9c9c9", linewidth=0.8)
        ax.set(title=name, xlabel="iteration", ylabel="objective", xlim=(0, 200))
    axes[0].legend(frameon=False)
    axes[0].figure.savefig(path, dpi=90)


TABLES = [
    Table(
        "ying-table3",
        "ying",
        "four solvers of the proxy SVM and krein's: accuracy and time on six sets",
        _table3_tasks,
        _table3,
        _derive_table3,
        explain=_explain_table3,
        readings=_READINGS,
        under=_under,
        binding=_timed_as_published,
    ),
    Table(
        "ying-figure1",
        "ying",
        "objective per iteration of SMM, SPGM and ACCPM",
        _figure1_tasks,
        _figure1,
        _derive_figure1,
        _draw_figure1,
        version=3,
    ),
]
