"""Fewer similarities per prediction: what sparsify and early exit save and cost.

    python benchmarks/sparse.py [--splits 10] [--seed 0] [--fewer 5]
    python benchmarks/sparse.py --early [--splits 10] [--seed 0] [--fewer 5]

Krein SVMs on kernels of time warping and of alignments, C chosen by cross-validation
inside each training part; losses with their standard error over the splits. The rule
was chosen on the splits of seed 1. Data come from the folder KREIN_DATA; matrices of
kernels are computed once, so that minutes are the price of fits, not of similarities.
With --early labels of test items are predicted from the items: the share of the
similarities and of the processor time of `predict` that `predict_early` needs for the
same labels, alone and on top of sparsify, and calibrated for a fifth of them.
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


def settings(fewer):
    """Name and model of every way to need fewer similarities."""
    share = f"calibrate_early(share={1 / fewer:g})"
    return {
        share: lambda model, K: model.calibrate_early(K, share=1 / fewer),
        "calibrate_early(change=0.005)": lambda model, K: model.calibrate_early(
            K, change=0.005
        ),
        f"sparsify(n_prototypes=n // {fewer})": lambda model, K: model.sparsify(
            K, n_prototypes=len(K) // fewer
        ),
    }


def one_split(K, y, train, test, chosen):
    """Accuracy before and after, share of similarities, labels changed, both stated."""
    K_train, K_test = K[np.ix_(train, train)], K[np.ix_(test, train)]
    dense = best_machine(K_train, y[train])
    labels = dense.predict(K_test)
    found = []
    for quicker in chosen.values():
        model = quicker(dense, K_train)
        early, counts = model.predict_early(K_test, return_counts=True)
        stated = getattr(model, "labels_changed_", 0) / len(train)
        found.append(
            (
                np.mean(labels == y[test]),
                np.mean(early == y[test]),
                counts.mean() / len(train),
                getattr(model, "expected_share_", model.support_.size / len(train)),
                np.mean(early != labels),
                getattr(model, "expected_change_", stated),
            )
        )
    return found


def clocked(function):
    start = time.process_time()
    value = function()
    return value, time.process_time() - start


def one_early(kernel, K, X, y, split, fewer):
    """Shares of similarities and of time: dense, sparse and calibrated model."""
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
    found.append(counts.mean() / len(train))
    quick = dense.calibrate_early(share=1 / fewer)
    slow = clocked(lambda: dense.predict(new))[1]
    (_, counts), fast = clocked(lambda: quick.predict_early(new, return_counts=True))
    return [*found, counts.mean() / len(train), fast / slow]


def early(splits, fewer):
    sets = [*series([None, 0.1]), *sequences()]
    print("share of similarities, and of time, for the labels of predict")
    for name, kernel, X, y in sets:
        K = kernel_matrix(kernel, X)
        rows = [
            one_early(kernel, K, X, y, split, fewer) for split in splits.split(K, y)
        ]
        alone, time_alone, top, time_top, both, *calibrated = np.mean(rows, axis=0)
        print(
            f"{name:27s} all items: {alone:.2f} ({time_alone:.2f}); 1/{fewer} of them: "
            f"{top:.2f} ({time_top:.2f}), {both:.3f} of all; calibrated: "
            f"{calibrated[0]:.3f} ({calibrated[1]:.3f})",
            flush=True,
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--fewer", type=int, default=5)
    parser.add_argument("--early", action="store_true")
    given = parser.parse_args()
    splits = StratifiedShuffleSplit(
        given.splits, test_size=0.3, random_state=given.seed
    )
    if given.early:
        early(splits, given.fewer)
    else:
        sparse(splits, given.fewer)


def sparse(splits, fewer):
    chosen = settings(fewer)
    lost, used = [], []
    for name, K, y in similarities():
        rows = np.array([one_split(K, y, *s, chosen) for s in splits.split(K, y)])
        loss = 100 * (rows[:, :, 0] - rows[:, :, 1])
        error = loss.std(axis=0, ddof=1) / np.sqrt(len(loss))
        for i, setting in enumerate(chosen):
            before, after, share, said, changed, stated = rows[:, i].mean(axis=0)
            print(
                f"{name:26s} {setting:29s} {share:.3f} of the similarities (stated "
                f"{said:.3f}), accuracy {100 * before:.1f} -> {100 * after:.1f}, loss "
                f"{loss[:, i].mean():.2f} +- {error[i]:.2f}, labels changed "
                f"{100 * changed:.1f} % (stated {100 * stated:.1f})",
                flush=True,
            )
        lost.append(loss.mean(axis=0))
        used.append(rows[:, :, 2].mean(axis=0))
    names = (f"{fewer} times fewer", *list(chosen)[1:])
    for name, loss, share in zip(
        names, np.transpose(lost), np.transpose(used), strict=True
    ):
        print(
            f"{name}: mean loss {loss.mean():.2f} points, worst {loss.max():.2f}, "
            f"at most 0.5 on {np.sum(loss <= 0.5)} of {len(loss)} sets; "
            f"{share.mean():.3f} of the similarities, at most {share.max():.3f}"
        )


if __name__ == "__main__":
    main()
