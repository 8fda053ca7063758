"""
A classifier without a length scale
===================================

The SVM with a thin-plate kernel has one parameter, the regularisation alpha. Rotating
or moving the data changes nothing; dilating them by s is the same as multiplying alpha
by s^exponent. This draws the decision surface for growing alpha, as in Figure 1 of
Walder and Chapelle (2007): the white line is the decision boundary, black lines are the
levels -1 and +1. From left to right the surface goes from interpolation to a plane.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from krein import CPDSVC

X, y = make_moons(120, noise=0.25, random_state=1)
alphas = [1e-6, 1e-2, 1.0, 1e4]
models = CPDSVC.path(X, y, alphas, exponent=2, scale=False)

low, high = X.min(axis=0) - 0.7, X.max(axis=0) + 0.7
across, up = np.meshgrid(*np.linspace(low, high, 150).T)
grid = np.column_stack([across.ravel(), up.ravel()])


def draw(ax, values, points, title):
    """Surface, levels and data of one model."""
    values = values.reshape(across.shape)
    ax.pcolormesh(across, up, np.clip(values, -3, 3), cmap="coolwarm", shading="auto")
    ax.contour(across, up, values, [-1, 1], colors="black", linewidths=1)
    ax.contour(across, up, values, [0], colors="white", linewidths=2)
    ax.scatter(*points[y == 0].T, c="white", edgecolors="black", s=18)
    ax.scatter(*points[y == 1].T, c="gold", marker="s", edgecolors="black", s=18)
    ax.set(title=title, xticks=[], yticks=[])


figure, axes = plt.subplots(1, 4, figsize=(13, 3.3), layout="constrained")
for ax, model in zip(axes, models, strict=True):
    draw(ax, model.decision_function(grid), X, f"alpha = {model.alpha:g}")

# %%
# The same classifier from rotated, moved and dilated data
# --------------------------------------------------------
# Each model below is trained on transformed data and asked at transformed points; the
# pictures are equal, and the numbers say to how many digits.

angle, size, shift = 0.7, 5.0, np.array([30.0, -4.0])
turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
base = CPDSVC(0.01, exponent=2, scale=False).fit(X, y)
wanted = base.decision_function(grid)
cases = {
    "rotated": (lambda Z: Z @ turn, 0.01),
    "moved": (lambda Z: Z + shift, 0.01),
    "dilated, alpha x 25": (lambda Z: size * Z, 0.01 * size**2),
}
figure, axes = plt.subplots(1, 4, figsize=(13, 3.3), layout="constrained")
draw(axes[0], wanted, X, "original")
for ax, (name, (transform, alpha)) in zip(axes[1:], cases.items(), strict=True):
    model = CPDSVC(alpha, exponent=2, scale=False).fit(transform(X), y)
    values = model.decision_function(transform(grid))
    draw(ax, values, X, name)
    print(f"{name}: largest difference {np.abs(values - wanted).max():.1e}")

plt.show()
