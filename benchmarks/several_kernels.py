"""SimilarityClassifier on all kernels of a data set at once, and on each alone.

    KREIN_DATA=... python benchmarks/several_kernels.py RESULTS [--splits 5] [--csv F]

Data sets of `regret_matrices.py` that have several distances, or several kernels, each
split 60 / 40 as in `regret.py`. Where a data set has distances its similarities enter
by theirs, so that the model is given one kind. RESULTS keeps one file per data set and
split, so that a run that was stopped goes on. `--csv F` computes nothing and writes
a row per data set: errors in percent of all kernels pooled, of the kernel whose model
has the best score on its inner folds, and of the kernel that is best in hindsight.
"""

from __future__ import annotations

import argparse
import csv
import json
import warnings
from collections import defaultdict
from pathlib import Path

import numpy as np
from regret import distances, form_of, given_kernel, split_of
from regret_matrices import cases

from krein import SimilarityClassifier

TITLES = ("data set", "half", "kernels", "splits", "pooled", "best score", "hindsight")


def data_sets(folder):
    """{data set: its cases}, of those that have several kernels.

    A distance in several forms is one kernel; a given one has no other beside it.
    """
    found = defaultdict(dict)
    for case in cases(folder):
        data, kernel = case.name.split(", ")
        found[data].setdefault(kernel.split()[0], case)
    given = ("dis_", "sim_")
    return {
        data: list(by_kernel.values())
        for data, by_kernel in found.items()
        if len(by_kernel) > 1 and not data.startswith(given)
    }


def kernels_of(cases_of_data, train):
    """What the model is given: the kind, and kernels on the numbers of the items."""
    loaded = [(case, case.items()[0]) for case in cases_of_data]
    of_distances = any(form_of(case) is not None for case in cases_of_data)
    matrices = []
    for case, items in loaded:
        K = case.matrix(items, train)
        K = 0.5 * (K + K.T)
        matrices.append(distances(case, items, K) if of_distances else K)
    kind = "distance" if of_distances else "similarity"
    return kind, [given_kernel(M) for M in matrices]


def run(data, cases_of_data, split, folder):
    path = folder / f"{data}-{split}.json"
    if path.exists():
        return
    y = cases_of_data[0].items()[1]
    codes = np.unique(y, return_inverse=True)[1]
    train, test = split_of(codes, split)
    kind, kernels = kernels_of(cases_of_data, train)
    found = []
    for given in (kernels, *kernels):
        model = SimilarityClassifier(given, kind=kind)
        model.fit(train[:, None], codes[train])
        error = 1.0 - model.score(test[:, None], codes[test])
        found.append({"error": error, "score": float(model.best_score_)})
    path.write_text(json.dumps({"pooled": found[0], "alone": found[1:]}))


def row_of(runs):
    """Mean errors in percent: pooled, of the best score, and of the best kernel."""
    alone = [[one["error"] for one in found["alone"]] for found in runs]
    by_score = [
        max(found["alone"], key=lambda one: one["score"])["error"] for found in runs
    ]
    pooled = np.mean([found["pooled"]["error"] for found in runs])
    means = pooled, np.mean(by_score), np.mean(alone, axis=0).min()
    return [f"{100 * mean:.6g}" for mean in means]


def write_csv(folder, path):
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(TITLES)
        for data, several in data_sets(folder).items():
            files = sorted(folder.glob(f"{data}-*.json"))
            runs = [json.loads(file.read_text()) for file in files]
            if runs:
                half, kernels = several[0].half, len(several)
                writer.writerow([data, half, kernels, len(runs), *row_of(runs)])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", type=Path)
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--csv", type=Path, metavar="FILE")
    args = parser.parse_args()
    if args.csv is not None:
        write_csv(args.results, args.csv)
        return
    args.results.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    for split in range(args.splits):
        for data, several in data_sets(args.results / "distances").items():
            run(data, several, split, args.results)
            print(data, split, flush=True)


if __name__ == "__main__":
    main()
