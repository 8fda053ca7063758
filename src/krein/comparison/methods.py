"""What can be compared, by which scores: every method of every task as data.

Hyperparameters are those that the estimator's own `grid` offers, as in its ...CV class,
unless the method has a grid of its own. A method of scikit-learn has a `make` instead
of an estimator of krein.
"""

from __future__ import annotations

import math
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
    simplicity : int
        Among methods that cannot be told apart the smallest is recommended.
    estimator : str
        Public class of krein; "" for a method of scikit-learn.
    params : mapping
        Settings that are not searched.
    grid : callable, optional
        Data -> candidates; without it the estimator's own `grid` is searched, if it
        has one.
    needs : {"similarity", "vectors"}
        Whether it works on the matrix or on feature vectors.
    make : callable, optional
        Builds the estimator where krein has none.
    rough : callable, optional
        Builds a candidate that is only ranked, where that takes less time.
    """

    name: str
    title: str
    simplicity: int
    estimator: str = ""
    params: Mapping[str, Any] = field(default_factory=dict)
    grid: Callable[[Array], list[dict[str, Any]]] | None = None
    needs: Literal["similarity", "vectors"] = "similarity"
    make: Callable[..., Any] | None = None
    rough: Callable[..., Any] | None = None

    @property
    def about(self) -> str:
        """One sentence for the reader of a report."""
        return ABOUT.get(self.name, "")

    @property
    def searches(self) -> bool:
        """Whether the estimator chooses by itself: it is given the inner folds."""
        return self.estimator.endswith("CV")

    def build(self, **chosen: Any) -> Any:
        """Return the unfitted estimator with the chosen hyperparameters."""
        make = self.make or getattr(krein, self.estimator)
        model = make(**self.params, **chosen)
        if self.needs == "similarity" or self.estimator == "CPDSVC":
            return model
        return make_pipeline(StandardScaler(), model)


def _widths(X: Array) -> list[dict[str, Any]]:
    """Widths and C of a Gaussian kernel on standardised vectors."""
    pairs = product((0.1, 1.0, 10.0), CS[:4])
    return [{"C": C, "kernel_params": {"gamma": g / X.shape[1]}} for g, C in pairs]


def _profiles(K: Any) -> list[dict[str, Any]]:
    """Values of C for rows of length 1."""
    return [{"C": C} for C in (0.1, 0.3, 1.0, 3.0)]


def _rough_profiles(C: float) -> Any:
    """Return the model of `HitClassifier` by its dual: alike, in half the time."""
    svm = LinearSVC(C=C, dual=True, tol=5e-2, random_state=0)
    return make_pipeline(Normalizer(), svm)


def _alphas(K: Array) -> list[dict[str, Any]]:
    """Penalties in units of the similarity."""
    scale = float(np.abs(np.diagonal(K)).mean()) or float(np.abs(K).mean()) or 1.0
    return [{"alpha": a * scale} for a in (1e-3, 1e-2, 1e-1, 1.0, 10.0)]


def _kernel_ridge(**chosen: Any) -> Any:
    """scikit-learn's KernelRidge, which has no intercept of its own."""
    ridge = KernelRidge(kernel="precomputed", **chosen)
    return TransformedTargetRegressor(ridge, transformer=StandardScaler())


# ----------------------------------------------------------------------------- registry

_AVERAGED = "Many fixes of the spectrum and many C; the near-best are averaged."
# One sentence for the reader of a report.
ABOUT = {
    "svc": "LIBSVM on the similarity as it is, one machine per pair of classes, as "
    "scikit-learn's SVC(kernel='precomputed') with its C chosen.",
    "average": _AVERAGED,
    "balanced": f"{_AVERAGED} With class_weight='balanced': a mistake on a rare class "
    "costs more.",
    "clip": "Negative eigenvalues become zero.",
    "flip": "Negative eigenvalues change sign.",
    "shift": "All eigenvalues are raised by the same amount.",
    "square": "Eigenvalues are squared.",
    "diffusion": "Eigenvalues l become exp(l/max|l|).",
    "krein": "Positive and negative part are regularised apart (1 : 1 is flip).",
    "proxy": "Learns a positive semidefinite kernel near the similarity.",
    "dc": "The SVM on the indefinite matrix as a difference of convex functions.",
    "logistic": "Kernel logistic regression that keeps the negative part; gives "
    "probabilities directly.",
    "neighbors": "The most similar training items decide: a simple baseline.",
    "features": "Logistic regression on the rows of the matrix: a simple baseline.",
    "profiles": "Linear SVM on the similarities of an item, scaled to length 1.",
    "gaussian": "The usual SVM with a tuned Gaussian kernel, positive definite.",
    "thin_plate": "SVM with a conditionally positive definite spline, no width to "
    "tune.",
    "mean": "The mean of the training items.",
    "kernel_ridge": "scikit-learn's KernelRidge on the similarity as it is.",
    "ridge": "Ridge regression that keeps the negative part.",
}
_PLAIN = {"method": "none", "tol": 1e-3, "max_iter": _RAW_STEPS}
_RAW, _RBF = _PLAIN | {"multi_class": "ovo"}, _PLAIN | {"kernel": "rbf"}
_SPLINE = {"kernel": "thin_plate"}
_WEIGHTED = {"class_weight": "balanced"}
_IS_ONE = {"similarity": HitSimilarity(normalize=False)}


def _spectral(method: str, simplicity: int) -> Method:
    title = f"SVM with {method}"
    return Method(method, title, simplicity, "SpectrumSVC", {"method": method})


def _one_class(method: str) -> Method:
    params = {"method": method, "nu": 0.1}
    title = f"One-class SVM with {method}"
    return Method(method, title, 1, "SpectrumOneClassSVM", params)


_CLASSIFIERS = (
    Method("svc", "SVM on raw matrix", 0, "SpectrumSVC", _RAW),
    Method("average", "Average of spectrum SVMs", 2, "SpectrumSVCCV"),
    Method("balanced", "Average, classes weighted", 3, "SpectrumSVCCV", _WEIGHTED),
    _spectral("clip", 2),
    _spectral("flip", 3),
    _spectral("shift", 4),
    _spectral("square", 5),
    _spectral("diffusion", 6),
    Method("krein", "Krein SVM", 7, "KreinSVC"),
    Method("proxy", "Proxy SVM", 9, "ProxySVC", {"tol": 1e-3}),
    Method("dc", "DC SVM", 10, "DCSVC", {"tol": 1e-3}),
    Method("logistic", "Indefinite logistic", 8, "KreinLogisticRegression"),
    Method("neighbors", "k nearest neighbours", 1, "SimilarityNeighborsClassifier"),
    Method("features", "Similarities as features", 1, "SimilarityFeaturesClassifier"),
    Method(
        "profiles",
        "Rows of length 1",
        1,
        "HitClassifier",
        _IS_ONE,
        _profiles,
        rough=_rough_profiles,
    ),
    Method(
        "gaussian", "Gaussian SVM (vectors)", 1, "SpectrumSVC", _RBF, _widths, "vectors"
    ),
    Method(
        "thin_plate", "Thin-plate SVM (vectors)", 2, "CPDSVC", _SPLINE, needs="vectors"
    ),
)
_REGRESSORS = (
    Method("mean", "Mean", 0, make=DummyRegressor),
    Method("neighbors", "k nearest neighbours", 1, make=MeanOfNearest),
    Method(
        "kernel_ridge", "KernelRidge on raw matrix", 1, grid=_alphas, make=_kernel_ridge
    ),
    Method("ridge", "KreinRidge", 2, "KreinRidge", grid=_alphas),
    Method("average", "Average of spectrum SVRs", 2, "SpectrumSVRCV"),
)
_DETECTORS = (
    Method("neighbors", "Nearest normal items", 1, make=MeanOfNearest),
    _one_class("clip"),
    _one_class("flip"),
)


# ------------------------------------------------------------------------------ scores


@dataclass(frozen=True)
class Column:
    """One column of `Comparison.table`.

    Attributes
    ----------
    key : str
        Its name in rows, JSON and data frames.
    title : str
        Its name for people.
    format : str
        How a value is shown.
    scoring : str
        Name as a `scoring`, where larger is always better; "" if it is no score.
    shown : bool
        Part of tables for people, not only of JSON and data frames.
    """

    key: str
    title: str
    format: str = ".3f"
    scoring: str = ""
    shown: bool = True

    def show(self, row: Mapping[str, Any]) -> str:
        """The value of this column as people read it."""
        return format(row[self.key], self.format)

    @property
    def larger_is_better(self) -> bool:
        """Of a score; errors and losses are negative as a `scoring`."""
        return not self.scoring.startswith("neg_")

    @property
    def bounds(self) -> tuple[float, float]:
        """What a score lies between."""
        if self.scoring == "r2":
            return (-math.inf, 1.0)
        return (0.0, 1.0) if self.larger_is_better else (0.0, math.inf)


_BESIDE = (
    Column("p_value_items", "p (items)", ".2g"),
    Column("p_value", "p", ".2g"),
    Column("fit_seconds", "fit s", ".2g"),
    Column("predict_seconds", "predict s", ".2g"),
    Column("search_seconds", "search s", ".2g", shown=False),
    Column("converged", "converged", ".0%", shown=False),
)
_AREA = Column("roc_auc", "AUC", scoring="roc_auc")
COLUMNS = (
    Column("accuracy", "accuracy", scoring="accuracy"),
    Column("balanced_accuracy", "balanced accuracy", scoring="balanced_accuracy"),
    Column("log_loss", "log-loss", scoring="neg_log_loss"),
    _AREA,
    *_BESIDE,
)
_ERROR = "mean_absolute_error"
REGRESSION = (
    Column("r2", "R^2", scoring="r2"),
    Column(_ERROR, "mean absolute error", ".4g", f"neg_{_ERROR}"),
    *_BESIDE,
)
NOVELTY = (_AREA, *_BESIDE)
FEWEST_SPLITS = 5  # with fewer no p-value over splits can be small
SCORES = {column.scoring: column for column in COLUMNS if column.scoring}
_ABOUT_P = {
    "p_value": "p: how often splits alone would make a difference to the best as large "
    "as this (corrected resampled t-test).",
    "p_value_items": "p (items), which decides: how often the choice of items alone "
    "would make such a difference, paired.",
}


def shown_columns(
    n_splits: int, columns: tuple[Column, ...] = COLUMNS, *, by_items: bool = False
) -> list[Column]:
    """Columns of a table for people; p-values only where they can be small."""
    hidden = {"p_value"} if n_splits < FEWEST_SPLITS else set()
    if not by_items:
        hidden.add("p_value_items")
    return [c for c in columns if c.shown and c.key not in hidden]


def about_p(n_splits: int, *, by_items: bool) -> str:
    """What the p-values of a table mean, or why there are none."""
    shown = {column.key for column in shown_columns(n_splits, by_items=by_items)}
    parts = [text for key, text in _ABOUT_P.items() if key in shown]
    if not parts:
        return "With so few splits no difference can be proven: p-values are left out."
    adjusted = "Adjusted by Holm for the number of methods; above 0.05 the two cannot "
    return " ".join([*parts, f"{adjusted}be told apart."])


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
    names: Any, *, has_vectors: bool, task: str = "classification", counts: Any = ()
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
        left_out = {"profiles"} if uneven else {"profiles", "balanced"}
        chosen = [method for name, method in known.items() if name not in left_out]
        return [m for m in chosen if m.needs == "similarity" or has_vectors]
    names = [names] if isinstance(names, str) else list(names)
    if not names:
        raise ValueError("methods is empty; give names of krein.list_methods() or None")
    of = "" if task == "classification" else f" of a {task} comparison"
    for name in names:
        if name not in known:
            among = ", ".join(known)
            raise ValueError(f"methods{of} must be among {among}, got {name!r}")
        if known[name].needs == "vectors" and not has_vectors:
            raise ValueError(
                f"method {name!r} works on feature vectors, but only a similarity "
                "matrix was given; pass vectors and a kernel by name"
            )
    return [known[name] for name in dict.fromkeys(names)]
