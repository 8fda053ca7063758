"""Every estimator of krein; what is listed here is tested by the contract tests."""

from krein import (
    DCSVC,
    KreinLogisticRegression,
    KreinRidge,
    KreinSVC,
    SpectrumOneClassSVM,
    SpectrumSVC,
    SpectrumSVR,
)

# Unfitted estimators that take a kernel: checked with kernel="rbf" and "precomputed".
ESTIMATORS = [
    DCSVC(),
    DCSVC(solver="dc-primal"),
    KreinLogisticRegression(),
    KreinLogisticRegression(multi_class="ovr", fit_intercept=False),
    KreinLogisticRegression(solver="krein-gd", tol=1e-6),
    KreinLogisticRegression(solver="ccicp-gd"),
    KreinRidge(),
    KreinRidge(method="flip"),
    KreinSVC(),
    KreinSVC(sparse=True),
    SpectrumOneClassSVM(),
    SpectrumSVC("clip"),
    SpectrumSVC("diffusion"),
    SpectrumSVC("flip"),
    SpectrumSVC("none"),
    SpectrumSVC("shift"),
    SpectrumSVC("square"),
    SpectrumSVR("clip"),
    SpectrumSVR("flip"),
]
