"""The papers' own algorithms, to be called on a matrix and labels.

Here belong algorithms that a paper prints, faithful to it: source, equation numbers,
objective, signs and scaling are in the docstrings, deviations too. krein's own solvers
are in `krein.machines`, and are faster; the estimators reach both by ``solver=``.
Nothing here is needed to fit a model with the defaults.
"""

from __future__ import annotations

import importlib
from typing import Any

_PROXY = ("accpm", "mkl", "siqclp", "smm", "spgm")
_RAW = (
    "cccp_gd",
    "ccicp_gd",
    "ccicp_sgd",
    "dc_primal",
    "krein_gd",
    "tdca",
    "walder_algorithm_1",
)
_WHERE = dict.fromkeys(_PROXY, "proxy_functions") | dict.fromkeys(_RAW, "raw_functions")

__all__ = sorted(_WHERE)


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'krein.published' has no attribute {name!r}")
    module = importlib.import_module(f"krein.published.{_WHERE[name]}")
    return getattr(module, name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_WHERE])
