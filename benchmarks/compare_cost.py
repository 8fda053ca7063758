"""What a comparison costs against the single fits it is made of.

    python benchmarks/compare_cost.py [defaults]

One split of a similarity of n items. "By hand" is what an expert would write for the
same fits: per fold one eigendecomposition, one matrix product per method, and LIBSVM by
scikit-learn for every C; nearest neighbours and logistic regression on the rows by
scikit-learn. "One by one" is `compare` called for each method alone. One process,
minima over repetitions.

Then `SpectrumSVCCV` (72 settings, five folds) in units of one eigendecomposition of the
whole matrix per fold and one for the last fits, in turns, processor time; and `compare`
with all its defaults: processor time in one process, wall time with two.
With `defaults` only the last.
"""

import sys
import time
import warnings

import numpy as np
import scipy.linalg
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from krein import SpectrumSVCCV, compare, sigmoid_kernel, tl1_kernel
from krein.comparison.contenders import CONTENDERS
from krein.similarity.matrix import Similarities
from krein.training import Classes, Training

NAMES = ["svc", "clip", "flip", "shift", "square", "diffusion", "neighbors", "features"]


def similarity(n):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 20))
    y = (X[:, 0] + 0.5 * X[:, 1] * X[:, 2] + 0.3 * rng.standard_normal(n) > 0).astype(
        int
    )
    return sigmoid_kernel(X), y


def seconds(function):
    start = time.perf_counter()
    result = function()
    return time.perf_counter() - start, result


def transformed(K):
    """Yield every method's training matrix, from one eigendecomposition."""
    values, U = scipy.linalg.eigh(K, driver="evd")
    largest = np.abs(values).max()
    yield "svc", K, None
    yield "shift", K + max(0.0, -values[0]) * np.eye(len(K)), None
    for name, gain in {
        "clip": (values > 0) * 1.0,
        "flip": np.sign(values),
        "square": values,
        "diffusion": np.expm1(values / largest) / values,
    }.items():
        yield name, (U * (values * gain)) @ U.T, (U, gain)


def fold_by_hand(K, y, train, test, candidates):
    """Fit and predict every candidate of every method on one fold."""
    L, L_new = K[np.ix_(train, train)], K[np.ix_(test, train)]
    for name, matrix, change in transformed(L):
        new = L_new if change is None else (L_new @ change[0] * change[1]) @ change[0].T
        tol = 1e-3 if name == "svc" else 1e-6
        for candidate in candidates[name]:
            model = SVC(kernel="precomputed", tol=tol, max_iter=200_000, **candidate)
            model.fit(matrix, y[train]).decision_function(new)
    for candidate in candidates["neighbors"]:
        model = KNeighborsClassifier(metric="precomputed", **candidate)
        model.fit(1.0 - L, y[train]).predict_proba(1.0 - L_new)
    scaler = StandardScaler().fit(L)
    for candidate in candidates["features"]:
        model = LogisticRegression(tol=1e-8, max_iter=5000, **candidate)
        model.fit(scaler.transform(L), y[train]).predict_proba(scaler.transform(L_new))


def by_hand(K, y, split):
    train, test = split
    L = K[np.ix_(train, train)]
    training = Training(Similarities(L), None, None, train.size)
    target = Classes(y[train], 2)
    candidates = {}
    for name in NAMES:
        method = CONTENDERS[name]
        own = method.grid is None
        candidates[name] = (
            method.build().grid(training, target) if own else method.grid(L)
        )
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    for inner, outer in folds.split(L, y[train]):
        fold_by_hand(L, y[train], inner, outer, candidates)
    fold_by_hand(K, y, train, test, {name: c[1:2] for name, c in candidates.items()})


def search_cost(K, y, rounds=3):
    """Processor seconds of an eigendecomposition and of a search, the best of some."""
    each = []
    for _ in range(rounds):
        start = time.process_time()
        scipy.linalg.eigh(K, driver="evd")
        middle = time.process_time()
        SpectrumSVCCV().fit(K, y)
        each.append((middle - start, time.process_time() - middle))
    return np.min(each, axis=0)


def searches(n):
    """Two kernels: few and many support vectors."""
    K, y = similarity(n)
    yield "sigmoid", K, y
    rng = np.random.default_rng(1)
    X = rng.standard_normal((n, 8))
    yield "tl1", tl1_kernel(X, tau=6.0), (X[:, 0] + X[:, 1] > 0).astype(int)


def show_searches():
    for n in (250, 500, 1000):
        for name, K, y in searches(n):
            eigh, fit = search_cost(K, y)
            print(
                f"SpectrumSVCCV, {name}, n = {n}: {fit:.2f} s, "
                f"{fit / (6 * eigh):.1f} x (5 folds + 1) eigh of {1e3 * eigh:.0f} ms"
            )


def show_defaults(sizes=(100, 500)):
    for n in sizes:
        K, y = similarity(n)
        start = time.process_time()
        found = compare(K, y)
        spent = time.process_time() - start
        wall = seconds(lambda K=K, y=y: compare(K, y, n_jobs=2))[0]
        print(
            f"compare, all {len(found.methods)} default methods, ten splits, n = {n}: "
            f"{spent:.1f} processor s, {wall:.1f} s with two processes"
        )


def main():
    # LIBSVM on the raw indefinite matrix is cut short, here as in `compare`.
    warnings.simplefilter("ignore", ConvergenceWarning)
    for n, rounds in ((300, 2), (800, 1)):
        K, y = similarity(n)
        split = next(StratifiedKFold(5, shuffle=True, random_state=0).split(K, y))
        together, alone, hand = [], [], []
        for _ in range(rounds):
            together.append(
                seconds(lambda K=K, y=y, s=split: compare(K, y, methods=NAMES, cv=[s]))[
                    0
                ]
            )
            alone.append(
                sum(
                    seconds(
                        lambda K=K, y=y, s=split, m=m: compare(
                            K, y, methods=[m], cv=[s]
                        )
                    )[0]
                    for m in NAMES
                )
            )
            hand.append(seconds(lambda K=K, y=y, s=split: by_hand(K, y, s))[0])
        a, b, c = min(together), min(alone), min(hand)
        print(
            f"n = {n}: compare {a:.2f} s, one by one {b:.2f} s (ratio {a / b:.2f}), "
            f"by hand {c:.2f} s (ratio {a / c:.2f})"
        )

    show_searches()
    show_defaults()


if __name__ == "__main__":
    if sys.argv[1:] == ["defaults"]:
        warnings.simplefilter("ignore", ConvergenceWarning)
        show_defaults()
    else:
        main()
