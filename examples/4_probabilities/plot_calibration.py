"""
Probabilities from an indefinite similarity
===========================================

Kernel logistic regression with an indefinite kernel gives probabilities of its own; an
SVM needs a sigmoid on top of its scores. The curves compare, on items that no model has
seen, how often the positive class occurs where a probability is predicted. The log-loss
in the legend judges the same in one number (smaller is better).
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.calibration import calibration_curve
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from krein import KreinLogisticRegressionCV, KreinSVC, tl1_kernel

X, y = load_breast_cancer(return_X_y=True)
X = (X - X.min(axis=0)) / (X.max(axis=0) - X.min(axis=0))

# Noise on the features makes the classes overlap, so that there is something to
# calibrate; the radius of the TL1 kernel is small enough to make it indefinite.
X = X + 0.25 * np.random.default_rng(0).standard_normal(X.shape)
train, test, y_train, y_test = train_test_split(
    X, y, test_size=0.5, random_state=0, stratify=y
)
tau = 0.3 * X.shape[1]
K, K_test = tl1_kernel(train, tau=tau), tl1_kernel(test, train, tau=tau)
print("smallest eigenvalue:", np.linalg.eigvalsh(K)[0].round(3))

# %%
# The penalty is chosen by log-loss along a path with warm starts. ``ratio_`` says how
# far the kernel's smallest eigenvalue is from where the solution stops being unique.

logistic = KreinLogisticRegressionCV(np.logspace(-3, 0, 7)).fit(K, y_train)
print("alpha:", logistic.best_params_["alpha"], "ratio:", logistic.ratio_[0].round(4))
svm = KreinSVC(probability=True, random_state=0).fit(K, y_train)

# %%
# Both curves against the diagonal of perfect calibration.

figure, axes = plt.subplots(figsize=(5, 5))
axes.plot([0, 1], [0, 1], color="0.7", linestyle="--")
for name, model in [("logistic regression", logistic), ("SVM with sigmoid", svm)]:
    p = model.predict_proba(K_test)[:, 1]
    share, mean = calibration_curve(y_test, p, n_bins=8, strategy="quantile")
    axes.plot(mean, share, marker="o", label=f"{name}: {log_loss(y_test, p):.3f}")
axes.set_xlabel("predicted probability")
axes.set_ylabel("share of the positive class")
axes.legend(title="log-loss on unseen items")
plt.show()
