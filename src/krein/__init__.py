"""Learning from similarities that are not positive semidefinite.

Everything public is importable from here; modules are loaded when first used.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.3.0"

# Where every public name is defined: a module is loaded when its name is first used.
_WHERE = {
    "CPDRegressor": "krein.estimators.cpd_regressor",
    "CPDSVC": "krein.estimators.cpd",
    "CPDSVCCV": "krein.estimators.searched",
    "KreinLogisticRegressionCV": "krein.estimators.searched",
    "ProxySVCCV": "krein.estimators.searched",
    "DCSVC": "krein.estimators.krein_svm",
    "KreinSVC": "krein.estimators.krein_svm",
    "DistanceTransformer": "krein.estimators.distances",
    "HitClassifier": "krein.estimators.hit_classifier",
    "HitSimilarity": "krein.estimators.hits",
    "KreinLogisticRegression": "krein.estimators.logistic",
    "KreinNystroem": "krein.estimators.nystroem",
    "KreinRidge": "krein.estimators.ridge",
    "MKLSVC": "krein.estimators.mkl",
    "PCoA": "krein.estimators.ordination",
    "ProxySVC": "krein.estimators.proxy",
    "PseudoEuclideanEmbedding": "krein.estimators.transformers",
    "SpectrumTransformer": "krein.estimators.transformers",
    "transductive_kernel": "krein.estimators.transformers",
    "SimilarityClassifier": "krein.estimators.similarity_model",
    "SimilarityRegressor": "krein.estimators.similarity_model",
    "SpectrumSVC": "krein.estimators.spectral",
    "SpectrumOneClassSVM": "krein.estimators.spectral_svr",
    "SpectrumSVR": "krein.estimators.spectral_svr",
    "SpectrumSVCCV": "krein.estimators.spectrum_cv",
    "SpectrumSVRCV": "krein.estimators.spectrum_cv",
    "Kernel": "krein.kernels",
    "affine_invariant_kernel": "krein.kernels",
    "braycurtis_kernel": "krein.kernels",
    "bures_kernel": "krein.kernels",
    "canberra_kernel": "krein.kernels",
    "chebyshev_kernel": "krein.kernels",
    "cityblock_kernel": "krein.kernels",
    "correlation_kernel": "krein.kernels",
    "cosine_kernel": "krein.kernels",
    "covariance_descriptors": "krein.kernels",
    "damerau_kernel": "krein.kernels",
    "dice_kernel": "krein.kernels",
    "dtw_kernel": "krein.kernels",
    "edit_kernel": "krein.kernels",
    "erp_kernel": "krein.kernels",
    "euclidean_kernel": "krein.kernels",
    "euclidean_spd_kernel": "krein.kernels",
    "geodesic_rbf_kernel": "krein.kernels",
    "gower_kernel": "krein.kernels",
    "hamming_kernel": "krein.kernels",
    "haversine_kernel": "krein.kernels",
    "jaccard_kernel": "krein.kernels",
    "jaro_winkler_kernel": "krein.kernels",
    "jensenshannon_kernel": "krein.kernels",
    "kernel_matrix": "krein.kernels",
    "laplacian_kernel": "krein.kernels",
    "lcs_kernel": "krein.kernels",
    "list_kernels": "krein.kernels",
    "log_euclidean_kernel": "krein.kernels",
    "mahalanobis_kernel": "krein.kernels",
    "minkowski_kernel": "krein.kernels",
    "msm_kernel": "krein.kernels",
    "multiquadric_kernel": "krein.kernels",
    "needleman_wunsch_kernel": "krein.kernels",
    "optimal_assignment_kernel": "krein.kernels",
    "polynomial_kernel": "krein.kernels",
    "rbf_kernel": "krein.kernels",
    "register_kernel": "krein.kernels",
    "rogerstanimoto_kernel": "krein.kernels",
    "russellrao_kernel": "krein.kernels",
    "seuclidean_kernel": "krein.kernels",
    "sigmoid_kernel": "krein.kernels",
    "smith_waterman_kernel": "krein.kernels",
    "sokalsneath_kernel": "krein.kernels",
    "sqeuclidean_kernel": "krein.kernels",
    "stein_kernel": "krein.kernels",
    "tanimoto_kernel": "krein.kernels",
    "thin_plate_kernel": "krein.kernels",
    "tl1_kernel": "krein.kernels",
    "twe_kernel": "krein.kernels",
    "wasserstein_1d_kernel": "krein.kernels",
    "wl_kernel": "krein.kernels",
    "yule_kernel": "krein.kernels",
    "Comparison": "krein.comparison",
    "KernelComparison": "krein.comparison",
    "compare": "krein.comparison",
    "list_methods": "krein.comparison",
    "SimilarityFeaturesClassifier": "krein.comparison.yardsticks",
    "SimilarityNeighborsClassifier": "krein.comparison.yardsticks",
    "Diagnosis": "krein.diagnostics",
    "Finding": "krein.diagnostics",
    "diagnose": "krein.diagnostics",
    "SimilarityGroupSplit": "krein.selection.splitting",
    "similarity_groups": "krein.selection.splitting",
    "split_kernel": "krein.selection.splitting",
    "Repaired": "krein.spectrum.repair",
    "nearest_psd": "krein.spectrum.repair",
    "list_datasets": "krein.files.data_sets",
    "load_dataset": "krein.files.data_sets",
    "FormatError": "krein.files.sources",
    "Named": "krein.files.sources",
    "read_hits": "krein.files.hit_table",
    "read_items": "krein.files.readers",
    "read_matrix": "krein.files.readers",
    "read_labels": "krein.files.matching",
    "write_hits": "krein.files.writers",
    "write_matrix": "krein.files.writers",
    "ModelFileError": "krein.files.model_files",
    "load_model": "krein.files.model_files",
    "save_model": "krein.files.model_files",
    "trusted_types": "krein.files.model_contents",
    "CertificateReport": "krein.referee",
    "check_certificate": "krein.referee",
    "Certificate": "krein.result",
    "DivergedError": "krein.result",
    "History": "krein.result",
    "Result": "krein.result",
    "Spectrum": "krein.spectrum.decomposition",
}

__all__ = sorted(_WHERE)


def __getattr__(name: str) -> Any:
    if name == "published":
        return importlib.import_module("krein.published")
    if name not in _WHERE:
        from krein.retired import NAMES

        hint = f": {NAMES[name]}" if name in NAMES else ""
        raise AttributeError(f"module 'krein' has no attribute {name!r}{hint}")
    value = getattr(importlib.import_module(_WHERE[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    # Without what this module imports for itself, which completion would offer.
    own = {name for name in globals() if name.startswith("__")}
    return sorted({*own, *_WHERE, "published"})
