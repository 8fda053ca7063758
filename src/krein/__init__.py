"""Learning from similarities that are not positive semidefinite.

Everything public is importable from here; modules are loaded when first used.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.3.0"

# Public names by the module that defines them.
_NAMES = {
    "krein.estimators.cpd_regressor": "CPDRegressor",
    "krein.estimators.cpd": "CPDSVC",
    "krein.estimators.searched": "CPDSVCCV KreinLogisticRegressionCV ProxySVCCV",
    "krein.estimators.krein_svm": "DCSVC KreinSVC",
    "krein.estimators.distances": "DistanceTransformer",
    "krein.estimators.hit_classifier": "HitClassifier",
    "krein.estimators.hits": "HitSimilarity",
    "krein.estimators.logistic": "KreinLogisticRegression",
    "krein.estimators.nystroem": "KreinNystroem",
    "krein.estimators.ridge": "KreinRidge",
    "krein.estimators.mkl": "MKLSVC",
    "krein.estimators.ordination": "PCoA",
    "krein.estimators.proxy": "ProxySVC",
    "krein.estimators.transformers": (
        "PseudoEuclideanEmbedding SpectrumTransformer transductive_kernel"
    ),
    "krein.estimators.similarity_model": "SimilarityClassifier SimilarityRegressor",
    "krein.estimators.spectral": "SpectrumSVC",
    "krein.estimators.spectral_svr": "SpectrumOneClassSVM SpectrumSVR",
    "krein.estimators.spectrum_cv": "SpectrumSVCCV SpectrumSVRCV",
    "krein.kernels": (
        "Kernel affine_invariant_kernel braycurtis_kernel bures_kernel "
        "canberra_kernel chebyshev_kernel cityblock_kernel correlation_kernel "
        "cosine_kernel covariance_descriptors damerau_kernel dice_kernel dtw_kernel "
        "edit_kernel erp_kernel euclidean_kernel euclidean_spd_kernel "
        "geodesic_rbf_kernel gower_kernel hamming_kernel haversine_kernel "
        "jaccard_kernel jaro_winkler_kernel jensenshannon_kernel kernel_matrix "
        "laplacian_kernel lcs_kernel list_kernels log_euclidean_kernel "
        "mahalanobis_kernel minkowski_kernel msm_kernel multiquadric_kernel "
        "needleman_wunsch_kernel optimal_assignment_kernel polynomial_kernel "
        "rbf_kernel register_kernel rogerstanimoto_kernel russellrao_kernel "
        "seuclidean_kernel sigmoid_kernel smith_waterman_kernel sokalsneath_kernel "
        "sqeuclidean_kernel stein_kernel tanimoto_kernel thin_plate_kernel tl1_kernel "
        "twe_kernel wasserstein_1d_kernel wl_kernel yule_kernel"
    ),
    "krein.comparison": "Comparison KernelComparison compare list_methods",
    "krein.comparison.yardsticks": (
        "SimilarityFeaturesClassifier SimilarityNeighborsClassifier"
    ),
    "krein.diagnostics": "Diagnosis Finding diagnose",
    "krein.selection.splitting": "SimilarityGroupSplit similarity_groups split_kernel",
    "krein.spectrum.repair": "Repaired nearest_psd",
    "krein.files.data_sets": "list_datasets load_dataset",
    "krein.files.sources": "FormatError Named",
    "krein.files.hit_table": "read_hits",
    "krein.files.readers": "read_items read_matrix",
    "krein.files.matching": "read_labels",
    "krein.files.writers": "write_hits write_matrix",
    "krein.files.model_files": "ModelFileError load_model save_model",
    "krein.files.model_contents": "trusted_types",
    "krein.referee": "CertificateReport check_certificate",
    "krein.result": "Certificate DivergedError History Result",
    "krein.spectrum.decomposition": "Spectrum",
}
_WHERE = {name: module for module, names in _NAMES.items() for name in names.split()}

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
