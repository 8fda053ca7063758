"""What a fit of 100 items does besides its arithmetic.

    python benchmarks/small_fits.py [N]

`fit` checks what it is given, prepares the samples, calls the pure function `fit_rows`
(decomposition, solver, certificate) and keeps what that returns. Everything but
`fit_rows` is the fixed cost: parameters, tags, matrices, targets, threads, fitted
attributes. Processor milliseconds, medians over repetitions.
"""

from __future__ import annotations

import sys
import time
import warnings

import numpy as np
from threads import data

from krein import CPDSVC, KreinLogisticRegression, KreinRidge, KreinSVC, SpectrumSVC

GOAL = 1.0  # ms
REPEATS = 200


def models(n):
    """Name -> (model, items, target)."""
    X, y, K = data(n)
    return {
        "SpectrumSVC": (SpectrumSVC(), K, y),
        "KreinSVC": (KreinSVC(), K, y),
        "KreinRidge": (KreinRidge(), K, y.astype(float)),
        "KreinLogisticRegression": (KreinLogisticRegression(), K, y),
        "CPDSVC": (CPDSVC(), X[:, :2], y),
    }


def measured(model, X, y):
    """Milliseconds of a fit, and of all of it but `fit_rows`."""
    inside = []
    pure = type(model).fit_rows

    def timed(self, training, target):
        start = time.process_time()
        rows = pure(self, training, target)
        inside.append(time.process_time() - start)
        return rows

    whole = []
    type(model).fit_rows = timed
    try:
        for _ in range(REPEATS):
            start = time.process_time()
            model.fit(X, y)
            whole.append(time.process_time() - start)
    finally:
        type(model).fit_rows = pure
    fixed = np.subtract(whole, inside)
    return 1e3 * np.median(whole), 1e3 * np.median(fixed)


def main(n=100):
    warnings.simplefilter("ignore")  # convergence is not the question
    for name, (model, X, y) in models(n).items():
        model.fit(X, y)
        whole, fixed = measured(model, X, y)
        print(
            f"{name}, n = {n}: fit {whole:.2f} ms, besides its arithmetic "
            f"{fixed:.2f} ms (at most {GOAL:.0f})",
            flush=True,
        )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
