"""
A landscape of spectrum methods
===============================

Clip, flip and square are three points of one family: positive eigenvalues become
``|l|^p``, negative ones ``w |l|^p``. `krein.SpectrumSVCCV` scores the whole family and
all C on one eigendecomposition per fold. The landscape is flat on top: many settings
are as good as the best, and their average is steadier than any of them.
"""

import matplotlib.pyplot as plt

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

figure, ax = plt.subplots(figsize=(7, 5), layout="constrained")
model.plot(ax=ax)
plt.show()
