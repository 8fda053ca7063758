"""An SVC on a matrix of distances, as if they were similarities.

    KREIN_DATA=... python benchmarks/raw_distances.py CACHE

Accuracy over five folds on TWE distances between time series: the share of the largest
class; ``SVC(kernel="precomputed")`` on the distances themselves, as a notebook of aeon
shows it; on exp(-d / median); `SpectrumSVCCV` on the same; the nearest neighbour.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from regret_matrices import computed
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from krein import DistanceTransformer, SpectrumSVCCV

MODELS = {
    "SVC on the distances": SVC(kernel="precomputed"),
    "SVC on exp(-d / median)": make_pipeline(
        DistanceTransformer(), SVC(kernel="precomputed")
    ),
    "SpectrumSVCCV on exp(-d / median)": make_pipeline(
        DistanceTransformer(), SpectrumSVCCV()
    ),
    "nearest neighbour": KNeighborsClassifier(1, metric="precomputed"),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cache", type=Path, help="folder for computed distances")
    folder = parser.parse_args().cache
    print(f"| data | largest class | {' | '.join(MODELS)} |")
    print("|---" * (2 + len(MODELS)) + "|")
    for name in ("ts_coffee", "ts_ecg200", "ts_gunpoint", "ts_trace"):
        D, y = computed(folder, name, "twe")()
        folds = StratifiedKFold(5, shuffle=True, random_state=0)
        found = [cross_val_score(m, D, y, cv=folds).mean() for m in MODELS.values()]
        largest = np.unique(y, return_counts=True)[1].max() / len(y)
        cells = " | ".join(f"{value:.2f}" for value in [largest, *found])
        print(f"| {name} | {cells} |")


if __name__ == "__main__":
    main()
