"""Every estimator of krein; what is listed here is tested by the contract tests."""

from krein import (
    DCSVC,
    KreinLogisticRegression,
    KreinLogisticRegressionCV,
    KreinRidge,
    KreinSVC,
    SpectrumOneClassSVM,
    SpectrumSVC,
    SpectrumSVR,
)

# Unfitted estimators that take a kernel: checked with kernel="rbf" and "precomputed".
ESTIMATORS = [
    DCSVC(),
    KreinLogisticRegression(),
    KreinRidge(),
    KreinSVC(),
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
    KreinSVC(sparse=True),
    SpectrumSVC("diffusion"),
    SpectrumSVC("flip"),
    SpectrumSVC("none"),
    SpectrumSVC("shift"),
    SpectrumSVC("square"),
    SpectrumSVR("flip"),
]
