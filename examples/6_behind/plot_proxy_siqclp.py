"""
Bounds and pruning of SIQCLP
============================

Upper and lower bound of the semi-infinite program of Chen and Ye (2008), with and
without pruning of inactive kernels, and the number of kernels in use: their Figures 1
and 2, on half of the sonar data.
"""

# %%
import warnings

import matplotlib.pyplot as plt
import numpy as np

from krein import ProxySVC, load_dataset, rbf_kernel

sonar = load_dataset("sonar")
X = (sonar.data - sonar.data.mean(0)) / sonar.data.std(0)
X, y = X[::2], sonar.target[::2]
rng = np.random.default_rng(0)
E = rng.standard_normal((len(X), len(X)))
K0 = rbf_kernel(X, gamma=1 / 60) - 0.1 * (E + E.T) / 2

# %%
# Both bounds are monotone (Theorem 4.1), and pruning changes neither much.
figure, axes = plt.subplots(1, 3, figsize=(12, 3.5), layout="constrained")
for ax, prune in zip(axes, (False, True), strict=False):
    model = ProxySVC(
        C=1.0,
        rho=2.0,
        solver="siqclp",
        solver_options={"prune": prune},
        tol=1e-2,
        max_iter=40,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # 40 kernels are enough for the picture
        history = model.fit(K0, y).result_.history
    ax.plot(history["bound"], label="upper bound")
    ax.plot(history["value"], label="lower bound")
    low, high = history["value"][-1], history["bound"][-1]
    ax.set_ylim(low - 2 * abs(high - low) - 5, high + 20)
    ax.set(xlabel="iteration", title="with pruning" if prune else "without pruning")
    ax.legend()
    axes[2].plot(history["size"], label="pruned" if prune else "not pruned")
    print(f"prune={prune}: {model.result_}, {history['size'].max():.0f} kernels")

# %%
# Without pruning the number of kernels grows by one a step.
axes[2].set(xlabel="iteration", ylabel="kernels in the localisation set")
axes[2].legend()
plt.show()
