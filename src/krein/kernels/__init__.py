"""Kernels: plain functions by field, and the registry that knows facts about them."""

from krein.kernels.registry import (
    KERNELS,
    Kernel,
    KernelFacts,
    as_kernel,
    list_kernels,
)
from krein.kernels.splines import (
    log_kernel,
    multiquadric_kernel,
    thin_plate_kernel,
    thin_plate_order_kernel,
)
from krein.kernels.vectors import (
    laplacian_kernel,
    polynomial_kernel,
    rbf_kernel,
    sigmoid_kernel,
    tl1_kernel,
)

__all__ = [
    "KERNELS",
    "Kernel",
    "KernelFacts",
    "as_kernel",
    "laplacian_kernel",
    "list_kernels",
    "log_kernel",
    "multiquadric_kernel",
    "polynomial_kernel",
    "rbf_kernel",
    "sigmoid_kernel",
    "thin_plate_kernel",
    "thin_plate_order_kernel",
    "tl1_kernel",
]
