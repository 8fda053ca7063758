"""What can be compared: every method as data, with its grid and when it applies.

C grids are multiples of 1 / scale, where the scale is the mean diagonal entry of the
kernel the SVM sees: scaling a similarity then changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal

import numpy as np
import scipy.sparse

import krein
from krein.arrays import Array
from krein.comparison.machines import (
    Family,
    features_family,
    krein_family,
    neighbor_family,
    svm_family,
)
from krein.estimators.hits import HitSimilarity

__all__ = ["METHODS", "Method", "list_methods", "select_methods"]

_CS = (0.1, 1.0, 10.0, 100.0, 1000.0)
# An indefinite problem may keep LIBSVM busy for ever; what is cut short is counted.
_RAW_STEPS = 200_000

Grid = tuple[dict[str, Any], ...]


@dataclass(frozen=True)
class Method:
    """One way to classify, as `compare` runs it.

    Attributes
    ----------
    name, title : str
        What it is called in code and in tables.
    about : str
        One sentence for the reader of a report.
    needs : {"similarity", "vectors"}
        Whether it works on the matrix or on feature vectors.
    estimator : str
        Public class of krein.
    params : mapping
        Settings that are not searched.
    grid : callable
        Training matrix (or vectors) -> candidates, the most regularised first.
    simplicity : int
        Among methods that cannot be told apart the smallest is recommended.
    family : callable, optional
        Decision values of all candidates at once; see `krein.comparison.machines`.
    searches : bool
        The estimator chooses by itself: it is given the inner folds.
    default : bool
        Whether it is compared on a dense similarity unless others are named.
    """

    name: str
    title: str
    about: str
    needs: Literal["similarity", "vectors"]
    estimator: str
    params: Mapping[str, Any]
    grid: Callable[[Array], Grid]
    simplicity: int
    family: Family | None = None
    searches: bool = False
    default: bool = True

    @property
    def available(self) -> bool:
        """True if this krein has the estimator."""
        return self.estimator in krein._WHERE

    def build(self, **chosen: Any) -> Any:
        """Return the unfitted estimator with the chosen hyperparameters."""
        model = getattr(krein, self.estimator)(**self.params, **chosen)
        if self.needs == "similarity" or self.estimator == "CPDSVC":
            return model
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        return make_pipeline(StandardScaler(), model)


# -------------------------------------------------------------------------------- grids


def diagonal_scale(K: Array) -> float:
    """Mean |k(x, x)|, or the mean |entry| where the diagonal is zero."""
    scale = float(np.abs(K.diagonal()).mean())
    return scale or float(abs(K).mean()) or 1.0


def _svm(K: Array) -> Grid:
    scale = diagonal_scale(K)
    return tuple({"C": c / scale} for c in _CS)


def _svm_on_square(K: Array) -> Grid:
    stored: Any = K.data if scipy.sparse.issparse(K) else np.ravel(K)
    scale = float(stored @ stored) / K.shape[0] or 1.0
    return tuple({"C": c / scale} for c in _CS)


def _svm_on_diffusion(K: Array) -> Grid:
    return tuple({"C": c} for c in _CS)


def _krein(K: Array) -> Grid:
    scale = diagonal_scale(K)
    return tuple(
        {"C": c / scale, "lam_neg": ratio} for ratio, c in product((1.0, 10.0), _CS)
    )


def _proxy(K: Array) -> Grid:
    """Rho in units of n C^2 / (4 |K|), where labels reshape the kernel altogether."""
    scale = diagonal_scale(K)
    unit = K.shape[0] / (4.0 * float(np.abs(K).sum(axis=1).max()) or 1.0)
    return tuple(
        {"C": c / scale, "rho": r * unit * (c / scale) ** 2}
        for r, c in product((1000.0, 10.0), (0.1, 1.0, 10.0))
    )


def _dc(K: Array) -> Grid:
    scale = diagonal_scale(K)
    return tuple({"C": c / scale} for c in (0.1, 1.0, 10.0))


def _logistic(K: Array) -> Grid:
    scale = diagonal_scale(K)
    return tuple({"alpha": a * scale} for a in (1.0, 1e-1, 1e-2, 1e-3))


def _features(K: Array) -> Grid:
    return tuple({"C": c} for c in (0.001, 0.01, 0.1, 1.0, 10.0))


def _neighbors(K: Array) -> Grid:
    return tuple({"n_neighbors": k} for k in (1, 3, 5, 9, 15) if k <= K.shape[0])


def _profiles(K: Array) -> Grid:
    return tuple({"C": c} for c in (0.1, 0.3, 1.0, 3.0))


def _nothing(K: Array) -> Grid:
    return ({},)


def _gaussian(X: Array) -> Grid:
    widths = tuple(factor / X.shape[1] for factor in (0.1, 1.0, 10.0))
    return tuple(
        {"C": c, "kernel_params": {"gamma": gamma}}
        for gamma, c in product(widths, _CS[:4])
    )


def _cpd(X: Array) -> Grid:
    return tuple({"alpha": a} for a in (10.0, 1.0, 0.1, 0.01, 0.001))


# ----------------------------------------------------------------------------- registry


def _spectral(
    method: str, grid: Callable[[Array], Grid], about: str, rank: int
) -> Method:
    return Method(
        method,
        f"SVM with {method}",
        about,
        "similarity",
        "SpectrumSVC",
        {"method": method},
        grid,
        rank,
        svm_family(method),
    )


_ALL = (
    Method(
        "svc",
        "SVM on raw matrix",
        "LIBSVM on the similarity as it is, as SVC(kernel='precomputed') does.",
        "similarity",
        "SpectrumSVC",
        {"method": "none", "tol": 1e-3, "max_iter": _RAW_STEPS},
        _svm,
        0,
        svm_family("none"),
    ),
    Method(
        "average",
        "Average of spectrum SVMs",
        "Many treatments of the spectrum and many C; the near-best are averaged.",
        "similarity",
        "SpectrumSVCCV",
        {},
        _nothing,
        2,
        searches=True,
    ),
    _spectral("clip", _svm, "Negative eigenvalues become zero.", 2),
    _spectral("flip", _svm, "Negative eigenvalues change sign.", 3),
    _spectral("shift", _svm, "All eigenvalues are raised by the same amount.", 4),
    _spectral("square", _svm_on_square, "Eigenvalues are squared.", 5),
    _spectral("diffusion", _svm_on_diffusion, "Eigenvalues l become exp(l/max|l|).", 6),
    Method(
        "krein",
        "Krein SVM",
        "Positive and negative part are regularised apart (1 : 1 is flip).",
        "similarity",
        "KreinSVC",
        {},
        _krein,
        7,
        krein_family,
    ),
    Method(
        "proxy",
        "Proxy SVM",
        "Learns a positive semidefinite kernel near the similarity.",
        "similarity",
        "ProxySVC",
        {"tol": 1e-3},
        _proxy,
        9,
    ),
    Method(
        "dc",
        "DC SVM",
        "The SVM on the indefinite matrix as a difference of convex functions.",
        "similarity",
        "DCSVC",
        {"tol": 1e-3},
        _dc,
        10,
    ),
    Method(
        "logistic",
        "Indefinite logistic",
        "Kernel logistic regression that keeps the negative part; gives "
        "probabilities directly.",
        "similarity",
        "KreinLogisticRegression",
        {},
        _logistic,
        8,
    ),
    Method(
        "neighbors",
        "k nearest neighbours",
        "The most similar training items vote: a yardstick.",
        "similarity",
        "SimilarityNeighborsClassifier",
        {},
        _neighbors,
        1,
        neighbor_family,
    ),
    Method(
        "features",
        "Similarities as features",
        "Logistic regression on the rows of the matrix: a yardstick.",
        "similarity",
        "SimilarityFeaturesClassifier",
        {},
        _features,
        1,
        features_family,
    ),
    Method(
        "profiles",
        "Rows of length 1",
        "Linear SVM on the similarities of an item, scaled to length 1, as features.",
        "similarity",
        "HitClassifier",
        {"similarity": HitSimilarity(normalize=False)},  # it is one already
        _profiles,
        1,
        default=False,
    ),
    Method(
        "gaussian",
        "Gaussian SVM (vectors)",
        "The usual SVM with a tuned Gaussian kernel, which is positive definite.",
        "vectors",
        "SpectrumSVC",
        {"method": "none", "kernel": "rbf", "tol": 1e-3, "max_iter": _RAW_STEPS},
        _gaussian,
        1,
    ),
    Method(
        "thin_plate",
        "Thin-plate SVM (vectors)",
        "SVM with a conditionally positive definite spline, no width to tune.",
        "vectors",
        "CPDSVC",
        {"kernel": "thin_plate"},
        _cpd,
        2,
    ),
)

METHODS: dict[str, Method] = {method.name: method for method in _ALL}

# What keeps a sparse similarity sparse: compared on it unless others are named.
SPARSE = ("clip", "flip", "square", "neighbors", "profiles")


def list_methods() -> list[str]:
    """Names of the methods that `compare` can run.

    Returns
    -------
    list of str

    Examples
    --------
    >>> from krein import list_methods
    >>> {"svc", "clip", "flip", "krein", "neighbors"} <= set(list_methods())
    True
    """
    return [name for name, method in METHODS.items() if method.available]


def select_methods(names: Any, *, has_vectors: bool) -> list[Method]:
    """Return the methods asked for, or all that apply.

    Parameters
    ----------
    names : list of str or None
        None takes every method that applies.
    has_vectors : bool
        Whether there are feature vectors beside the similarity.
    """
    known = list_methods()
    if names is None:
        chosen = [METHODS[name] for name in known if METHODS[name].default]
        return [m for m in chosen if m.needs == "similarity" or has_vectors]
    names = [names] if isinstance(names, str) else list(names)
    if not names:
        raise ValueError("methods is empty; give names of krein.list_methods() or None")
    for name in names:
        if name not in known:
            raise ValueError(f"methods must be among {', '.join(known)}, got {name!r}")
        if METHODS[name].needs == "vectors" and not has_vectors:
            raise ValueError(
                f"method {name!r} works on feature vectors, but only a similarity "
                "matrix was given; pass vectors and a kernel by name"
            )
    return [METHODS[name] for name in dict.fromkeys(names)]
