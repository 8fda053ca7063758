"""Cost of a fit per method, in eigendecompositions of the same matrix.

Prints the columns "time" and "memory" of the decision table in docs/guide/choosing.md:
processor time over that of one `eigh`, the least of three runs, and peak memory in
units of n x n doubles beside the matrix itself. The searches are measured with at most
600 items.
"""

import sys
import time
import tracemalloc
import warnings

import scipy.linalg
from scipy.spatial.distance import pdist, squareform
from sklearn.datasets import make_classification

from krein import (
    CPDSVC,
    DCSVC,
    KreinLogisticRegression,
    KreinNystroem,
    KreinRidge,
    KreinSVC,
    ProxySVC,
    SimilarityClassifier,
    SpectrumSVC,
    SpectrumSVCCV,
    diagnose,
    sigmoid_kernel,
)

_SEARCHED = 600  # items


def least_time(run, repeats=3):
    seconds = []
    for _ in range(repeats):
        start = time.process_time()
        run()
        seconds.append(time.process_time() - start)
    return min(seconds)


def peak_memory(run, n):
    tracemalloc.start()
    run()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / (8 * n * n)


def main(n):
    X, y = make_classification(n, 20, n_informative=10, flip_y=0.05, random_state=0)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    K = sigmoid_kernel(X, gamma=0.05)
    unit = least_time(lambda: scipy.linalg.eigh(K, driver="evd"))
    mass = diagnose(K).negative_mass
    print(f"n = {n}, negative mass {mass:.2f}, one eigh {unit:.2f} s of a processor")
    methods = ("none", "clip", "flip", "square", "shift", "diffusion")
    sizes = {"square": 0.01, "diffusion": float(n)}  # C for entries of their size
    cases = {m: (SpectrumSVC(m, C=sizes.get(m, 1.0)), K) for m in methods}
    cases |= {
        "KreinSVC": (KreinSVC(), K),
        "ProxySVC": (ProxySVC(), K),
        "DCSVC": (DCSVC(), K),
        "KreinLogisticRegression": (KreinLogisticRegression(), K),
        "KreinRidge": (KreinRidge(), K),
        "CPDSVC": (CPDSVC(), X),
        "KreinNystroem(100)": (KreinNystroem(100, "sigmoid", random_state=0), X),
    }
    if n <= _SEARCHED:
        cases["SpectrumSVCCV"] = SpectrumSVCCV(), K
        cases["SimilarityClassifier"] = SimilarityClassifier(), K
        converted = SimilarityClassifier(kind="distance")
        cases["SimilarityClassifier, converted"] = converted, squareform(pdist(X))
    for name, (model, data) in cases.items():
        seconds = least_time(lambda: model.fit(data, y))  # noqa: B023
        memory = peak_memory(lambda: model.fit(data, y), n)  # noqa: B023
        print(f"{name:<31} time {seconds / unit:5.2f}   memory {memory:4.1f}")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 500)
