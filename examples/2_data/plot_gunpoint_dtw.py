"""
GunPoint: time warping and the form of the similarity
=====================================================

Hand movements of actors who draw a gun or only point. Dynamic time warping gives
distances; how they become similarities matters more than the repair of the spectrum.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import StratifiedKFold, cross_val_score

from krein import Kernel, KreinSVC, dtw_kernel, load_dataset


def gun_point():
    """The set from the data folder, or the copy that aeon brings."""
    try:
        bunch = load_dataset("ts_gunpoint")
        return bunch.data, bunch.target
    except (OSError, ValueError) as missing:
        print(f"{missing}\nTrying the copy of aeon.")
        from aeon.datasets import load_gunpoint

        X, y = load_gunpoint()
        return X[:, 0, :], y


X, y = gun_point()
print(X.shape)

# %%
# A window of 10 % keeps warping local. The distance is computed once: `negative` with
# gamma = 1 is -d.
D = -dtw_kernel(X, window=0.1, similarity="negative")
folds = StratifiedKFold(5, shuffle=True, random_state=0)
median = np.median(D[np.triu_indices_from(D, k=1)])
forms = {
    "-d": -D,
    "exp(-d^2 / 2 med^2)": np.exp(-0.5 * (D / median) ** 2),
    "exp(-d / med)": np.exp(-D / median),
    "1 / (1 + d)": 1 / (1 + D),
}

# %%
# Accuracy and the share of the spectrum that is negative.
accuracy, negative = {}, {}
for name, K in forms.items():
    accuracy[name] = cross_val_score(KreinSVC(C=10.0), K, y, cv=folds).mean()
    values = np.linalg.eigvalsh(K)
    negative[name] = np.abs(values[values < 0]).sum() / np.abs(values).sum()
    print(f"{name:20s} accuracy {accuracy[name]:.3f} negative {negative[name]:.4f}")

# %%
fig, axes = plt.subplots(1, 2, figsize=(9, 3.2))
for label in np.unique(y):
    axes[0].plot(X[y == label][:5].T, color="C0" if label == y[0] else "C1", alpha=0.7)
axes[0].set_title("five series of each class")
axes[1].barh(list(accuracy), list(accuracy.values()))
axes[1].set_xlim(0.5, 1.0)
axes[1].set_title("accuracy, 5 folds")
fig.tight_layout()

# %%
# In a model the kernel is a parameter, and its window can be searched over; ``median``
# is settled on the training data of each fold.
kernel = Kernel("dtw", window=0.1, gamma="median")
model = KreinSVC(C=10.0, kernel=kernel)
print(model.fit(X[:60], y[:60]).score(X[60:120], y[60:120]))
