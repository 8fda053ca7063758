"""
DNA promoters: from sequences to a classifier
=============================================

106 pieces of E. coli DNA, 57 bases each: half of them contain a promoter. The
similarity of two pieces is the score of their best local alignment (Smith-Waterman),
divided by the scores of each with itself.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import StratifiedKFold, cross_val_score

from krein import Kernel, SimilarityClassifier, SpectrumSVC, diagnose, load_dataset

promoters = load_dataset("promoters")
sequences, y = promoters.data, promoters.target
print(len(sequences), "sequences, the first:", sequences[0])

# %%
# The similarity in one call. A gap of k bases costs 2 + 1 k; equal bases give 2,
# others cost 1.
alignment = Kernel(
    "smith_waterman", matrix=(2, -1), gap_open=2, gap_extend=1, normalize=True
)
K = alignment(sequences)
print(diagnose(K, y))

# %%
# Sorted by class, promoters (first block) resemble each other a little more.
order = np.argsort(y, kind="stable")
fig, axes = plt.subplots(1, 2, figsize=(9, 3.6))
picture = axes[0].imshow(K[np.ix_(order, order)], cmap="viridis", vmax=0.8)
axes[0].set_title("similarities, sorted by class")
fig.colorbar(picture, ax=axes[0])
axes[1].plot(np.linalg.eigvalsh(K)[::-1], ".")
axes[1].axhline(0, color="grey", linewidth=0.8)
axes[1].set_title("eigenvalues")
fig.tight_layout()

# %%
# Ten-fold cross-validation, on the same folds. The spectrum decides whether a repair
# can matter: with no or few negative eigenvalues the three methods say the same.
folds = StratifiedKFold(10, shuffle=True, random_state=0)
for method in ("none", "clip", "flip"):
    scores = cross_val_score(SpectrumSVC(method), K, y, cv=folds)
    print(f"{method:5s} accuracy {scores.mean():.3f}")

# %%
# An estimator also takes the sequences themselves. `krein.SimilarityClassifier`, the
# one to use when nothing else is known, chooses what is made of the alignment too.
model = SimilarityClassifier(alignment, random_state=0).fit(sequences, y)
print(model.predict(sequences[:3]), y[:3])
print(model.text_)
