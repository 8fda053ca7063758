"""
Probabilities from a precomputed similarity
===========================================

scikit-learn's calibration cannot cut the columns of a precomputed kernel. krein offers
two ways to probabilities: a sigmoid on out-of-fold scores of any of its support vector
machines, and logistic regression with the kernel as it is.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.calibration import calibration_curve
from sklearn.metrics import brier_score_loss, log_loss
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from krein import KreinLogisticRegression, SpectrumSVC, load_dataset, sigmoid_kernel

sonar = load_dataset("sonar")
X = (sonar.data - sonar.data.mean(axis=0)) / sonar.data.std(axis=0)
K = sigmoid_kernel(X)
y = (sonar.target == np.unique(sonar.target)[1]).astype(int)
folds = StratifiedKFold(10, shuffle=True, random_state=0)

models = {
    "flip, sigmoid on its scores": SpectrumSVC("flip", C=1, probability=True),
    "clip, sigmoid on its scores": SpectrumSVC("clip", C=1, probability=True),
    "logistic regression": KreinLogisticRegression(alpha=0.004),
}
probabilities = {
    name: cross_val_predict(model, K, y, cv=folds, method="predict_proba")[:, 1]
    for name, model in models.items()
}
# What many do instead: the score itself, squeezed between 0 and 1.
scores = cross_val_predict(
    SpectrumSVC("flip"), K, y, cv=folds, method="decision_function"
)
probabilities["flip, score taken as log-odds"] = 1 / (1 + np.exp(-scores))

# %%
figure, axes = plt.subplots(1, 4, figsize=(13, 3.8), sharey=True, layout="constrained")
for ax, (name, p) in zip(axes, probabilities.items(), strict=True):
    share, mean = calibration_curve(y, p, n_bins=6, strategy="quantile")
    ax.plot([0, 1], [0, 1], color="#b8c4ce", lw=6, alpha=0.6)
    ax.plot(mean, share, "o-", color="#2a6f97")
    ax.hist(p, 20, weights=np.full(p.size, 2 / p.size), color="#e09f3e", alpha=0.6)
    ax.set(title=name, xlabel="predicted probability", xlim=(0, 1), ylim=(0, 1))
    ax.text(
        0.04, 0.84, f"log-loss {log_loss(y, p):.3f}\nBrier {brier_score_loss(y, p):.3f}"
    )
axes[0].set_ylabel("share of the class")
plt.show()
