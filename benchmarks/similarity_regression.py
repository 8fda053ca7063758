"""SimilarityRegressor against SpectrumSVRCV on the default conversion.

    KREIN_DATA=... python benchmarks/similarity_regression.py [--splits 2]

The numbers to be predicted are a column of a table of vectors (the one with the most
different values); the others, standardised, are the items, at most 300 of them, split
60 / 40. Printed is the mean squared error on held-out items over the variance there,
for every data set and kernel, and the mean over all.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
from regret_matrices import DATA, arrays
from scipy.spatial.distance import cdist

from krein import SimilarityRegressor, SpectrumSVRCV
from krein.kernels.vectors import sigmoid_kernel, tl1_kernel

SETS = (
    "australian",
    "breast_cancer_wisconsin",
    "climate_crashes",
    "fertility",
    "haberman",
    "heart_statlog",
    "ida_thyroid",
    "ionosphere",
    "new_thyroid",
    "parkinsons",
    "pima_diabetes",
    "sonar",
    "transfusion",
)
METRICS = ("cityblock", "braycurtis", "canberra")
ITEMS = 300


def problem(name, split):
    X = arrays(name)["X"].astype(float)
    X = X[:, X.std(axis=0) > 0]
    place = int(np.argmax([np.unique(column).size for column in X.T]))
    rng = np.random.default_rng(split)
    rows = rng.permutation(len(X))[:ITEMS]
    train = rows[: int(0.6 * rows.size)]
    test = rows[train.size :]
    y = X[:, place]
    rest = np.delete(X, place, axis=1)
    scale = rest[train].std(axis=0)
    rest = (rest - rest[train].mean(axis=0)) / np.where(scale > 0, scale, 1.0)
    return rest[train], y[train], rest[test], y[test]


def error(model, known, y, new, truth):
    start = time.process_time()
    predicted = model.fit(known, y).predict(new)
    seconds = time.process_time() - start
    return float(np.mean((predicted - truth) ** 2) / truth.var()), seconds


def pairs(X, new):
    """Name, what our model gets, and the plain one, of known and new items."""
    for metric in METRICS:
        D, rows = cdist(X, X, metric), cdist(new, X, metric)
        yield metric, "distance", (D, rows), (D, rows)
    for name, kernel in (("tl1", tl1_kernel), ("sigmoid", sigmoid_kernel)):
        yield name, kernel, (X, new), (kernel(X), kernel(new, X))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--splits", type=int, default=2)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    found = {}
    times = np.zeros(2)
    for name in SETS:
        if not (DATA / f"{name}.npz").exists():
            continue
        for split in range(args.splits):
            X, y, new, truth = problem(name, split)
            for kernel, kind, (known, rows), (K, K_new) in pairs(X, new):
                if kind == "distance":
                    ours = SimilarityRegressor(kind="distance")
                    plain = SpectrumSVRCV(kind="distance")
                else:
                    ours, plain = SimilarityRegressor(kind), SpectrumSVRCV()
                one, seconds = error(ours, known, y, rows, truth)
                two, more = error(plain, K, y, K_new, truth)
                times += seconds, more
                found.setdefault((name, kernel), []).append((one, two))
        for (data, kernel), errors in found.items():
            if data == name:
                one, two = np.mean(errors, axis=0)
                print(f"{data}, {kernel}: {one:.3f} against {two:.3f}", flush=True)
    means = np.array([np.mean(errors, axis=0) for errors in found.values()])
    change = means[:, 0] - means[:, 1]
    ratio = np.exp(np.mean(np.log(means[:, 0] / means[:, 1])))
    print(
        f"{len(means)} combinations: mean {means[:, 0].mean():.3f} against "
        f"{means[:, 1].mean():.3f}; geometric mean of the ratios {ratio:.3f}; lower in "
        f"{int(np.sum(change < -1e-3))}, higher in {int(np.sum(change > 1e-3))}; "
        f"{times[0] / times[1]:.1f} times the time"
    )


if __name__ == "__main__":
    main()
