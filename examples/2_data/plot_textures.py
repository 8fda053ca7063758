"""
Textures as matrices
====================

A patch of a photograph can be described by the covariance of its pixels' features: a
symmetric positive definite matrix. Between such matrices there are several geometries;
their Gaussian kernels are positive definite for some and not for others. Patches of two
photographs that come with scikit-learn, a temple and a flower, are told apart.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_sample_images
from sklearn.model_selection import RepeatedStratifiedKFold, cross_val_score

from krein import Kernel, SpectrumSVC, covariance_descriptors, diagnose

photographs = [image.mean(axis=2) / 255 for image in load_sample_images().images]
patches, y = [], []
rng = np.random.default_rng(0)
for label, photograph in enumerate(photographs):
    for _ in range(70):
        i, j = (rng.integers(0, side - 24) for side in photograph.shape)
        patches.append(photograph[i : i + 24, j : j + 24])
        y.append(label)
patches, y = np.array(patches), np.array(y)
matrices = covariance_descriptors(patches)
matrices += 1e-6 * np.eye(matrices.shape[1])  # flat patches are singular
print("descriptors:", matrices.shape)

# %%
names = ["euclidean_spd", "log_euclidean", "affine_invariant", "stein"]
folds = RepeatedStratifiedKFold(n_splits=5, n_repeats=2, random_state=0)
errors, masses = [], []
for name in names:
    K = Kernel(name, gamma="median", similarity="gaussian").fit(matrices)(matrices)
    masses.append(diagnose(K).negative_mass)
    errors.append(
        100 * (1 - cross_val_score(SpectrumSVC("flip", C=10), K, y, cv=folds).mean())
    )
    print(f"{name:<17} negative mass {masses[-1]:.2g}, error {errors[-1]:.1f} %")

# %%
figure = plt.figure(figsize=(12, 4), layout="constrained")
left, right = figure.subfigures(1, 2, width_ratios=[1, 1.2])
for cell, i in zip(left.subplots(4, 8).flat, np.r_[0:16, 70:86], strict=True):
    cell.imshow(patches[i], cmap="gray", vmin=0, vmax=1)
    cell.set(xticks=[], yticks=[])
ax = right.subplots()
bars = ax.barh(names[::-1], errors[::-1], color="#2a6f97")
notes = [
    f" {e:.1f} %   negative mass {m:.1g}" for e, m in zip(errors, masses, strict=True)
]
ax.bar_label(bars, notes[::-1])
ax.set(title="error by geometry (flip, C = 10)", xlim=(0, 1.9 * max(errors)), xticks=[])
plt.show()
