"""
The map for new points decides
==============================

Handwritten digits compared by the Hausdorff distance of their shapes: the longest way
one has to go from the ink of one digit to the ink of the other. It is a metric, and
still exp(-d/2) is indefinite. All bars below come from the same training; what differs
is whether new rows go through the map that was fitted on the training rows.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.ndimage import distance_transform_edt
from sklearn.datasets import load_digits
from sklearn.model_selection import StratifiedKFold

from krein import SpectrumSVC, SpectrumTransformer

digits = load_digits()
ink, y = digits.images[:300] > 6, digits.target[:300]
way = np.array([distance_transform_edt(~other) for other in ink])  # to the nearest ink
longest = np.array([way[:, one].max(axis=1) for one in ink])
D = np.maximum(longest, longest.T)
K = np.exp(-D / 2)

# %%
# A model on the fixed training matrix, applied to raw rows, against krein's estimator,
# which is the same model with its coefficients moved to the raw kernel.
methods = ["shift", "clip", "flip", "square"]
errors = {method: ([], []) for method in methods}
for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(K, y):
    K_train, K_test = K[np.ix_(train, train)], K[np.ix_(test, train)]
    for method in methods:
        fixed = SpectrumTransformer(method).fit_transform(K_train)
        careless = SpectrumSVC("none").fit(fixed, y[train])
        careful = SpectrumSVC(method).fit(K_train, y[train])
        for model, scores in zip((careless, careful), errors[method], strict=True):
            scores.append(100 * (1 - model.score(K_test, y[test])))

# %%
figure, axes = plt.subplots(
    1, 2, figsize=(11, 4), width_ratios=[1, 2], layout="constrained"
)
one, other = ink[0], ink[1]
farthest = np.unravel_index(np.argmax(way[1] * one), one.shape)
inked = np.argwhere(other)
nearest = inked[np.argmin(np.linalg.norm(inked - farthest, axis=1))]
axes[0].imshow(np.ones((8, 8, 3)))
for shape, colour, size in ((one, "#c1121f", 420), (other, "#2a6f97", 160)):
    axes[0].scatter(
        *np.argwhere(shape).T[::-1], s=size, marker="s", color=colour, alpha=0.6
    )
axes[0].annotate(
    "", nearest[::-1], farthest[::-1], arrowprops={"arrowstyle": "->", "lw": 3}
)
axes[0].set(title=f"a 0, a 1: d = {D[0, 1]:.2f}", xticks=[], yticks=[])
place = np.arange(len(methods))
for shift, label, colour, column in (
    (-0.2, "raw new rows", "#c1121f", 0),
    (0.2, "mapped new rows", "#2a6f97", 1),
):
    heights = [np.mean(errors[method][column]) for method in methods]
    bars = axes[1].bar(place + shift, heights, 0.38, color=colour, label=label)
    axes[1].bar_label(bars, fmt="%.0f")
axes[1].set(title="error in %, ten classes, C = 1", ylim=(0, 105))
axes[1].set_xticks(place, methods)
axes[1].legend(frameon=False, loc="upper left")
plt.show()
