"""Whether `SpectrumSVCCV` should train machines against the rest or pair by pair.

    KREIN_DATA=... python benchmarks/many_classes.py CACHE [--splits 3]

Errors on the similarities of `regret_matrices.py` with three or more classes and at
most 500 training items, mean over splits 60 / 40. CACHE keeps distances between calls.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

import numpy as np
from regret import split_of
from regret_matrices import cases

from krein import SpectrumSVCCV

KINDS = ("ovr", "ovo")


def error(kind, K, codes, train, test):
    known, new = K[np.ix_(train, train)], K[np.ix_(test, train)]
    model = SpectrumSVCCV(multi_class=kind).fit(known, codes[train])
    return 100.0 * (1.0 - model.score(new, codes[test]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cache", type=Path)
    parser.add_argument("--splits", type=int, default=3)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    means = []
    for case in cases(options.cache):
        items, codes = case.items()
        codes = np.unique(codes, return_inverse=True)[1]
        if codes.max() < 2 or 0.6 * codes.size > 500:
            continue
        found = []
        for split in range(options.splits):
            train, test = split_of(codes, split)
            K = case.matrix(items, train)
            K = 0.5 * (K + K.T)
            found.append([error(kind, K, codes, train, test) for kind in KINDS])
        means.append(np.mean(found, axis=0))
        print(case.name, dict(zip(KINDS, means[-1].round(2).tolist(), strict=True)))
    both = np.mean(means, axis=0).round(2).tolist()
    print(f"mean of {len(means)}:", dict(zip(KINDS, both, strict=True)))


if __name__ == "__main__":
    main()
