"""
A landscape of fixes
===============================

Clip, flip and square are three points of one family: positive eigenvalues become
``|l|^p``, negative ones ``w |l|^p``. `krein.SpectrumSVCCV` ranks twelve points of the
family and six C by least squares and trains the most promising quarter on folds. The
landscape is flat on top: many settings are as good as the best, and their average is
steadier than any of them.
"""

import matplotlib.pyplot as plt
import numpy as np

from krein import SpectrumSVCCV, load_dataset, sigmoid_kernel, split_kernel

sonar = load_dataset("sonar")
X = (sonar.data - sonar.data.mean(axis=0)) / sonar.data.std(axis=0)
K_train, K_test, y_train, y_test = split_kernel(
    sigmoid_kernel(X), sonar.target, test_size=0.4, random_state=0
)
model = SpectrumSVCCV().fit(K_train, y_train)
best = SpectrumSVCCV(combine="best").fit(K_train, y_train)
print("best setting", best.best_params_, f"{best.score(K_test, y_test):.3f}")
print(f"average of {len(model.members_)}", f"{model.score(K_test, y_test):.3f}")

# %%
# The mean score of every method and C; settings in the model are marked, and settings
# that were not trained stay blank.
table = model.cv_results_
methods, Cs = list(dict.fromkeys(table["param_method"])), np.unique(table["relative_C"])
rows = np.array([methods.index(name) for name in table["param_method"]])
columns = np.searchsorted(Cs, table["relative_C"])
scores = np.full((len(methods), Cs.size), np.nan)
scores[rows, columns] = table["mean_test_score"]
used = np.asarray(table["weight"]) > 0

figure, ax = plt.subplots(figsize=(7, 5), layout="constrained")
image = ax.imshow(scores, aspect="auto", cmap="viridis", interpolation="nearest")
figure.colorbar(image, ax=ax, label="mean score")
ax.plot(columns[used], rows[used], "o", color="#c1121f", label="in the model")
ax.set_xticks(range(Cs.size), [f"{C:.3g}" for C in Cs])
ax.set_yticks(range(len(methods)), methods)
ax.set(xlabel="C", ylabel="method")
ax.set_title("Scores out of fold", loc="left")
ax.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), borderaxespad=0, frameon=False)
plt.show()
