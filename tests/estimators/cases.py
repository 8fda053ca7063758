"""Every estimator of krein; what is listed here is tested by the contract tests."""

from krein import (
    KreinLogisticRegression,
    KreinSVC,
    ProxySVC,
    ProxySVCCV,
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
    ProxySVC(tol=1e-10),
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
    ProxySVC(new_points="project", tol=1e-10),
    ProxySVC(new_points="raw", tol=1e-10),
    ProxySVCCV(Cs=[1.0], rhos=[1.0, 10.0], cv=2, tol=1e-9),
    SpectrumSVC("diffusion"),
    SpectrumSVC("flip"),
    SpectrumSVC("none"),
    SpectrumSVC("shift"),
    SpectrumSVC("square"),
    SpectrumSVR("flip"),
]
