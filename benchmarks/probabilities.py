"""Which calibration of three and more classes: held-out log-loss and calibration error.

    KREIN_DATA=... python benchmarks/probabilities.py [--splits 5]

Data of KREIN_DATA with three to 38 classes and simulated ones; 60 % of the items (at
most 500) to train on. A clipped SVM with one machine per class is fitted, its scores
out of five folds are calibrated in every way, and the log-loss and the calibration
error are measured on the other items (at most 500). The average of `SpectrumSVCCV` is
measured beside it: with its own temperature, and with vector scaling and coupled pairs
fitted to its values out of five folds.

sigmoids          Platt's sigmoid for each class, divided by their sum
temperature       softmax(s / T)
vector            softmax(s / T + b), one b a class (Guo et al., 2017, without a slope
                  for each class)
sigmoids, T       softmax(log p / T) of the first
pairs             a sigmoid for each pair of classes on the difference of their scores,
                  coupled (Wu, Lin and Weng, 2004, second method)

What was chosen was chosen on the half "design" of the data sets (by a hash of their
names, as in `regret_matrices.py`); the half "report" tells what it is worth.
"""

from __future__ import annotations

import argparse
import warnings
from collections import defaultdict

import numpy as np
from chance_cells import calibration_error, gaussians
from regret_matrices import (
    Case,
    arrays,
    as_it_is,
    centred,
    exponential,
    given,
    standardised,
    vectors,
)
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit

from krein import SpectrumSVC, SpectrumSVCCV
from krein.kernels import KERNELS, sigmoid_kernel, tl1_kernel
from krein.selection.calibration import (
    fit_sigmoid,
    fit_sigmoids,
    sigmoid_probabilities,
    temperatures,
    with_highest,
)
from krein.selection.scores import log_losses

MOST = 500  # items to train on, and to test on
FLOOR = 1e-12  # of a probability whose logarithm is taken


# ------------------------------------------------------------------------ calibrations


def smoothed(codes, classes):
    """Platt's targets: n + 1 over n + 2, the rest shared."""
    n = codes.size
    target = np.full((n, classes), 1.0 / (n + 2) / (classes - 1))
    target[np.arange(n), codes] = (n + 1) / (n + 2)
    return target


def sigmoids(scores, codes):
    fitted = fit_sigmoids(scores, codes, None, scores.shape[1])
    return lambda new: sigmoid_probabilities(new, *fitted)


def temperature(scores, codes):
    T = float(temperatures(scores[None], codes, np.ones(codes.size))[0])
    return lambda new: softmax(new / T, axis=1)


def vector(scores, codes):
    """One temperature, and an offset for each class; the loss is convex."""
    classes = scores.shape[1]
    scale = np.abs(scores).max()
    target = smoothed(codes, classes)

    def loss(x):
        logits = x[0] * scores / scale + x[1:]
        error = softmax(logits, axis=1) - target
        slope = np.append(np.sum(error * scores / scale), error.sum(axis=0))
        return -np.sum(target * log_softmax(logits, axis=1)), slope

    start = np.append(1.0, np.zeros(classes))
    bounds = [(1e-6, None)] + [(None, None)] * classes
    x = minimize(loss, start, jac=True, bounds=bounds, method="L-BFGS-B").x
    return lambda new: with_highest(softmax(x[0] * new / scale + x[1:], axis=1), new)


def sharpened(scores, codes):
    """A temperature for the logarithms of what the sigmoids say."""
    plain = sigmoids(scores, codes)

    def logs(values):
        return np.log(np.maximum(plain(values), FLOOR))

    scaled = temperature(logs(scores), codes)
    return lambda new: scaled(logs(new))


def pairs(scores, codes):
    """Sigmoids of differences of scores, coupled."""
    classes = scores.shape[1]
    fitted = {}
    for i in range(classes):
        for j in range(i):
            two = (codes == i) | (codes == j)
            difference = scores[two, i] - scores[two, j]
            fitted[i, j] = fit_sigmoid(difference, codes[two] == i)

    def coupled(new):
        r = np.zeros((len(new), classes, classes))
        for (i, j), (slope, offset) in fitted.items():
            x = slope * (new[:, i] - new[:, j]) + offset
            r[:, i, j] = 1.0 / (1.0 + np.exp(-np.clip(x, -30, 30)))
            r[:, j, i] = 1.0 - r[:, i, j]
        return with_highest(np.array([couple(one) for one in r]), new)

    return coupled


def couple(r):
    """Minimise sum (r_ji p_i - r_ij p_j)^2 with sum p = 1 (their eq. 21)."""
    k = len(r)
    Q = -r.T * r
    np.fill_diagonal(Q, (r**2).sum(axis=0) - np.diagonal(r) ** 2)
    system = np.block([[Q, np.ones((k, 1))], [np.ones((1, k)), np.zeros((1, 1))]])
    p = np.linalg.lstsq(system, np.append(np.zeros(k), 1.0), rcond=None)[0][:k]
    p = np.maximum(p, FLOOR)
    return p / p.sum()


CALIBRATIONS = {
    "sigmoids": sigmoids,
    "temperature": temperature,
    "vector": vector,
    "sigmoids, T": sharpened,
    "pairs": pairs,
}


# -------------------------------------------------------------------------------- data


def of_matrices(name, kernel):
    """An exponential of the distances of 500 matrices."""

    def load():
        z = arrays(name)
        X, y = z["X"], z["y"]
        few = np.random.default_rng(0).permutation(len(y))[:500]
        X = X[few]
        size = np.trace(X, axis1=1, axis2=2)[:, None, None] / X.shape[1]
        X = 0.99 * X + 0.01 * size * np.eye(X.shape[1])
        return KERNELS[kernel].distance(list(X)), y[few]

    return load


def simulated(classes, signal):
    def load():
        K, y, _, _ = gaussians(np.random.default_rng(0), 700, classes, signal, None)
        return K, y

    return load


def some(name, number, classes=None):
    """As many items of a large set, of the first classes."""

    def load():
        X, y = vectors(name)()
        kept = np.isin(y, np.unique(y)[:classes])
        X, y = X[kept], y[kept]
        few = np.random.default_rng(0).permutation(len(y))[:number]
        return X[few], y[few]

    return load


def many_classes():
    found = [
        Case(f"{name}, {form.__name__}", given(name), form)
        for name in ("dis_catcortex", "dis_chickenpieces_20_60", "dis_protein226")
        for form in (exponential, centred)
    ]
    found.append(Case("sim_protein, given", given("sim_protein"), as_it_is))
    loaders = {
        "new_thyroid": vectors("new_thyroid"),
        "usps": some("usps", 1000),
        "yaleb_32x32": some("yaleb_32x32", 1000, 20),
        "ts_trace": vectors("ts_trace"),
    }
    found += [
        Case(f"{name}, {kernel.__name__}", load, standardised(kernel))
        for name, load in loaders.items()
        for kernel in (tl1_kernel, sigmoid_kernel)
    ]
    log = of_matrices("spd_emg_gestures", "log_euclidean")
    found.append(Case("spd_emg_gestures, log", log, exponential))
    found += [
        Case(
            f"simulated {classes} {signal}, tanh", simulated(classes, signal), as_it_is
        )
        for classes, signal in ((10, 1.5), (10, 2.5), (4, 1.0))
    ]
    return found


# ----------------------------------------------------------------------------- measure


def measured(proba, y):
    return float(np.mean(log_losses(y, proba))), calibration_error(proba, y)


def one_split(K, codes, train, test):
    """(log-loss, calibration error) by way of calibrating."""
    part, y, new, truth = (
        K[np.ix_(train, train)],
        codes[train],
        K[test][:, train],
        codes[test],
    )
    scores, values = in_folds(lambda: SpectrumSVC("clip"), part, y, new)
    found = {
        name: measured(calibrate(scores, y)(values), truth)
        for name, calibrate in CALIBRATIONS.items()
    }
    average = SpectrumSVCCV(random_state=0).fit(part, y)
    found["average"] = measured(average.predict_proba(new), truth)
    scores, values = in_folds(lambda: SpectrumSVCCV(random_state=0), part, y, new)
    for name in ("vector", "pairs"):
        proba = CALIBRATIONS[name](scores, y)(values)
        found[f"average, {name}"] = measured(proba, truth)
    return found


def in_folds(make, K, y, new):
    """Decision values out of five folds, and of new items."""
    scores = np.zeros((y.size, y.max() + 1))
    for fit, held in StratifiedKFold(5, shuffle=True, random_state=0).split(K, y):
        model = make().fit(K[np.ix_(fit, fit)], y[fit])
        scores[held] = model.decision_function(K[np.ix_(held, fit)])
    return scores, make().fit(K, y).decision_function(new)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--splits", type=int, default=5)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    names = [*CALIBRATIONS, "average", "average, vector", "average, pairs"]
    print(f"| similarity | classes | half | {' | '.join(names)} |")
    print(f"|{'---|' * (3 + len(names))}")
    total = defaultdict(lambda: defaultdict(list))
    for case in many_classes():
        items, y = case.items()
        codes = np.unique(y, return_inverse=True)[1]
        size = min(int(0.6 * len(codes)), MOST)
        cut = StratifiedShuffleSplit(
            args.splits,
            train_size=size,
            test_size=min(len(codes) - size, MOST),
            random_state=0,
        )
        found = defaultdict(list)
        for train, test in cut.split(codes, codes):
            K = np.asarray(case.matrix(items, train), dtype=float)
            K = 0.5 * (K + K.T)
            for name, pair in one_split(K, codes, train, test).items():
                found[name].append(pair)
        means = {name: np.mean(rows, axis=0) for name, rows in found.items()}
        for name, mean in means.items():
            total[case.half][name].append(mean)
        cells = " | ".join(f"{a:.3f}, {b:.3f}" for a, b in means.values())
        print(
            f"| {case.name} | {codes.max() + 1} | {case.half} | {cells} |", flush=True
        )
    for half, rows in total.items():
        cells = " | ".join(
            "{:.3f}, {:.3f}".format(*np.mean(r, axis=0)) for r in rows.values()
        )
        number = len(rows["average"])
        print(f"| **mean of {number}** | | {half} | {cells} |")


if __name__ == "__main__":
    main()
