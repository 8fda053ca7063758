"""Clusters of items of which only distances are known.

    KREIN_DATA=... python benchmarks/clusters.py [--splits 5]

Adjusted Rand index with the known classes, for the items that were clustered and, where
the method can, for items that were not (a third of them, placed by their distances to
the others); means over splits. The number of clusters is that of the classes.

- average linkage and HDBSCAN on the distances as they are;
- k-means on principal coordinates, ``make_pipeline(PCoA(10), KMeans(k))``, without a
  correction and with Lingoes';
- spectral clustering of exp(-d / median) as it is, clipped and flipped (negative
  entries of the fixed kernel are set to zero: it takes affinities), and k-means on
  the coordinates of the fixed kernel, which places new items.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from regret_matrices import given
from sklearn.cluster import HDBSCAN, AgglomerativeClustering, KMeans, SpectralClustering
from sklearn.decomposition import KernelPCA
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.pipeline import make_pipeline

from krein import DistanceTransformer, PCoA, SpectrumTransformer

DATA = ("dis_catcortex", "dis_protein226", "dis_chickenpieces_20_60")


def k_means(k):
    return KMeans(k, n_init=10, random_state=0)


def linkage(D, new, k):
    model = AgglomerativeClustering(k, metric="precomputed", linkage="average")
    return model.fit_predict(D), None


def hdbscan(D, new, k):
    return HDBSCAN(metric="precomputed", copy=True).fit_predict(D), None


def coordinates(correction):
    def run(D, new, k):
        model = make_pipeline(PCoA(10, correction=correction), k_means(k)).fit(D)
        return model.predict(D), model.predict(new)

    return run


def spectral(method):
    def run(D, new, k):
        K = DistanceTransformer().fit_transform(D)
        K = SpectrumTransformer(method).fit_transform(K)
        model = SpectralClustering(k, affinity="precomputed", random_state=0)
        return model.fit_predict(np.maximum(K, 0.0)), None

    return run


def kernel_k_means(method):
    def run(D, new, k):
        model = make_pipeline(
            DistanceTransformer(),
            SpectrumTransformer(method),
            KernelPCA(10, kernel="precomputed"),
            k_means(k),
        ).fit(D)
        return model.predict(D), model.predict(new)

    return run


METHODS = {
    "average linkage, raw distances": linkage,
    "HDBSCAN, raw distances": hdbscan,
    "PCoA, k-means": coordinates("none"),
    "PCoA with Lingoes, k-means": coordinates("lingoes"),
    "spectral clustering, raw similarity": spectral("none"),
    "spectral clustering, clip": spectral("clip"),
    "spectral clustering, flip": spectral("flip"),
    "k-means in the clipped kernel": kernel_k_means("clip"),
    "k-means in the flipped kernel": kernel_k_means("flip"),
}


def scores(name, method, splits):
    D, y = given(name)()
    np.fill_diagonal(D, 0.0)
    found = []
    cut = StratifiedShuffleSplit(splits, test_size=1 / 3, random_state=0)
    for train, test in cut.split(y, y):
        old, new = method(
            D[np.ix_(train, train)], D[np.ix_(test, train)], np.unique(y).size
        )
        fresh = np.nan if new is None else adjusted_rand_score(y[test], new)
        found.append((adjusted_rand_score(y[train], old), fresh))
    return np.mean(found, axis=0)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", type=int, default=5)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"| clusters by | {' | '.join(f'{d} | new items' for d in DATA)} |")
    print("|---" * (1 + 2 * len(DATA)) + "|")
    for title, method in METHODS.items():
        cells = []
        for name in DATA:
            old, new = scores(name, method, args.splits)
            cells += [f"{old:.2f}", "–" if np.isnan(new) else f"{new:.2f}"]
        print(f"| {title} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
