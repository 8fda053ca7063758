"""
Odd shapes among the zeros
==========================

A one-class support vector machine learns what a handwritten zero looks like from 120
zeros and the Hausdorff similarity of their shapes, an indefinite one. Then it ranks all
other digits of the set by how much they look like a zero.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.ndimage import distance_transform_edt
from sklearn.datasets import load_digits
from sklearn.metrics import roc_auc_score

from krein import SpectrumOneClassSVM


def hausdorff_similarity(A, B):
    """exp(-d/2) of shapes; a plain function is kernel enough for every estimator."""
    to_a = np.array([distance_transform_edt(~shape) for shape in A])
    to_b = np.array([distance_transform_edt(~shape) for shape in B])
    there = np.array([to_b[:, shape].max(axis=1) for shape in A])
    back = np.array([to_a[:, shape].max(axis=1) for shape in B]).T
    return np.exp(-np.maximum(there, back) / 2)


digits = load_digits()
shapes = digits.images > 6
zeros = np.flatnonzero(digits.target == 0)
train, new = zeros[:120], np.setdiff1d(np.arange(len(shapes)), zeros[:120])
model = SpectrumOneClassSVM("flip", nu=0.1, kernel=hausdorff_similarity)
model.fit(shapes[train])
scores = model.decision_function(shapes[new])

# %%
# `nu` fixes how much of the training data may lie outside, so the threshold is strict;
# the ranking separates zeros from all other digits almost perfectly.
figure = plt.figure(figsize=(11, 5), layout="constrained")
top, bottom = figure.subfigures(2, 1, height_ratios=[1.4, 1])
ax = top.subplots()
bins = np.linspace(scores.min(), scores.max(), 60)
is_zero = digits.target[new] == 0
ax.hist(scores[~is_zero], bins, color="#b8c4ce", label="other digits")
ax.hist(scores[is_zero], bins, color="#2a6f97", label="new zeros")
ax.axvline(0, color="black", lw=1)
ax.set(xlabel="decision function (negative: novel)", yscale="log", ylabel="digits")
ax.legend(frameon=False)
grid = bottom.subplots(2, 12)
order = np.argsort(scores)
rows = {
    "zeros, oddest first": order[is_zero[order]][:12],
    "others, most zero-like": order[~is_zero[order]][::-1][:12],
}
for line, (name, chosen) in zip(grid, rows.items(), strict=True):
    line[0].set_title(name, loc="left", fontsize=9)
    for cell, i in zip(line, chosen, strict=True):
        cell.imshow(digits.images[new[i]], cmap="binary")
        cell.set(xticks=[], yticks=[])
plt.show()

print(f"area under the ROC curve: {roc_auc_score(is_zero, scores):.4f}")
print(
    f"accepted: {np.mean(scores[is_zero] > 0):.0%} of {is_zero.sum()} new zeros, "
    f"{np.sum(scores[~is_zero] > 0)} of {np.sum(~is_zero)} others"
)
