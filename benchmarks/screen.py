"""Whether a screen by least squares costs accuracy in `SpectrumSVCCV`.

    KREIN_DATA=... python benchmarks/screen.py CACHE [--splits 3]

For every similarity of `regret_matrices.py` (at most 500 training items and 12 classes)
and every split 60 / 40, all 72 machines are scored on inner folds and trained, and
least squares ranks them by leave-one-out values. Printed is the mean error on held-out
items of averages over machines chosen in several ways, for both halves of the
similarities. CACHE keeps distances between calls.
"""

from __future__ import annotations

import argparse
import warnings
from collections import defaultdict
from math import ceil
from pathlib import Path

import numpy as np
from regret import split_of
from regret_matrices import cases

from krein.estimators.spectral import loose_machines
from krein.selection.folds import inner_folds
from krein.selection.scores import setting_scores, with_threshold
from krein.selection.search import CS
from krein.selection.spectra import (
    SEARCHED_FIXES,
    Kernels,
    Settings,
    distinct_methods,
    fold_values,
    left_out,
)
from krein.similarity.matrix import Similarities
from krein.training import Classes, Training, as_labels

# Name of a way to choose: number of methods and share of the settings that the screen
# keeps, share of these that is averaged.
WAYS = {
    "no screen, 30 % averaged": (12, 1.0, 0.3),
    "all methods, a quarter kept, a half of it averaged": (12, 0.25, 0.5),
    "all methods, a quarter kept, a quarter of it averaged": (12, 0.25, 0.25),
    "five methods, a quarter kept, a half of it averaged": (5, 0.25, 0.5),
    "five methods, a quarter kept, a quarter of it averaged": (5, 0.25, 0.25),
    "five methods, a sixth kept, a half of it averaged": (5, 1 / 6, 0.5),
}


def path(K, target, Cs, weight):
    return loose_machines(K, target, Cs, weight)


def scores_of(values, tests, target):
    """Scores (n_settings, n_folds) of out-of-fold decision values."""
    classes = np.arange(target.n)
    return setting_scores(values, tests, target, np.ones(target.codes.size), classes)


def all_machines(K, y, n_classes, K_new):
    """Scores by folds, scores by the screen, decision values of new items."""
    training = Training(Similarities(K), None, None, y.size)
    target, Cs = Classes(y, n_classes), np.array(CS)
    spectrum = training.K.spectrum(None)
    methods = distinct_methods(SEARCHED_FIXES, spectrum)
    settings = Settings(methods, Cs, np.arange(len(methods) * Cs.size))
    folds = inner_folds(y, 0, "the search")
    values = [fold_values(path, settings, training, target, *fold) for fold in folds]
    values = list(map(np.stack, values))
    scores = scores_of(values, [test for _, test in folds], target).mean(axis=1)
    signs = np.column_stack(list(target.signs()))
    screen, outputs, kernels = [], [], Kernels(training, spectrum)
    values = left_out(spectrum, methods, Cs, signs)
    for method, left in zip(methods, values, strict=True):
        seen = with_threshold(left, y, np.ones(y.size))
        screen.append(scores_of([seen], [np.arange(y.size)], target)[:, 0])
        trained, scale = kernels.unit(method)
        coef, b = loose_machines(trained.kernel() / scale, target, Cs, None, tol=1e-3)
        raw = trained.to_raw(coef.reshape(-1, y.size).T) / scale
        new = (K_new @ raw).reshape(K_new.shape[0], *b.shape) + b
        outputs.append(new.transpose(1, 0, 2))
    return scores, np.concatenate(screen), np.concatenate(outputs)


def errors(case, split):
    items, codes = case.items()
    codes = np.unique(codes, return_inverse=True)[1]
    train, test = split_of(codes, split)
    n_classes = int(codes.max()) + 1
    if train.size > 500 or n_classes > 12:
        return {}
    K = case.matrix(items, train)
    K = 0.5 * (K + K.T)
    known, new = K[np.ix_(train, train)], K[np.ix_(test, train)]
    scores, screen, outputs = all_machines(known, codes[train], n_classes, new)
    found = {}
    order = np.argsort(-screen, kind="stable")
    for name, (n_methods, kept, averaged) in WAYS.items():
        methods = list(dict.fromkeys(order // len(CS)))[:n_methods]
        some = order[np.isin(order // len(CS), methods)][: ceil(kept * screen.size)]
        best = some[np.argsort(-scores[some], kind="stable")]
        mean = outputs[best[: ceil(averaged * some.size)]].mean(axis=0)
        wrong = as_labels(mean, np.arange(n_classes)) != codes[test]
        found[name] = 100.0 * float(np.mean(wrong))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cache", type=Path)
    parser.add_argument("--splits", type=int, default=3)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    table = defaultdict(lambda: defaultdict(list))
    for split in range(options.splits):
        for case in cases(options.cache):
            for name, error in errors(case, split).items():
                table[name][case.half].append(error)
    for name, halves in table.items():
        means = {half: float(np.mean(e)) for half, e in sorted(halves.items())}
        count = sum(map(len, halves.values()))
        text = ", ".join(f"{half} {mean:.2f}" for half, mean in means.items())
        print(f"{name}: {text} ({count} splits)")


if __name__ == "__main__":
    main()
