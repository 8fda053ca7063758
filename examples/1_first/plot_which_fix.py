"""
Which fix is best here?
=======================

An indefinite similarity can be clipped, flipped, shifted, squared, or used as it is.
Which is best depends on what the negative eigenvalues carry. Two cases on the same
data: sonar returns with a sigmoid kernel, whose negative part is large, and with a
Gaussian, which has none.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.preprocessing import StandardScaler

from krein import SpectrumSVC, load_dataset, rbf_kernel, sigmoid_kernel

METHODS = ("none", "clip", "flip", "shift", "square")

sonar = load_dataset("sonar")
X, y = StandardScaler().fit_transform(sonar.data), sonar.target
kernels = {"sigmoid": sigmoid_kernel(X), "Gaussian": rbf_kernel(X)}

# %%
# The same folds for every method; differences within two standard errors of the paired
# differences should not be called a winner.
folds = StratifiedKFold(8, shuffle=True, random_state=0)
results = {}
for name, K in kernels.items():
    values = np.linalg.eigvalsh(K)
    share = np.abs(values[values < 0]).sum() / np.abs(values).sum()
    print(f"{name}: negative share of the spectrum {share:.3f}")
    for method in METHODS:
        scores = cross_val_score(SpectrumSVC(method), K, y, cv=folds)
        results[name, method] = scores
        print(f"   {method:7s} accuracy {scores.mean():.3f}")

# %%
# Where the negative part is large the fixes differ; where there is none, `none`,
# `clip` and `flip` are the same model.
fig, axes = plt.subplots(1, 2, figsize=(9, 3.2), sharey=True)
for ax, name in zip(axes, kernels, strict=True):
    ax.boxplot([results[name, method] for method in METHODS])
    ax.set_xticks(range(1, len(METHODS) + 1), METHODS)
    ax.set_title(name)
axes[0].set_ylabel("accuracy")
fig.tight_layout()
