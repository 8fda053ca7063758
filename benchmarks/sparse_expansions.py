"""Fewer similarities per prediction: what `sparsify` saves and costs.

    python benchmarks/sparse_expansions.py [--splits 10] [--seed 0] [--fewer 5]

Krein SVMs on kernels of time warping and of alignments, C chosen by cross-validation
inside each training part; losses with their standard error over the splits. Data come
from the folder KREIN_DATA; matrices of kernels are computed once, so that minutes are
the price of fits, not of similarities.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import os
from pathlib import Path

import numpy as np
from sklearn.model_selection import GridSearchCV, StratifiedShuffleSplit

from krein import Kernel, KreinSVC, kernel_matrix

SERIES = ("gunpoint", "ecg200", "italypowerdemand", "trace", "coffee")
GRID = {"C": [0.1, 1.0, 10.0, 100.0]}


def folder() -> Path:
    found = os.environ.get("KREIN_DATA")
    if not found:
        raise SystemExit("set KREIN_DATA to the folder of the benchmark data")
    return Path(found)


def strings(name, longest=500, most=500):
    with gzip.open(folder() / f"str_{name}.csv.gz", "rt") as handle:
        rows = [row for row in csv.DictReader(handle) if len(row["sequence"]) < longest]
    some = np.random.default_rng(0).permutation(len(rows))[:most]
    return (
        [rows[i]["sequence"].upper() for i in some],
        np.array([rows[i]["y"] for i in some]),
    )


def series(windows):
    """Name, settled kernel, items and labels of the series."""
    for name in SERIES:
        with np.load(folder() / f"ts_{name}.npz") as data:
            X, y = data["X"], data["y"]
        for window in windows:
            kernel = Kernel("dtw", gamma="median", window=window).fit(X)
            yield f"dtw {name}{f' {window}' if window else ''}", kernel, X, y


def sequences():
    """Name, kernel, items and labels of the sequences."""
    for name, matrix in (
        ("protein_location", "blosum62"),
        ("promoters", "dnafull"),
        ("mirna", "dnafull"),
    ):
        X, y = strings(name)
        X = [x.replace("U", "T") for x in X] if matrix == "dnafull" else X
        kernel = Kernel("smith_waterman", matrix=matrix, normalize=True)
        yield f"alignment {name}", kernel, X, y


def similarities():
    """Name, matrix and labels of every set."""
    for name, kernel, X, y in series([None]):
        yield name, kernel_matrix(kernel, X), y
    with np.load(folder() / "sim_protein.npz") as data:
        yield "alignment sim_protein", data["X"], data["y"]
    with np.load(folder() / "dis_protein226.npz") as data:
        D = data["X"] ** 2
        yield "alignment globins", np.exp(-D / np.median(D)), data["y"]
    for name, kernel, X, y in sequences():
        yield name, kernel_matrix(kernel, X), y


def best_machine(K, y):
    search = GridSearchCV(KreinSVC(symmetrize=True), GRID, cv=5)
    return search.fit(K, y).best_estimator_


def one_split(K, y, train, test, fewer):
    """Accuracy before and after, share of similarities, labels changed and stated."""
    K_train, K_test = K[np.ix_(train, train)], K[np.ix_(test, train)]
    dense = best_machine(K_train, y[train])
    sparse = dense.sparsify(K_train, n_prototypes=len(train) // fewer)
    before, after = dense.predict(K_test), sparse.predict(K_test)
    return (
        np.mean(before == y[test]),
        np.mean(after == y[test]),
        sparse.support_.size / len(train),
        np.mean(before != after),
        np.mean(dense.predict(K_train) != sparse.predict(K_train)),
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--fewer", type=int, default=5)
    given = parser.parse_args()
    splits = StratifiedShuffleSplit(
        given.splits, test_size=0.3, random_state=given.seed
    )
    lost = []
    for name, K, y in similarities():
        rows = [one_split(K, y, *split, given.fewer) for split in splits.split(K, y)]
        before, after, share, changed, stated = np.mean(rows, axis=0)
        loss = 100 * np.array([row[0] - row[1] for row in rows])
        error = loss.std(ddof=1) / np.sqrt(loss.size)
        lost.append(loss.mean())
        print(
            f"{name:26s} {share:.3f} of the similarities, accuracy "
            f"{100 * before:.1f} -> {100 * after:.1f}, loss {lost[-1]:.2f} +- "
            f"{error:.2f}, labels changed {100 * changed:.1f} % (stated "
            f"{100 * stated:.1f})",
            flush=True,
        )
    print(
        f"{given.fewer} times fewer: mean loss {np.mean(lost):.2f} points, worst "
        f"{max(lost):.2f}, at most 0.5 on {np.sum(np.array(lost) <= 0.5)} of "
        f"{len(lost)} sets"
    )


if __name__ == "__main__":
    main()
