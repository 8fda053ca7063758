"""
Landmarks: error against their number
=====================================

How many landmarks does an indefinite similarity need? The error of the approximation
falls with their number when the core is fitted to more rows than landmarks. The
textbook core, the pseudo-inverse of the landmarks' own similarities, can be worse than
the zero matrix, whose error is 1.
"""

import matplotlib.pyplot as plt
import numpy as np

from krein import KreinNystroem, sigmoid_kernel

# %%
# A tanh kernel on 600 points: much of its spectrum is negative.
X = np.random.default_rng(0).standard_normal((600, 6))
K = sigmoid_kernel(X, gamma=1.0)
values = np.linalg.eigvalsh(K)
share = -values[values < 0].sum() / abs(values).sum()
print(f"negative share of the spectrum: {share:.2f}")

# %%
# For each number of landmarks: the error, what `approximation_error_` says about it,
# and the best that any matrix of this rank could do.
sizes = [10, 20, 40, 80, 160, 320, 600]


def errors(core, m):
    found = []
    for seed in range(3):
        nystroem = KreinNystroem(m, core=core, random_state=seed)
        F = nystroem.fit_transform(K)
        error = np.linalg.norm((F * nystroem.signature_) @ F.T - K)
        found.append((error / np.linalg.norm(K), nystroem.approximation_error_))
    return np.median(found, axis=0)


fitted = np.array([errors("oversampled", m) for m in sizes])
textbook = np.array([errors("textbook", m) for m in sizes])
magnitudes = np.sort(np.abs(values))[::-1]
best = [np.linalg.norm(magnitudes[m:]) / np.linalg.norm(values) for m in sizes]

# %%
figure, axis = plt.subplots(figsize=(6, 4))
axis.loglog(sizes, textbook[:, 0], "s--", color="0.5", label="textbook core")
axis.loglog(sizes, fitted[:, 0], "o-", label="oversampled core")
axis.loglog(sizes, fitted[:, 1], "x", color="k", label="approximation_error_")
axis.loglog(sizes[:-1], best[:-1], ":", color="C2", label="best of this rank")
axis.axhline(1.0, color="0.8", zorder=0)
axis.set(xlabel="landmarks", ylabel="relative error", ylim=(1e-2, None))
axis.legend()
plt.show()

# %%
# With all items as landmarks both reproduce the matrix (and leave the picture).
print(f"all items as landmarks: {fitted[-1, 0]:.0e}, {textbook[-1, 0]:.0e}")
