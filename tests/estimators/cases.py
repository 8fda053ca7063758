"""Every estimator of krein; what is listed here is tested by the contract tests."""

from krein import (
    KreinSVC,
    SpectrumOneClassSVM,
    SpectrumSVC,
    SpectrumSVR,
)

# Unfitted estimators that take a kernel: checked with kernel="rbf" and "precomputed".
ESTIMATORS = [
    KreinSVC(),
    SpectrumOneClassSVM(),
    SpectrumSVC("clip"),
    SpectrumSVR("clip"),
]

# The same classes with other settings: checked by the slow tests.
VARIANTS = [
    KreinSVC(sparse=True),
    SpectrumSVC("diffusion"),
    SpectrumSVC("flip"),
    SpectrumSVC("none"),
    SpectrumSVC("shift"),
    SpectrumSVC("square"),
    SpectrumSVR("flip"),
]
