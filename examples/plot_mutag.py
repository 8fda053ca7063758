"""
MUTAG: matching the atoms of molecules
======================================

188 molecules, mutagenic or not. The optimal assignment kernel matches the atoms of one
molecule with those of another; it was published as a kernel and later shown not to be
positive definite. The Weisfeiler-Lehman kernel counts labelled neighbourhoods. Needs
the data folder (``KREIN_DATA``).
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import StratifiedKFold, cross_val_score

from krein import (
    KreinSVC,
    load_dataset,
    optimal_assignment_kernel,
    wl_kernel,
)


def molecules():
    """Graphs and classes; None with a message where the data are not here."""
    try:
        bunch = load_dataset("graph_mutag")
    except (OSError, ValueError) as missing:
        print(missing)
        return None
    return bunch.data, bunch.target


def study(graphs, y):
    """Accuracy and spectrum of the two kernels."""
    kernels = {
        "optimal assignment": optimal_assignment_kernel(graphs, normalize=True),
        "Weisfeiler-Lehman": wl_kernel(graphs, n_iter=3, normalize=True),
    }
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    for name, K in kernels.items():
        scores = cross_val_score(KreinSVC(C=10.0), K, y, cv=folds)
        smallest = np.linalg.eigvalsh(K)[0]
        print(
            f"{name}: accuracy {scores.mean():.3f}, smallest eigenvalue {smallest:.2g}"
        )
    return kernels


# %%
# 17 578 pairs of molecules are matched by scipy's assignment solver.
data = molecules()
if data is not None:
    kernels = study(*data)
    order = np.argsort(data[1], kind="stable")
    fig, axes = plt.subplots(1, 2, figsize=(8.5, 3.8))
    for ax, (name, K) in zip(axes, kernels.items(), strict=True):
        ax.imshow(K[np.ix_(order, order)])
        ax.set_title(name)
    fig.tight_layout()
