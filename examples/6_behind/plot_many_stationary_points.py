"""
Many stationary points
======================

Left as it is, the dual of the support vector machine is not concave, and the optimality
conditions hold at many points. Where a solver ends depends on where it starts. Here the
same 208 sonar echoes are presented in twelve orders; `krein.DCSVC` starts from
LIBSVM's answer and goes on until its certificate holds, at several different points.
The flipped problem has one optimum, and every order finds it.
"""

import matplotlib.pyplot as plt
import numpy as np

from krein import DCSVC, KreinSVC, load_dataset, sigmoid_kernel

sonar = load_dataset("sonar")
X = (sonar.data - sonar.data.mean(axis=0)) / sonar.data.std(axis=0)
K, y = sigmoid_kernel(X, gamma=0.1), sonar.target
rng = np.random.default_rng(0)
orders = [rng.permutation(len(y)) for _ in range(12)]

# %%
figure, axes = plt.subplots(1, 3, figsize=(12, 4), layout="constrained")
models = {"raw kernel, DCSVC": DCSVC(), "flipped, KreinSVC": KreinSVC()}
for ax, (name, model) in zip(axes, models.items(), strict=False):
    outputs, values = [], []
    for order in orders:
        model.fit(K[np.ix_(order, order)], y[order])
        outputs.append(model.decision_function(K[:, order]))
        values.append(model.objective_[0])
    outputs = np.array(outputs)
    items = np.argsort(outputs.mean(axis=0))
    ax.plot(outputs[:, items].T, ".", color="#2a6f97", ms=3, alpha=0.5)
    ax.axhline(0, color="black", lw=0.8)
    ax.set(title=f"{name}: scores in 12 orders", xlabel="item, sorted")
    split = np.mean((outputs > 0).any(axis=0) & (outputs < 0).any(axis=0))
    print(f"{name}: {split:.0%} of the items change sides with the order")
    axes[2].plot(np.sort(values) / np.max(np.abs(values)), "o-", label=name)
axes[2].set(title="objective over the largest", xlabel="order, sorted")
axes[2].legend(frameon=False)
plt.show()
