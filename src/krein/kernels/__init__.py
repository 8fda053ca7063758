"""Kernels: plain functions by field, and the registry that knows facts about them.

The function of every kernel is a name of this package: `tl1_kernel`, `dtw_kernel`, ...
"""

from krein.kernels import (  # noqa: F401 (importing them registers their kernels)
    alignment,
    graphs,
    metric_spaces,
    series,
    spd,
    splines,
    strings,
    tables,
    vectors,
)
from krein.kernels.blocks import kernel_matrix
from krein.kernels.registry import (
    KERNELS,
    Kernel,
    KernelFacts,
    as_kernel,
    list_kernels,
    register_kernel,
)
from krein.kernels.spd import covariance_descriptors

_FUNCTIONS = {facts.function.__name__: facts.function for facts in KERNELS.values()}
globals().update(_FUNCTIONS)

__all__ = [
    "KERNELS",
    "Kernel",
    "KernelFacts",
    "as_kernel",
    "covariance_descriptors",
    "kernel_matrix",
    "list_kernels",
    "register_kernel",
    *_FUNCTIONS,
]
