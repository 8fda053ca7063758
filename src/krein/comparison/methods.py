"""What can be compared: every method as data, and when it applies.

Hyperparameters are those that the estimator's own `grid` offers, as in its ...CV class.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal

import krein
from krein.arrays import Array
from krein.estimators._search import CS
from krein.estimators.hits import HitSimilarity

# An indefinite problem may keep LIBSVM busy for ever; what is cut short is counted.
_RAW_STEPS = 200_000


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
    simplicity : int
        Among methods that cannot be told apart the smallest is recommended.
    grid : callable, optional
        Vectors -> candidates; without it the estimator's own `grid` is searched.
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
    simplicity: int
    grid: Callable[[Array], list[dict[str, Any]]] | None = None
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


def _gaussian(X: Array) -> list[dict[str, Any]]:
    """Widths and C of a Gaussian kernel on standardised vectors."""
    widths = [factor / X.shape[1] for factor in (0.1, 1.0, 10.0)]
    return [
        {"C": C, "kernel_params": {"gamma": gamma}}
        for gamma, C in product(widths, CS[:4])
    ]


def _profiles(K: Any) -> list[dict[str, Any]]:
    """Return values of C for rows of length 1."""
    return [{"C": C} for C in (0.1, 0.3, 1.0, 3.0)]


# ----------------------------------------------------------------------------- registry


def _spectral(method: str, about: str, simplicity: int) -> Method:
    title, params = f"SVM with {method}", {"method": method}
    return Method(method, title, about, "similarity", "SpectrumSVC", params, simplicity)


_ALL = (
    Method(
        "svc",
        "SVM on raw matrix",
        "LIBSVM on the similarity as it is, one machine per pair of classes, as "
        "scikit-learn's SVC(kernel='precomputed') with its C chosen.",
        "similarity",
        "SpectrumSVC",
        {
            "method": "none",
            "multi_class": "ovo",
            "tol": 1e-3,
            "max_iter": _RAW_STEPS,
        },
        0,
    ),
    Method(
        "average",
        "Average of spectrum SVMs",
        "Many treatments of the spectrum and many C; the near-best are averaged.",
        "similarity",
        "SpectrumSVCCV",
        {},
        2,
        searches=True,
    ),
    _spectral("clip", "Negative eigenvalues become zero.", 2),
    _spectral("flip", "Negative eigenvalues change sign.", 3),
    _spectral("shift", "All eigenvalues are raised by the same amount.", 4),
    _spectral("square", "Eigenvalues are squared.", 5),
    _spectral("diffusion", "Eigenvalues l become exp(l/max|l|).", 6),
    Method(
        "krein",
        "Krein SVM",
        "Positive and negative part are regularised apart (1 : 1 is flip).",
        "similarity",
        "KreinSVC",
        {},
        7,
    ),
    Method(
        "proxy",
        "Proxy SVM",
        "Learns a positive semidefinite kernel near the similarity.",
        "similarity",
        "ProxySVC",
        {"tol": 1e-3},
        9,
    ),
    Method(
        "dc",
        "DC SVM",
        "The SVM on the indefinite matrix as a difference of convex functions.",
        "similarity",
        "DCSVC",
        {"tol": 1e-3},
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
        8,
    ),
    Method(
        "neighbors",
        "k nearest neighbours",
        "The most similar training items vote: a simple baseline.",
        "similarity",
        "SimilarityNeighborsClassifier",
        {},
        1,
    ),
    Method(
        "features",
        "Similarities as features",
        "Logistic regression on the rows of the matrix: a simple baseline.",
        "similarity",
        "SimilarityFeaturesClassifier",
        {},
        1,
    ),
    Method(
        "profiles",
        "Rows of length 1",
        "Linear SVM on the similarities of an item, scaled to length 1, as features.",
        "similarity",
        "HitClassifier",
        {"similarity": HitSimilarity(normalize=False)},  # it is one already
        1,
        _profiles,
        default=False,
    ),
    Method(
        "gaussian",
        "Gaussian SVM (vectors)",
        "The usual SVM with a tuned Gaussian kernel, which is positive definite.",
        "vectors",
        "SpectrumSVC",
        {"method": "none", "kernel": "rbf", "tol": 1e-3, "max_iter": _RAW_STEPS},
        1,
        _gaussian,
    ),
    Method(
        "thin_plate",
        "Thin-plate SVM (vectors)",
        "SVM with a conditionally positive definite spline, no width to tune.",
        "vectors",
        "CPDSVC",
        {"kernel": "thin_plate"},
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
