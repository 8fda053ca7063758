"""
Noise or structure?
===================

Negative eigenvalues can come from errors of measurement, which clip should remove, or
from what the similarity measures, which flip keeps. `krein.diagnose` looks at both:
noise fills a semicircle around zero, structure repeats itself in both halves of the
data.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import RepeatedStratifiedKFold, cross_val_score

from krein import SpectrumSVC, diagnose, load_dataset, rbf_kernel, sigmoid_kernel

cancer = load_dataset("breast_cancer")
X = (cancer.data - cancer.data.mean(axis=0)) / cancer.data.std(axis=0)
X, y = X[:300], cancer.target[:300]

# %%
# A Gaussian kernel with symmetric noise on every entry, and a sigmoid kernel without.
rng = np.random.default_rng(0)
noise = rng.standard_normal((len(X), len(X)))
similarities = {
    "Gaussian kernel + noise": rbf_kernel(X) + 0.1 * (noise + noise.T) / 2,
    "sigmoid kernel": sigmoid_kernel(X, gamma=0.1),
}

# %%
figure, axes = plt.subplots(
    2, 2, figsize=(11, 7), width_ratios=[2, 1], layout="constrained"
)
folds = RepeatedStratifiedKFold(n_splits=5, n_repeats=2, random_state=0)
for (left, right), (name, K) in zip(axes, similarities.items(), strict=True):
    found = diagnose(K, y)
    print(f"{name}\n{found}\n")
    found.plot(ax=left)
    verdict = found.negative_part.verdict
    left.set_title(f"{name}: negative mass {found.negative_mass:.2f}, {verdict}")
    errors = [
        100 * (1 - cross_val_score(SpectrumSVC(m, C=1), K, y, cv=folds).mean())
        for m in ("none", "clip", "flip")
    ]
    bars = right.bar(
        ["raw", "clip", "flip"], errors, color=["#b8c4ce", "#2a6f97", "#e09f3e"]
    )
    right.bar_label(bars, fmt="%.1f %%")
    right.set(title="error", yticks=[])
plt.show()
