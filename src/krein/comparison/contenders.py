"""What can be compared: every contender of every task, each in one place.

A contender is a way to learn as `compare` runs it. Its hyperparameters are those that
the estimator's own `grid` offers, as in its ...CV class, unless the contender has
a grid of its own. A contender of scikit-learn has a `make` instead of an estimator of
krein. Among contenders that cannot be told apart the smallest `simplicity` comes first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.compose import TransformedTargetRegressor
from sklearn.dummy import DummyRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler
from sklearn.svm import LinearSVC

from krein.arrays import Array
from krein.comparison.columns import COLUMNS, REGRESSION_COLUMNS, Column
from krein.comparison.contender import Contender, Offered
from krein.comparison.large import (
    LANDMARKS,
    MANY_ITEMS,
    SAMPLE_ITEMS,
    landmark_grid,
    rough_landmarks,
)
from krein.comparison.yardsticks import MeanOfNearest
from krein.estimators.hits import HitSimilarity
from krein.estimators.nystroem import KreinNystroem
from krein.retired import GONE_CONTENDERS
from krein.words import did_you_mean

_UNEVEN = 3.0  # times as many items in the largest class as in the smallest


# ---------------------------------------------------------------- grids, constructors


def _profile_grid(K: Any) -> list[dict[str, Any]]:
    """Values of C for rows of length 1."""
    return [{"C": C} for C in (0.1, 0.3, 1.0, 3.0)]


def _rough_profiles(C: float) -> Any:
    """Return the model of `HitClassifier` by its dual: alike, in half the time."""
    svm = LinearSVC(C=C, dual=True, tol=5e-2, random_state=0)
    return make_pipeline(Normalizer(), svm)


def _penalty_grid(K: Array) -> list[dict[str, Any]]:
    """Penalties in units of the similarity."""
    scale = float(np.abs(np.diagonal(K)).mean()) or float(np.abs(K).mean()) or 1.0
    return [{"alpha": a * scale} for a in (1e-3, 1e-2, 1e-1, 1.0, 10.0)]


_NYSTROEM = KreinNystroem(LANDMARKS, random_state=0)


def _kernel_ridge(**chosen: Any) -> Any:
    """scikit-learn's KernelRidge, which has no intercept of its own."""
    ridge = KernelRidge(kernel="precomputed", **chosen)
    return TransformedTargetRegressor(ridge, transformer=StandardScaler())


# ---------------------------------------------------------------------- classification


_CLASSIFICATION = (
    Contender(
        name="svc",
        title="SVM on raw matrix",
        about="LIBSVM on the similarity as it is, as scikit-learn's "
        "SVC(kernel='precomputed') with its C chosen, and with three or more classes "
        "whether a machine is for a class or for a pair of them.",
        simplicity=0,
        estimator="SpectrumSVC",
        # An indefinite problem may keep LIBSVM busy for ever; what is cut short is
        # counted.
        params={"method": "none", "tol": 1e-3, "max_iter": 200_000},
        pairs=True,
    ),
    Contender(
        name="similarity",
        title="Similarity model",
        about="Chooses what is made of the distances (as given, five conversions), the "
        "fix of the spectrum and C; the best three are averaged.",
        simplicity=2,
        estimator="SimilarityClassifier",
        takes_distances=True,
    ),
    Contender(
        name="average",
        title="Average of spectrum SVMs",
        about="Many fixes of the spectrum and many C; the near-best are averaged.",
        simplicity=2,
        estimator="SpectrumSVCCV",
    ),
    Contender(
        name="balanced",
        title="Average, classes weighted",
        about="Many fixes of the spectrum and many C; the near-best are averaged. With "
        "class_weight='balanced': a mistake on a rare class costs more.",
        simplicity=3,
        estimator="SpectrumSVCCV",
        params={"class_weight": "balanced"},
        offered=Offered.UNEVEN_CLASSES,
    ),
    Contender(
        name="clip",
        title="SVM with clip",
        about="Negative eigenvalues become zero.",
        simplicity=2,
        estimator="SpectrumSVC",
        params={"method": "clip"},
        pairs=True,
        sparse=True,
    ),
    Contender(
        name="flip",
        title="SVM with flip",
        about="Negative eigenvalues change sign.",
        simplicity=3,
        estimator="SpectrumSVC",
        params={"method": "flip"},
        pairs=True,
        sparse=True,
    ),
    Contender(
        name="shift",
        title="SVM with shift",
        about="All eigenvalues are raised by the same amount.",
        simplicity=4,
        estimator="SpectrumSVC",
        params={"method": "shift"},
        pairs=True,
    ),
    Contender(
        name="square",
        title="SVM with square",
        about="Eigenvalues are squared.",
        simplicity=5,
        estimator="SpectrumSVC",
        params={"method": "square"},
        pairs=True,
        sparse=True,
    ),
    Contender(
        name="diffusion",
        title="SVM with diffusion",
        about="Eigenvalues l become exp(l/max|l|).",
        simplicity=6,
        estimator="SpectrumSVC",
        params={"method": "diffusion"},
        pairs=True,
    ),
    Contender(
        name="krein",
        title="Krein SVM",
        about="Positive and negative part are regularised apart (1 : 1 is flip).",
        simplicity=7,
        estimator="KreinSVC",
    ),
    Contender(
        name="proxy",
        title="Proxy SVM",
        about="Learns a positive semidefinite kernel near the similarity.",
        simplicity=9,
        estimator="ProxySVC",
        params={"tol": 1e-3},
    ),
    Contender(
        name="dc",
        title="DC SVM",
        about="The SVM on the indefinite matrix as a difference of convex functions.",
        simplicity=10,
        estimator="DCSVC",
        params={"tol": 1e-3},
    ),
    Contender(
        name="logistic",
        title="Indefinite logistic",
        about="Kernel logistic regression that keeps the negative part; gives "
        "probabilities directly.",
        simplicity=8,
        estimator="KreinLogisticRegression",
    ),
    Contender(
        name="neighbors",
        title="k nearest neighbours",
        about="The most similar training items decide: a simple baseline.",
        simplicity=1,
        estimator="SimilarityNeighborsClassifier",
        sparse=True,
    ),
    Contender(
        name="features",
        title="Similarities as features",
        about="Logistic regression on the rows of the matrix: a simple baseline.",
        simplicity=1,
        estimator="SimilarityFeaturesClassifier",
    ),
    Contender(
        name="profiles",
        title="Rows of length 1",
        about="Linear SVM on the similarities of an item, scaled to length 1.",
        simplicity=1,
        estimator="HitClassifier",
        params={"similarity": HitSimilarity(normalize=False)},
        grid=_profile_grid,
        rough=_rough_profiles,
        sparse=True,
        offered=Offered.SPARSE,
    ),
    Contender(
        name="landmarks",
        title=f"Flip on {LANDMARKS} landmarks",
        about=f"Trained on all items, by their similarities to {LANDMARKS} of them: "
        "the way to train on more items than a matrix can hold.",
        simplicity=3,
        estimator="SpectrumSVC",
        params={"method": "flip", "approximation": _NYSTROEM},
        grid=landmark_grid,
        rough=partial(rough_landmarks, _NYSTROEM),
        offered=Offered.MANY_ITEMS,
    ),
    Contender(
        name="sample",
        title=f"Flip on a sample of {SAMPLE_ITEMS}",
        about=f"Exact, but trained on {SAMPLE_ITEMS} random items only: better than "
        "landmarks where many directions of the similarity matter.",
        simplicity=3,
        estimator="SpectrumSVC",
        params={"method": "flip"},
        pairs=True,
        sample=SAMPLE_ITEMS,
        offered=Offered.MANY_ITEMS,
    ),
)

# -------------------------------------------------------------------------- regression

_REGRESSION = (
    Contender(
        name="mean",
        title="Mean",
        about="The mean of the training items.",
        simplicity=0,
        make=DummyRegressor,
    ),
    Contender(
        name="neighbors",
        title="k nearest neighbours",
        about="The most similar training items decide: a simple baseline.",
        simplicity=1,
        make=MeanOfNearest,
    ),
    Contender(
        name="kernel_ridge",
        title="KernelRidge on raw matrix",
        about="scikit-learn's KernelRidge on the similarity as it is.",
        simplicity=1,
        make=_kernel_ridge,
        grid=_penalty_grid,
    ),
    Contender(
        name="ridge",
        title="KreinRidge",
        about="Ridge regression that keeps the negative part.",
        simplicity=2,
        estimator="KreinRidge",
        grid=_penalty_grid,
    ),
    Contender(
        name="similarity",
        title="Similarity model",
        about="Chooses what is made of the distances (as given, five conversions), the "
        "fix of the spectrum and C; the best three are averaged.",
        simplicity=2,
        estimator="SimilarityRegressor",
        takes_distances=True,
    ),
    Contender(
        name="average",
        title="Average of spectrum SVRs",
        about="Many fixes of the spectrum and many C; the near-best are averaged.",
        simplicity=2,
        estimator="SpectrumSVRCV",
    ),
    Contender(
        name="landmarks",
        title=f"KreinRidge on {LANDMARKS} landmarks",
        about=f"Trained on all items, by their similarities to {LANDMARKS} of them: "
        "the way to train on more items than a matrix can hold.",
        simplicity=3,
        estimator="KreinRidge",
        params={"approximation": _NYSTROEM},
        grid=_penalty_grid,
        offered=Offered.MANY_ITEMS,
    ),
    Contender(
        name="sample",
        title=f"KreinRidge on a sample of {SAMPLE_ITEMS}",
        about=f"Exact, but trained on {SAMPLE_ITEMS} random items only: better than "
        "landmarks where many directions of the similarity matter.",
        simplicity=3,
        estimator="KreinRidge",
        grid=_penalty_grid,
        sample=SAMPLE_ITEMS,
        offered=Offered.MANY_ITEMS,
    ),
)


# ------------------------------------------------------------------------------- tasks


@dataclass(frozen=True)
class Task:
    """What can be learnt: its contenders by name, and the columns of its tables."""

    methods: dict[str, Contender]
    columns: tuple[Column, ...]

    @property
    def scorings(self) -> list[str]:
        """Names of the scores; the first decides unless another is named."""
        return [column.scoring for column in self.columns if column.scoring]


CONTENDERS = {contender.name: contender for contender in _CLASSIFICATION}
TASKS = {
    "classification": Task(CONTENDERS, COLUMNS),
    "regression": Task({c.name: c for c in _REGRESSION}, REGRESSION_COLUMNS),
}


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
    names: Any,
    *,
    task: str = "classification",
    counts: Any = (),
    sparse: bool = False,
    n: int = 0,
) -> list[Contender]:
    """Return the contenders asked for, or all that apply.

    Parameters
    ----------
    names : list of str or None
        None takes every contender that applies.
    task : str
        A key of `TASKS`.
    counts : sequence of int
        Items of each class, where there are classes.
    sparse : bool
        The similarity is sparse: only what keeps it so applies.
    n : int
        Number of items, where it is known.
    """
    known = TASKS[task].methods
    if names is None:
        return _offered(known, counts, sparse, n)
    names = [names] if isinstance(names, str) else list(names)
    if not names:
        raise ValueError("methods is empty; give names of krein.list_methods() or None")
    for name in names:
        if name not in known:
            raise ValueError(
                f"methods must be among {', '.join(known)} for {task}, got {name!r}"
                f"{did_you_mean(str(name), known, GONE_CONTENDERS)}"
            )
    return [known[name] for name in dict.fromkeys(names)]


def _offered(
    known: Mapping[str, Contender], counts: Any, sparse: bool, n: int
) -> list[Contender]:
    """Contenders that take part without being named."""
    keep_sparse = [contender for contender in known.values() if contender.sparse]
    if sparse and keep_sparse:
        return keep_sparse
    occasions = {Offered.ALWAYS}
    if len(counts) > 0 and max(counts) >= _UNEVEN * min(counts):
        occasions.add(Offered.UNEVEN_CLASSES)
    if n > MANY_ITEMS:
        occasions.add(Offered.MANY_ITEMS)
    return [c for c in known.values() if c.offered in occasions]
