"""What choosing costs: every strategy on the similarities a user would make.

    KREIN_DATA=... python benchmarks/regret.py RESULTS [--splits 10] [--table]

Each case of `regret_matrices.py` is split 60 / 40, stratified; everything is chosen on
the training part: C and other settings by inner folds, the method by `compare`. One
small file per (case, split, strategy) is kept in RESULTS, so that the run can be
stopped and goes on. `--table` prints what is there. Choices about the design of
`SpectrumSVCCV` and of the recommendation were made on the half "design"; "report" is
the other half (by a hash of the name of the data set).
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections import defaultdict
from pathlib import Path

import numpy as np
from regret_matrices import cases
from scipy.stats import binomtest, rankdata
from sklearn.model_selection import StratifiedShuffleSplit

from krein import SpectrumSVCCV
from krein.comparison.evaluation import Problem, evaluate_split
from krein.comparison.methods import METHODS
from krein.comparison.run import compare_problem

FIXED = ("svc", "clip", "flip", "square", "shift", "krein", "neighbors", "features")
CHOSEN = ("average", "best", "recommended")
CANDIDATES = ("svc", "clip", "flip", "square", "neighbors", "features", "average")


def split_of(codes, split):
    cut = StratifiedShuffleSplit(1, train_size=0.6, random_state=split)
    return next(cut.split(codes, codes))


def fixed_errors(K, codes, train, test):
    """Error and seconds of every method with its own settings chosen on `train`."""
    problem = Problem(K, codes, np.unique(codes))
    methods = [METHODS[name] for name in (*FIXED, "average")]
    for record in evaluate_split(problem, methods, (train, test), "accuracy"):
        if "error" in record:
            yield record["method"], 1.0, 0.0
            continue
        seconds = record["fit_seconds"] + record["search_seconds"]
        yield record["method"], 1.0 - record["scores"]["accuracy"], seconds


def best_error(K, codes, train, test):
    start = time.process_time()
    model = SpectrumSVCCV(combine="best").fit(K[np.ix_(train, train)], codes[train])
    error = 1.0 - model.score(K[np.ix_(test, train)], codes[test])
    return error, time.process_time() - start


def recommended(K, codes, train):
    """What `compare` says on the training part."""
    start = time.process_time()
    problem = Problem(K[np.ix_(train, train)], codes[train], np.unique(codes))
    answer = compare_problem(problem, CANDIDATES, cv=5).recommendation
    return answer.method, time.process_time() - start


def run(case, split, folder, strategies):
    """Compute what is missing for one case and split."""
    path = folder / f"{case.name.replace(' ', '')}-{split}.json"
    found = json.loads(path.read_text()) if path.exists() else {}
    if all(name in found for name in strategies):
        return
    items, y = case.items()
    codes = np.unique(y, return_inverse=True)[1]
    train, test = split_of(codes, split)
    K = case.matrix(items, train)
    K = 0.5 * (K + K.T)
    if "clip" not in found:
        for name, error, seconds in fixed_errors(K, codes, train, test):
            found[name] = {"error": error, "seconds": seconds}
    if "best" in strategies and "best" not in found:
        error, seconds = best_error(K, codes, train, test)
        found["best"] = {"error": error, "seconds": seconds}
    if "recommended" in strategies and "recommended" not in found:
        method, seconds = recommended(K, codes, train)
        error = found[method]["error"]
        found["recommended"] = {"error": error, "seconds": seconds, "method": method}
    path.write_text(json.dumps(found))


# ------------------------------------------------------------------------------- table


def collect(folder, half, strategies):
    """Mean error in percent per case (rows) and strategy (columns), and seconds."""
    halves = {case.name.replace(" ", ""): case.half for case in cases(folder)}
    runs = defaultdict(list)
    for path in sorted(folder.glob("*.json")):
        name = path.stem.rsplit("-", 1)[0]
        found = json.loads(path.read_text())
        if halves.get(name) == half and all(s in found for s in strategies):
            runs[name].append(
                [[found[s]["error"], found[s]["seconds"]] for s in strategies]
            )
    names = sorted(runs)
    means = np.array([np.mean(runs[name], axis=0) for name in names])
    counts = [len(runs[name]) for name in names]
    return names, 100 * means[:, :, 0], means[:, :, 1], counts


def show(folder, half, strategies):
    names, errors, seconds, counts = collect(folder, half, strategies)
    fixed = [strategies.index(name) for name in FIXED]
    hindsight = errors[:, fixed].min(axis=1)
    ranks = np.apply_along_axis(rankdata, 1, errors).mean(axis=0)
    print(f"\n{half}: {len(names)} similarities, {min(counts)} to {max(counts)} splits")
    print(
        "strategy       error   rank  regret  worst  against clip (w/t/l, p)  seconds"
    )
    base = errors[:, strategies.index("clip")]
    for s in np.argsort(errors.mean(axis=0)):
        gain = base - errors[:, s]
        wins, losses = int((gain > 1e-9).sum()), int((gain < -1e-9).sum())
        p = binomtest(wins, wins + losses).pvalue if wins + losses else 1.0
        print(
            f"{strategies[s]:<13} {errors[:, s].mean():6.2f} {ranks[s]:6.2f} "
            f"{(errors[:, s] - hindsight).mean():7.2f} "
            f"{(errors[:, s] - hindsight).max():6.2f}  "
            f"{wins:3d}/{len(names) - wins - losses:3d}/{losses:3d}  {p:6.3f} "
            f"{seconds[:, s].mean():13.2f}"
        )
    print(f"{'hindsight':<13} {hindsight.mean():6.2f}   (the best fixed one per case)")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", type=Path)
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--recommended", type=int, default=2, metavar="SPLITS")
    parser.add_argument("--table", action="store_true")
    args = parser.parse_args()
    args.results.mkdir(parents=True, exist_ok=True)
    if not args.table:
        warnings.simplefilter("ignore")
        for split in range(args.splits):
            for case in cases(args.results / "distances"):
                run(case, split, args.results, [*FIXED, *CHOSEN[:2]])
            if split < args.recommended:
                for case in cases(args.results / "distances"):
                    run(case, split, args.results, [*FIXED, *CHOSEN])
    for half in ("design", "report"):
        show(args.results, half, [*FIXED, *CHOSEN[:2]])
    for half in ("design", "report"):
        show(args.results, half, [*FIXED, *CHOSEN])


if __name__ == "__main__":
    main()
