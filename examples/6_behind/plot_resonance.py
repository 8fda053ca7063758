"""
Ridge regression near a resonance
=================================

On an indefinite kernel, (K + alpha I) a = y is singular where alpha meets the magnitude
of a negative eigenvalue, and amplifies what lies near. The error of the raw equation
jumps wherever that happens; the stabilised one, and flip, do not. Disease progression
of 200 diabetes patients, sigmoid kernel.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.model_selection import KFold, cross_val_score

from krein import KreinRidge, sigmoid_kernel

X, y = load_diabetes(return_X_y=True)
X, y = X[:200] / X[:200].std(axis=0), y[:200]
K = sigmoid_kernel(X, gamma=0.1)
eigenvalues = np.linalg.eigvalsh(K)
folds = KFold(5, shuffle=True, random_state=0)
alphas = np.logspace(-1.5, 2, 36)

# %%
figure, ax = plt.subplots(figsize=(10, 4.4), layout="constrained")
styles = {
    "none": "#c1121f",
    "stabilised": "#2a6f97",
    "flip": "#e09f3e",
    "clip": "#6b7280",
}
for method, colour in styles.items():
    share = [
        1 - cross_val_score(KreinRidge(a, method=method), K, y, cv=folds).mean()
        for a in alphas
    ]
    ax.loglog(alphas, share, color=colour, label=method, lw=2)
negative = -eigenvalues[eigenvalues < 0]
ax.plot(negative, np.full(negative.size, 0.42), "|", color="#c1121f", ms=12)
ax.text(negative.min(), 0.44, "magnitudes of negative eigenvalues", color="#c1121f")
ax.axhline(1, color="black", lw=0.6)
ax.set(xlabel="alpha", ylabel="unexplained share of the variance", ylim=(0.4, 300))
ax.set_xlim(alphas[0], alphas[-1])
ax.legend(frameon=False)
plt.show()
