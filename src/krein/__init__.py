"""Learning from similarities that are not positive semidefinite.

Everything public is importable from here; modules are loaded when first used.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

# Public name -> module that defines it, by theme.
_WHERE = {
    # estimators
    "CPDRegressor": "krein.estimators.cpd_regressor",
    "CPDSVC": "krein.estimators.cpd",
    "CPDSVCCV": "krein.estimators.cpd_cv",
    "KreinSVC": "krein.estimators.krein_svm",
    "PseudoEuclideanEmbedding": "krein.estimators.transformers",
    "SpectrumOneClassSVM": "krein.estimators.spectral",
    "SpectrumSVC": "krein.estimators.spectral",
    "SpectrumSVR": "krein.estimators.spectral",
    "SpectrumTransformer": "krein.estimators.transformers",
    # kernels
    "Kernel": "krein.kernels",
    "laplacian_kernel": "krein.kernels",
    "list_kernels": "krein.kernels",
    "log_kernel": "krein.kernels",
    "multiquadric_kernel": "krein.kernels",
    "polynomial_kernel": "krein.kernels",
    "rbf_kernel": "krein.kernels",
    "sigmoid_kernel": "krein.kernels",
    "thin_plate_kernel": "krein.kernels",
    "thin_plate_order_kernel": "krein.kernels",
    "tl1_kernel": "krein.kernels",
    # results
    "Certificate": "krein.result",
    "History": "krein.result",
    "Result": "krein.result",
    "Spectrum": "krein.spectrum",
}

__all__ = sorted(_WHERE)


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'krein' has no attribute {name!r}")
    value = getattr(importlib.import_module(_WHERE[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_WHERE])
