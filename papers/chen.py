"""Chen, Ye (2008): Table 1 and Figures 1 to 3.

C = 1 as in the paper, rho by five-fold cross-validation with krein's fast solver. The
size of the noise is not stated; it is taken from the printed smallest eigenvalues. The
width is tuned, as in the paper; since its grid is not stated, everything is also run at
the width that gives the printed largest eigenvalue.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from papers.claims import Claim, Measured, lookup, printed
from papers.experiments import (
    RawRows,
    accuracy,
    folds_of,
    quiet_fit,
    tune,
)
from papers.noisy_kernels import SETS, noisy_kernel, width_of
from papers.runs import Means, Run, Table, Task, Values

__all__ = ["TABLES"]

# |lambda_min| is about xi sqrt(2 n) for the noise alone.
NOISE = {"Ionosphere": 1.0, "Heart": 0.5}
_RHOS = tuple(10.0**k for k in range(-3, 4))
_FIXES = {"Denoise": "clip", "Flip": "flip", "Shift": "shift", "SVM": "none"}
_INDEFINITE = "Indefinite SVM"
_PRINTED_WIDTH = ", printed width"
_RAW = ", raw rows"  # trained on the fixed matrix, test rows as they are


def _table1_tasks(quick: bool) -> list[Task]:
    methods = ("signature", *_FIXES, _INDEFINITE, f"Denoise{_RAW}", f"Flip{_RAW}")
    return [
        Task(name, method + width, split)
        for split in range(1 if quick else 10)
        for name in (("Sonar",) if quick else SETS)
        for width in ("", _PRINTED_WIDTH)
        for method in methods
    ]


def _table1(task: Task, quick: bool, earlier: Any) -> Values:
    noise = NOISE.get(task.dataset, 0.1)
    method = task.method.removesuffix(_PRINTED_WIDTH)
    width = task.method.removeprefix(method)
    if method == "signature":
        wanted = _printed_largest(task.dataset) if width else None
        return _signature(task, quick, noise, wanted)
    gamma = earlier(Task(task.dataset, f"signature{width}", task.split))["gamma"]
    data = noisy_kernel(task, quick, noise, gamma)
    K, y = data.training
    model, params = _tuned(method, task, quick, K, y)
    quiet_fit(model, K, y)
    return {
        "accuracy": 100 * accuracy(model, *data.new),
        "accuracy on clean rows": 100 * accuracy(model, *data.clean_new),
        **params,
    }


def _printed_largest(dataset: str) -> float:
    """Largest eigenvalue as the paper prints it."""
    key = (dataset, "signature", "lambda_max")
    return next(float(claim.paper) for claim in printed("chen") if claim.key == key)


def _signature(task: Task, quick: bool, noise: float, largest: float | None) -> Values:
    """Of the matrix of all points: the printed counts add up to all points."""
    gamma = None if largest is None else width_of(task, quick, noise, largest)
    data = noisy_kernel(task, quick, noise, gamma)
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
    method: str, task: Task, quick: bool, K: Any, y: Any
) -> tuple[Any, dict[str, float]]:
    from krein import ProxySVC, SpectrumSVC

    if method.endswith(_RAW):
        return RawRows(_FIXES[method.removesuffix(_RAW)], C=1.0), {}
    if method != _INDEFINITE:
        return SpectrumSVC(_FIXES[method], C=1.0), {}
    rhos = _RHOS[2:4] if quick else _RHOS
    best = tune(
        lambda rho: ProxySVC(1.0, rho=rho),
        [{"rho": rho} for rho in rhos],
        K,
        y,
        folds_of(task, y, 5),
    )
    return ProxySVC(1.0, rho=best["rho"]), best


def _derive_table1(measured: Means, runs: list[Run]) -> Means:
    """Say on which sets the indefinite SVM is the best of the five."""
    extra: Means = {}
    for name in SETS:
        row = lookup(measured, [(name, m, "accuracy") for m in (*_FIXES, _INDEFINITE)])
        if row is None:
            continue
        *others, ours = row
        word = "yes" if ours.value >= max(found.value for found in others) else "no"
        key = (name, _INDEFINITE, "best of the five")
        extra[key] = Measured(word, None, ours.count)
    return extra


def _explain_table1(claim: Claim, measured: Means) -> str:
    """Say what the width that gives the printed largest eigenvalue changes."""
    if claim.quantity == "best of the five":
        row = {
            m: measured.get((claim.dataset, m, "accuracy"))
            for m in (*_FIXES, _INDEFINITE)
        }
        best = sorted((r.value, m) for m, r in row.items() if r is not None)[::-1]
        return ", ".join(f"{m} {value:.1f}" for value, m in best)
    others = {
        "at the width that gives the printed lambda_max": (
            claim.method + _PRINTED_WIDTH,
            claim.quantity,
        ),
        "with raw test rows": (claim.method + _RAW, claim.quantity),
        "without noise in test rows": (claim.method, "accuracy on clean rows"),
    }
    found = {
        words: measured.get((claim.dataset, *key)) for words, key in others.items()
    }
    return ", ".join(f"{m.value:.4g} {words}" for words, m in found.items() if m)


# -------------------------------------------------------------------- Figures 1 to 3


_PRUNING = ("without pruning", "with pruning")
_TO_GAP = "iterations to a gap of 1e-2"
_OTHER_RHOS = (10, 100)  # the paper does not state rho; the figures are drawn for 1


def _figures_tasks(quick: bool) -> list[Task]:
    others = [f"with pruning, rho = {rho}" for rho in _OTHER_RHOS]
    return [Task("Sonar", method) for method in (*_PRUNING, *others)]


def _figures(task: Task, quick: bool, earlier: Any) -> Values:
    """Bounds, size of the localisation set and accuracy at every iteration."""
    data = noisy_kernel(Task("Sonar", "figures"), quick, 0.1)
    K, y = data.training
    K_new, y_new = data.new
    pruning, _, rho = task.method.partition(", rho = ")
    model = quiet_fit(_siqclp(pruning, float(rho or 1), quick), K, y)
    scores = [] if rho else _early_scores(model, K, y, K_new, y_new)
    history = model.result_.history
    return {
        "lower": history["value"].tolist(),
        "upper": history["bound"].tolist(),
        "size": history["size"].tolist(),
        "accuracies": scores,
        "accuracy": 100 * accuracy(model, K_new, y_new),
        "iterations": model.result_.n_iter,
        "last gap": float(history["gap"][-1]),
    }


def _siqclp(pruning: str, rho: float, quick: bool) -> Any:
    from krein import ProxySVC

    return ProxySVC(
        1.0,
        rho=rho,
        solver="siqclp",
        tol=1e-6,
        max_iter=5 if quick else 200,
        solver_options={"prune": pruning == "with pruning"},
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
    by_method = {run.task.method: run.values for run in runs}
    for method, values in by_method.items():
        slack = 1e-6 * max(map(abs, values["upper"]))
        rises = np.diff(values["lower"]) >= -slack
        falls = np.diff(values["upper"]) <= slack
        word = "yes" if rises.all() and falls.all() else "no"
        extra[("Sonar", method, "bounds are monotone")] = Measured(word, None, 1)
        gaps = np.subtract(values["upper"], values["lower"])
        small = np.flatnonzero(gaps < 1e-2)
        steps = float(small[0]) if small.size else f"more than {len(gaps) - 1}"
        extra[("Sonar", method, _TO_GAP)] = Measured(steps, None, 1)
        largest = float(np.nanmax(values["size"]))
        extra[("Sonar", method, "most kernels at a time")] = Measured(largest, None, 1)
        late = values["accuracies"][13:]  # from iteration 40 on
        if late:
            spread = max(late) - min(late)
            key = ("Sonar", method, "spread of accuracy after iteration 40")
            extra[key] = Measured(spread, None, len(late))
    if all(method in by_method for method in _PRUNING):
        full, pruned = (by_method[method] for method in _PRUNING)
        fewer = max(pruned["size"]) < max(full["size"])
        key = ("Sonar", "with pruning", "keeps the set smaller")
        extra[key] = Measured("yes" if fewer else "no", None, 1)
    return extra


def _explain_figures(claim: Claim, measured: Means) -> str:
    """Say how much rho, which the paper does not state, changes."""
    if claim.quantity != _TO_GAP:
        return ""
    names = {rho: f"with pruning, rho = {rho}" for rho in _OTHER_RHOS}
    found = {rho: measured.get(("Sonar", name, _TO_GAP)) for rho, name in names.items()}
    said = {
        rho: m.value if isinstance(m.value, str) else f"{m.value:.0f}"
        for rho, m in found.items()
        if m is not None
    }
    return ", ".join(f"{steps} at rho = {rho}" for rho, steps in said.items())


def _draw_figures(runs: list[Run], path: Path) -> None:
    from krein.plotting import new_axes

    axes = new_axes(3, figsize=(12, 3.4))
    for run in [run for run in runs if run.task.method in _PRUNING]:
        colour = "#c1121f" if run.task.method == "with pruning" else "black"
        for curve in ("lower", "upper"):
            axes[0].plot(run.values[curve], color=colour, linewidth=1)
        axes[1].plot(run.values["size"], color=colour, label=run.task.method)
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
        explain=_explain_table1,
        grid="accuracy",
        version=2,
    ),
    Table(
        "chen-figures",
        "chen",
        "SIQCLP on sonar: bounds, number of kernels, accuracy per iteration",
        _figures_tasks,
        _figures,
        _derive_figures,
        _draw_figures,
        explain=_explain_figures,
    ),
]
