"""Every estimator of krein; what is listed here is tested by the contract tests."""

from krein import (
    KreinLogisticRegression,
    KreinSVC,
    SimilarityFeaturesClassifier,
    SimilarityNeighborsClassifier,
    SpectrumOneClassSVM,
    SpectrumSVC,
    SpectrumSVR,
)

# Unfitted estimators that take a kernel: checked with kernel="rbf" and "precomputed".
ESTIMATORS = [
    KreinLogisticRegression(),
    KreinSVC(),
    KreinSVC(sparse=True),
    SimilarityFeaturesClassifier(),
    SimilarityNeighborsClassifier(),
    SpectrumOneClassSVM(),
    SpectrumSVC("clip"),
    SpectrumSVR("clip"),
]

# The same classes with other settings: checked by the slow tests.
VARIANTS = [
    KreinLogisticRegression(multi_class="ovr", fit_intercept=False),
    KreinLogisticRegression(solver="krein-gd", tol=1e-6),
    KreinSVC(sparse=True),
    SpectrumSVC("diffusion"),
    SpectrumSVC("flip"),
    SpectrumSVC("none"),
    SpectrumSVC("shift"),
    SpectrumSVC("square"),
    SpectrumSVR("flip"),
]
