"""The penalty of kernel logistic regression, chosen by log-loss along a path."""

from __future__ import annotations

import warnings
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.metrics import log_loss
from sklearn.utils._param_validation import Interval

from krein.arrays import Array
from krein.estimators._folds import cv_folds
from krein.estimators._scoring import Score, scorer
from krein.estimators._search import (
    SEARCHED,
    SearchResults,
    best_candidates,
    check_grid,
    deprecated,
    search,
    split_scores,
)
from krein.estimators._training import Classes
from krein.estimators.logistic import KreinLogisticRegression
from krein.store.state import State, replaces_state


class KreinLogisticRegressionCV(KreinLogisticRegression):
    """`KreinLogisticRegression` with the penalty chosen by cross-validation.

    In every fold the penalties are tried from large to small, each fit started from
    the one before; rows and columns of the similarity are cut together.

    Parameters
    ----------
    alphas : array-like, optional
        Penalties to try; by default six from 10 to 1e-4 in units of the similarity
        (its mean diagonal entry).
    cv : int, splitter or iterable, optional
        Folds, five stratified ones by default.
    scoring : str or callable, optional
        Larger is better; minus the log-loss by default, which judges probabilities.
    n_jobs : int, optional
        Folds at a time.
    fit_intercept, solver, multi_class, indefinite, kernel, kernel_params, \
symmetrize, class_weight, solver_options, approximation, tol, max_iter, \
random_state, verbose
        As in `KreinLogisticRegression`.

    Attributes
    ----------
    best_params_ : dict
        The parameters chosen; of equals the largest alpha.
    best_score_ : float
        Their mean score.
    best_index_ : int
        Their place in `cv_results_`.
    cv_results_ : dict
        Scores of all candidates, in the form of scikit-learn's `GridSearchCV`.
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
    >>> model.fit(X, X[:, 0] > 0.5).best_params_
    {'alpha': 0.01}
    """

    _fitted_state: State = SEARCHED

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
        symmetrize=False,
        class_weight=None,
        solver_options=None,
        approximation=None,
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
        self.symmetrize = symmetrize
        self.class_weight = class_weight
        self.solver_options = solver_options
        self.approximation = approximation
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose

    @replaces_state
    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None
    ) -> Self:
        """Choose alpha by cross-validation and fit all samples with it.

        Parameters
        ----------
        X, y, sample_weight
            As in `KreinLogisticRegression.fit`.
        groups : array-like of shape (n,), optional
            For splitters that keep groups together.

        Returns
        -------
        self
        """
        training, target = self._start(X, y, sample_weight)
        model = self._model()
        grid = model.grid(training, target)
        if self.alphas is not None:
            alphas = check_grid(self.alphas, "alphas")[::-1]
            grid = [{"alpha": float(alpha)} for alpha in alphas]
        folds = cv_folds(self, training, target, groups)
        with warnings.catch_warnings():
            # The fit to all data says it once; folds would repeat it.
            warnings.filterwarnings("ignore", "the kernel's smallest eigenvalue")
            scores = search(
                model, grid, training, target, folds,
                self._score(target, training.weight), n_jobs=self.n_jobs,
            )  # fmt: skip
        # Of equal means the larger penalty; penalties raised to the same floor give
        # the same model up to the tolerance.
        height = float(np.nanmax(np.abs(scores), initial=0.0))
        best = best_candidates(scores, 1e-7 * height)
        found = SearchResults(grid, scores, int(best[0]))
        final = model.candidate(found.params)
        self._store(final.fit_rows(training, target), training)
        found.store(self)
        return self

    def _model(self) -> KreinLogisticRegression:
        """Return the model whose penalty is searched."""
        own = ("alphas", "cv", "scoring", "n_jobs")
        params = {k: v for k, v in self.get_params(deep=False).items() if k not in own}
        return KreinLogisticRegression(**params)

    def _score(self, target: Classes, weight: Array | None) -> Score:
        """Minus the log-loss, or what `scoring` says."""
        if self.scoring is not None:
            return scorer(
                self.scoring, self.classes_, target, proba=self._probabilities
            )
        codes = np.arange(target.n)

        def minus_log_loss(values: Array, test: np.ndarray) -> float:
            return -float(
                log_loss(
                    target.codes[test],
                    self._probabilities(values),
                    sample_weight=None if weight is None else weight[test],
                    labels=codes,
                )
            )

        return minus_log_loss

    best_alpha_ = deprecated(
        "best_alpha_", "best_params_['alpha']", lambda m: m.best_params_["alpha"]
    )
    scores_ = deprecated("scores_", "cv_results_", split_scores)
    alphas_ = deprecated(
        "alphas_", "cv_results_['param_alpha']", lambda m: m.cv_results_["param_alpha"]
    )
