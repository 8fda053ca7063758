"""How many steps of LIBSVM the machines of a search need: error against time.

    KREIN_DATA=... python benchmarks/steps.py CACHE [--splits 9] [--steps 3 2 1]

`SpectrumSVCCV` on the similarities of `regret_matrices.py` (at most 500 training items
and 12 classes), with at most so many steps per sample in each machine of its search.
Printed are the mean error on held-out items for both halves of the similarities, and
processor seconds. CACHE keeps distances between calls.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections import defaultdict
from pathlib import Path

import numpy as np
from regret import split_of
from regret_matrices import cases

from krein import SpectrumSVCCV
from krein.estimators import spectral


def errors(case, split, steps):
    """Error in percent and processor seconds for each limit; nothing if too large."""
    items, codes = case.items()
    codes = np.unique(codes, return_inverse=True)[1]
    train, test = split_of(codes, split)
    if train.size > 500 or codes.max() >= 12:
        return
    K = case.matrix(items, train)
    K = 0.5 * (K + K.T)
    known, new = K[np.ix_(train, train)], K[np.ix_(test, train)]
    tol = spectral.MANY_SETTINGS.tol
    for most in steps:
        spectral.loosely.__defaults__ = (spectral.Loosely(tol, most),)
        start = time.process_time()
        model = SpectrumSVCCV().fit(known, codes[train])
        spent = time.process_time() - start
        yield most, 100.0 * float(np.mean(model.predict(new) != codes[test])), spent


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cache", type=Path)
    parser.add_argument("--splits", type=int, default=9)
    parser.add_argument("--steps", type=int, nargs="+", default=[3, 2, 1])
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    table = defaultdict(lambda: defaultdict(list))
    for split in range(options.splits):
        for case in cases(options.cache):
            for most, *found in errors(case, split, options.steps):
                table[most][case.half].append(found)
    for most, halves in table.items():
        text = ", ".join(
            f"{half} {np.mean(found, axis=0)[0]:.2f} %"
            for half, found in sorted(halves.items())
        )
        spent = sum(np.sum(found, axis=0)[1] for found in halves.values())
        count = sum(map(len, halves.values()))
        print(f"{most} steps a sample: {text} ({count} splits, {spent:.1f} s)")


if __name__ == "__main__":
    main()
