"""
A table of hits: sparse, directed, incomplete
=============================================

A search program reports for every query the targets it found. Here a small table is
made up: families of proteins whose members find most of their relatives, and now and
then something else. It becomes a sparse similarity and a classifier that can say "no
hit".
"""

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse

from krein import HitClassifier, HitSimilarity, SimilarityGroupSplit

rng = np.random.default_rng(0)
family = np.repeat(np.arange(20), 15)
superfamily = family // 4
n = family.size
hits = scipy.sparse.dok_array((n, n))
for i in range(n):
    hits[i, i] = rng.uniform(150, 300)
    for j in rng.choice(np.flatnonzero(family == family[i]), 4):
        hits[i, j] = max(hits[i, j], rng.uniform(50, 120))
    if rng.random() < 0.4:
        cousin = rng.choice(np.flatnonzero(superfamily == superfamily[i]))
        hits[i, cousin] = max(hits[i, cousin], rng.uniform(20, 40))
    if rng.random() < 0.1:
        hits[i, rng.integers(n)] = rng.uniform(18, 25)
hits = hits.tocsr()
one_way = hits.astype(bool).astype(int) - hits.astype(bool).astype(int).T
print(f"{hits.nnz} hits, {hits.nnz / n**2:.1%} of the pairs,")
print(f"{(one_way > 0).sum()} of them in one direction only")

# %%
# Scores over the roots of the self scores, the better direction counts.
similarity = HitSimilarity(symmetrize="max")
K = similarity.fit_transform(hits)
fig, axes = plt.subplots(1, 2, figsize=(9, 3.8))
axes[0].spy(K, markersize=0.6)
axes[0].set_title("similarities that are there")
axes[1].plot(np.linalg.eigvalsh(K.toarray())[::-1], ".")
axes[1].axhline(0, color="grey", linewidth=0.8)
axes[1].set_title("eigenvalues")
fig.tight_layout()

# %%
# Folds at random, and folds that keep relatives together: the second error is that of
# an item from a family nobody has seen.


def error(train, test):
    model = HitClassifier(no_hit_label=-1).fit(
        hits[train][:, train], superfamily[train]
    )
    predicted = model.predict(hits[test][:, train])
    return np.mean(predicted != superfamily[test]), np.mean(predicted == -1)


shuffled = rng.permutation(n)
test = np.sort(shuffled[: n // 5])
train = np.setdiff1d(np.arange(n), test)
wrong, unseen = error(train, test)
print(f"at random: error {wrong:.2f}, no hit {unseen:.2f}")
splitter = SimilarityGroupSplit(0.2, n_splits=5, random_state=0)
apart = [error(train, test) for train, test in splitter.split(K, superfamily)]
wrong, unseen = np.mean(apart, axis=0)
print(f"relatives together: error {wrong:.2f}, no hit {unseen:.2f}")
