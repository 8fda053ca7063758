"""
Transforming training and test items together
=============================================

A tempting shortcut: put all items into one matrix, clip its eigenvalues, then split.
The test items have then shaped the kernel, and a prediction depends on which other
items happened to be predicted with it. Below, one test item is predicted in 60 random
batches.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.svm import SVC

from krein import SpectrumSVC, SpectrumTransformer, load_dataset, sigmoid_kernel

sonar = load_dataset("sonar")
X = (sonar.data - sonar.data.mean(axis=0)) / sonar.data.std(axis=0)
K, y = sigmoid_kernel(X, gamma=0.1), (sonar.target == np.unique(sonar.target)[1])
rng = np.random.default_rng(0)
order = rng.permutation(len(y))
train, pool = order[:80], order[80:]

# %%
# Jointly: transform the matrix of training items and batch, train, predict the item.
watched = pool[:12]
others = pool[12:]
joint = np.empty((60, watched.size))
for scores in joint:
    batch = rng.choice(others, 100, replace=False)
    for k, item in enumerate(watched):
        items = np.concatenate([train, [item], batch])
        clipped = SpectrumTransformer("clip").fit_transform(K[np.ix_(items, items)])
        model = SVC(kernel="precomputed").fit(clipped[:80, :80], y[train])
        scores[k] = model.decision_function(clipped[[80], :80])[0]

# %%
# Properly: the map is fitted on the training items; one item, one answer.
proper = SpectrumSVC("clip").fit(K[np.ix_(train, train)], y[train])
answer = proper.decision_function(K[np.ix_(watched, train)])

# %%
figure, ax = plt.subplots(figsize=(10, 4), layout="constrained")
for k in range(watched.size):
    ax.scatter(
        k + rng.uniform(-0.2, 0.2, 60), joint[:, k], s=9, color="#c1121f", alpha=0.5
    )
ax.scatter(range(watched.size), answer, marker="D", color="#2a6f97", zorder=3)
ax.scatter([], [], color="#c1121f", s=9, label="transformed together, 60 batches")
ax.scatter([], [], color="#2a6f97", marker="D", label="map fitted on training items")
ax.axhline(0, color="black", lw=0.8)
ax.set(xlabel="test item", ylabel="decision value", xticks=range(watched.size))
ax.legend(frameon=False, ncols=2, loc="upper center", bbox_to_anchor=(0.5, 1.12))
changed = np.mean((joint > 0).any(axis=0) & (joint <= 0).any(axis=0))
print(f"items whose predicted class depends on the batch: {changed:.0%}")
plt.show()
