"""The papers' own algorithms, to be called on a matrix and labels.

Here belong algorithms that a paper prints, faithful to it: source, equation numbers,
objective, signs and scaling are in the docstrings, deviations too. krein's own solvers
are in `krein.machines`, and are faster; the estimators reach both by ``solver=``.
Nothing here is needed to fit a model with the defaults.
"""

from __future__ import annotations

import importlib
from typing import Any

__all__ = [
    "accpm",
    "cccp_gd",
    "ccicp_gd",
    "ccicp_sgd",
    "dc_primal",
    "krein_gd",
    "mkl",
    "siqclp",
    "smm",
    "spgm",
    "tdca",
    "walder_algorithm_1",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'krein.published' has no attribute {name!r}")
    return getattr(importlib.import_module("krein.published.functions"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
