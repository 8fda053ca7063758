"""What can be compared: every method of every task as data, and when it applies.

Hyperparameters are those that the estimator's own `grid` offers, as in its ...CV class,
unless the method has a grid of its own. A method of scikit-learn has a `make` instead
of an estimator of krein.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any, Literal

import numpy as np
from sklearn.compose import TransformedTargetRegressor
from sklearn.dummy import DummyRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler
from sklearn.svm import LinearSVC

import krein
from krein.arrays import Array
from krein.comparison.scores import COLUMNS, NOVELTY, REGRESSION, Column
from krein.comparison.yardsticks import MeanOfNearest
from krein.estimators._search import CS
from krein.estimators.hits import HitSimilarity

# An indefinite problem may keep LIBSVM busy for ever; what is cut short is counted.
_RAW_STEPS = 200_000


@dataclass(frozen=True)
class Method:
    """One way to learn, as `compare` runs it.

    Attributes
    ----------
    name, title : str
        What it is called in code and in tables.
    about : str
        One sentence for the reader of a report.
    simplicity : int
        Among methods that cannot be told apart the smallest is recommended.
    estimator : str
        Public class of krein; "" for a method of scikit-learn.
    params : mapping
        Settings that are not searched.
    grid : callable, optional
        Data -> candidates; without it the estimator's own `grid` is searched.
    needs : {"similarity", "vectors"}
        Whether it works on the matrix or on feature vectors.
    searches : bool
        The estimator chooses by itself: it is given the inner folds.
    default : {"always", "uneven", "never"}
        Whether it is compared on a dense similarity unless others are named; "uneven":
        where one class has few items.
    make : callable, optional
        Builds the estimator where krein has none.
    rough : callable, optional
        Builds a candidate that is only ranked, where that takes less time.
    """

    name: str
    title: str
    about: str
    simplicity: int
    estimator: str = ""
    params: Mapping[str, Any] = field(default_factory=dict)
    grid: Callable[[Array], list[dict[str, Any]]] | None = None
    needs: Literal["similarity", "vectors"] = "similarity"
    searches: bool = False
    default: Literal["always", "uneven", "never"] = "always"
    make: Callable[..., Any] | None = None
    rough: Callable[..., Any] | None = None

    def build(self, **chosen: Any) -> Any:
        """Return the unfitted estimator with the chosen hyperparameters."""
        make = self.make or getattr(krein, self.estimator)
        model = make(**self.params, **chosen)
        if self.needs == "similarity" or self.estimator == "CPDSVC":
            return model
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


def _rough_profiles(C: float) -> Any:
    """Return the model of `HitClassifier` by its dual: alike, in half the time."""
    svm = LinearSVC(C=C, dual=True, tol=1e-2, random_state=0)
    return make_pipeline(Normalizer(), svm)


def _alphas(K: Array) -> list[dict[str, Any]]:
    """Return penalties in units of the similarity."""
    scale = float(np.abs(np.diagonal(K)).mean()) or float(np.abs(K).mean()) or 1.0
    return [{"alpha": a * scale} for a in (1e-3, 1e-2, 1e-1, 1.0, 10.0)]


def _neighbors(K: Array) -> list[dict[str, Any]]:
    return [{"n_neighbors": k} for k in (1, 3, 5, 9, 15) if k <= len(K)]


def _nothing(K: Array) -> list[dict[str, Any]]:
    return [{}]


# ----------------------------------------------------------------------------- registry


_AVERAGED = "Many fixes of the spectrum and many C; the near-best are averaged."


def _spectral(method: str, about: str, simplicity: int) -> Method:
    title, params = f"SVM with {method}", {"method": method}
    return Method(method, title, about, simplicity, "SpectrumSVC", params)


_CLASSIFIERS = (
    Method(
        "svc",
        "SVM on raw matrix",
        "LIBSVM on the similarity as it is, one machine per pair of classes, as "
        "scikit-learn's SVC(kernel='precomputed') with its C chosen.",
        0,
        "SpectrumSVC",
        {"method": "none", "multi_class": "ovo", "tol": 1e-3, "max_iter": _RAW_STEPS},
    ),
    Method(
        "average",
        "Average of spectrum SVMs",
        _AVERAGED,
        2,
        "SpectrumSVCCV",
        searches=True,
    ),
    Method(
        "balanced",
        "Average, classes weighted",
        f"{_AVERAGED} With class_weight='balanced': a mistake on a rare class costs "
        "more.",
        3,
        "SpectrumSVCCV",
        {"class_weight": "balanced"},
        searches=True,
        default="uneven",
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
        7,
        "KreinSVC",
    ),
    Method(
        "proxy",
        "Proxy SVM",
        "Learns a positive semidefinite kernel near the similarity.",
        9,
        "ProxySVC",
        {"tol": 1e-3},
    ),
    Method(
        "dc",
        "DC SVM",
        "The SVM on the indefinite matrix as a difference of convex functions.",
        10,
        "DCSVC",
        {"tol": 1e-3},
    ),
    Method(
        "logistic",
        "Indefinite logistic",
        "Kernel logistic regression that keeps the negative part; gives "
        "probabilities directly.",
        8,
        "KreinLogisticRegression",
    ),
    Method(
        "neighbors",
        "k nearest neighbours",
        "The most similar training items vote: a simple baseline.",
        1,
        "SimilarityNeighborsClassifier",
    ),
    Method(
        "features",
        "Similarities as features",
        "Logistic regression on the rows of the matrix: a simple baseline.",
        1,
        "SimilarityFeaturesClassifier",
    ),
    Method(
        "profiles",
        "Rows of length 1",
        "Linear SVM on the similarities of an item, scaled to length 1, as features.",
        1,
        "HitClassifier",
        {"similarity": HitSimilarity(normalize=False)},  # it is one already
        _profiles,
        default="never",
        rough=_rough_profiles,
    ),
    Method(
        "gaussian",
        "Gaussian SVM (vectors)",
        "The usual SVM with a tuned Gaussian kernel, which is positive definite.",
        1,
        "SpectrumSVC",
        {"method": "none", "kernel": "rbf", "tol": 1e-3, "max_iter": _RAW_STEPS},
        _gaussian,
        "vectors",
    ),
    Method(
        "thin_plate",
        "Thin-plate SVM (vectors)",
        "SVM with a conditionally positive definite spline, no width to tune.",
        2,
        "CPDSVC",
        {"kernel": "thin_plate"},
        needs="vectors",
    ),
)
_REGRESSORS = (
    Method(
        "mean",
        "Mean",
        "The mean of the training items.",
        0,
        grid=_nothing,
        make=DummyRegressor,
    ),
    Method(
        "neighbors",
        "k nearest neighbours",
        "The mean of the most similar training items.",
        1,
        grid=_neighbors,
        make=MeanOfNearest,
    ),
    Method(
        "kernel_ridge",
        "KernelRidge on raw matrix",
        "scikit-learn's KernelRidge on the similarity as it is.",
        1,
        grid=_alphas,
        make=lambda **chosen: TransformedTargetRegressor(
            KernelRidge(kernel="precomputed", **chosen),
            transformer=StandardScaler(),  # it has no intercept of its own
        ),
    ),
    Method(
        "ridge",
        "KreinRidge",
        "Ridge regression that keeps the negative part.",
        2,
        "KreinRidge",
        grid=_alphas,
    ),
    Method(
        "average",
        "Average of spectrum SVRs",
        _AVERAGED,
        2,
        "SpectrumSVRCV",
        searches=True,
    ),
)


def _one_class(method: str) -> Method:
    title, about = f"One-class SVM with {method}", "Where most normal items lie."
    params = {"method": method, "nu": 0.1}
    return Method(method, title, about, 1, "SpectrumOneClassSVM", params, _nothing)


_DETECTORS = (
    Method(
        "neighbors",
        "Nearest normal items",
        "Mean similarity to the five most similar normal items.",
        1,
        grid=_nothing,
        make=MeanOfNearest,
    ),
    _one_class("clip"),
    _one_class("flip"),
)


@dataclass(frozen=True)
class Task:
    """What can be learnt: its methods by name, and the columns of its tables."""

    methods: dict[str, Method]
    columns: tuple[Column, ...]

    @property
    def scorings(self) -> list[str]:
        """Names of the scores; the first decides unless another is named."""
        return [column.scoring for column in self.columns if column.scoring]


METHODS = {method.name: method for method in _CLASSIFIERS}
TASKS = {
    "classification": Task(METHODS, COLUMNS),
    "regression": Task({m.name: m for m in _REGRESSORS}, REGRESSION),
    "novelty": Task({m.name: m for m in _DETECTORS}, NOVELTY),
}

# What keeps a sparse similarity sparse: compared on it unless others are named.
SPARSE = ("clip", "flip", "square", "neighbors", "profiles")
_UNEVEN = 3.0  # times as many items in the largest class as in the smallest


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
    return list(METHODS)


def select_methods(
    names: Any,
    *,
    has_vectors: bool,
    task: str = "classification",
    counts: Any = (),
) -> list[Method]:
    """Return the methods asked for, or all that apply.

    Parameters
    ----------
    names : list of str or None
        None takes every method that applies.
    has_vectors : bool
        Whether there are feature vectors beside the similarity.
    task : str
        A key of `TASKS`.
    counts : sequence of int
        Items of each class, where there are classes.
    """
    known = TASKS[task].methods
    if names is None:
        uneven = len(counts) > 0 and max(counts) >= _UNEVEN * min(counts)
        defaults = ("always", "uneven") if uneven else ("always",)
        chosen = [method for method in known.values() if method.default in defaults]
        return [m for m in chosen if m.needs == "similarity" or has_vectors]
    names = [names] if isinstance(names, str) else list(names)
    if not names:
        raise ValueError("methods is empty; give names of krein.list_methods() or None")
    for name in names:
        if name not in known:
            of = "" if task == "classification" else f" of a {task} comparison"
            raise ValueError(
                f"methods{of} must be among {', '.join(known)}, got {name!r}"
            )
        if known[name].needs == "vectors" and not has_vectors:
            raise ValueError(
                f"method {name!r} works on feature vectors, but only a similarity "
                "matrix was given; pass vectors and a kernel by name"
            )
    return [known[name] for name in dict.fromkeys(names)]
