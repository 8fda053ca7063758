"""
From a distance to a similarity
===============================

The same distance can be turned into a similarity in several ways. The choice changes
how indefinite the result is, and the error more than most fixes do. Two distances of
digit shapes, five forms, four fixes: the longest way (Hausdorff) and the mean way
from ink to ink.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from scipy.ndimage import distance_transform_edt
from sklearn.datasets import load_digits
from sklearn.model_selection import StratifiedKFold, cross_val_score

from krein import SpectrumSVC, diagnose

digits = load_digits()
ink, y = digits.images[:250] > 6, digits.target[:250]
way = np.array([distance_transform_edt(~other) for other in ink])
distances = {}
for name, summary in (("longest way", np.max), ("mean way", np.mean)):
    reach = np.array([summary(way[:, one], axis=1) for one in ink])
    distances[name] = np.maximum(reach, reach.T)

forms = {
    "exp(-d)": lambda d: np.exp(-d),
    "exp(-d²/2)": lambda d: np.exp(-(d**2) / 2),
    "1/(1+d)": lambda d: 1 / (1 + d),
    "5 - d": lambda d: 5 - d,
    "d itself": lambda d: d,
}
methods = ["none", "clip", "flip", "square"]

# %%
# The last row is a mistake that scikit-learn accepts in silence: a distance passed as a
# similarity. krein warns that it looks like one, and that LIBSVM does not converge on
# some of these matrices without a fix.
warnings.simplefilter("ignore")
folds = StratifiedKFold(5, shuffle=True, random_state=0)
figure, axes = plt.subplots(1, 2, figsize=(12, 4.4), layout="constrained")
for ax, (name, d) in zip(axes, distances.items(), strict=True):
    scaled = d / np.median(d)
    labels, table = [], []
    for form, make in forms.items():
        K = make(scaled)
        labels.append(f"{form}  [{diagnose(K).negative_mass:.2g}]")
        models = (SpectrumSVC(m, C=10, max_iter=20_000, tol=1e-3) for m in methods)
        table.append(
            [100 * (1 - cross_val_score(m, K, y, cv=folds).mean()) for m in models]
        )
    ax.imshow(table, cmap="RdYlBu_r", vmin=0, vmax=50, aspect="auto")
    for (i, j), error in np.ndenumerate(table):
        ax.text(j, i, f"{error:.1f}", ha="center", va="center")
    ax.set_xticks(range(len(methods)), methods)
    ax.set_yticks(range(len(labels)), labels)
    ax.set_title(f"{name}: error in %, [negative mass]")
plt.show()
