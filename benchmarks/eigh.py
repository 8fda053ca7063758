"""What one eigendecomposition is made of, and what could replace it.

    python benchmarks/eigh.py cost [--n 1000 4000] [--threads 1] [--only WORD ...]
    python benchmarks/eigh.py choices

`cost`: LAPACK's drivers, single precision, values alone, half of the spectrum, a few
eigenpairs, and one step of methods made of matrix products, all in products of two
n x n matrices. `choices`: cross-validation over C and clip or flip, decomposed in
double and in single precision, on the similarities of the folder KREIN_DATA: do choices
change? Processor time of one process; with two threads wall time.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

import numpy as np
import scipy.linalg
import scipy.sparse.linalg
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from krein import sigmoid_kernel

CS = (0.1, 1.0, 10.0, 100.0)


def indefinite(n):
    """A sigmoid kernel and noise: no cluster of eigenvalues that deflates."""
    rng = np.random.default_rng(0)
    E = rng.standard_normal((n, n))
    return sigmoid_kernel(rng.standard_normal((n, 10)), gamma=0.1) + 0.05 * (E + E.T)


def shortest(work, clock, repeats):
    times = []
    for _ in range(repeats):
        start = clock()
        work()
        times.append(clock() - start)
    return min(times)


def candidates(K):
    """What is compared: name and work."""
    n, single = len(K), K.astype(np.float32)

    def qdwh_step(A=K):
        # One step of the polar decomposition by QR of (A; I), Nakatsukasa, Higham.
        Q, _ = scipy.linalg.qr(np.vstack([A, np.eye(n)]), mode="economic")
        return Q[:n] @ Q[n:].T

    return {
        "eigh (evd)": lambda: scipy.linalg.eigh(K, driver="evd"),
        "eigh (evr)": lambda: scipy.linalg.eigh(K, driver="evr"),
        "eigh (evd), single precision": lambda: scipy.linalg.eigh(single, driver="evd"),
        "eigenvalues alone": lambda: scipy.linalg.eigvalsh(K),
        "negative half (evr)": lambda: scipy.linalg.eigh(
            K, subset_by_value=(-np.inf, 0.0)
        ),
        "50 eigenpairs (Lanczos)": lambda: scipy.sparse.linalg.eigsh(
            K, 50, which="LM", v0=np.ones(n)
        ),
        "eigh of one fold of five": lambda: scipy.linalg.eigh(
            K[: int(0.8 * n), : int(0.8 * n)], driver="evd"
        ),
        "one step of the polar decomposition": qdwh_step,
        "one Newton-Schulz step of the sign": lambda: K @ (3 * np.eye(n) - K @ K),
    }


def cost(sizes, threads, words):
    clock = time.process_time if threads == 1 else time.perf_counter
    with threadpool_limits(threads):
        for n in sizes:
            K = indefinite(n)
            repeats = 3 if n <= 1500 else 1
            product = shortest(lambda K=K: K @ K.T.copy(), clock, 3)
            print(f"n = {n}, {threads} thread(s): one product {product:.3f} s")
            for name, work in candidates(K).items():
                if words and not any(word in name for word in words):
                    continue
                spent = shortest(work, clock, repeats)
                print(f"  {name:36s} {spent / product:6.2f} products", flush=True)


# ------------------------------------------------------------------------------ choices


def similarities():
    folder = Path(os.environ["KREIN_DATA"])
    for path in sorted([*folder.glob("sim_*.npz"), *folder.glob("dis_*.npz")]):
        with np.load(path) as data:
            X, y = data["X"], data["y"]
        if X.ndim != 2 or X.shape[0] != X.shape[1] or len(y) != len(X):
            continue
        K = X if path.name.startswith("sim_") else -(X**2) / np.median(X**2)
        yield path.stem, 0.5 * (K + K.T), y
    for name in ("sonar", "ionosphere", "heart_statlog", "ida_german"):
        with np.load(folder / f"{name}.npz") as data:
            X, y = data["X"], data["y"]
        X = (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0, X.std(axis=0), 1)
        yield name, sigmoid_kernel(X, gamma=1 / X.shape[1]), y


def scores(K, y, dtype):
    """Mean accuracy by (method, C), and all decisions, from one precision."""
    found, decisions = {}, []
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    for train, test in folds.split(K, y):
        values, U = scipy.linalg.eigh(K[np.ix_(train, train)].astype(dtype))
        values, U = values.astype(float), U.astype(float)
        for method, change in (("clip", values > 0), ("flip", np.sign(values))):
            trained = (U * (values * change)) @ U.T
            rows = ((K[np.ix_(test, train)] @ U) * change) @ U.T
            for C in CS:
                model = SVC(C=C, kernel="precomputed", tol=1e-6)
                model.fit(trained, y[train])
                hits = model.predict(rows) == y[test]
                found.setdefault((method, C), []).append(np.mean(hits))
                decisions.append(hits)
    return {key: np.mean(value) for key, value in found.items()}, decisions


def choices():
    same, labels, total, loss = 0, 0, 0, []
    for name, K, y in similarities():
        K = K / np.abs(K).max()
        (double, exact), (single, rough) = scores(K, y, float), scores(K, y, np.float32)
        best, other = max(double, key=double.get), max(single, key=single.get)
        differ = sum(int(np.sum(a != b)) for a, b in zip(exact, rough, strict=True))
        count = sum(part.size for part in exact)
        print(
            f"{name:26s} n = {len(y):5d}: {best[0]} C = {best[1]:g}, in single "
            f"precision {other[0]} C = {other[1]:g}; {differ} of {count} answers "
            "differ",
            flush=True,
        )
        same, labels, total = same + (best == other), labels + differ, total + count
        loss.append(double[best] - double[other])
    print(
        f"same choice on {same} of {len(loss)} sets, largest loss "
        f"{100 * max(loss):.2f} points, {labels} of {total} answers differ"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", choices=["cost", "choices"])
    parser.add_argument("--n", type=int, nargs="*", default=[1000, 4000])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--only", nargs="*", default=[], metavar="WORD")
    given = parser.parse_args()
    if given.command == "cost":
        cost(given.n, given.threads, given.only)
    else:
        choices()
