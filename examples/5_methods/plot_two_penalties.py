"""
From flip to clip with two penalties
====================================

`krein.KreinSVC` can regularise the negative part of the space more strongly than the
positive one. With equal penalties it is flip; as the penalty of the negative part grows
it becomes clip. The best place may lie between, or at an end.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import RepeatedStratifiedKFold, cross_val_score

from krein import KreinSVC, SpectrumSVC, load_dataset, sigmoid_kernel

folds = RepeatedStratifiedKFold(n_splits=5, n_repeats=2, random_state=0)
penalties = np.logspace(-1, 3, 9)
figure, axes = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
for ax, (name, gamma) in zip(axes, (("sonar", 0.1), ("wine", 0.3)), strict=True):
    data = load_dataset(name)
    X = (data.data - data.data.mean(axis=0)) / data.data.std(axis=0)
    K, y = sigmoid_kernel(X, gamma=gamma), data.target

    def error(model, K=K, y=y):
        return 100 * (1 - cross_val_score(model, K, y, cv=folds).mean())

    path = [error(KreinSVC(C=1, lam_neg=penalty)) for penalty in penalties]
    ax.semilogx(penalties, path, "o-", color="#2a6f97", label="KreinSVC(lam_neg=...)")
    for method, style in (("flip", "--"), ("clip", ":"), ("none", "-.")):
        ax.axhline(
            error(SpectrumSVC(method, C=1)), color="#6b7280", ls=style, label=method
        )
    ax.set(title=f"{name}, sigmoid kernel", xlabel="penalty of the negative part")
    ax.set_ylabel("error in %")
    ax.legend(frameon=False)
plt.show()
