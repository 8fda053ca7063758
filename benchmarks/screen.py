"""What a screen by least squares and a loose search cost `SpectrumSVCCV`.

    KREIN_DATA=... python benchmarks/screen.py CACHE [--splits 3] [--every 3]

For every similarity of `regret_matrices.py` (at most 500 training items and 12 classes;
with `--every 3` for each third one) and every split 60 / 40, all 72 machines are scored
on inner folds and trained, and least squares ranks them by leave-one-out values. In the
folds LIBSVM is allowed one step a sample, three, or a hundred at a tighter tolerance.
Printed is the mean error on held-out items of averages over machines chosen in several
ways, for both halves of the similarities; and that of the way that is chosen without
the data set it is judged on. CACHE keeps distances between calls.
"""

from __future__ import annotations

import argparse
import warnings
from collections import defaultdict
from functools import partial
from itertools import product
from math import ceil
from pathlib import Path

import numpy as np
from regret import split_of
from regret_matrices import cases

from krein.estimators.spectral import Loosely, loose_machines, loosely
from krein.selection.folds import inner_folds
from krein.selection.scores import setting_scores, with_threshold
from krein.selection.search import CS
from krein.selection.spectra import (
    SEARCHED_FIXES,
    Kernels,
    all_settings,
    fold_values,
    left_out,
)
from krein.similarity.matrix import Similarities
from krein.training import Classes, Training, as_labels

# Name of a way to choose: number of methods and share of the settings that the screen
# keeps, share of these that is averaged.
WAYS = {
    "no screen, 30 % averaged": (12, 1.0, 0.3),
    "all methods, a half kept, a half of it averaged": (12, 0.5, 0.5),
    "all methods, a quarter kept, a half of it averaged": (12, 0.25, 0.5),
    "all methods, a quarter kept, a quarter of it averaged": (12, 0.25, 0.25),
    "five methods, a quarter kept, a half of it averaged": (5, 0.25, 0.5),
    "five methods, a quarter kept, a quarter of it averaged": (5, 0.25, 0.25),
    "five methods, a sixth kept, a half of it averaged": (5, 1 / 6, 0.5),
}

# How well the machines of the folds are trained: tolerance, steps a sample.
SEARCHES = {
    "one step": Loosely(0.1, 1),
    "three steps": Loosely(0.1, 3),
    "tight": Loosely(0.01, 100),
}
TODAY = "five methods, a quarter kept, a quarter of it averaged, one step"


def scores_of(values, tests, target):
    """Scores (n_settings, n_folds) of out-of-fold decision values."""
    classes = np.arange(target.n)
    return setting_scores(values, tests, target, np.ones(target.codes.size), classes)


def fold_scores(training, target, settings, search):
    """Mean scores of all machines on the inner folds."""
    codes = target.codes
    folds = inner_folds(codes, 0, "the search")
    values = []
    for train, test in folds:
        path = partial(loose_machines, limits=loosely(train.size, search))
        values.append(fold_values(path, settings, training, target, train, test))
    tests = [test for _, test in folds]
    return scores_of(list(map(np.stack, values)), tests, target).mean(axis=1)


def all_machines(training, target, settings, spectrum, K_new):
    """Scores by the screen, decision values of new items."""
    y = target.codes
    signs = np.column_stack(list(target.signs()))
    screen, outputs, kernels = [], [], Kernels(training, spectrum)
    values = left_out(spectrum, settings.methods, settings.Cs, signs)
    limits = loosely(y.size, Loosely(1e-3, 300))
    for method, left in zip(settings.methods, values, strict=True):
        seen = with_threshold(left, y, np.ones(y.size))
        screen.append(scores_of([seen], [np.arange(y.size)], target)[:, 0])
        trained, scale = kernels.unit(method)
        kernel = trained.kernel() / scale
        coef, b = loose_machines(kernel, target, settings.Cs, None, limits=limits)
        raw = trained.to_raw(coef.reshape(-1, y.size).T) / scale
        new = (K_new @ raw).reshape(K_new.shape[0], *b.shape) + b
        outputs.append(new.transpose(1, 0, 2))
    return np.concatenate(screen), np.concatenate(outputs)


def errors(case, split):
    """Error in percent of every way and search; nothing if the case is too large."""
    items, codes = case.items()
    codes = np.unique(codes, return_inverse=True)[1]
    train, test = split_of(codes, split)
    n_classes = int(codes.max()) + 1
    if train.size > 500 or n_classes > 12:
        return {}
    K = case.matrix(items, train)
    K = 0.5 * (K + K.T)
    training = Training(Similarities(K[np.ix_(train, train)]), None, None, train.size)
    target = Classes(codes[train], n_classes)
    spectrum = training.K.spectrum(None)
    settings = all_settings(spectrum, SEARCHED_FIXES, np.array(CS))
    new = K[np.ix_(test, train)]
    screen, outputs = all_machines(training, target, settings, spectrum, new)
    searched = {
        name: fold_scores(training, target, settings, search)
        for name, search in SEARCHES.items()
    }
    found = {}
    order = np.argsort(-screen, kind="stable")
    for (way, shares), (search, scores) in product(WAYS.items(), searched.items()):
        n_methods, kept, averaged = shares
        methods = list(dict.fromkeys(order // len(CS)))[:n_methods]
        some = order[np.isin(order // len(CS), methods)][: ceil(kept * screen.size)]
        best = some[np.argsort(-scores[some], kind="stable")]
        mean = outputs[best[: ceil(averaged * some.size)]].mean(axis=0)
        wrong = as_labels(mean, np.arange(n_classes)) != codes[test]
        found[f"{way}, {search}"] = 100.0 * float(np.mean(wrong))
    return found


def chosen_elsewhere(table):
    """Error on each similarity of the way that is best on all other data sets."""
    names = list(next(iter(table.values())))
    found = {}
    for data in dict.fromkeys(name.split(",")[0] for name in names):
        rest = [name for name in names if name.split(",")[0] != data]
        best = min(table, key=lambda way: np.mean([table[way][n] for n in rest]))
        mine = [name for name in names if name.split(",")[0] == data]
        found.update({name: table[best][name] for name in mine})
    return found


def print_table(table, halves):
    """A line per way: mean errors of the halves, and of all less today's."""
    table = {way: {n: np.mean(e) for n, e in of.items()} for way, of in table.items()}
    table["chosen without the data set"] = chosen_elsewhere(table)
    print("way: design, report, all less today's (+- standard error, data sets)")
    for way, of in table.items():
        by_half = [
            np.mean([error for name, error in of.items() if halves[name] == half])
            for half in ("design", "report")
        ]
        gains = defaultdict(list)
        for name, error in of.items():
            gains[name.split(",")[0]].append(error - table[TODAY][name])
        means = np.array([np.mean(one) for one in gains.values()])
        spread = means.std(ddof=1) / np.sqrt(means.size)
        print(
            f"{way}: {by_half[0]:.2f}, {by_half[1]:.2f}, "
            f"{means.mean():+.2f} +- {spread:.2f}"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cache", type=Path)
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--every", type=int, default=1)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    table = defaultdict(lambda: defaultdict(list))
    halves = {}
    for split in range(options.splits):
        for case in cases(options.cache)[:: options.every]:
            for way, error in errors(case, split).items():
                table[way][case.name].append(error)
                halves[case.name] = case.half
    print(f"{len(halves)} similarities, {options.splits} splits")
    print_table(table, halves)


if __name__ == "__main__":
    main()
