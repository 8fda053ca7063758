"""
A map of distances, with clusters and new samples
=================================================

Wines of three growers, compared by the Canberra distance of thirteen measurements. All
that the model sees is the matrix of distances. Principal coordinates (classical MDS)
make a map of it, k-means finds clusters there, and samples that come later are placed
and labelled by their distances to the first ones.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_wine
from sklearn.metrics import adjusted_rand_score, pairwise_distances
from sklearn.pipeline import make_pipeline

from krein import PCoA

wine = load_wine()
D = pairwise_distances(wine.data, metric="canberra")
order = np.random.default_rng(0).permutation(len(D))
train, new = order[:120], order[120:]
D_train, D_new = D[np.ix_(train, train)], D[np.ix_(new, train)]

# %%
# The Canberra distance is not Euclidean: some eigenvalues are negative. The proportions
# count them, so that they say what two coordinates really show.
model = PCoA(2)
F = model.fit_transform(D_train)
print(f"two axes show {model.proportion_explained_.sum():.0%}")
print(f"below zero: {model.negative_mass_:.0%} of the spectrum")

# %%
# Clusters in five coordinates; the pipeline labels new samples by their distances.
clusters = make_pipeline(PCoA(5), KMeans(3, n_init=10, random_state=0)).fit(D_train)
for name, rows, part in (("old", D_train, train), ("new", D_new, new)):
    score = adjusted_rand_score(wine.target[part], clusters.predict(rows))
    print(f"adjusted Rand index, {name} samples: {score:.2f}")

# %%
# Filled: samples that the map was made of. Open: placed afterwards, one by one.
places, found = model.transform(D_new), clusters.predict(D_new)
colours = np.array(["#2a6f97", "#c1121f", "#588157"])
figure, (left, right) = plt.subplots(
    1, 2, figsize=(10, 4), layout="constrained", width_ratios=[2, 1]
)
left.scatter(*F.T, s=22, color=colours[clusters.predict(D_train)], alpha=0.6)
left.scatter(*places.T, s=30, facecolors="none", edgecolors=colours[found])
for k in range(3):
    here = wine.target[train] == k
    left.annotate(f"grower {k + 1}", F[here].mean(axis=0), weight="bold", ha="center")
left.set(xlabel="axis 1", ylabel="axis 2", aspect="equal")
left.set_title("colour: cluster, open: new samples", loc="left")
values = model.eigenvalues_
right.bar(
    range(len(values)),
    values,
    width=1.0,
    color=np.where(values < 0, "#c1121f", "#2a6f97"),
)
right.set(xlabel="rank", yscale="symlog")
right.set_title("eigenvalues", loc="left")
plt.show()
