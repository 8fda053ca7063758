"""What choosing costs: every strategy on the similarities a user would make.

    KREIN_DATA=... python benchmarks/regret.py RESULTS [--splits 10] [--table FILE]

Each case of `regret_matrices.py` is split 60 / 40, stratified; everything is chosen on
the training part: C and other settings by inner folds, the method by `compare` with
five folds. One small file per case and split is kept in RESULTS, so that the run can be
stopped and goes on. `--table FILE` computes nothing and writes the tables of what is
there, as Markdown, between the marks of a page (docs/guide/choosing.md). Choices about
the design of `SpectrumSVCCV` and of the recommendation were made on the half "design";
"report" is the other half (by a hash of the name of the data set). Seconds are those of
the processor, one thread: other work may run beside.
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

import krein.comparison.evaluation
import krein.store.sharing
from krein import SpectrumSVCCV
from krein.comparison.evaluation import evaluate_split
from krein.comparison.methods import METHODS
from krein.comparison.problem import Problem
from krein.comparison.recommendation import choose
from krein.comparison.run import compare_problem

krein.store.sharing.perf_counter = time.process_time

FIXED = ("svc", "clip", "flip", "square", "shift", "krein", "neighbors", "features")
CHOSEN = ("average", "best", "recommended")
CANDIDATES = ("svc", "clip", "flip", "square", "neighbors", "features", "average")
FOLDS = 5
TITLES = {
    "svc": "always raw SVC",
    **{name: f"always {name}" for name in ("clip", "flip", "square", "shift")},
    "krein": "always `KreinSVC`",
    "neighbors": "always nearest neighbours",
    "features": "always rows as features",
    "average": "`SpectrumSVCCV()`, the average",
    "best": '`SpectrumSVCCV(combine="best")`',
    "recommended": "**what `compare` recommends**",
}
BEGIN, END = "<!-- regret -->", "<!-- end of regret -->"


def split_of(codes, split):
    cut = StratifiedShuffleSplit(1, train_size=0.6, random_state=split)
    return next(cut.split(codes, codes))


def fixed_errors(K, codes, train, test):
    """Error and seconds of every method with its own settings chosen on `train`."""
    problem = Problem(K, codes, np.unique(codes))
    methods = [METHODS[name] for name in FIXED]
    found = {}
    for record in evaluate_split(problem, methods, (train, test), "accuracy"):
        failed = "error" in record
        found[record["method"]] = {
            "error": 1.0 if failed else 1.0 - record["scores"]["accuracy"],
            "seconds": 0.0
            if failed
            else record["fit_seconds"] + record["search_seconds"],
        }
    return found


def searched_error(combine, K, codes, train, test):
    """Error and seconds of `SpectrumSVCCV`."""
    start = time.process_time()
    model = SpectrumSVCCV(combine=combine).fit(K[np.ix_(train, train)], codes[train])
    seconds = time.process_time() - start
    error = 1.0 - model.score(K[np.ix_(test, train)], codes[test])
    return {"error": error, "seconds": seconds}


def compared(K, codes, train):
    """What `compare` finds and recommends on the training part."""
    start = time.process_time()
    problem = Problem(K[np.ix_(train, train)], codes[train], np.unique(codes))
    found = compare_problem(problem, CANDIDATES, cv=FOLDS)
    return {
        "method": found.recommendation.method,
        "seconds": time.process_time() - start,
        "scores": {name: found.scores(name).tolist() for name in found.completed},
        "share": found.test_share,
        "indefinite": found.indefinite,
    }


def run(case, split, folder):
    """Compute what is missing for one case and split."""
    path = folder / f"{case.name.replace(' ', '')}-{split}.json"
    found = json.loads(path.read_text()) if path.exists() else {}
    if "recommended" in found:
        return
    items, y = case.items()
    codes = np.unique(y, return_inverse=True)[1]
    train, test = split_of(codes, split)
    K = case.matrix(items, train)
    K = 0.5 * (K + K.T)
    if "clip" not in found:
        found.update(fixed_errors(K, codes, train, test))
    for name in ("average", "best"):
        if name not in found:
            found[name] = searched_error(name, K, codes, train, test)
    answer = compared(K, codes, train)
    found["recommended"] = {"error": found[answer["method"]]["error"], **answer}
    path.write_text(json.dumps(found))


# ------------------------------------------------------------------------------- table


def collect(folder, half, strategies):
    """Mean error in percent per case (rows) and strategy (columns), and seconds.

    Over the splits that every case has.
    """
    halves = {case.name.replace(" ", ""): case.half for case in cases(folder)}
    runs = defaultdict(dict)
    for path in sorted(folder.glob("*.json")):
        name, split = path.stem.rsplit("-", 1)
        found = json.loads(path.read_text())
        if halves.get(name) == half and all(s in found for s in strategies):
            by_today_s_rule(found)
            runs[name][split] = [
                [found[s]["error"], found[s]["seconds"]] for s in strategies
            ]
    common = sorted(set.intersection(*(set(one) for one in runs.values())))
    means = np.array(
        [np.mean([runs[name][s] for s in common], axis=0) for name in sorted(runs)]
    )
    # Sums of the same errors in another order are a tie.
    return np.round(100 * means[:, :, 0], 9), means[:, :, 1], len(common)


def by_today_s_rule(found):
    """Recommend from the scores that were kept, whatever the rule was then."""
    answer = found.get("recommended")
    if answer is not None:
        scores = {name: np.array(values) for name, values in answer["scores"].items()}
        method = choose(scores, answer["share"], indefinite=answer["indefinite"])
        answer["error"] = found[method]["error"]


def against(base, errors):
    """Wins / ties / losses over cases and the p value of a sign test."""
    wins, losses = int((base - errors > 1e-9).sum()), int((base - errors < -1e-9).sum())
    p = binomtest(wins, wins + losses).pvalue if wins + losses else 1.0
    return f"{wins} / {errors.size - wins - losses} / {losses} ({p:.2g})"


def table(folder, half, strategies):
    """Lines of a Markdown table, the smallest mean error first."""
    errors, seconds, splits = collect(folder, half, strategies)
    hindsight = errors[:, : len(FIXED)].min(axis=1)
    ranks = np.apply_along_axis(rankdata, 1, errors).mean(axis=0)
    lines = [
        f"{half.capitalize()}, {len(errors)} similarities, {splits} splits each:",
        "",
        "| strategy | error % | rank | regret | worst | against clip | seconds |",
        "|---|---|---|---|---|---|---|",
    ]
    base = errors[:, strategies.index("clip")]
    for s in np.argsort(errors.mean(axis=0), kind="stable"):
        regret = errors[:, s] - hindsight
        versus = "" if strategies[s] == "clip" else against(base, errors[:, s])
        lines.append(
            f"| {TITLES[strategies[s]]} | {errors[:, s].mean():.2f} | {ranks[s]:.2f} | "
            f"{regret.mean():.2f} | {regret.max():.1f} | {versus} | "
            f"{seconds[:, s].mean():.2f} |"
        )
    best = f"| the best of the eight fixed ones in hindsight | {hindsight.mean():.2f}"
    return [*lines, f"{best} | | 0 | 0 | {against(base, hindsight)} | |", ""]


def tables(folder):
    """Both halves, over the splits that every case has."""
    strategies = [*FIXED, *CHOSEN]
    halves = ("design", "report")
    return "\n".join("\n".join(table(folder, half, strategies)) for half in halves)


def put(page, text):
    """Replace what is between the marks of a page."""
    before, rest = page.read_text().split(BEGIN)
    after = rest.split(END)[1]
    page.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", type=Path)
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--table", type=Path, metavar="PAGE")
    args = parser.parse_args()
    if args.table is not None:
        put(args.table, tables(args.results))
        return
    args.results.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    for split in range(args.splits):
        for case in cases(args.results / "distances"):
            run(case, split, args.results)
    print(tables(args.results))


if __name__ == "__main__":
    main()
