"""The TL1 kernel matrix against scipy's cityblock distances, all cores.

    python benchmarks/tl1.py

Alternating runs in one process, minima over repetitions.
"""

import time

import numpy as np
from scipy.spatial.distance import cdist

from krein import tl1_kernel


def seconds(function):
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def main():
    for n, d in ((2000, 60), (4000, 20)):
        X = np.random.default_rng(0).uniform(size=(n, d))
        rounds = [
            (
                seconds(lambda X=X: tl1_kernel(X)),
                seconds(lambda X=X: cdist(X, X, metric="cityblock")),
            )
            for _ in range(5)
        ]
        ours, theirs = map(min, zip(*rounds, strict=True))
        print(
            f"n = {n}, {d} features: tl1_kernel {ours:.3f} s, cdist {theirs:.3f} s, "
            f"ratio {ours / theirs:.2f}"
        )


if __name__ == "__main__":
    main()
