"""Cost of importing, of KreinSVC and of the TL1 kernel, as ratios on one machine.

Ratios are of minima over alternating runs, so that what else the machine does counts
for both sides.
"""

import subprocess
import sys
import time

import numpy as np
import scipy.linalg
from scipy.spatial.distance import cdist
from sklearn.svm import SVC
from threadpoolctl import threadpool_info

from krein import KreinSVC, tl1_kernel


def seconds(call):
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def alternate(first, second, repeats=3):
    """Return the smallest time of each of two calls, run in turn."""
    times = [(seconds(first), seconds(second)) for _ in range(repeats)]
    return tuple(min(column) for column in zip(*times, strict=True))


def python(*arguments):
    return lambda: subprocess.run(
        [sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL
    )


def imports():
    ours, theirs = alternate(
        python("-c", "from krein import SpectrumSVC"),
        python("-c", "import sklearn.svm"),
        repeats=5,
    )
    yield f"import SpectrumSVC / import sklearn.svm: {ours / theirs:.2f} (at most 1.3)"
    shown = min(seconds(python("-m", "krein", "--help")) for _ in range(5))
    yield f"krein --help: {shown:.2f} s (under 0.3)"


def krein_svc(n=2000):
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(n, 20))
    y = np.where(X[:, 0] + X[:, 1] * X[:, 2] > 0.75, 1, -1)
    K = np.tanh(4.0 * (X - 0.5) @ (X - 0.5).T - 0.5)
    K = 0.5 * (K + K.T)

    def by_hand():
        values, vectors = scipy.linalg.eigh(K, driver="evd")
        flipped = (vectors * np.abs(values)) @ vectors.T
        SVC(kernel="precomputed", tol=model.tol).fit(flipped, y)

    model = KreinSVC()
    ours, theirs = alternate(lambda: model.fit(K, y), by_hand)
    yield (
        f"KreinSVC, n = {n}: {ours:.2f} s, eigh + SVC on the flipped kernel "
        f"{theirs:.2f} s, ratio {ours / theirs:.2f} (at most 1.2)"
    )


def tl1(n=4000, d=50):
    X = np.random.default_rng(0).uniform(size=(n, d))
    ours, theirs = alternate(
        lambda: tl1_kernel(X), lambda: cdist(X, X, metric="cityblock")
    )
    yield (
        f"tl1_kernel, n = {n}, {d} features: {ours:.2f} s, scipy's cdist "
        f"{theirs:.2f} s, ratio {ours / theirs:.2f} (at most 1)"
    )


def run():
    """Yield one line per figure."""
    threads = sorted({info["num_threads"] for info in threadpool_info()})
    yield f"BLAS threads: {threads}"
    yield from imports()
    yield from krein_svc()
    yield from tl1()
