"""Which conversions to pool, and how many to average: rules for SimilarityClassifier.

    KREIN_DATA=... python benchmarks/conversions.py RESULTS [--splits 3] [--table]

For every similarity of `regret_matrices.py` and every split 60 / 40, a `SpectrumSVCCV`
is fitted on each conversion of its distances (given, or derived from similarities), and
on the similarity as it is given. Kept are the score of the screen, the score on the
folds and the probabilities of held-out items, one file per similarity and split, so
that a run that was stopped goes on. `--table` computes nothing: it prints the mean
error (in %) of every rule "average the k best of these by this score", on both halves,
and of the rule that is chosen without the data set it is judged on. `--pooled` prints
the same with the similarities of one data set pooled.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections import defaultdict
from itertools import product
from pathlib import Path

import numpy as np
from regret import distances, split_of
from regret_matrices import cases

from krein import SpectrumSVCCV
from krein.selection.folds import inner_folds
from krein.similarity.conversions import CONVERSIONS, Conversion
from krein.similarity.matrix import Similarities
from krein.training import Classes, Training

GIVEN = "as given"
TRIED = {
    **{
        name: CONVERSIONS[name]
        for name in (
            "exponential",
            "wide exponential",
            "gaussian",
            "wide gaussian",
            "local",
            "centred",
        )
    },
    "local 15": Conversion("local", neighbors=15),
    "local 3": Conversion("local", neighbors=3),
}
SIX = (GIVEN, "exponential", "wide exponential", "gaussian", "wide gaussian", "local")
POOLS = {
    "as given": (GIVEN,),
    "exponential": ("exponential",),
    "local": ("local",),
    "five": SIX[1:],
    "six": SIX,
    "six and centred": (*SIX, "centred"),
    "six, local 15 for 7": (*SIX[:5], "local 15"),
    "all": (GIVEN, *TRIED),
    "given, exp, local": (GIVEN, "exponential", "wide exponential", "local"),
}
TOPS = (1, 2, 3, 4, 5)


def fitted(K, new, codes, n_classes):
    """Scores and held-out probabilities of the model of one similarity."""
    start = time.process_time()
    model = SpectrumSVCCV()
    model.classes_ = np.arange(n_classes)
    training = Training(Similarities(K), None, None, len(codes))
    target = Classes(codes, n_classes)
    spectrum = training.K.spectrum(None)
    _, screen = model.settings(training, target, spectrum, screened=True)
    screened = time.process_time() - start
    folds = inner_folds(codes, 0, "the search")
    model.fit_on(training, target, folds, screened=True)
    model.X_fit_, model.n_features_in_ = None, len(codes)
    seconds = time.process_time() - start
    proba = model.predict_proba(new)
    return {
        "screen": screen,
        "score": model.best_score_,
        "proba": proba,
        "seconds": seconds,
        "screen seconds": screened,
    }


def run(case, split, folder):
    path = folder / f"{case.name.replace(' ', '')}-{split}.npz"
    if path.exists():
        return
    items, y = case.items()
    codes = np.unique(y, return_inverse=True)[1]
    n_classes = int(codes.max()) + 1
    train, test = split_of(codes, split)
    K = case.matrix(items, train)
    K = 0.5 * (K + K.T)
    D = distances(case, items, K)
    found = {"codes": codes[test]}
    similarities = {GIVEN: lambda: K[:, train]}
    for name, conversion in TRIED.items():
        settled = conversion.settle(D[np.ix_(train, train)])
        similarities[name] = lambda settled=settled: settled.similarities(D[:, train])
    for name, make in similarities.items():
        S = make()
        for key, value in fitted(S[train], S[test], codes[train], n_classes).items():
            found[f"{name}|{key}"] = value
    np.savez(path, **found)


# ----------------------------------------------------------------------------- tables


def load(folder, splits):
    """{(case, split): {candidate: (screen, score, proba)}}, codes and halves."""
    runs = {}
    for split, case in product(range(splits), cases(folder)):
        path = folder / f"{case.name.replace(' ', '')}-{split}.npz"
        if path.exists():
            with np.load(path) as file:
                z = {key: file[key] for key in file.files}
            runs[case.name, split] = (case.half, z)
    return runs


def error_of(entries, codes, by, top):
    """Error of the average of the best; entries (screen, score, proba)."""
    column = 0 if by == "screen" else 1
    order = np.argsort([-float(entry[column]) for entry in entries], kind="stable")
    mean = np.mean([entries[i][2] for i in order[:top]], axis=0)
    return 100.0 * float(np.mean(mean.argmax(axis=1) != codes))


def entries_of(z, pool):
    names = [n for n in pool if f"{n}|proba" in z]
    return [(z[f"{n}|screen"], z[f"{n}|score"], z[f"{n}|proba"]) for n in names]


def rules():
    for pool, by, top in product(POOLS, ("screen", "score"), TOPS):
        if top <= len(POOLS[pool]) and (top == 1 or len(POOLS[pool]) > 1):
            yield pool, by, top


def table(runs, pooled):
    """{rule: {unit: error}}: a unit is a similarity, or with `pooled` a data set."""
    found = defaultdict(lambda: defaultdict(list))
    halves = {}
    if not pooled:
        for (name, _), (half, z) in runs.items():
            halves[name] = half
            for rule in rules():
                pool, by, top = rule
                entries = entries_of(z, POOLS[pool])
                found[rule][name].append(error_of(entries, z["codes"], by, top))
        return found, halves
    sets = defaultdict(dict)
    for (name, split), (half, z) in runs.items():
        data = name.split(",")[0]
        halves[data] = half
        sets[data, split][name] = z
    for (data, _), several in sets.items():
        if len(several) < 2:
            continue
        codes = next(iter(several.values()))["codes"]
        for rule in rules():
            pool, by, top = rule
            entries = [e for z in several.values() for e in entries_of(z, POOLS[pool])]
            unique = {(float(e[0]), float(e[1])): e for e in entries}  # same D, thrice
            found[rule][data].append(error_of(list(unique.values()), codes, by, top))
    return found, halves


def print_table(runs, pooled):
    found, halves = table(runs, pooled)
    means = {
        rule: {name: float(np.mean(e)) for name, e in of.items()}
        for rule, of in found.items()
    }
    names = sorted(next(iter(means.values())))
    print(f"{len(names)} units, {len(runs)} runs")
    print("rule | design | report | mean of halves | all")
    for rule, of in means.items():
        by_half = [
            np.mean([of[n] for n in names if halves[n] == half])
            for half in ("design", "report")
        ]
        pool, by, top = rule
        every = np.mean([of[n] for n in names])
        print(
            f"{pool}, top {top} by {by} | {by_half[0]:.2f} | {by_half[1]:.2f} | "
            f"{np.mean(by_half):.2f} | {every:.2f}"
        )
    sets = sorted({n.split(",")[0] for n in names})
    out = []
    for left in sets:
        rest = [n for n in names if n.split(",")[0] != left]
        best = min(means, key=lambda rule: np.mean([means[rule][n] for n in rest]))
        out += [(n, means[best][n]) for n in names if n.split(",")[0] == left]
    by_half = [
        np.mean([e for n, e in out if halves[n] == half])
        for half in ("design", "report")
    ]
    print(
        f"rule chosen without the data set | {by_half[0]:.2f} | {by_half[1]:.2f} | "
        f"{np.mean(by_half):.2f} | {np.mean([e for _, e in out]):.2f}"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", type=Path)
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--pooled", action="store_true")
    args = parser.parse_args()
    args.results.mkdir(parents=True, exist_ok=True)
    if args.table or args.pooled:
        print_table(load(args.results, args.splits), args.pooled)
        return
    warnings.simplefilter("ignore")
    for split in range(args.splits):
        for case in cases(args.results / "distances"):
            run(case, split, args.results)
            print(case.name, split, f"{time.process_time():.0f} s", flush=True)


if __name__ == "__main__":
    main()
