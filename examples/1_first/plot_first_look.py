"""
A first look at an indefinite similarity
========================================

The sigmoid kernel of the sonar data (208 echoes of rocks and of metal cylinders) looks
like any other similarity. Its spectrum does not: most eigenvalues are negative.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import RepeatedStratifiedKFold, cross_val_score

from krein import SpectrumSVC, diagnose, load_dataset, sigmoid_kernel

sonar = load_dataset("sonar")
X = (sonar.data - sonar.data.mean(axis=0)) / sonar.data.std(axis=0)
K, y = sigmoid_kernel(X), sonar.target

# %%
# What krein says about it.
found = diagnose(K, y)
print(found)

# %%
# How often a support vector machine is wrong, with each fix and with none.
folds = RepeatedStratifiedKFold(n_splits=5, n_repeats=2, random_state=0)
methods = ["none", "shift", "clip", "flip", "square"]
errors = {
    method: 100 * (1 - cross_val_score(SpectrumSVC(method, C=10), K, y, cv=folds))
    for method in methods
}

# %%
# The matrix (items sorted by class), its spectrum and the errors.
figure, axes = plt.subplots(1, 3, figsize=(12, 3.6), layout="constrained")
order = np.argsort(y, kind="stable")
axes[0].imshow(K[np.ix_(order, order)], cmap="RdBu", vmin=-1, vmax=1)
axes[0].set(title="similarity, sorted by class", xticks=[], yticks=[])
found.plot(ax=axes[1])
means = [errors[method].mean() for method in methods]
colours = ["#2a6f97" if mean == min(means) else "#b8c4ce" for mean in means]
bars = axes[2].barh(methods[::-1], means[::-1], color=colours[::-1])
axes[2].bar_label(bars, fmt=" %.1f %%")
axes[2].set(title="error, C = 10", xlim=(0, 38), xticks=[])
plt.show()
