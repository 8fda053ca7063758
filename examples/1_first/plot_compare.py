"""
Let the data choose
===================

`krein.compare` runs all methods on the same splits, chooses their hyperparameters
inside each training part, and judges differences by a corrected test. The first one,
the similarity model, chooses what is fed to the machine as well. Simple methods are
among them: if neighbours or the rows as features are as good, no kernel machine is
needed. The similarity is that of 150 digit shapes by their Hausdorff distance.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.ndimage import distance_transform_edt
from sklearn.datasets import load_digits

from krein import compare

digits = load_digits(n_class=6)
ink, y = digits.images[:150] > 6, digits.target[:150]
way = np.array([distance_transform_edt(~other) for other in ink])
longest = np.array([way[:, one].max(axis=1) for one in ink])
K = np.exp(-np.maximum(longest, longest.T) / 2)

methods = ["similarity", "svc", "clip", "flip", "square", "neighbors", "features"]
comparison = compare(K, y, methods=methods, cv=5)
print(comparison)

# %%
# Scores per split on the left, the confusions of the best method on the right.
figure, axes = plt.subplots(
    1, 2, figsize=(11, 4.2), width_ratios=[1.6, 1], layout="constrained"
)
ranking = comparison.ranking[::-1]
for place, method in enumerate(ranking):
    scores = comparison.scores(method)
    axes[0].plot(scores, np.full(scores.size, place), "o", color="#b8c4ce")
    axes[0].plot(scores.mean(), place, "D", color="#2a6f97", ms=9)
axes[0].set_yticks(range(len(ranking)), ranking)
axes[0].set(title="accuracy: five splits and their mean", xlabel="accuracy")
axes[0].grid(axis="x", alpha=0.3)
counts = comparison.confusion(comparison.best)
axes[1].imshow(counts, cmap="Blues")
for (i, j), count in np.ndenumerate(counts):
    colour = "white" if count > counts.max() / 2 else "black"
    axes[1].text(j, i, count or "", ha="center", va="center", color=colour)
axes[1].set(
    title=f"confusions of {comparison.best}", xlabel="predicted", ylabel="digit"
)
plt.show()
