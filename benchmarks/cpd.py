"""Speed and accuracy of CPDSVC, as ratios inside one process.

    python benchmarks/cpd.py kernel     the thin-plate kernel against SciPy's distances
    python benchmarks/cpd.py memory     n x n arrays of one fit
    python benchmarks/cpd.py fit        one fit from X at n = 5000 against SVC
    python benchmarks/cpd.py path       16 alphas at n = 2500 against one fit
    python benchmarks/cpd.py nested     nested cross-validation against an SVC grid
    python benchmarks/cpd.py usps       ten digits, eight alphas (--alphas: fewer)
    python benchmarks/cpd.py guess      LIBSVM as a guess of the violators

Data come from the folder KREIN_DATA. Times are processor seconds of this process, the
smallest of several repetitions.
"""

from __future__ import annotations

import argparse
import os
import time
import tracemalloc
import warnings
from pathlib import Path

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.datasets import make_moons
from sklearn.model_selection import (
    GridSearchCV,
    StratifiedKFold,
    StratifiedShuffleSplit,
)
from sklearn.svm import SVC

from krein import CPDSVC, CPDSVCCV, CPDRegressor, thin_plate_kernel

ALPHAS = np.logspace(3, -4, 16)
# 63 points: C in nine, gamma (on standardised data, times the number of features) in
# seven steps.
GRID_C = np.logspace(-2, 4, 9)
GRID_GAMMA = np.logspace(-2, 1, 7)
NESTED = ("ida_thyroid", "heart_statlog", "pima_diabetes", "ida_german", "ida_image")


def load(name: str) -> tuple[np.ndarray, np.ndarray]:
    folder = os.environ.get("KREIN_DATA")
    if not folder:
        raise SystemExit("set KREIN_DATA to the folder of the benchmark data")
    with np.load(Path(folder) / f"{name}.npz") as arrays:
        X, y = arrays["X"], arrays["y"]
    deviation = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0), y


def draw(name: str, n: int) -> tuple[np.ndarray, np.ndarray]:
    """The first n of a fixed permutation, or n moons."""
    if name == "moons":
        return make_moons(n, noise=0.25, random_state=0)
    X, y = load(name)
    rows = np.random.default_rng(0).permutation(len(y))[:n]
    return X[rows], y[rows]


def seconds(work, repeat: int = 3) -> float:
    times = []
    for _ in range(repeat):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def svc_grid(n_features: int, **options) -> GridSearchCV:
    grid = {"C": GRID_C, "gamma": GRID_GAMMA / n_features}
    return GridSearchCV(SVC(), grid, **options)


def kernel() -> None:
    """The same number of passes over memory as SciPy's distances and their power."""
    rng = np.random.default_rng(0)
    for d in (2, 10, 50):
        X, Y = rng.standard_normal((1000, d)), rng.standard_normal((3000, d))
        for exponent in (1, 2, 3):
            own, parts = [], []
            for _ in range(5):
                own.append(
                    seconds(lambda: thin_plate_kernel(X, Y, exponent=exponent))  # noqa: B023
                )
                parts.append(seconds(lambda: by_scipy(X, Y, exponent)))  # noqa: B023
            print(
                f"thin_plate_kernel, 1000 x 3000, {d} features, exponent {exponent}: "
                f"{1e3 * min(own):.1f} ms, SciPy {1e3 * min(parts):.1f} ms, ratio "
                f"{min(own) / min(parts):.2f}",
                flush=True,
            )


def by_scipy(X, Y, exponent):
    """Distances by SciPy, then the power, without anything else."""
    D = cdist(X, Y)
    return D**2 * np.log(D) if exponent == 2 else D**exponent


def memory() -> None:
    """By tracemalloc, on moons; with the goals of the three losses."""
    X, y = make_moons(2500, noise=0.25, random_state=0)
    models = {
        "hinge": (CPDSVC(), 1.0),
        "logistic": (CPDSVC(loss="logistic"), 1.8),
        "regression": (CPDRegressor(), 2.1),
    }
    for name, (model, goal) in models.items():
        tracemalloc.start()
        model.fit(X, y)
        arrays = tracemalloc.get_traced_memory()[1] / (8 * len(y) ** 2)
        tracemalloc.stop()
        print(
            f"{name}, n = {len(y)}: {arrays:.2f} n x n arrays, {arrays / goal:.2f} of "
            f"{goal}",
            flush=True,
        )


def fit() -> None:
    print("one fit from X, n = 5000, parameters tuned on 1000 samples")
    print(f"{'data':10} {'SVC s':>8} {'CPDSVC s':>9} {'ratio':>6}  violators, gap")
    for name in ("ida_ringnorm", "ida_waveform", "moons"):
        X, y = draw(name, 5000)
        part = slice(0, 1000)
        tuned = svc_grid(X.shape[1], cv=3).fit(X[part], y[part]).best_estimator_
        alpha = tuned_alpha(X, y, part)
        model = CPDSVC(alpha)
        svc_time = seconds(lambda: tuned.fit(X, y))  # noqa: B023
        own_time = seconds(lambda: model.fit(X, y))  # noqa: B023
        print(
            f"{name:10} {svc_time:8.3f} {own_time:9.3f} {own_time / svc_time:6.2f}  "
            f"{model.support_.size} of {len(y)}, alpha {alpha:.3g}, "
            f"gap {model.duality_gap_[0]:.1e}, {model.n_iter_[0]} steps; SVC "
            f"C={tuned.C:.3g}, {tuned.n_support_.sum()} support vectors; fit "
            f"{own_time:.3f} s",
            flush=True,
        )


def tuned_alpha(X, y, part: slice) -> float:
    """By cross-validation on a part; the sum of losses grows with n, so alpha does."""
    best = CPDSVCCV(ALPHAS, cv=3).fit(X[part], y[part]).best_params_["alpha"]
    return best * len(y) / len(y[part])


def path() -> None:
    """Against one fit: at the tuned alpha, at the default, at the slowest of the 16."""
    print("16 alphas (1e3 to 1e-4) against one fit, n = 2500")
    for name in ("ida_ringnorm", "ida_waveform", "moons"):
        X, y = draw(name, 2500)
        tuned = tuned_alpha(X, y, slice(0, 1000))
        many = seconds(lambda: CPDSVC.path(X, y, ALPHAS))  # noqa: B023
        apart = [fit_seconds(X, y, alpha) for alpha in ALPHAS]
        slow = int(np.argmax(apart))
        print(f"{name}: path {many:.3f} s, 16 fits apart {sum(apart):.3f} s")
        for what, alpha, one in (
            ("tuned", tuned, fit_seconds(X, y, tuned)),
            ("default", 1.0, fit_seconds(X, y, 1.0)),
            ("slowest", ALPHAS[slow], apart[slow]),
        ):
            print(
                f"  {what:8} alpha {alpha:<8.3g} one fit {one:.3f} s, ratio "
                f"{many / one:.2f}",
                flush=True,
            )


def fit_seconds(X, y, alpha: float) -> float:
    return seconds(lambda: CPDSVC(alpha).fit(X, y))


def nested(names=NESTED, splits: int = 5) -> None:
    print(f"nested cross-validation ({splits} x 5 folds): 16 alphas, SVC 63 points")
    outer = StratifiedShuffleSplit(splits, test_size=0.2, random_state=0)
    inner = StratifiedKFold(5, shuffle=True, random_state=0)
    for name in names:
        X, y = load(name)
        times, errors = np.zeros(2), np.zeros(2)
        for train, test in outer.split(X, y):
            for i, model in enumerate(
                (CPDSVCCV(ALPHAS, cv=inner), svc_grid(X.shape[1], cv=inner))
            ):
                times[i] += seconds(lambda: model.fit(X[train], y[train]), 1)  # noqa: B023
                errors[i] += 100 * np.mean(model.predict(X[test]) != y[test]) / splits
        print(
            f"{name:14} CPDSVC {times[0]:.2f} s, SVC {times[1]:.2f} s, ratio "
            f"{times[1] / times[0]:.1f}; error {errors[0]:.2f} % and {errors[1]:.2f} %",
            flush=True,
        )


def usps(count: int = 8) -> None:
    X, y, test = load_usps()
    alphas = np.logspace(1, -2.5, 8)[:count]
    print(f"USPS, exponent 3, polynomial='zero', alphas {alphas.round(4)}")
    start, cpu = time.perf_counter(), time.process_time()
    models = CPDSVC.path(X[~test], y[~test], alphas, polynomial="zero")
    print(
        f"all classes and alphas: {time.perf_counter() - start:.1f} s, "
        f"{time.process_time() - cpu:.1f} processor seconds"
    )
    for model in models:
        errors = int(np.sum(model.predict(X[test]) != y[test]))
        print(
            f"alpha {model.alpha:8.4g}: {errors} errors, relative gap "
            f"{max(r.certificate.relative for r in model.result_):.1e}, violators "
            f"{[int(r.history['size'][-1]) for r in model.result_]}"
        )
    print(f"peak memory {peak() / (8 * int((~test).sum()) ** 2):.2f} n x n doubles")


def load_usps():
    with np.load(Path(os.environ["KREIN_DATA"]) / "usps.npz") as arrays:
        return arrays["X"], arrays["y"], arrays["is_test"]


def peak() -> float:
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024.0


def guess() -> None:
    """The squared hinge is an SVM on K + alpha I without upper bound: ask LIBSVM."""
    print("violators guessed by a loose LIBSVM solve, n = 5000")
    for name in ("ida_ringnorm", "ida_waveform", "moons"):
        X, y = draw(name, 5000)
        model = CPDSVC(tuned_alpha(X, y, slice(0, 1000)))
        own = seconds(lambda: model.fit(X, y))  # noqa: B023
        placed, Q = model.kernel_.place(X), model.kernel_.polynomials(X)
        Q = np.linalg.qr(Q)[0]
        start = time.process_time()
        K = thin_plate_kernel(placed)
        V = K @ Q
        V -= 0.5 * Q @ (Q.T @ V)
        K -= V @ Q.T + Q @ V.T
        K[np.diag_indices(len(y))] += model.alpha
        gram = time.process_time() - start
        svc = SVC(C=1e6, kernel="precomputed", tol=0.1, max_iter=20_000)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            loose = seconds(lambda: svc.fit(K, y), 1)  # noqa: B023
        common = np.intersect1d(svc.support_, model.support_).size
        print(
            f"{name:12} whole fit {own:.2f} s; kernel matrix {gram:.2f} s, LIBSVM "
            f"{loose:.2f} s: {svc.support_.size} guessed, {model.support_.size} true, "
            f"{common} common",
            flush=True,
        )


COMMANDS = {
    "kernel": kernel,
    "memory": memory,
    "fit": fit,
    "path": path,
    "nested": nested,
    "usps": usps,
    "guess": guess,
}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Speed and accuracy of CPDSVC")
    parser.add_argument("command", choices=sorted(COMMANDS))
    parser.add_argument("data", nargs="*", help="data sets of 'nested'")
    parser.add_argument(
        "--splits", type=int, default=5, help="outer splits of 'nested'"
    )
    parser.add_argument("--alphas", type=int, default=8, help="how many of 'usps'")
    given = parser.parse_args()
    if given.command == "nested":
        nested(given.data or NESTED, given.splits)
    elif given.command == "usps":
        usps(given.alphas)
    else:
        COMMANDS[given.command]()
