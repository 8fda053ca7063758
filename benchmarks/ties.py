"""How often two methods that are equally good are told apart: the error of both tests.

Two methods see two blocks of features of the same distribution, so that over many data
sets neither is better. A test at level 0.05 may tell them apart on 5 % of them. The
lines of unequal signals count how often a method that is better by a known amount is
found. The last lines have six equal methods: how often any of them is told from the
one that happens to be best, by the test over items with Holm's adjustment.

Run: python benchmarks/ties.py [number of data sets]
"""

from __future__ import annotations

import sys

import numpy as np

from krein.comparison.significance import corrected_test, holm, item_test
from krein.selection.folds import stratified_folds

LEVEL = 0.05
SHARE = 0.25  # n_test / n_train of five folds


def ridge(X, y, new):
    """Signs of a ridge regression."""
    mean = X.mean(axis=0)
    A = X - mean
    coef = np.linalg.solve(A.T @ A + np.eye(X.shape[1]), A.T @ (y - y.mean()))
    return np.where((new - mean) @ coef + y.mean() > 0, 1, -1)


def nearest(X, y, new):
    """Label of the nearest item: changes with every training set."""
    squared = (new**2).sum(1)[:, None] - 2 * new @ X.T + (X**2).sum(1)
    return y[np.argmin(squared, axis=1)]


def stump(X, y, new):
    """The best single feature, cut at its median: chosen anew on every part."""
    cut = np.median(X, axis=0)
    agreement = ((X > cut) * 2 - 1).T @ y / y.size
    best = int(np.argmax(np.abs(agreement)))
    return np.sign(agreement[best]) * ((new[:, best] > cut[best]) * 2 - 1)


def tested(rng, method, n, repeats, signals):
    """Hits (method, split) as shares and (method, item) as means over the rounds."""
    y = rng.permutation(np.repeat([-1, 1], n // 2))
    first = np.eye(6)[0]
    blocks = [rng.standard_normal((n, 6)) + s * np.outer(y, first) for s in signals]
    folds = [f for r in range(repeats) for f in stratified_folds((y + 1) // 2, 5, r)]
    right = np.zeros((len(blocks), len(folds)))
    items = np.zeros((len(blocks), n))
    for s, (train, test) in enumerate(folds):
        for m, X in enumerate(blocks):
            hit = method(X[train], y[train], X[test]) == y[test]
            right[m, s] = hit.mean()
            items[m, test] += hit / repeats
    return right, items


def over_items(first, second):
    """P-value of two methods as `compare` computes it, for two equal classes."""
    skill = np.mean([first, second]) * 2 - 1
    return item_test(first - second, test_share=SHARE, folds=5, skill=skill)[1]


def one_set(rng, method, n, repeats, signals):
    """P-values of both tests on one data set."""
    right, items = tested(rng, method, n, repeats, signals)
    return corrected_test(right[0], right[1], SHARE)[1], over_items(*items)


def any_told(rng, method, n, signal):
    """Whether one of six equal methods is told from the best of them."""
    items = tested(rng, method, n, 1, [signal] * 6)[1]
    best = int(items.mean(axis=1).argmax())
    raw = [over_items(items[best], other) for other in np.delete(items, best, axis=0)]
    return min(holm(raw)) <= LEVEL


def main(sets: int) -> None:
    """Print the shares of data sets on which the two are told apart."""
    print(f"told apart at level {LEVEL}, {sets} data sets a line")
    print("method   items  rounds  signals     over splits  over items")
    for signals in ((0.3, 0.3), (0.7, 0.7), (1.2, 0.7)):
        for method in (ridge, nearest, stump):
            for n in (60, 200):
                for repeats in (1, 2):
                    rng = np.random.default_rng(n + repeats)
                    found = np.array(
                        [one_set(rng, method, n, repeats, signals) for _ in range(sets)]
                    )
                    old, new = (found <= LEVEL).mean(axis=0)
                    print(
                        f"{method.__name__:8} {n:5} {repeats:7}  {signals!s:10} "
                        f"{old:12.3f} {new:11.3f}"
                    )
    print("\nany of six equal methods told from the best, over items")
    for signal in (0.3, 0.7, 1.2):
        for method in (ridge, nearest, stump):
            rng = np.random.default_rng(6)
            told = np.mean([any_told(rng, method, 60, signal) for _ in range(sets)])
            print(f"{method.__name__:8} {60:5} {1:7}  {signal!s:10} {told:24.3f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
