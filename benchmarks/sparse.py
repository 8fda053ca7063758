"""Fewer similarities per prediction: what sparsify saves, and what it costs.

    python benchmarks/sparse.py [--splits 10] [--fewer 5]

Krein SVMs on kernels of time warping and of alignments, C chosen by cross-validation
inside each training part; a fifth of the training items as prototypes. Data come from
the folder KREIN_DATA; matrices of kernels are computed once, so that minutes are the
price of fits, not of similarities.
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


def similarities():
    """Name, matrix and labels of every set."""
    for name in SERIES:
        with np.load(folder() / f"ts_{name}.npz") as data:
            X, y = data["X"], data["y"]
        yield f"dtw {name}", kernel_matrix(Kernel("dtw", gamma="median").fit(X), X), y
    with np.load(folder() / "sim_protein.npz") as data:
        yield "alignment sim_protein", data["X"], data["y"]
    with np.load(folder() / "dis_protein226.npz") as data:
        D = data["X"] ** 2
        yield "alignment globins", np.exp(-D / np.median(D)), data["y"]
    for name, matrix in (
        ("protein_location", "blosum62"),
        ("promoters", "dnafull"),
        ("mirna", "dnafull"),
    ):
        X, y = strings(name)
        X = [x.replace("U", "T") for x in X] if matrix == "dnafull" else X
        kernel = Kernel("smith_waterman", matrix=matrix, normalize=True)
        yield f"alignment {name}", kernel_matrix(kernel, X), y


def one_split(K, y, train, test, settings):
    """Errors of the dense and the sparse model on test items, and what was kept."""
    K_train, K_test = K[np.ix_(train, train)], K[np.ix_(test, train)]
    search = GridSearchCV(KreinSVC(symmetrize=True), GRID, cv=5)
    dense = search.fit(K_train, y[train]).best_estimator_
    found = []
    for setting in settings:
        sparse = dense.sparsify(K_train, **setting(len(train)))
        change = sparse.decision_function(K_test) - dense.decision_function(K_test)
        found.append(
            (
                np.mean(dense.predict(K_test) == y[test]),
                np.mean(sparse.predict(K_test) == y[test]),
                len(train) / sparse.support_.size,
                sparse.sparse_error_,
                np.abs(change).max(),
                np.mean(sparse.predict(K_test) != dense.predict(K_test)),
            )
        )
    return found


def settings(fewer):
    return {
        f"1/{fewer}": lambda n: {"n_prototypes": n // fewer},
        "0.1": lambda n: {"tolerance": 0.1},
        "0.2": lambda n: {"tolerance": 0.2},
        "0.5": lambda n: {"tolerance": 0.5},
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--fewer", type=int, default=5)
    given = parser.parse_args()
    chosen = settings(given.fewer)
    splits = StratifiedShuffleSplit(given.splits, test_size=0.3, random_state=0)
    reached, lost = [], []
    for name, K, y in similarities():
        rows = np.mean(
            [one_split(K, y, *split, chosen.values()) for split in splits.split(K, y)],
            axis=0,
        )
        for setting, row in zip(chosen, rows, strict=True):
            before, after, times, claimed, seen, changed = row
            print(
                f"{name:27s} {setting:>4s}: {times:5.1f} times fewer, accuracy "
                f"{100 * before:.1f} -> {100 * after:.1f}, change on training items "
                f"{claimed:.2f}, on test items {seen:.2f}, labels changed "
                f"{100 * changed:.1f} %",
                flush=True,
            )
        lost.append(100 * (rows[0, 0] - rows[0, 1]))
        reached.append(lost[-1] <= 0.5)
    print(
        f"{given.fewer} times fewer: mean loss {np.mean(lost):.2f} points, "
        f"worst {max(lost):.2f}, at most 0.5 on {sum(reached)} of {len(reached)} sets"
    )


if __name__ == "__main__":
    main()
