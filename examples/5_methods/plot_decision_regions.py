"""
What the fixes do to a decision function
========================================

Two moons, a sigmoid kernel with a large slope, and the decision function of each fix
over the plane. Without a fix the machine ends at some stationary point; clip forgets
part of the kernel, flip and square keep all of it.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from krein import Kernel, SpectrumSVC

X, y = make_moons(160, noise=0.15, random_state=0)
X = (X - X.mean(axis=0)) / X.std(axis=0)
kernel = Kernel("sigmoid", gamma=1.5, coef0=-0.5)
side = np.linspace(-2.3, 2.3, 120)
plane = np.array(np.meshgrid(side, side)).reshape(2, -1).T

# %%
# New items are points of the plane; the model computes their kernel rows itself.
figure, axes = plt.subplots(2, 3, figsize=(11, 7), layout="constrained")
methods = ["none", "shift", "clip", "flip", "square", "diffusion"]
for ax, method in zip(axes.flat, methods, strict=True):
    C = 1e3 if method == "diffusion" else 10.0
    model = SpectrumSVC(method, C=C, kernel=kernel, max_iter=200_000).fit(X, y)
    height = model.decision_function(plane).reshape(side.size, side.size)
    limit = np.percentile(np.abs(height), 95)
    ax.contourf(
        side, side, height, np.linspace(-limit, limit, 15), cmap="RdBu", extend="both"
    )
    ax.contour(side, side, height, [0], colors="black", linewidths=1.5)
    ax.scatter(
        *X.T, c=np.where(y, "#08306b", "#67000d"), s=12, edgecolor="white", lw=0.4
    )
    ax.set(title=f"{method}: {model.score(X, y):.0%} right", xticks=[], yticks=[])
plt.show()
