"""
Kernels drawn towards a similarity
==================================

Multiple kernel learning with a target: Gaussian kernels of several widths are combined
by weights that are learned with the machine. A similarity of another kind, here a
truncated L1 distance, pulls the combination towards itself, the more the larger rho is.
At the left of the picture the labels decide, at the right the target.
"""

import matplotlib.pyplot as plt
import numpy as np

from krein import MKLSVC, load_dataset, rbf_kernel, tl1_kernel

sonar = load_dataset("sonar")
X = (sonar.data - sonar.data.mean(axis=0)) / sonar.data.std(axis=0)
widths = np.logspace(-1, 1, 7) / X.shape[1]
kernels = [rbf_kernel(X, gamma=gamma) for gamma in widths]
scaled = (sonar.data - sonar.data.min(axis=0)) / np.ptp(sonar.data, axis=0)
target = tl1_kernel(scaled, tau=30.0) / 30.0

# %%
# Every fit returns a gap between an upper and a lower bound of its objective.
prices = np.logspace(-5, 0, 16)
models = [MKLSVC(rho=rho, target=target).fit(kernels, sonar.target) for rho in prices]
weights = np.array([model.weights_[0] for model in models])
worst = max(model.duality_gap_[0] / abs(model.objective_[0]) for model in models)
print(f"largest relative gap of {len(models)} fits: {worst:.1e}")

# %%
figure, axes = plt.subplots(
    1, 2, figsize=(11, 4), width_ratios=[2, 1], layout="constrained"
)
labels = [f"width {1 / (gamma * X.shape[1]):.1f}" for gamma in widths]
colours = plt.get_cmap("viridis")(np.linspace(0.1, 0.9, widths.size))
axes[0].stackplot(prices, weights.T, labels=labels, colors=colours)
axes[0].set(xscale="log", xlabel="rho, the price of the distance from the target")
axes[0].set(title="weights of the kernels", ylim=(0, 1), xlim=prices[[0, -1]])
axes[0].legend(loc="center right")
distances = [np.linalg.norm(kernel - target) for kernel in kernels]
axes[1].barh(labels, distances, color=colours)
axes[1].set(title="distance from the target")
plt.show()
