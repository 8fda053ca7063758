"""
Hand gestures: covariance matrices of muscle signals
====================================================

Eight electrodes on the forearm; a window of the signals is described by its 8 x 8
covariance matrix. Such matrices form a curved space, where the affine-invariant
Gaussian is indefinite and the log-Euclidean one is not. Needs the data folder
(``KREIN_DATA``).
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import GroupKFold, cross_val_score

from krein import KreinSVC, load_dataset
from krein.kernels import KERNELS

METRICS = ("euclidean_spd", "log_euclidean", "affine_invariant", "stein", "bures")


def gestures():
    """Every fifth window; None with a message where the data are not here."""
    try:
        bunch = load_dataset("spd_emg_gestures")
    except (OSError, ValueError) as missing:
        print(missing)
        return None
    return bunch.data[::5], bunch.target[::5], bunch.groups[::5]


def compare_metrics(X, y, groups):
    """Accuracy across recordings, and the smallest eigenvalue of each Gaussian."""
    results = {}
    for name in METRICS:
        D = KERNELS[name].distance(X)
        K = np.exp(-0.5 * (D / np.median(D)) ** 2)
        scores = cross_val_score(
            KreinSVC(C=10.0), K, y, groups=groups, cv=GroupKFold(3)
        )
        results[name] = scores.mean(), np.linalg.eigvalsh(K)[0]
        print(f"{name:17s} accuracy {scores.mean():.3f} smallest eigenvalue "
              f"{results[name][1]:.2g}")  # fmt: skip
    return results


# %%
# Windows of one recording belong together: folds are made of whole recordings.
data = gestures()
if data is not None:
    results = compare_metrics(*data)
    fig, axes = plt.subplots(1, 2, figsize=(9, 3), sharey=True)
    axes[0].barh(METRICS, [results[name][0] for name in METRICS])
    axes[0].set_title("accuracy, new recordings")
    axes[1].barh(METRICS, [results[name][1] for name in METRICS], color="C1")
    axes[1].set_title("smallest eigenvalue")
    fig.tight_layout()
