"""Kernels: plain functions by field, and the registry that knows facts about them.

The function of every kernel is a name of this package: `tl1_kernel`, `dtw_kernel`, ...
"""

# ruff: noqa: F401 (what is imported here is the door of this room)
from krein.kernels import (  # importing them registers their kernels
    alignment,
    graphs,
    metric_spaces,
    metrics,
    metrics_with_parameters,
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

for _facts in KERNELS.values():
    globals()[_facts.function.__name__] = _facts.function
