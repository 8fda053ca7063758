"""Chen, Ye (2008): Table 1 and Figures 1 to 3.

The width by five-fold cross-validation and C = 1, as the paper states, rho by five-fold
cross-validation with krein's fast solver. The authors' slides choose C by
cross-validation too, which is a reading of its own. The size of the noise is not
stated; it is taken from the printed smallest eigenvalues.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from papers.claims import IMPOSSIBLE, MORE_THAN, Measured, lookup, printed
from papers.experiments import accuracy, folds_of, quiet_fit, tune
from papers.noisy_kernels import SETS, Noisy, noisy_kernel
from papers.runs import Means, Run, Table, Task, Values

__all__ = ["TABLES"]

# |lambda_min| is about xi sqrt(2 n) for the noise alone.
NOISE = {"Ionosphere": 1.0, "Heart": 0.5}
_RHOS = tuple(10.0**k for k in range(-3, 4))
_CS = (0.1, 1.0, 10.0, 100.0)  # of the slides' reading
_FIXES = {"Denoise": "clip", "Flip": "flip", "Shift": "shift", "SVM": "none"}
_INDEFINITE = "Indefinite SVM"
_FIVE = (*_FIXES, _INDEFINITE)
# One width for all sets, found from the printed largest eigenvalue of Sonar. The paper
# states a width by cross-validation, so that this reading decides nothing.
_ONE_GAMMA = 0.215  # 10^(-2/3)
_READINGS = {
    "whole matrix": "width tuned, whole matrix",
    "": "width tuned, rows mapped",
    "C tuned": "width and C tuned (slides), rows mapped",
    "one width, whole matrix": "features in [-1, 1], gamma = 0.215, whole matrix",
    "one width": "features in [-1, 1], gamma = 0.215, rows mapped",
}


def _under(method: str, reading: str) -> str:
    """Name of a method under a reading.

    A signature knows neither of new rows nor of C.
    """
    if method == "signature":
        reading = "one width" if reading.startswith("one width") else ""
    return f"{method}, {reading}" if reading else method


def _table1_tasks(quick: bool) -> list[Task]:
    methods = [_under(m, r) for r in _READINGS for m in ("signature", *_FIVE)]
    return [
        Task(name, method, split)
        for split in range(1 if quick else 10)
        for name in (("Sonar",) if quick else SETS)
        for method in dict.fromkeys(methods)
    ]


def _table1(task: Task, quick: bool, earlier: Any) -> Values:
    method, _, reading = task.method.partition(", ")
    width = "one width" if "one width" in reading else ""
    noise = NOISE.get(task.dataset, 0.1)
    scaling = "[-1, 1]" if width else "standardised"
    if method == "signature":
        gamma = _ONE_GAMMA if width else None
        return _signature(noisy_kernel(task, quick, noise, gamma, scaling=scaling))
    signature = earlier(Task(task.dataset, _under("signature", width), task.split))
    data = noisy_kernel(task, quick, noise, signature["gamma"], scaling=scaling)
    if "whole matrix" in reading:
        tuned = Task(task.dataset, _under(_INDEFINITE, width), task.split)
        return _whole_matrix(method, data, earlier, tuned)
    K, y = data.training
    Cs = _CS if "C tuned" in reading else (1.0,)
    model, params = _tuned(method, task, Cs[:2] if quick else Cs, quick, K, y)
    quiet_fit(model, K, y)
    return {"accuracy": 100 * accuracy(model, *data.new), **params}


def _whole_matrix(method: str, data: Noisy, earlier: Any, tuned: Task) -> Values:
    """Training and test points fixed together; the proxy by the joint rule of Luss."""
    from krein import ProxySVC, SpectrumSVC, transductive_kernel

    K, y = data.training
    if method == _INDEFINITE:
        rho = earlier(tuned)["rho"]
        proxy = quiet_fit(ProxySVC(1.0, rho=rho, new_points="luss"), K, y)
        K_new, y_new = data.new
        answers = proxy.predict(K_new, K_new_new=data.among_new)
        return {"accuracy": 100 * float(np.mean(answers == y_new)), "rho": rho}
    fixed, rows = transductive_kernel(data.K, data.train, _FIXES[method])
    model = quiet_fit(SpectrumSVC("none", C=1.0), fixed, y)
    return {"accuracy": 100 * accuracy(model, rows, data.y[data.test])}


def _signature(data: Noisy) -> Values:
    """Of the matrix of all points: the printed counts add up to all points."""
    eigenvalues = np.linalg.eigvalsh(data.K)
    return {
        "gamma": data.gamma,
        "negative eigenvalues": int(np.sum(eigenvalues < 0)),
        "positive eigenvalues": int(np.sum(eigenvalues > 0)),
        "lambda_min": eigenvalues[0],
        "lambda_max": eigenvalues[-1],
        "ratio": abs(eigenvalues[-1] / eigenvalues[0]),
    }


def _tuned(
    method: str, task: Task, Cs: tuple[float, ...], quick: bool, K: Any, y: Any
) -> tuple[Any, dict[str, float]]:
    """Model of a method with rho, and C where there are several, by five folds."""
    from krein import ProxySVC, SpectrumSVC

    folds = folds_of(task, y, 5)
    if method != _INDEFINITE:
        fix = _FIXES[method]
        best = tune(
            lambda C: SpectrumSVC(fix, C=C), [{"C": C} for C in Cs], K, y, folds
        )
        return SpectrumSVC(fix, **best), best if len(Cs) > 1 else {}
    rhos = _RHOS[2:4] if quick else _RHOS
    grid = [{"C": C, "rho": rho} for C in Cs for rho in rhos]
    best = tune(lambda C, rho: ProxySVC(C, rho=rho), grid, K, y, folds)
    if len(Cs) == 1:
        return ProxySVC(**best), {"rho": best["rho"]}
    return ProxySVC(**best), best


def _derive_table1(measured: Means, runs: list[Run]) -> Means:
    """Say where the indefinite SVM is the best of the five, and which counts add up."""
    extra: Means = {}
    for name in SETS:
        row_word = IMPOSSIBLE if _decimals_are_wrong(name) else "possible"
        for reading in _READINGS:
            key = (name, _under("signature", reading), _COUNTS)
            extra[key] = Measured(row_word, None, 0)
            keys = [(name, _under(m, reading), "accuracy") for m in _FIVE]
            row = lookup(measured, keys)
            if row is None:
                continue
            *others, ours = row
            word = "yes" if ours.value >= max(m.value for m in others) else "no"
            key = (name, _under(_INDEFINITE, reading), "best of the five")
            extra[key] = Measured(word, None, ours.count)
    return extra


_COUNTS = "both counts as printed"


def _decimals_are_wrong(dataset: str) -> bool:
    """Tell whether the means of ten whole numbers have two decimals, or do not add up.

    The number of points is a whole number too, so that the sum of the two means is one.
    """
    counts = [
        float(claim.paper)
        for claim in printed("chen")
        if claim.dataset == dataset and claim.quantity.endswith("tive eigenvalues")
    ]
    return any(abs(10 * c - round(10 * c)) > 1e-6 for c in (*counts, sum(counts) / 10))


# -------------------------------------------------------------------- Figures 1 to 3


_PRUNING = ("without pruning", "with pruning")
_GAPS = (1e-2, 1e-5)
# Three times as many as printed decide a claim: 1800 for a gap of 1e-5, and without
# pruning, where 1e-2 alone is claimed, 450 (the inexact master needs fewer). With other
# values of rho more than 150 are enough.
_STEPS = {"with pruning": 1800, "without pruning": 300}
_EXACT_STEPS = _STEPS | {"without pruning": 450}
# The figures belong to the width of Table 1. rho is not stated: of the powers of ten,
# the one with about the printed 150 steps to a gap of 1e-2.
_FIGURE_RHO = "10"
# Their master problem was solved by a general solver, exactly; krein's other one is
# accurate to 1e-7 of f - f(0), which is above a gap of 1e-5.
_EXACT = "exact master"


def _figures_tasks(quick: bool) -> list[Task]:
    others = [f"with pruning, rho = {rho}" for rho in (1, 100)]
    others += [_under_master(method, _EXACT) for method in _PRUNING]
    return [Task("Sonar", method) for method in (*_PRUNING, *others)]


def _figures(task: Task, quick: bool, earlier: Any) -> Values:
    """Bounds, size of the localisation set and accuracy at every iteration."""
    data = noisy_kernel(
        Task("Sonar", "figures"), quick, 0.1, _ONE_GAMMA, scaling="[-1, 1]"
    )
    K, y = data.training
    K_new, y_new = data.new
    pruning, _, more = task.method.partition(", ")
    rho = more.removeprefix("rho = ") if more.startswith("rho") else ""
    allowed = _EXACT_STEPS if more == _EXACT else _STEPS
    steps = 5 if quick else 200 if rho else allowed[pruning]
    model = _siqclp(pruning, rho or _FIGURE_RHO, steps)
    if more == _EXACT:
        model.solver_options["master"] = "exact"
    quiet_fit(model, K, y)
    scored = task.method == "with pruning"
    history = model.result_.history
    return {
        "lower": history["value"].tolist(),
        "upper": history["bound"].tolist(),
        "size": history["size"].tolist(),
        "accuracies": _early_scores(model, K, y, K_new, y_new) if scored else [],
        "accuracy": 100 * accuracy(model, K_new, y_new),
        "iterations": model.result_.n_iter,
    }


def _under_master(method: str, reading: str) -> str:
    return f"{method}, {reading}" if reading and method in _PRUNING else method


def _siqclp(pruning: str, rho: str, steps: int) -> Any:
    from krein import ProxySVC

    return ProxySVC(
        1.0,
        rho=float(rho),
        solver="siqclp",
        tol=5e-8,
        max_iter=steps,
        solver_options={"prune": pruning == "with pruning", "domain": "paper"},
    )


def _early_scores(model: Any, K: Any, y: Any, K_new: Any, y_new: Any) -> list[float]:
    """Accuracy after k iterations, for every third k up to 70."""
    from sklearn.base import clone

    scores = []
    for k in range(1, min(70, int(model.result_.n_iter)) + 1, 3):
        early = quiet_fit(clone(model).set_params(max_iter=k), K, y)
        scores.append(100 * accuracy(early, K_new, y_new))
    return scores


def _derive_figures(measured: Means, runs: list[Run]) -> Means:
    extra: Means = {}
    for run in runs:
        found = _read_off(run.values)
        extra.update({("Sonar", run.task.method, what): m for what, m in found.items()})
    sizes = lookup(extra, [("Sonar", m, "kernels at the end") for m in _PRUNING])
    if sizes is not None:
        key = ("Sonar", "with pruning", "keeps the set smaller")
        smaller = sizes[1].value < sizes[0].value
        extra[key] = Measured("yes" if smaller else "no", None, 1)
    return extra


def _read_off(values: Values) -> dict[str, Measured]:
    """What the paper says about one run."""
    slack = 1e-6 * max(map(abs, values["upper"]))
    rises = np.diff(values["lower"]) >= -slack
    falls = np.diff(values["upper"]) <= slack
    word = "yes" if rises.all() and falls.all() else "no"
    found = {
        "bounds are monotone": Measured(word, None, 1),
        "kernels at the end": Measured(values["size"][-1], None, 1),
    }
    gaps = np.subtract(values["upper"], values["lower"])
    for goal in _GAPS:
        small = np.flatnonzero(gaps < goal)
        steps = float(small[0]) if small.size else f"{MORE_THAN}{len(gaps) - 1}"
        found[f"iterations to a gap of {goal:.0e}"] = Measured(steps, None, 1)
    late = values["accuracies"][13:]  # from iteration 40 on
    if late:
        spread = max(late) - min(late)
        found["spread of accuracy after iteration 40"] = Measured(spread, None, 1)
    return found


def _draw_figures(runs: list[Run], path: Path) -> None:
    from krein.result import new_axes

    axes = new_axes(3, figsize=(12, 3.4))
    for run in [run for run in runs if run.task.method in _PRUNING]:
        pruned = run.task.method == "with pruning"
        colour = "#c1121f" if pruned else "black"
        for curve in ("lower", "upper"):
            axes[0].plot(run.values[curve], color=colour, linewidth=1)
        axes[1].plot(run.values["size"], color=colour, label=run.task.method)
        if pruned:
            at = np.arange(1, 1 + 3 * len(run.values["accuracies"]), 3)
            axes[2].plot(at, run.values["accuracies"], color=colour)
    for ax, title in zip(axes, ("bounds", "kernels", "accuracy, %"), strict=True):
        ax.set(title=title, xlabel="iteration")
    axes[1].legend(frameon=False)
    axes[0].figure.savefig(path, dpi=90)


TABLES = [
    Table(
        "chen-table1",
        "chen",
        "Denoise, Flip, Shift, SVM and Indefinite SVM on six sets, signatures",
        _table1_tasks,
        _table1,
        _derive_table1,
        version=2,
        readings=_READINGS,
        under=_under,
    ),
    Table(
        "chen-figures",
        "chen",
        "SIQCLP on sonar: bounds, number of kernels, accuracy per iteration",
        _figures_tasks,
        _figures,
        _derive_figures,
        _draw_figures,
        version=2,
        readings={_EXACT: "exact master problem", "": "inexact master problem"},
        under=_under_master,
        binding=lambda claim: "gap" in claim.quantity,
    ),
]
