"""Every estimator of krein; what is listed here is tested by the contract tests."""

from krein import (
    CPDSVC,
    CPDSVCCV,
    DCSVC,
    CPDRegressor,
    KreinLogisticRegression,
    KreinLogisticRegressionCV,
    KreinRidge,
    KreinSVC,
    ProxySVC,
    ProxySVCCV,
    SimilarityClassifier,
    SimilarityFeaturesClassifier,
    SimilarityNeighborsClassifier,
    SimilarityRegressor,
    SpectrumOneClassSVM,
    SpectrumSVC,
    SpectrumSVCCV,
    SpectrumSVR,
    SpectrumSVRCV,
)

# Unfitted estimators that take a kernel: checked with kernel="rbf" and "precomputed".
ESTIMATORS = [
    DCSVC(),
    KreinLogisticRegression(),
    KreinRidge(),
    CPDRegressor(),
    CPDSVC(),
    KreinSVC(),
    ProxySVC(),
    SimilarityFeaturesClassifier(),
    SimilarityNeighborsClassifier(),
    SpectrumOneClassSVM(),
    SpectrumSVC("clip"),
    SpectrumSVR("clip"),
]

# The same classes with other settings: checked by the slow tests.
VARIANTS = [
    KreinLogisticRegressionCV(alphas=[0.01, 0.1], cv=2),
    DCSVC(solver="dc-primal", max_iter=20),
    KreinLogisticRegression(multi_class="ovr", fit_intercept=False),
    KreinLogisticRegression(solver="krein-gd", tol=1e-6),
    KreinLogisticRegression(solver="ccicp-gd"),
    KreinRidge(method="flip"),
    ProxySVC(new_points="project"),
    ProxySVC(new_points="raw"),
    ProxySVCCV(Cs=[1.0], rhos=[1.0, 10.0], cv=2),
    SpectrumSVC("diffusion"),
    SpectrumSVC("flip"),
    SpectrumSVC("none"),
    SpectrumSVC("shift"),
    SpectrumSVC("square"),
    SimilarityClassifier(Cs=[1.0, 10.0], fixes=["clip", "flip"], top=2, cv=2),
    SimilarityRegressor(Cs=[1.0, 10.0], fixes=["clip", "flip"], top=2, cv=2),
    SpectrumSVCCV([1.0, 10.0], fixes=["clip", "flip"], cv=2),
    SpectrumSVRCV([1.0, 10.0], fixes=["clip", "flip"], cv=2),
    SpectrumSVR("flip"),
]

# Estimators whose own kernel is checked too, because they are made for it.
OWN_KERNEL = [
    CPDRegressor(),
    CPDSVC(),
    CPDSVC(loss="logistic"),
    CPDSVCCV(alphas=[1.0, 0.1], cv=2, exponent=1),
    CPDSVC(polynomial="zero", exponent=1),
    CPDSVC(polynomial="zero", kernel="rbf"),
]
