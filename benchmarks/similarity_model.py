"""SimilarityClassifier beside what a careful user would do, on the 57 similarities.

    KREIN_DATA=... python benchmarks/similarity_model.py RESULTS [--splits 3] [--table]

Every similarity of `regret_matrices.py` is split 60 / 40. Compared are

- the model on what is there: distances where the data are distances, items where they
  are vectors (whose kernel is then a function), else similarities;
- the model on the similarity that was made of them, as if distances were not known;
- `SpectrumSVCCV()` on that similarity;
- flip and logistic regression, the yardstick: scikit-learn's
  ``Nystroem(n_components=n)`` is flip, and its penalty is chosen by inner log-loss. As
  given; on the best of the six conversions by inner log-loss; the best three averaged.

RESULTS keeps one file per similarity and split, so that a run that was stopped goes on;
`--table` computes nothing. Differences have standard errors over data sets.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from itertools import product
from pathlib import Path

import numpy as np
from conversions import GIVEN, SIX
from regret import distances, on_what_is_there, split_of
from regret_matrices import cases

from krein import KreinLogisticRegressionCV, SimilarityClassifier, SpectrumSVCCV
from krein.similarity.conversions import CONVERSIONS
from krein.similarity.matrix import Similarities

OURS = "pool"
STRATEGIES = (
    OURS,
    "pool of similarity",
    "spectrum",
    "flip logistic, as given",
    "flip logistic, best",
    "flip logistic, top 3",
)
ALPHAS = np.logspace(1, -6, 8)  # times the mean diagonal


def error_of(proba, codes):
    return 100.0 * float(np.mean(proba.argmax(axis=1) != codes))


def timed(model, known, codes, new, truth):
    start = time.process_time()
    model.fit(known, codes)
    seconds = time.process_time() - start
    found = {"error": error_of(model.predict_proba(new), truth), "seconds": seconds}
    if hasattr(model, "ranking_"):
        found["chosen"] = model.text_
    return found


def flip_logistic(K, new, codes):
    """Inner log-loss, and probabilities of new items."""
    flipped = Similarities(K).fixed_kernel("flip")
    known = np.array(flipped.kernel())
    known = 0.5 * (known + known.T)
    unit = float(np.diagonal(known).mean())
    model = KreinLogisticRegressionCV(ALPHAS * unit).fit(known, codes)
    return model.best_score_, model.predict_proba(flipped.rows(new))


def run(case, split, folder, logistic):
    path = folder / f"{case.name.replace(' ', '')}-{split}.json"
    found = json.loads(path.read_text()) if path.exists() else {}
    wanted = STRATEGIES if logistic else STRATEGIES[:3]
    if all(strategy in found for strategy in wanted):
        return
    items, y = case.items()
    codes = np.unique(y, return_inverse=True)[1]
    train, test = split_of(codes, split)
    K = case.matrix(items, train)
    K = 0.5 * (K + K.T)
    known, new = np.ix_(train, train), np.ix_(test, train)
    if OURS not in found:
        models = {
            OURS: on_what_is_there(case, items, K),
            "pool of similarity": (SimilarityClassifier(), K),
            "spectrum": (SpectrumSVCCV(), K),
        }
        for name, (model, M) in models.items():
            square = len(M) == M.shape[1]
            part, rest = (M[known], M[new]) if square else (M[train], M[test])
            found[name] = timed(model, part, codes[train], rest, codes[test])
    if logistic:
        D = distances(case, items, K)
        scores, probas = [], []
        for name in SIX:
            S = K
            if name != GIVEN:
                settled = CONVERSIONS[name].settle(D[known])
                S = np.zeros_like(D)
                S[:, train] = settled.similarities(D[:, train])
            score, proba = flip_logistic(S[known], S[new], codes[train])
            scores.append(score)
            probas.append(proba)
        order = np.argsort(-np.array(scores), kind="stable")
        averages = {
            "flip logistic, as given": probas[SIX.index(GIVEN)],
            "flip logistic, best": probas[order[0]],
            "flip logistic, top 3": np.mean([probas[i] for i in order[:3]], axis=0),
        }
        for name, proba in averages.items():
            found[name] = {"error": error_of(proba, codes[test])}
    path.write_text(json.dumps(found))


def print_table(folder, splits):
    errors, halves = {}, {}
    for case, split in product(cases(folder), range(splits)):
        path = folder / f"{case.name.replace(' ', '')}-{split}.json"
        if path.exists():
            found = json.loads(path.read_text())
            halves[case.name] = case.half
            errors[case.name, split] = {k: v["error"] for k, v in found.items()}
    print("strategy | similarities, splits | design | report | mean of halves | all")
    for strategy in STRATEGIES:
        keys = [key for key, found in errors.items() if strategy in found]
        if not keys:
            continue
        names = sorted({name for name, _ in keys})
        mean = {
            n: np.mean([errors[key][strategy] for key in keys if key[0] == n])
            for n in names
        }
        by_half = [
            np.mean([mean[n] for n in names if halves[n] == half])
            for half in ("design", "report")
        ]
        print(
            f"{strategy} | {len(names)}, {len(keys)} | {by_half[0]:.2f} | "
            f"{by_half[1]:.2f} | {np.mean(by_half):.2f} | "
            f"{np.mean(list(mean.values())):.2f}"
        )
    print(f"{OURS} less the others, over data sets (+- standard error)")
    for strategy in STRATEGIES[1:]:
        for half in ("design", "report", None):
            sets = {}
            for (name, _), found in errors.items():
                if strategy in found and half in (None, halves[name]):
                    gain = found[OURS] - found[strategy]
                    sets.setdefault(name.split(",")[0], []).append(gain)
            if len(sets) < 2:
                continue
            means = np.array([np.mean(gains) for gains in sets.values()])
            spread = means.std(ddof=1) / np.sqrt(means.size)
            where = half or "both halves"
            print(f"  {strategy}, {where}: {means.mean():+.2f} +- {spread:.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", type=Path)
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--without-logistic", action="store_true")
    args = parser.parse_args()
    args.results.mkdir(parents=True, exist_ok=True)
    if args.table:
        print_table(args.results, args.splits)
        return
    warnings.simplefilter("ignore")
    for split in range(args.splits):
        for case in cases(args.results / "distances"):
            run(case, split, args.results, not args.without_logistic)
            print(case.name, split, f"{time.process_time():.0f} s", flush=True)


if __name__ == "__main__":
    main()
