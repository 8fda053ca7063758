"""Fewer similarities per prediction: what sparsify and early exit save and cost.

    python benchmarks/sparse.py [--splits 10] [--fewer 5]
    python benchmarks/sparse.py --early [--splits 10] [--fewer 5]

Krein SVMs on kernels of time warping and of alignments, C chosen by cross-validation
inside each training part; a fifth of the training items as prototypes. Data come from
the folder KREIN_DATA; matrices of kernels are computed once, so that minutes are the
price of fits, not of similarities. With --early labels of test items are predicted from
the items: the share of the similarities and of the processor time of `predict` that
`predict_early` needs for the same labels, alone and on top of sparsify.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import os
import time
from pathlib import Path

import numpy as np
from sklearn.model_selection import GridSearchCV, StratifiedShuffleSplit

from krein import Kernel, KreinSVC, kernel_matrix
from krein.items import take

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


def one_split(K, y, train, test, settings):
    """Errors of the dense and the sparse model on test items, and what was kept."""
    K_train, K_test = K[np.ix_(train, train)], K[np.ix_(test, train)]
    dense = best_machine(K_train, y[train])
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


def clocked(function):
    start = time.process_time()
    value = function()
    return value, time.process_time() - start


def one_early(kernel, K, X, y, split, fewer):
    """Shares of similarities and of time, for the dense and the sparse model."""
    train, test = split
    K_train = K[np.ix_(train, train)]
    C = best_machine(K_train, y[train]).C
    items, new = take(X, train), take(X, test)
    dense = KreinSVC(kernel=kernel, C=C, symmetrize=True).fit(items, y[train])
    found = []
    for model in (dense, dense.sparsify(n_prototypes=len(train) // fewer)):
        labels, slow = clocked(lambda model=model: model.predict(new))
        (same, counts), fast = clocked(
            lambda model=model: model.predict_early(new, return_counts=True)
        )
        if not np.array_equal(labels, same):
            raise AssertionError("another label than that of predict")
        found += [counts.mean() / model.support_.size, fast / slow]
    return [*found, counts.mean() / len(train)]


def early(splits, fewer):
    sets = [*series([None, 0.1]), *sequences()]
    print("share of similarities, and of time, for the labels of predict")
    for name, kernel, X, y in sets:
        K = kernel_matrix(kernel, X)
        rows = [
            one_early(kernel, K, X, y, split, fewer) for split in splits.split(K, y)
        ]
        alone, time_alone, top, time_top, both = np.mean(rows, axis=0)
        print(
            f"{name:27s} all items: {alone:.2f} ({time_alone:.2f}); 1/{fewer} of them: "
            f"{top:.2f} ({time_top:.2f}), {both:.3f} of all",
            flush=True,
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--fewer", type=int, default=5)
    parser.add_argument("--early", action="store_true")
    given = parser.parse_args()
    splits = StratifiedShuffleSplit(given.splits, test_size=0.3, random_state=0)
    if given.early:
        early(splits, given.fewer)
    else:
        sparse(splits, given.fewer)


def sparse(splits, fewer):
    chosen = settings(fewer)
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
        f"{fewer} times fewer: mean loss {np.mean(lost):.2f} points, "
        f"worst {max(lost):.2f}, at most 0.5 on {sum(reached)} of {len(reached)} sets"
    )


if __name__ == "__main__":
    main()
