"""Kernels: plain functions by field, and the registry that knows facts about them."""

from krein.kernels.blocks import kernel_matrix
from krein.kernels.images import covariance_descriptors
from krein.kernels.registry import (
    KERNELS,
    Kernel,
    KernelFacts,
    as_kernel,
    list_kernels,
)
from krein.kernels.spd import (
    affine_invariant_kernel,
    bures_kernel,
    euclidean_spd_kernel,
    geodesic_rbf_kernel,
    log_euclidean_kernel,
    stein_kernel,
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
    "affine_invariant_kernel",
    "as_kernel",
    "bures_kernel",
    "covariance_descriptors",
    "euclidean_spd_kernel",
    "geodesic_rbf_kernel",
    "kernel_matrix",
    "laplacian_kernel",
    "list_kernels",
    "log_euclidean_kernel",
    "polynomial_kernel",
    "rbf_kernel",
    "sigmoid_kernel",
    "stein_kernel",
    "tl1_kernel",
]
