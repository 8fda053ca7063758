"""Learning from similarities that are not positive semidefinite.

Everything public is importable from here; modules are loaded when first used.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.2.0"

# Public name -> module that defines it, by theme.
_WHERE = {
    # estimators
    "CPDRegressor": "krein.estimators.cpd_regressor",
    "CPDSVC": "krein.estimators.cpd",
    "CPDSVCCV": "krein.estimators.searched",
    "DCSVC": "krein.estimators.krein_svm",
    "DistanceTransformer": "krein.estimators.distances",
    "HitClassifier": "krein.estimators.hit_classifier",
    "HitSimilarity": "krein.estimators.hits",
    "KreinLogisticRegression": "krein.estimators.logistic",
    "KreinLogisticRegressionCV": "krein.estimators.searched",
    "KreinNystroem": "krein.estimators.nystroem",
    "KreinRidge": "krein.estimators.ridge",
    "KreinSVC": "krein.estimators.krein_svm",
    "MKLSVC": "krein.estimators.mkl",
    "PCoA": "krein.estimators.ordination",
    "ProxySVC": "krein.estimators.proxy",
    "ProxySVCCV": "krein.estimators.searched",
    "PseudoEuclideanEmbedding": "krein.estimators.transformers",
    "SpectrumOneClassSVM": "krein.estimators.spectral",
    "SpectrumSVC": "krein.estimators.spectral",
    "SpectrumSVCCV": "krein.estimators.spectrum_cv",
    "SpectrumSVR": "krein.estimators.spectral",
    "SpectrumSVRCV": "krein.estimators.spectrum_cv",
    "SpectrumTransformer": "krein.estimators.transformers",
    # kernels
    "Kernel": "krein.kernels",
    "affine_invariant_kernel": "krein.kernels",
    "bures_kernel": "krein.kernels",
    "covariance_descriptors": "krein.kernels",
    "damerau_kernel": "krein.kernels",
    "dtw_kernel": "krein.kernels",
    "edit_kernel": "krein.kernels",
    "erp_kernel": "krein.kernels",
    "euclidean_spd_kernel": "krein.kernels",
    "geodesic_rbf_kernel": "krein.kernels",
    "gower_kernel": "krein.kernels",
    "haversine_kernel": "krein.kernels",
    "jaro_winkler_kernel": "krein.kernels",
    "kernel_matrix": "krein.kernels",
    "laplacian_kernel": "krein.kernels",
    "lcs_kernel": "krein.kernels",
    "list_kernels": "krein.kernels",
    "log_euclidean_kernel": "krein.kernels",
    "log_kernel": "krein.kernels",
    "msm_kernel": "krein.kernels",
    "multiquadric_kernel": "krein.kernels",
    "needleman_wunsch_kernel": "krein.kernels",
    "optimal_assignment_kernel": "krein.kernels",
    "polynomial_kernel": "krein.kernels",
    "rbf_kernel": "krein.kernels",
    "register_kernel": "krein.kernels",
    "sigmoid_kernel": "krein.kernels",
    "smith_waterman_kernel": "krein.kernels",
    "stein_kernel": "krein.kernels",
    "tanimoto_kernel": "krein.kernels",
    "thin_plate_kernel": "krein.kernels",
    "thin_plate_order_kernel": "krein.kernels",
    "tl1_kernel": "krein.kernels",
    "twe_kernel": "krein.kernels",
    "wasserstein_1d_kernel": "krein.kernels",
    "wl_kernel": "krein.kernels",
    # comparison
    "Comparison": "krein.comparison",
    "KernelComparison": "krein.comparison",
    "SimilarityFeaturesClassifier": "krein.comparison.yardsticks",
    "SimilarityNeighborsClassifier": "krein.comparison.yardsticks",
    "compare": "krein.comparison",
    "list_methods": "krein.comparison",
    # diagnosis and splitting
    "Diagnosis": "krein.diagnostics",
    "Finding": "krein.diagnostics",
    "diagnose": "krein.diagnostics",
    "SimilarityGroupSplit": "krein.splitting",
    "similarity_groups": "krein.splitting",
    "split_kernel": "krein.splitting",
    "transductive_kernel": "krein.estimators.transformers",
    "Repaired": "krein.repair",
    "nearest_psd": "krein.repair",
    # data
    "list_datasets": "krein.files.data_sets",
    "load_dataset": "krein.files.data_sets",
    # files
    "FormatError": "krein.files.sources",
    "Named": "krein.files.sources",
    "read_hits": "krein.files.hit_table",
    "read_items": "krein.files.readers",
    "read_labels": "krein.files.matching",
    "read_matrix": "krein.files.readers",
    "write_hits": "krein.files.writers",
    "write_matrix": "krein.files.writers",
    # model files
    "ModelFileError": "krein.files.model_files",
    "load_model": "krein.files.model_files",
    "save_model": "krein.files.model_files",
    "trusted_types": "krein.files.model_contents",
    # results
    "CertificateReport": "krein.referee",
    "check_certificate": "krein.referee",
    "Certificate": "krein.result",
    "DivergedError": "krein.result",
    "History": "krein.result",
    "Result": "krein.result",
    "Spectrum": "krein.similarity.spectrum",
}

__all__ = sorted(_WHERE)


def __getattr__(name: str) -> Any:
    if name == "published":
        return importlib.import_module("krein.published")
    if name not in _WHERE:
        raise AttributeError(f"module 'krein' has no attribute {name!r}")
    value = getattr(importlib.import_module(_WHERE[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_WHERE})
