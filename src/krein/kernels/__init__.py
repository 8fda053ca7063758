"""Kernels: plain functions by field, and the registry that knows facts about them."""

from krein.kernels.alignment import needleman_wunsch_kernel, smith_waterman_kernel
from krein.kernels.blocks import kernel_matrix
from krein.kernels.graphs import optimal_assignment_kernel, wl_kernel
from krein.kernels.metric_spaces import (
    geodesic_rbf_kernel,
    haversine_kernel,
    wasserstein_1d_kernel,
)
from krein.kernels.registry import (
    KERNELS,
    Kernel,
    KernelFacts,
    as_kernel,
    list_kernels,
    register_kernel,
)
from krein.kernels.series import dtw_kernel, erp_kernel, msm_kernel, twe_kernel
from krein.kernels.spd import (
    affine_invariant_kernel,
    bures_kernel,
    euclidean_spd_kernel,
    log_euclidean_kernel,
    stein_kernel,
)
from krein.kernels.spd_distances import covariance_descriptors
from krein.kernels.splines import (
    log_kernel,
    multiquadric_kernel,
    thin_plate_kernel,
    thin_plate_order_kernel,
)
from krein.kernels.strings import (
    damerau_kernel,
    edit_kernel,
    jaro_winkler_kernel,
    lcs_kernel,
)
from krein.kernels.tables import gower_kernel
from krein.kernels.vectors import (
    laplacian_kernel,
    polynomial_kernel,
    rbf_kernel,
    sigmoid_kernel,
    tanimoto_kernel,
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
    "damerau_kernel",
    "dtw_kernel",
    "edit_kernel",
    "erp_kernel",
    "euclidean_spd_kernel",
    "geodesic_rbf_kernel",
    "gower_kernel",
    "haversine_kernel",
    "jaro_winkler_kernel",
    "kernel_matrix",
    "laplacian_kernel",
    "lcs_kernel",
    "list_kernels",
    "log_euclidean_kernel",
    "log_kernel",
    "msm_kernel",
    "multiquadric_kernel",
    "needleman_wunsch_kernel",
    "optimal_assignment_kernel",
    "polynomial_kernel",
    "rbf_kernel",
    "register_kernel",
    "sigmoid_kernel",
    "smith_waterman_kernel",
    "stein_kernel",
    "tanimoto_kernel",
    "thin_plate_kernel",
    "thin_plate_order_kernel",
    "tl1_kernel",
    "twe_kernel",
    "wasserstein_1d_kernel",
    "wl_kernel",
]
