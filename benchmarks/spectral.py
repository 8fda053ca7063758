"""Cost of the Krein SVM over its parts: one eigendecomposition and one SVC.

    python benchmarks/spectral.py [--n 2000] [--repeat 5]
    python benchmarks/spectral.py --memory N [--method flip]

Ratios within one process, processor time, minima over repetitions.
With `--memory` the peak of one fit of N items instead, of the whole process.
"""

import argparse
import resource
import time

import numpy as np
import scipy.linalg
from sklearn.datasets import make_classification
from sklearn.svm import SVC

from krein import KreinSVC, SpectrumSVC, SpectrumTransformer, sigmoid_kernel


def shortest(works, repeat):
    """Least processor time of each piece of work, measured in turn."""
    least = dict.fromkeys(works, np.inf)
    for _ in range(repeat):
        for name, work in works.items():
            start = time.process_time()
            work()
            least[name] = min(least[name], time.process_time() - start)
    return least


def large_sigmoid(n):
    """A sigmoid kernel and labels, without a second n x n array; exactly symmetric."""
    X = np.random.default_rng(0).standard_normal((n, 10))
    K = np.empty((n, n))
    for i in range(0, n, 500):
        rows = slice(i, i + 500)
        K[rows, i:] = np.tanh(0.1 * X[rows] @ X[i:].T - 1.0)
        K[rows, rows] = np.tril(K[rows, rows]) + np.tril(K[rows, rows], -1).T
        K[i:, rows] = K[rows, i:].T
    return K, np.where(X[:, 0] + 0.5 * X[:, 1] ** 2 > 0.5, 1, 0)


def peak():
    return 1024.0 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def memory(n, method):
    SpectrumSVC(method).fit(*large_sigmoid(300))  # imports, buffers of BLAS
    libraries = peak()
    K, y = large_sigmoid(n)
    start = time.process_time()
    model = SpectrumSVC(method).fit(K, y)
    elapsed = time.process_time() - start
    arrays = (peak() - libraries - K.nbytes) / (8.0 * n * n)
    print(
        f"{method}, n = {n}: peak {peak() / 1e9:.2f} GB, {libraries / 1e9:.2f} before "
        f"the similarity and {arrays:.1f} n x n arrays beside it; {elapsed:.0f} s, "
        f"relative gap {model.result_.certificate.relative:.1e}"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memory", type=int, metavar="N")
    parser.add_argument("--method", default="clip")
    parser.add_argument("--n", type=int, default=2000)
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args()
    if options.memory:
        memory(options.memory, options.method)
        return
    X, y = make_classification(
        options.n, 20, n_informative=8, flip_y=0.1, random_state=0
    )
    K = sigmoid_kernel(X, gamma=0.05)
    flipped = SpectrumTransformer("flip").fit_transform(K)
    models, works = {}, {"eigh": lambda: scipy.linalg.eigh(K, driver="evd")}
    for C in (0.1, 1.0, 10.0):
        svc = SVC(C=C, kernel="precomputed")
        works[C] = lambda svc=svc: svc.fit(flipped, y)
        for model in (KreinSVC(C=C), SpectrumSVC("clip", C=C)):
            models[type(model).__name__, C] = model
            works[type(model).__name__, C] = lambda model=model: model.fit(K, y)
    least = shortest(works, options.repeat)
    print(f"n = {options.n}: eigh {least['eigh']:.2f} s")
    for (name, C), model in models.items():
        ratio = least[name, C] / (least["eigh"] + least[C])
        print(
            f"{name:12s} C = {C:4g}: {least[name, C]:.2f} s = {ratio:.2f} x (eigh + "
            f"SVC {least[C]:.2f} s), gap {float(np.max(model.duality_gap_)):.1e}"
        )


if __name__ == "__main__":
    main()
