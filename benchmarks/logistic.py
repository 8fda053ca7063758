"""Indefinite logistic regression: residuals, time to a residual; DC SVMs.

    python benchmarks/logistic.py

The real data come from the folder named by KREIN_DATA; a table whose data are missing
says so. Times include all that a solver needs from the raw matrix on, the
eigendecomposition of the concave-convex procedures among it; CPU seconds are printed
besides, because they hold on a busy machine too (set OPENBLAS_NUM_THREADS=1 for them,
threads that wait count as work). Residuals are computed
here, from the coefficients, not taken from the solver.
"""

import os
import time
import warnings
from pathlib import Path

import numpy as np
from scipy.special import expit
from threadpoolctl import threadpool_info

from krein import DCSVC, KreinLogisticRegression, tl1_kernel

SETS = [
    "monks1",
    "monks2",
    "monks3",
    "sonar",
    "heart_statlog",
    "ionosphere",
    "breast_cancer_wisconsin",
    "haberman",
    "transfusion",
]
SOLVERS = {
    "newton": {},
    "krein-gd": {"tol": 1e-6},
    "cccp-gd": {},
    "ccicp-gd": {},
    "ccicp-sgd": {},
    "ccicp-sgd (SGD-I)": {"solver_options": {"epsilon": 1.0}},
}


def load(name):
    """Return the arrays of a data set, or None."""
    path = Path(os.environ.get("KREIN_DATA", "")) / f"{name}.npz"
    if not os.environ.get("KREIN_DATA") or not path.exists():
        return None
    with np.load(path) as arrays:
        return {key: arrays[key] for key in arrays.files}


def unit_box(X):
    span = X.max(axis=0) - X.min(axis=0)
    return (X - X.min(axis=0)) / np.where(span > 0, span, 1.0)


def residual(model, K, positive):
    """Stationarity residual of a two-class model, from its coefficients."""
    a = model.dual_coef_[0]
    f = K @ a + model.intercept_[0]
    scaled = K.shape[0] * model.alpha_used_ * a
    worst = float(np.abs(scaled - (positive - expit(f))).max())
    return max(worst, abs(float(a.sum()))) if model.fit_intercept else worst


def quiet_fit(model, *data):
    """Fit, return seconds by the wall and of the CPU; warnings are in the figures."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return seconds(model.fit, *data)[1:]


def seconds(call, *arguments):
    wall, cpu = time.perf_counter(), time.process_time()
    answer = call(*arguments)
    return answer, time.perf_counter() - wall, time.process_time() - cpu


def residuals(alphas=(1e-3, 1e-2, 0.1)):
    yield "set, alpha: alpha used, |mu_min| over the threshold, Newton steps, residual"
    worst = 0.0
    for name in SETS:
        data = load(name)
        if data is None:
            yield f"{name}: not in KREIN_DATA"
            continue
        K = tl1_kernel(unit_box(data["X"]))
        positive = data["y"] == np.unique(data["y"])[1]
        for alpha in alphas:
            model = KreinLogisticRegression(alpha)
            quiet_fit(model, K, data["y"])
            found = residual(model, K, positive)
            worst = max(worst, found)
            yield (
                f"  {name:24s} {alpha:6g}: {model.alpha_used_:8.3g} "
                f"{model.ratio_[0]:6.3f} {model.n_iter_[0]:3d} {found:8.1e}"
            )
    yield f"largest residual: {worst:.1e} (at most 1e-9)"


def solvers(n=2000, alpha=0.01):
    data = load("svmguide1")
    if data is None:
        yield "svmguide1: not in KREIN_DATA"
        return
    rows = np.random.default_rng(0).permutation(len(data["y"]))
    X = unit_box(data["X"])[rows]
    y = data["y"][rows]
    K, K_test = tl1_kernel(X[:n]), tl1_kernel(X[n:], X[:n])
    positive = y[:n] == np.unique(y)[1]
    yield f"svmguide1, n = {n}, TL1, alpha = {alpha}, no intercept (the paper's model)"
    yield "solver: seconds, CPU, CPU to 1e-6, residual, test accuracy, status"
    times = {}
    for label, settings in SOLVERS.items():
        solver = label.split()[0]
        model = KreinLogisticRegression(
            alpha, solver=solver, fit_intercept=False, random_state=0, **settings
        )
        repeats = 3 if solver == "newton" else 1
        wall, cpu = min(quiet_fit(model, K, y[:n]) for _ in range(repeats))
        times[label] = cpu
        history = model.result_.history
        reached = np.flatnonzero(history["residual"] <= 1e-6)
        when = "never"
        if reached.size:
            rest = history["seconds"][-1] - history["seconds"][reached[0]]
            when = f"{cpu * (1.0 - rest / wall):.2f}"
        yield (
            f"  {label:18s} {wall:7.2f} {cpu:7.2f} {when:>6s} "
            f"{residual(model, K, positive):8.1e} {model.score(K_test, y[n:]):.3f} "
            f"{model.result_.status}"
        )
    ratio = times["ccicp-gd"] / times["newton"]
    yield f"CCICP-GD to its own stop / Newton, CPU: {ratio:.1f} (at least 5)"


def dc_svm(n=5000):
    data = load("ida_banana")
    if data is None:
        yield "ida_banana: not in KREIN_DATA"
        return
    rows = np.random.default_rng(0).permutation(len(data["y"]))[:n]
    X, y = unit_box(data["X"][rows]), data["y"][rows]
    K = tl1_kernel(X, tau=0.3)
    for init in ("libsvm", "zeros"):
        model = DCSVC(tol=1e-4, solver_options={"init": init})
        wall, cpu = quiet_fit(model, K, y)
        yield (
            f"DCSVC(tdca), banana, n = {n}, TL1 (tau 0.3), start {init}: {wall:.2f} s, "
            f"CPU {cpu:.2f} s, KKT gap {model.kkt_gap_[0]:.1e} (at most 1e-4)"
        )


def run():
    """Yield one line per figure."""
    threads = sorted({info["num_threads"] for info in threadpool_info()})
    yield f"BLAS threads: {threads}"
    yield from residuals()
    yield from solvers()
    yield from dc_svm()


if __name__ == "__main__":
    for line in run():
        print(line, flush=True)
