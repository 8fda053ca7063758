"""
Coordinates with a minus sign
=============================

An indefinite similarity has coordinates too: in a pseudo-Euclidean space, where the
inner product counts some axes with a minus. The map of shapes below shows the two
strongest positive axes, and beside them the two strongest negative ones. They are not
noise: digits of the same kind lie together in both.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.offsetbox import AnnotationBbox, OffsetImage
from scipy.ndimage import distance_transform_edt
from sklearn.datasets import load_digits

from krein import PseudoEuclideanEmbedding

digits = load_digits(n_class=5)
ink, y = digits.images[:250] > 6, digits.target[:250]
way = np.array([distance_transform_edt(~other) for other in ink])
longest = np.array([way[:, one].max(axis=1) for one in ink])
D2 = np.maximum(longest, longest.T) ** 2
# Double centring: the similarity whose distances are d (Goldfarb, 1984).
K = -0.5 * (D2 - D2.mean(axis=0) - D2.mean(axis=1)[:, None] + D2.mean())

# %%
# The signed inner products of the coordinates give the similarity back.
embedding = PseudoEuclideanEmbedding()
F = embedding.fit_transform(0.5 * (K + K.T))
back = (F * embedding.signature_) @ F.T
print(f"largest error of the inner products: {np.abs(back - K).max():.1e}")
print(
    f"axes with plus: {np.sum(embedding.signature_ > 0)}, "
    f"with minus: {np.sum(embedding.signature_ < 0)}"
)

# %%
figure, axes = plt.subplots(1, 2, figsize=(12, 6), layout="constrained")
for ax, sign, name in zip(axes, (1, -1), ("positive", "negative"), strict=True):
    plane = F[:, np.flatnonzero(embedding.signature_ == sign)[:2]]
    ax.scatter(*plane.T, c=y, cmap="tab10", vmax=9, s=130, alpha=0.35, lw=0)
    for i in range(0, len(plane), 2):
        picture = OffsetImage(digits.images[i], zoom=1.6, cmap="binary", alpha=0.8)
        ax.add_artist(AnnotationBbox(picture, plane[i], frameon=False))
    ax.set(title=f"two strongest {name} axes", xticks=[], yticks=[])
plt.show()
