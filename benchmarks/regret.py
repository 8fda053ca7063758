"""What choosing costs: every strategy on the similarities a user would make.

    KREIN_DATA=... python benchmarks/regret.py RESULTS [--splits 10] [--csv FILE]

Each case of `regret_matrices.py` is split 60 / 40, stratified; everything is chosen on
the training part: C and other settings by inner folds, the method by `compare` with
five folds. `random_objects` is a yardstick from elsewhere, on distances; `yardsticks`
has those of scikit-learn. `SimilarityClassifier`, alone and in `compare`, gets what a
user has: distances, items of a kernel, or similarities. One small file per case and
split is kept in RESULTS, so that the run can be stopped and goes on.
`--csv FILE` computes nothing and writes the means over the splits that every case has;
`benchmarks/results_page.py` makes tables and a picture of it.
Choices about the design of `SpectrumSVCCV` and of the recommendation were made on the
half "design"; "report" is the other half (by a hash of the name of the data set).
Seconds are those of the processor, one thread: other work may run beside.
"""

from __future__ import annotations

import argparse
import csv
import json
import time
import warnings
from collections import defaultdict
from itertools import product
from pathlib import Path

import numpy as np
from regret_matrices import FORMS, as_it_is, cases, exponential, median
from results_page import ALIKE, COLUMNS, FIXED
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import LinearSVC
from yardsticks import chosen, flip_logistic, measured, rbf_rows, svc, views_of

import krein.comparison.evaluation
import krein.store.shared_work
from krein import DistanceTransformer, SimilarityClassifier, SpectrumSVCCV
from krein.comparison.contender import Contender
from krein.comparison.contenders import CONTENDERS
from krein.comparison.evaluation import evaluate_split
from krein.comparison.problem import Problem, make_problem
from krein.comparison.recommendation import choose, default_method
from krein.comparison.run import compare_problem
from krein.similarity.conversions import AS_GIVEN
from krein.training import Classes

krein.store.shared_work.perf_counter = time.process_time

CANDIDATES = ("similarity", "svc", "clip", "flip", "square", "neighbors", "features",
              "average")  # fmt: skip
FOLDS = 5
# Yardsticks of scikit-learn: on the view as given, and with the view chosen.
YARDSTICKS = {
    "rbf_rows": (rbf_rows, None),
    "flip_logistic": (flip_logistic, "flip_logistic_converted"),
    "svc_given": (svc, "svc_converted"),
}


def split_of(codes, split):
    cut = StratifiedShuffleSplit(1, train_size=0.6, random_state=split)
    return next(cut.split(codes, codes))


def random_objects(gamma=1.0, objects=256, C=1.0):
    """Linear SVM on random-object features of distances (D2KE, Wu et al. 2018).

    phi_j(x) = exp(-gamma d(x, w_j)) / sqrt(R); here w_1 .. w_R are random training
    items, because a matrix of distances has no others.
    """

    def features(D):
        chosen = np.random.default_rng(0).permutation(D.shape[1])[:objects]
        return np.exp(-gamma * D[:, chosen]) / np.sqrt(chosen.size)

    return make_pipeline(FunctionTransformer(features), LinearSVC(C=C, dual=False))


def random_objects_grid(D):
    """Candidates, the first of equals is taken; gamma times the median distance."""
    unit = 1.0 / median(D, np.arange(len(D)))
    grid = product((1.0, 3.0, 0.3, 10.0, 0.1, 0.03), (64, 256), 10.0 ** np.arange(7))
    return [{"gamma": g * unit, "objects": R, "C": C} for g, R, C in grid]


RANDOM_OBJECTS = Contender(
    "random_objects", "", 1, grid=random_objects_grid, make=random_objects
)


def distances(case, items, K):
    """Distances that were given, else d_ij^2 = k_ii + k_jj - 2 k_ij, at least 0."""
    if form_of(case) is not None:
        return items
    k = np.diagonal(K)
    return np.sqrt(np.maximum(k[:, None] + k - 2 * K, 0.0))


def fixed_errors(K, codes, train, test, methods):
    """Error and seconds of every method with its own settings chosen on `train`."""
    problem = Problem(K, Classes(codes, np.unique(codes).size), np.unique(codes))
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


def given_kernel(K):
    """A kernel on items that are known by their numbers."""

    def kernel(one, other):
        return K[np.ix_(one[:, 0].astype(int), other[:, 0].astype(int))]

    return kernel


def form_of(case):
    """Name of what was made of distances; None where there were none."""
    return case.matrix.__name__ if case.matrix in FORMS.values() else None


def on_what_is_there(case, items, K):
    """`SimilarityClassifier`, and what is cut by rows (and columns) for it.

    Distances where the data are distances, items where they are vectors (whose kernel
    is then a function), else similarities.
    """
    if form_of(case) is not None:
        return SimilarityClassifier(kind="distance"), items
    if case.matrix is as_it_is:
        return SimilarityClassifier(), K
    return SimilarityClassifier(given_kernel(K)), np.arange(len(K))[:, None]


def similarity_model(case, items, K, codes, train, test):
    """Error and seconds of `SimilarityClassifier`, and the conversions it chose."""
    model, M = on_what_is_there(case, items, K)
    square = len(M) == M.shape[1]
    start = time.process_time()
    model.fit(M[np.ix_(train, train)] if square else M[train], codes[train])
    seconds = time.process_time() - start
    new = M[np.ix_(test, train)] if square else M[test]
    best_first = [one["conversion"] for one in model.ranking_ if one["chosen"]]
    return {
        "error": 1.0 - model.score(new, codes[test]),
        "seconds": seconds,
        "conversions": best_first,
    }


def yardsticks(views, codes, train, test, known):
    """Those of scikit-learn that are not `known` yet, by the name of the strategy."""
    found = {}
    for given, (learn, converted) in YARDSTICKS.items():
        if (converted or given) in known:
            continue
        offered = views if converted else {AS_GIVEN: views[AS_GIVEN]}
        by_view = measured(learn, offered, codes, train, test)
        found[given] = by_view[AS_GIVEN]
        if converted:
            found[converted] = {**chosen(by_view), "by_view": by_view}
    return found


def searched_error(combine, K, codes, train, test):
    """Error and seconds of `SpectrumSVCCV`."""
    start = time.process_time()
    model = SpectrumSVCCV(combine=combine).fit(K[np.ix_(train, train)], codes[train])
    seconds = time.process_time() - start
    error = 1.0 - model.score(K[np.ix_(test, train)], codes[test])
    return {"error": error, "seconds": seconds}


def problem_of(case, items, K, codes, train):
    """The training part as a user of `compare` gives it: distances, items or K."""
    codes = codes[train]
    form = form_of(case)
    if form is not None:
        conversion = DistanceTransformer(form)
        D = items[np.ix_(train, train)]
        return make_problem(D, codes, conversion=conversion)
    if case.matrix is as_it_is:
        return make_problem(K[np.ix_(train, train)], codes)
    return make_problem(train[:, None], codes, kernel=given_kernel(K))


def compared(problem):
    """What `compare` finds and recommends on the training part."""
    start = time.process_time()
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
    if all(column in found for column in COLUMNS):
        return
    items, y = case.items()
    codes = np.unique(y, return_inverse=True)[1]
    train, test = split_of(codes, split)
    K = case.matrix(items, train)
    K = 0.5 * (K + K.T)
    names = [name for name in FIXED if name in CONTENDERS and name not in found]
    missing = [CONTENDERS[name] for name in names]
    found.update(fixed_errors(K, codes, train, test, missing))
    D = distances(case, items, K)
    if "random_objects" not in found:
        found.update(fixed_errors(D, codes, train, test, [RANDOM_OBJECTS]))
    S = exponential(D, train)
    for name, similarity in (("average", K), ("best", K), ("converted", S)):
        if name not in found:
            combine = "best" if name == "best" else "average"
            found[name] = searched_error(combine, similarity, codes, train, test)
    if "similarity" not in found:
        found["similarity"] = similarity_model(case, items, K, codes, train, test)
    views = views_of(K, D, train)
    found.update(yardsticks(views, codes, train, test, found))
    if ALIKE not in found:
        fed = found["similarity"]["conversions"][0]
        found[ALIKE] = found["svc_converted"]["by_view"][fed]
    if "recommended" not in found:
        answer = compared(problem_of(case, items, K, codes, train))
        found["recommended"] = {"error": found[answer["method"]]["error"], **answer}
    unfinished = path.with_suffix(".part")
    unfinished.write_text(json.dumps(found))
    unfinished.replace(path)


# ------------------------------------------------------------------------------- means


def collect(folder):
    """Return {case: {split: {strategy: (error, seconds)}}} of all complete runs."""
    runs = defaultdict(dict)
    for path in sorted(folder.glob("*.json")):
        name, split = path.stem.rsplit("-", 1)
        found = json.loads(path.read_text())
        if all(column in found for column in COLUMNS):
            by_today_s_rule(found)
            runs[name][split] = {
                s: (found[s]["error"], found[s]["seconds"]) for s in COLUMNS
            }
    return runs


def write_csv(folder, path):
    """Write a row per case: means over the splits that every case has."""
    runs = collect(folder)
    common = sorted(set.intersection(*(set(one) for one in runs.values())))
    with path.open("w", newline="", encoding="utf-8") as file:
        seconds = [f"{s} seconds" for s in COLUMNS]
        titles = ["name", "half", "splits", *COLUMNS, *seconds]
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(titles)
        for case in cases(folder):
            name = case.name.replace(" ", "")
            if name in runs:
                means = np.mean(
                    [[runs[name][k][s] for s in COLUMNS] for k in common], axis=0
                )
                # Sums of the same errors in another order are a tie.
                errors = [f"{100 * error:.6g}" for error in means[:, 0]]
                times = [f"{seconds:.3g}" for seconds in means[:, 1]]
                writer.writerow([case.name, case.half, len(common), *errors, *times])


def by_today_s_rule(found):
    """Recommend from the scores that were kept, whatever the rule was then."""
    answer = found.get("recommended")
    if answer is not None:
        scores = {name: np.array(values) for name, values in answer["scores"].items()}
        default = default_method(scores, indefinite=answer["indefinite"])
        method = choose(scores, answer["share"], default)
        answer["error"] = found[method]["error"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", type=Path)
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--csv", type=Path, metavar="FILE")
    args = parser.parse_args()
    if args.csv is not None:
        write_csv(args.results, args.csv)
        return
    args.results.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    for split in range(args.splits):
        for case in cases(args.results / "distances"):
            run(case, split, args.results)


if __name__ == "__main__":
    main()
