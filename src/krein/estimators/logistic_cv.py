"""The penalty of kernel logistic regression, chosen by log-loss along a path."""

from __future__ import annotations

import warnings
from numbers import Integral
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.metrics import get_scorer, log_loss
from sklearn.model_selection import check_cv
from sklearn.utils._param_validation import Interval

from krein.arrays import Array
from krein.estimators._training import Row, Training, among_kept
from krein.estimators.logistic import KreinLogisticRegression, Plan
from krein.matrices.features import FeatureKernel

__all__ = ["KreinLogisticRegressionCV"]

_ALPHAS = np.logspace(-4, 1, 11)


class KreinLogisticRegressionCV(KreinLogisticRegression):
    """`KreinLogisticRegression` with the penalty chosen by cross-validation.

    In every fold the penalties are tried from large to small, each fit started from
    the one before; rows and columns of the similarity are cut together.

    Parameters
    ----------
    alphas : array-like, optional
        Penalties to try; eleven from 1e-4 to 10 by default.
    cv : int, splitter or iterable, optional
        Folds, five stratified ones by default.
    scoring : str or callable, optional
        Larger is better; minus the log-loss by default, which judges probabilities.
    n_jobs : int, optional
        Folds at a time.
    fit_intercept, solver, multi_class, indefinite, kernel, kernel_params, signature, \
symmetrize, class_weight, solver_options, tol, max_iter, random_state, verbose
        As in `KreinLogisticRegression`.

    Attributes
    ----------
    best_alpha_ : float
        The penalty chosen.
    alphas_ : ndarray of shape (n_alphas,)
        Penalties tried.
    scores_ : ndarray of shape (n_alphas, n_folds)
        Scores.
    classes_, dual_coef_, intercept_, residual_, ratio_, unique_, alpha_used_, \
flipped_, result_
        As in `KreinLogisticRegression`, of the fit to all data.

    References
    ----------
    See `KreinLogisticRegression`.

    Examples
    --------
    >>> import numpy as np
    >>> from krein import KreinLogisticRegressionCV
    >>> X = np.random.default_rng(0).uniform(size=(60, 2))
    >>> model = KreinLogisticRegressionCV([0.01, 0.1, 1.0], kernel="tl1", cv=4)
    >>> model.fit(X, X[:, 0] > 0.5).best_alpha_, model.scores_.shape
    (0.01, (3, 4))
    """

    _parameter_constraints: dict = {  # noqa: RUF012
        **KreinLogisticRegression._parameter_constraints,
        "alphas": ["array-like", None],
        "cv": ["cv_object"],
        "scoring": [str, callable, None],
        "n_jobs": [Interval(Integral, None, None, closed="neither"), None],
    }
    _parameter_constraints.pop("alpha")

    def __init__(
        self,
        alphas=None,
        *,
        cv=None,
        scoring=None,
        n_jobs=None,
        fit_intercept=True,
        solver="newton",
        multi_class="multinomial",
        indefinite="raise-alpha",
        kernel="precomputed",
        kernel_params=None,
        signature=None,
        symmetrize=False,
        class_weight=None,
        solver_options=None,
        tol=1e-10,
        max_iter=None,
        random_state=None,
        verbose=0,
    ):
        self.alphas = alphas
        self.cv = cv
        self.scoring = scoring
        self.n_jobs = n_jobs
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.multi_class = multi_class
        self.indefinite = indefinite
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.signature = signature
        self.symmetrize = symmetrize
        self.class_weight = class_weight
        self.solver_options = solver_options
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose

    @property
    def _alpha(self) -> float:
        return self.best_alpha_

    def _share(self, training: Training) -> Any:
        """Check the grid; the penalty is chosen when the classes are known."""
        self._check_options()
        alphas = _ALPHAS if self.alphas is None else np.asarray(self.alphas, float)
        if alphas.ndim != 1 or alphas.size == 0 or not np.all(alphas > 0):
            raise ValueError(
                f"alphas must be one or more positive numbers, got {self.alphas!r}"
            )
        self.alphas_ = alphas

    def _fit_rows(
        self, shared: Plan | None, training: Training, codes: np.ndarray
    ) -> list[Row]:
        folds = self._folds(training, codes)
        work = (delayed(self._score_fold)(training, codes, *fold) for fold in folds)
        self.scores_ = np.column_stack(Parallel(n_jobs=self.n_jobs)(work))
        # Of equal means the larger penalty; penalties raised to the same floor give
        # the same model up to the tolerance.
        means = self.scores_.mean(axis=1)
        best = np.flatnonzero(means >= means.max() - 1e-7 * abs(means.max()))
        self.best_alpha_ = float(self.alphas_[best].max())
        return super()._fit_rows(super()._share(training), training, codes)

    def _folds(self, training: Training, codes: np.ndarray) -> list[Any]:
        """Folds of the samples of positive weight; given ones are of all samples."""
        folds = list(check_cv(self.cv, codes, classifier=True).split(codes, codes))
        given = self.cv is not None and not hasattr(self.cv, "split")
        if training.kept is None or isinstance(self.cv, Integral) or not given:
            return folds
        return among_kept(folds, training.kept, training.n)

    def _score_fold(
        self,
        training: Training,
        codes: np.ndarray,
        train: np.ndarray,
        test: np.ndarray,
    ) -> Array:
        """Scores along the path, one per penalty."""
        K, new, params = self._cut(training.K, train, test)
        labels = self.classes_[codes]
        weight = training.weight
        with warnings.catch_warnings():
            # The fit to all data says it once; folds would repeat it.
            warnings.filterwarnings("ignore", "the kernel's smallest eigenvalue")
            models = KreinLogisticRegression.path(
                K,
                labels[train],
                self.alphas_,
                sample_weight=None if weight is None else weight[train],
                **params,
            )
        test_weight = None if weight is None else weight[test]
        return np.array(
            [self._score(model, new, labels[test], test_weight) for model in models]
        )

    def _cut(
        self, K: Any, train: np.ndarray, test: np.ndarray
    ) -> tuple[Array, Array, dict[str, Any]]:
        """Training part, rows of the test part, and parameters of the fold's model."""
        own = ("alphas", "cv", "scoring", "n_jobs", "kernel_params", "class_weight")
        params = {k: v for k, v in self.get_params(deep=False).items() if k not in own}
        if isinstance(K, FeatureKernel):
            params.update(kernel="features", signature=K.signature)
            return K.features[train], K.features[test], params
        params.update(kernel="precomputed")
        return K[np.ix_(train, train)], K[np.ix_(test, train)], params

    def _score(
        self, model: Any, new: Array, labels: np.ndarray, weight: Array | None
    ) -> float:
        if self.scoring is not None:
            scorer = (
                get_scorer(self.scoring)
                if isinstance(self.scoring, str)
                else self.scoring
            )
            return float(scorer(model, new, labels))
        # A class that the training part of a fold lacks has probability 0 there.
        probabilities = np.zeros((new.shape[0], self.classes_.size))
        known = np.searchsorted(self.classes_, model.classes_)
        probabilities[:, known] = model.predict_proba(new)
        return -float(
            log_loss(labels, probabilities, sample_weight=weight, labels=self.classes_)
        )
