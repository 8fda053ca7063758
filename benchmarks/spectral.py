"""Cost of the Krein SVM over its parts: one eigendecomposition and one SVC.

    python benchmarks/spectral.py [--n 2000] [--repeat 5]

Ratios within one process, one BLAS thread, processor time, minima over repetitions.
"""

import argparse
import time

import numpy as np
import scipy.linalg
from sklearn.datasets import make_classification
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from krein import KreinSVC, SpectrumSVC, SpectrumTransformer, sigmoid_kernel


def shortest(function, repeat):
    times = []
    for _ in range(repeat):
        start = time.process_time()
        function()
        times.append(time.process_time() - start)
    return min(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=2000)
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args()
    X, y = make_classification(
        options.n, 20, n_informative=8, flip_y=0.1, random_state=0
    )
    K = sigmoid_kernel(X, gamma=0.05)
    flipped = SpectrumTransformer("flip").fit_transform(K)
    with threadpool_limits(1):
        eigh = shortest(lambda: scipy.linalg.eigh(K, driver="evd"), options.repeat)
        print(f"n = {options.n}: eigh {eigh:.2f} s")
        for C in (0.1, 1.0, 10.0):
            svc = shortest(
                lambda C=C: SVC(C=C, kernel="precomputed").fit(flipped, y),
                options.repeat,
            )
            for model in (KreinSVC(C=C), SpectrumSVC("clip", C=C)):
                fit = shortest(lambda model=model: model.fit(K, y), options.repeat)
                ratio = fit / (eigh + svc)
                gap = float(np.max(model.duality_gap_))
                print(
                    f"{type(model).__name__:12s} C = {C:4g}: {fit:.2f} s = "
                    f"{ratio:.2f} x (eigh + SVC {svc:.2f} s), gap {gap:.1e}"
                )


if __name__ == "__main__":
    main()
