"""Cross-validation of alpha for the c.p.d. SVM, on one kernel matrix."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv

from krein.arrays import Array
from krein.estimators._cpd_model import Samples
from krein.estimators._training import among_kept, as_labels, ravel_rows
from krein.estimators.cpd import CPDSVC, check_alphas

__all__ = ["CPDSVCCV"]

_ALPHAS = tuple(float(alpha) for alpha in np.logspace(2, -6, 17))


class CPDSVCCV(CPDSVC):
    """`CPDSVC` with alpha (and, if "auto", the polynomials) by cross-validation.

    One kernel matrix serves all folds; each fold solves its path of alphas with warm
    starts, to a relative gap of 1e-6 (the final model to `tol`). The scale of the data
    is that of all training data, one number, which for thin-plate kernels only changes
    the meaning of alpha.

    Parameters
    ----------
    alphas : sequence of float, optional
        Values to try; 17 from 1e2 to 1e-6 when not given.
    cv : int, splitter or iterable, optional
        Five stratified folds when not given.
    scoring : str or callable, optional
        A scikit-learn scorer of labels or decision values; accuracy when not given.
    n_jobs : int, optional
        Folds solved at a time, in threads.
    kernel, exponent, degree, polynomial, n_basis, basis, scale, loss, kernel_params, \
symmetrize, class_weight, probability, tol, max_iter, random_state, verbose
        As in `CPDSVC`.

    Attributes
    ----------
    best_alpha_ : float
        The chosen value; the largest of equals.
    best_score_ : float
        Its mean score.
    alphas_ : ndarray of shape (n_alphas,)
        Values tried, falling.
    scores_ : ndarray of shape (n_alphas, n_folds)
        Scores with the polynomials that were chosen.
    classes_, dual_coef_, poly_coef_, kernel_, polynomial_, duality_gap_, result_
        As in `CPDSVC`, for the model refitted on all samples.

    References
    ----------
    Walder, Chapelle (2007), Section 7.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from krein import CPDSVCCV
    >>> X, y = make_moons(100, noise=0.2, random_state=0)
    >>> model = CPDSVCCV(alphas=[1.0, 0.01]).fit(X, y)
    >>> model.best_alpha_, model.scores_.shape
    (0.01, (2, 5))
    """

    _parameter_constraints: dict = {  # noqa: RUF012
        **{k: v for k, v in CPDSVC._parameter_constraints.items() if k != "alpha"},
        "alphas": ["array-like", None],
        "cv": ["cv_object"],
        "scoring": [str, callable, None],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        alphas=None,
        *,
        cv=None,
        scoring=None,
        n_jobs=None,
        kernel="thin_plate",
        exponent=3,
        degree=None,
        polynomial="free",
        n_basis=None,
        basis="random",
        scale=True,
        loss="squared_hinge",
        kernel_params=None,
        symmetrize=False,
        class_weight=None,
        probability=False,
        tol=1e-10,
        max_iter=100,
        random_state=None,
        verbose=0,
    ):
        self.alphas = alphas
        self.cv = cv
        self.scoring = scoring
        self.n_jobs = n_jobs
        self.kernel = kernel
        self.exponent = exponent
        self.degree = degree
        self.polynomial = polynomial
        self.n_basis = n_basis
        self.basis = basis
        self.scale = scale
        self.loss = loss
        self.kernel_params = kernel_params
        self.symmetrize = symmetrize
        self.class_weight = class_weight
        self.probability = probability
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None, P=None, groups=None):
        """Choose alpha by cross-validation and fit all samples with it.

        Parameters
        ----------
        X, y, sample_weight, P
            As in `CPDSVC.fit`.
        groups : array-like of shape (n,), optional
            For splitters that keep groups together.

        Returns
        -------
        self
        """
        self.alphas_ = np.sort(
            check_alphas(_ALPHAS if self.alphas is None else self.alphas)
        )[::-1]
        samples, codes, kept, n = self._start(X, y, sample_weight, P)
        samples = samples.dense()
        folds = self._kept_folds(y, groups, kept, n)
        wanted = ("free", "zero") if self.polynomial == "auto" else (self.polynomial,)
        scores = {p: self._score(samples, codes, folds, p) for p in wanted}
        self.polynomial_ = max(wanted, key=lambda p: scores[p].mean(axis=1).max())
        self.scores_ = scores[self.polynomial_]
        best = int(np.argmax(self.scores_.mean(axis=1)))
        self.best_alpha_ = float(self.alphas_[best])
        self.best_score_ = float(self.scores_[best].mean())
        (rows,) = self._fit_alphas(samples, codes, [self.best_alpha_])
        self._finish(rows, samples, codes, kept, n)
        return self

    @classmethod
    def path(cls, X, y, alphas, *, sample_weight=None, P=None, **params):
        """Fit `CPDSVC` for several values of alpha; see `CPDSVC.path`."""
        return CPDSVC.path(X, y, alphas, sample_weight=sample_weight, P=P, **params)

    @property
    def alpha(self) -> float:
        """The alpha in use, for what is inherited."""
        return self.best_alpha_

    def _kept_folds(self, y: Any, groups: Any, kept: np.ndarray | None, n: int) -> list:
        """Folds of all samples given, in positions among those of positive weight."""
        splits = check_cv(self.cv, y, classifier=True).split(np.zeros(n), y, groups)
        return list(splits) if kept is None else among_kept(splits, kept, n)

    def _score(
        self, samples: Samples, codes: np.ndarray, folds: list, polynomial: str
    ) -> Array:
        """Scores (n_alphas, n_folds), weighted as the samples are."""
        values = Parallel(n_jobs=self.n_jobs, prefer="threads")(
            delayed(self._out_of_fold)(samples, codes, self.alphas_, [fold], polynomial)
            for fold in folds
        )
        labels, plain = self.classes_[codes], np.all(samples.weight == 1.0)
        nothing = _Scored(self.classes_, np.empty((0, 1)))
        scorer = check_scoring(nothing, self.scoring) if self.scoring else _accuracy
        scores = np.empty((len(self.alphas_), len(folds)))
        for j, (out, (_, test)) in enumerate(zip(values, folds, strict=True)):
            weight = {} if plain else {"sample_weight": samples.weight[test]}
            for i, value in enumerate(out):
                scored = _Scored(self.classes_, value[test])
                scores[i, j] = scorer(scored, None, labels[test], **weight)
        return scores


def _accuracy(
    scored: _Scored, X: None, y: np.ndarray, sample_weight: Array | None = None
) -> float:
    """As scikit-learn's scorer, whose checks take longer than a small fit."""
    return float(np.average(scored.predict(X) == y, weights=sample_weight))


class _Scored(ClassifierMixin, BaseEstimator):
    """Decision values already computed, in the dress of an estimator for scorers."""

    def __init__(self, classes_: np.ndarray, values: Array) -> None:
        self.classes_ = classes_
        self.values = values

    def fit(self, X, y):
        raise NotImplementedError("holds values only")

    def decision_function(self, X):
        return ravel_rows(self.values)

    def predict(self, X):
        return as_labels(self.values, self.classes_)
