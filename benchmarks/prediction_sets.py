"""Do 90 % prediction sets and intervals hold 90 % of new items?

    KREIN_DATA=... python benchmarks/prediction_sets.py CACHE [--splits 3] [--only sets]

Sets: every similarity of `regret_matrices.py`, 60 % of the items to train on; the share
of the others whose set holds the true class, the mean size of a set, and the share of
empty ones; and the coverage with the level chosen on all other data sets. Intervals:
five regression sets with three kernels (rbf is positive semidefinite, tl1 and sigmoid
are not), ``KreinRidge(alpha="auto")`` with clip and flip; the share of new targets
within 1.645 standard deviations (noise included).
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

import numpy as np
from regret_matrices import arrays, cases, standardised
from sklearn.datasets import load_diabetes, make_friedman1
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit

from krein import (
    KreinRidge,
    SpectrumSVC,
    SpectrumSVCCV,
    rbf_kernel,
    sigmoid_kernel,
    tl1_kernel,
)

COVERAGE = 0.9
LEVELS = np.round(np.arange(0.86, 0.945, 0.01), 2)  # of `predict_set`
Z = 1.6448536269514722  # quantile of 90 % intervals
MODELS = {
    "SpectrumSVCCV": lambda: SpectrumSVCCV(),
    "SpectrumSVC flip, C = 1": lambda: SpectrumSVC("flip", probability=True),
}


def sets(cache, splits):
    print("| similarity | model | coverage % | classes in a set | empty % | error % |")
    print("|---|---|---|---|---|---|")
    total = {name: [] for name in MODELS}
    by_level = {name: [] for name in MODELS}
    data_sets = []
    for case in cases(cache):
        items, y = case.items()
        codes = np.unique(y, return_inverse=True)[1]
        cut = StratifiedShuffleSplit(splits, train_size=0.6, random_state=0)
        parts = list(cut.split(codes, codes))
        data_sets.append(case.name.split(",")[0])
        for name, make in MODELS.items():
            found, levels = [], []
            for train, test in parts:
                K = case.matrix(items, train)
                K = 0.5 * (K + K.T)
                one, held = one_set(make(), K, codes, train, test)
                found.append(one)
                levels.append(held)
            total[name].append(np.mean(found, axis=0))
            by_level[name].append(np.mean(levels, axis=0))
            print(f"| {case.name} | {name} | {shown(total[name][-1])} |", flush=True)
    for name, rows in total.items():
        print(f"| **mean of {len(rows)}** | {name} | {shown(np.mean(rows, axis=0))} |")
    for name, rows in by_level.items():
        print(f"\n{name}: {level_of_others(np.array(data_sets), np.array(rows))}")


def one_set(model, K, codes, train, test):
    """Coverage, size, empty sets and error in percent; coverage at every level."""
    model.fit(K[np.ix_(train, train)], codes[train])
    new = K[np.ix_(test, train)]
    chosen = model.predict_set(new, coverage=COVERAGE)
    size = chosen.sum(axis=1)
    error = np.mean(model.predict(new) != codes[test])
    rows = np.arange(test.size)
    levels = [
        100 * model.predict_set(new, coverage=level)[rows, codes[test]].mean()
        for level in LEVELS
    ]
    covered = 100 * chosen[rows, codes[test]].mean()
    return (covered, size.mean(), 100 * np.mean(size == 0), 100 * error), levels


def level_of_others(data_sets, covered):
    """Coverage where the level is chosen on all other data sets.

    For each data set that level of `predict_set` is taken with which the mean coverage
    of the similarities of all others is nearest to 90 %.
    """
    found, chosen = [], []
    for name in np.unique(data_sets):
        own = data_sets == name
        best = np.argmin(np.abs(covered[~own].mean(axis=0) - 100 * COVERAGE))
        found += covered[own, best].tolist()
        chosen.append(LEVELS[best])
    return (
        f"with the level chosen on the other data sets ({min(chosen):.2f} to "
        f"{max(chosen):.2f}) {np.mean(found):.1f} % of {len(found)} similarities, "
        f"from {min(found):.1f} to {max(found):.1f}"
    )


def shown(row):
    return f"{row[0]:.1f} | {row[1]:.2f} | {row[2]:.1f} | {row[3]:.1f}"


# --------------------------------------------------------------------------- intervals


def column_of(name, column):
    """One column of a table, to be predicted from the others."""
    X = arrays(name)["X"].astype(float)
    return np.delete(X, column, axis=1), X[:, column]


REGRESSION = {
    "diabetes": lambda: load_diabetes(return_X_y=True),
    "friedman1": lambda: make_friedman1(300, noise=1.0, random_state=0),
    "parkinsons, column 0": lambda: column_of("parkinsons", 0),
    "pima, body mass": lambda: column_of("pima_diabetes", 5),
    "sonar, column 20": lambda: column_of("sonar", 20),
}
KERNELS = {"rbf": rbf_kernel, "tl1": tl1_kernel, "sigmoid": sigmoid_kernel}


def intervals(splits):
    print("| data | kernel | method | coverage % | width | error | error of the mean |")
    print("|---|---|---|---|---|---|---|")
    total = {}
    for name, load in REGRESSION.items():
        X, y = load()
        cut = ShuffleSplit(splits, train_size=0.6, random_state=0)
        parts = list(cut.split(X))
        for kernel, function in KERNELS.items():
            for method in ("clip", "flip"):
                if kernel == "rbf" and method == "flip":
                    continue
                found = [
                    one_interval(
                        KreinRidge(alpha="auto", method=method),
                        standardised(function)(X, train),
                        y,
                        train,
                        test,
                    )
                    for train, test in parts
                ]
                mean = np.mean(found, axis=0)
                total.setdefault(f"{kernel} | {method}", []).append(mean)
                print(f"| {name} | {kernel} | {method} | {numbers(mean)} |")
    for key, rows in total.items():
        print(f"| **mean of {len(rows)}** | {key} | {numbers(np.mean(rows, axis=0))} |")
    every = [row for rows in total.values() for row in rows]
    print(f"| **mean of all {len(every)}** | | | {numbers(np.mean(every, axis=0))} |")


def one_interval(model, K, y, train, test):
    """Coverage, width and errors in units of the standard deviation of targets."""
    K = 0.5 * (K + K.T)
    model.fit(K[np.ix_(train, train)], y[train])
    mean, std = model.predict(
        K[np.ix_(test, train)], return_std=True, k_diag=K.diagonal()[test]
    )
    reach = Z * np.sqrt(std**2 + model.noise_variance_)
    unit = y[train].std()
    off = np.abs(y[test] - mean)
    naive = np.sqrt(np.mean((y[test] - y[train].mean()) ** 2)) / unit
    error = np.sqrt(np.mean(off**2)) / unit
    return 100 * np.mean(off <= reach), 2 * np.mean(reach) / unit, error, naive


def numbers(row):
    return f"{row[0]:.1f} | {row[1]:.2f} | {row[2]:.2f} | {row[3]:.2f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cache", type=Path, help="folder for computed distances")
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--only", choices=["sets", "intervals"])
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    if args.only != "intervals":
        sets(args.cache, args.splits)
        print()
    if args.only != "sets":
        intervals(args.splits)


if __name__ == "__main__":
    main()
