"""Every estimator of krein; what is listed here is tested by the contract tests."""

from krein import (
    CPDSVC,
    CPDSVCCV,
    CPDRegressor,
    KreinSVC,
    SpectrumOneClassSVM,
    SpectrumSVC,
    SpectrumSVR,
)

# Unfitted estimators that take a kernel: checked with kernel="rbf" and "precomputed".
ESTIMATORS = [
    CPDRegressor(),
    CPDSVC(),
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

# Estimators whose own kernel is checked too, because they are made for it.
OWN_KERNEL = [
    CPDRegressor(),
    CPDSVC(),
    CPDSVC(loss="logistic"),
    CPDSVCCV(alphas=[1.0, 0.1], cv=2, exponent=1),
    CPDSVC(polynomial="zero", exponent=1),
    CPDSVC(polynomial="zero", kernel="rbf"),
]
