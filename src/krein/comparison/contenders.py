"""What can be compared, by which scores: every method of every task as data.

Names, titles and settings stand in methods.toml. Hyperparameters are those that the
estimator's own `grid` offers, as in its ...CV class, unless the method has a grid of
its own. A method of scikit-learn has a `make` instead of an estimator of krein.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import resources
from typing import Any

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
from krein.estimators.hits import HitSimilarity
from krein.words import seconds_in_words


@dataclass(frozen=True)
class Contender:
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
    about : str
        One sentence for the reader of a report.
    grid : callable, optional
        Similarities -> candidates; without it the estimator's own `grid` is searched,
        if it has one.
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
    about: str = ""
    grid: Callable[[Any], list[dict[str, Any]]] | None = None
    make: Callable[..., Any] | None = None
    rough: Callable[..., Any] | None = None

    @property
    def searches(self) -> bool:
        """Whether the estimator chooses by itself: it is given the inner folds."""
        return self.estimator.endswith("CV")

    def build(self, **chosen: Any) -> Any:
        """Return the unfitted estimator with the chosen hyperparameters."""
        make = self.make or getattr(krein, self.estimator)
        return make(**self.params, **chosen)


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


# What methods.toml cannot hold.
_MADE: dict[str, dict[str, dict[str, Any]]] = {
    "classification": {
        "profiles": {
            "params": {"similarity": HitSimilarity(normalize=False)},
            "grid": _profiles,
            "rough": _rough_profiles,
        }
    },
    "regression": {
        "mean": {"make": DummyRegressor},
        "neighbors": {"make": MeanOfNearest},
        "kernel_ridge": {"make": _kernel_ridge, "grid": _alphas},
        "ridge": {"grid": _alphas},
    },
}


def _methods(task: str) -> dict[str, Contender]:
    """The methods of a task by name."""
    place = resources.files("krein.comparison") / "methods.toml"
    known = tomllib.loads(place.read_text("utf-8"))[task]
    return {
        n: Contender(n, **how, **_MADE[task].get(n, {})) for n, how in known.items()
    }


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
        How a value is shown; "seconds": in words.
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
        if self.format == "seconds":
            return seconds_in_words(row[self.key])
        return format(row[self.key], self.format)

    @property
    def sign(self) -> float:
        """-1 for errors and losses, which are negative as a `scoring`; else 1."""
        return -1.0 if self.scoring.startswith("neg_") else 1.0

    @property
    def bounds(self) -> tuple[float, float]:
        """What a score lies between."""
        if self.scoring == "r2":
            return (-math.inf, 1.0)
        return (0.0, 1.0) if self.sign > 0 else (0.0, math.inf)


_BESIDE = (
    Column("p_value", "p", ".2g"),
    Column("fit_seconds", "fit", "seconds"),
    Column("predict_seconds", "predict", "seconds"),
    Column("search_seconds", "search", "seconds", shown=False),
    Column("converged", "converged", ".0%", shown=False),
)
COLUMNS = (
    Column("accuracy", "accuracy", scoring="accuracy"),
    Column("balanced_accuracy", "balanced accuracy", scoring="balanced_accuracy"),
    Column("log_loss", "log-loss", scoring="neg_log_loss"),
    Column("roc_auc", "AUC", scoring="roc_auc"),
    *_BESIDE,
)
_ERROR = "mean_absolute_error"
REGRESSION = (
    Column("r2", "R^2", scoring="r2"),
    Column(_ERROR, "mean absolute error", ".4g", f"neg_{_ERROR}"),
    *_BESIDE,
)
FEWEST_SPLITS = 5  # with fewer no p-value over splits can be small


@dataclass(frozen=True)
class Task:
    """What can be learnt: its methods by name, and the columns of its tables."""

    methods: dict[str, Contender]
    columns: tuple[Column, ...]

    @property
    def scorings(self) -> list[str]:
        """Names of the scores; the first decides unless another is named."""
        return [column.scoring for column in self.columns if column.scoring]


CONTENDERS = _methods("classification")
TASKS = {
    "classification": Task(CONTENDERS, COLUMNS),
    "regression": Task(_methods("regression"), REGRESSION),
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
    return list(CONTENDERS)


def select_contenders(
    names: Any, *, task: str = "classification", counts: Any = ()
) -> list[Contender]:
    """Return the methods asked for, or all that apply.

    Parameters
    ----------
    names : list of str or None
        None takes every method that applies.
    task : str
        A key of `TASKS`.
    counts : sequence of int
        Items of each class, where there are classes.
    """
    known = TASKS[task].methods
    if names is None:
        uneven = len(counts) > 0 and max(counts) >= _UNEVEN * min(counts)
        left_out = {"profiles"} if uneven else {"profiles", "balanced"}
        return [method for name, method in known.items() if name not in left_out]
    names = [names] if isinstance(names, str) else list(names)
    if not names:
        raise ValueError("methods is empty; give names of krein.list_methods() or None")
    for name in names:
        if name not in known:
            among = f"{', '.join(known)} for {task}"
            raise ValueError(f"methods must be among {among}, got {name!r}")
    return [known[name] for name in dict.fromkeys(names)]
