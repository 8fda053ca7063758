"""Small items for every registered kernel, with a slow and obvious reference.

The contract tests run over the registry: a kernel without an example here fails.
"""

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.linalg

from tests.reference import objects, series, strings, vectors


@dataclass(frozen=True)
class Example:
    """How to test a kernel.

    `reference(x, y, **params)` is one entry of the matrix, or one distance for a
    kernel of a distance. `witness` are items and parameters with a clearly negative
    eigenvalue, for kernels that are declared indefinite.
    """

    items: Any
    reference: Callable[..., float]
    params: dict = field(default_factory=dict)
    witness: tuple[Any, dict] | None = None
    rtol: float = 1e-10
    atol: float = 1e-12


def _spd_matrices(n, p, seed=25):
    A = np.random.default_rng(seed).standard_normal((n, p, p))
    return A @ A.transpose(0, 2, 1) + 0.05 * np.eye(p)


VECTORS = np.random.default_rng(1).random((9, 3))
CORNERS = np.array([[a, b, c] for a in (0, 1) for b in (0, 1) for c in (0, 1)], float)
SPD = _spd_matrices(7, 3) + np.eye(3)
SPD_WITNESS = (_spd_matrices(60, 2), {"similarity": "gaussian", "gamma": 0.05})


WORDS = ["kernel", "krein", "colonel", "krien", "ab", "abba", "k"]
BINARY_WORDS = [
    "".join(word) for n in range(1, 5) for word in itertools.product("ab", repeat=n)
]
DNA = ["ACGTACGT", "ACGGT", "TTTACG", "ACGTTCGT", "GGCA", "acgta"]
DNA_WORDS = [
    "".join(word) for n in (2, 3) for word in itertools.product("ACGT", repeat=n)
]
DNA_PARAMS = {"matrix": (2, -1), "gap_open": 1, "gap_extend": 1}
DNA_WITNESS = (DNA_WORDS, {"matrix": (1, -1), "gap_open": 1, "gap_extend": 1})
_draw = np.random.default_rng(5)
SERIES = [_draw.standard_normal(n) for n in (6, 9, 4, 9, 7, 1)]
SHORT_SERIES = [
    np.array(values, float)
    for n in (1, 2, 3)
    for values in itertools.product((0, 1, 2), repeat=n)
]
SERIES_WITNESS = (SHORT_SERIES, {"gamma": 0.1})
GRAPHS = [
    (4, [(0, 1), (1, 2), (2, 3)], ["a", "b", "a", "b"]),
    (3, [(0, 1), (1, 2), (2, 0)], ["a", "a", "b"]),
    (5, [(0, 1), (0, 2), (0, 3)], ["b", "a", "a", "c", "a"]),
    (4, [(0, 1), (1, 2), (2, 3), (3, 0)], ["a", "b", "a", "c"]),
    (1, [], ["a"]),
]
PATHS = [
    (n, [(k, k + 1) for k in range(n - 1)], list(labels))
    for n in (4, 5)
    for labels in itertools.product("ab", repeat=n)
]
PLACES = np.array([[48.9, 2.4], [52.5, 13.4], [-33.9, 151.2], [0.0, 0.0], [90.0, 0.0]])
SAMPLES = [_draw.standard_normal(n) for n in (5, 8, 5, 3, 8)]


FINGERPRINTS = np.array(
    [[1, 0, 1, 1], [0, 1, 1, 0], [3, 0, 2, 0], [0, 0, 0, 0], [1, 0, 1, 1.0]]
)
GRID = np.array(list(itertools.product((0, 1, 2), repeat=3)), float)
BITS = np.array(list(itertools.product((0, 1), repeat=4)), float)
INVERSE_COVARIANCE = ((2.0, 0.5, 0.0), (0.5, 1.0, 0.1), (0.0, 0.1, 3.0))
TABLE = [
    (20.0, "red", True, 1.0),
    (35.0, "blue", False, 1.0),
    (None, "red", None, 1.0),
    (50.0, "green", True, None),
    (22.0, None, False, 2.0),
]
GOWER_PARAMS = {"ranges": (25.0, None, None, 0.0)}


def upper(reference):
    return lambda a, b, **params: reference(a.upper(), b.upper(), **params)


def _frobenius(A, B):
    return np.linalg.norm(A - B)


def _log_frobenius(A, B):
    return np.linalg.norm(scipy.linalg.logm(A) - scipy.linalg.logm(B))


def _affine_invariant(A, B):
    root = np.linalg.inv(scipy.linalg.sqrtm(A))
    return np.linalg.norm(scipy.linalg.logm(root @ B @ root))


def _stein(A, B):
    det = np.linalg.det
    return np.sqrt(max(0, np.log(det((A + B) / 2)) - np.log(det(A) * det(B)) / 2))


def _bures(A, B):
    root = scipy.linalg.sqrtm(A)
    inner = np.trace(scipy.linalg.sqrtm(root @ B @ root)).real
    return np.sqrt(max(0, np.trace(A) + np.trace(B) - 2 * inner))


def _itself(x, y, *, distance):
    return distance(x, y)


def absolute_difference(x, y):
    return float(np.abs(x - y).sum())


EXAMPLES = {
    "tl1": Example(VECTORS, vectors.tl1, {"tau": 1.2}, (CORNERS, {"tau": 1.9})),
    "rbf": Example(VECTORS, vectors.rbf, {"gamma": 0.7}),
    "laplacian": Example(VECTORS, vectors.laplacian, {"gamma": 0.7}),
    "thin_plate": Example(VECTORS, vectors.thin_plate, {"exponent": 2}),
    "multiquadric": Example(VECTORS, vectors.multiquadric, {"c": 0.5, "power": 1.5}),
    "tanimoto": Example(FINGERPRINTS, vectors.tanimoto),
    "euclidean": Example(VECTORS, vectors.euclidean),
    "sqeuclidean": Example(VECTORS, vectors.squared_euclidean),
    "cityblock": Example(VECTORS, vectors.city_block),
    "chebyshev": Example(VECTORS, vectors.chebyshev, {}, (GRID, {"gamma": 0.3})),
    "minkowski": Example(VECTORS, vectors.minkowski, {"p": 1.5}),
    "seuclidean": Example(
        VECTORS, vectors.standardised, {"variances": (1.0, 2.0, 0.5)}
    ),
    "mahalanobis": Example(
        VECTORS, vectors.mahalanobis, {"inverse_covariance": INVERSE_COVARIANCE}
    ),
    "canberra": Example(GRID - 1.0, vectors.canberra),
    "braycurtis": Example(GRID, vectors.bray_curtis),
    "cosine": Example(VECTORS, vectors.cosine),
    "correlation": Example(VECTORS, vectors.correlation),
    # The reference is a root of rounding at rows of the same shares.
    "jensenshannon": Example(GRID[1:], vectors.jensen_shannon, atol=1e-7),
    "hamming": Example(GRID, vectors.hamming),
    "jaccard": Example(BITS, vectors.jaccard),
    "dice": Example(BITS, vectors.dice),
    "rogerstanimoto": Example(BITS, vectors.rogers_tanimoto),
    "russellrao": Example(BITS, vectors.russell_rao),
    "sokalsneath": Example(BITS, vectors.sokal_sneath),
    "yule": Example(BITS, vectors.yule, {}, (BITS, {"gamma": 0.3})),
    "gower": Example(TABLE, objects.gower, GOWER_PARAMS),
    "sigmoid": Example(
        VECTORS, vectors.sigmoid, {"gamma": 0.7, "coef0": -1.0}, (VECTORS - 0.5, {})
    ),
    "polynomial": Example(
        VECTORS, vectors.polynomial, {"degree": 2, "gamma": 0.7, "coef0": 1.0}
    ),
    "euclidean_spd": Example(SPD, _frobenius),
    "log_euclidean": Example(SPD, _log_frobenius, rtol=1e-8),
    # References lose half the digits at equal items: a root of a difference.
    "affine_invariant": Example(
        SPD, _affine_invariant, witness=SPD_WITNESS, rtol=1e-8, atol=1e-7
    ),
    "stein": Example(SPD, _stein, rtol=1e-7, atol=1e-6),
    "bures": Example(SPD, _bures, witness=SPD_WITNESS, rtol=1e-7, atol=1e-6),
    "geodesic_rbf": Example(VECTORS, _itself, {"distance": absolute_difference}),
    "dtw": Example(SERIES, series.dtw, {"window": 0.2}, SERIES_WITNESS),
    "msm": Example(SERIES, series.msm, {"c": 0.5}, SERIES_WITNESS),
    "twe": Example(SERIES, series.twe, {"window": 2, "nu": 0.1}, SERIES_WITNESS),
    "erp": Example(SERIES, series.erp, {"g": 0.3, "window": 1}, SERIES_WITNESS),
    "edit": Example(WORDS, strings.edit, {}, (BINARY_WORDS, {"gamma": 0.1})),
    "damerau": Example(WORDS, strings.damerau, {}, (BINARY_WORDS, {"gamma": 0.1})),
    "jaro_winkler": Example(WORDS, strings.jaro_winkler, {}, (BINARY_WORDS, {})),
    "lcs": Example(WORDS, strings.lcs, {"normalize": True}, (BINARY_WORDS, {})),
    "smith_waterman": Example(
        DNA, upper(strings.smith_waterman), DNA_PARAMS, DNA_WITNESS
    ),
    "needleman_wunsch": Example(
        DNA, upper(strings.needleman_wunsch), DNA_PARAMS, DNA_WITNESS
    ),
    "wl": Example(GRAPHS, objects.wl, {"n_iter": 2}),
    "optimal_assignment": Example(
        GRAPHS, objects.optimal_assignment, {"depth": 2, "decay": 0.7}, (PATHS, {})
    ),
    "haversine": Example(PLACES, objects.great_circle, rtol=1e-9, atol=1e-6),
    "wasserstein_1d": Example(SAMPLES, objects.wasserstein),
}
