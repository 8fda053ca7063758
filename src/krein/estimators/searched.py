"""Searches for the best candidate: logistic regression, c.p.d. SVM, proxy SVM."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import KW_ONLY
from functools import partial
from itertools import product
from typing import Any, ClassVar, Self, cast

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.metrics import log_loss
from sklearn.utils.validation import check_is_fitted

from krein.arrays import Array
from krein.declarations import (
    CONSTRAINTS,
    Fitted,
    State,
    declared_state,
    declares_parameters,
    replaces_state,
)
from krein.estimators._tasks import KernelClassifier
from krein.estimators.cpd import CPDSVC, CPDClassifier
from krein.estimators.logistic import KreinLogisticRegression, LogisticModel
from krein.estimators.proxy import ProxySVC
from krein.machines.new_points import RULES
from krein.selection.folds import cv_folds
from krein.selection.scores import (
    SEARCHED,
    cv_results,
    scorer,
    split_scores,
    store_results,
)
from krein.selection.search import (
    Candidate,
    Score,
    best_candidates,
    check_grid,
    held_out,
    search,
)
from krein.sklearn_internals import StrOptions
from krein.store.shared_work import shared_work
from krein.training import Classes, Training
from krein.words import warn_user


def deprecated(name: str, instead: str, read: Callable[[Any], Any]) -> property:
    """Make an attribute of krein 0.2 a property that says what to use now."""

    def get(self: Any) -> Any:
        if not hasattr(self, "best_params_"):
            raise AttributeError(f"{type(self).__name__} is not fitted: no {name}")
        warn_user(f"{name} is deprecated; use {instead}", FutureWarning)
        return read(self)

    return property(get)


@declares_parameters
class Searched:
    """A mixin of classifiers that search the parameters of another one."""

    _: KW_ONLY
    cv: Any = None
    scoring: Any = None
    n_jobs: int | None = None

    _fitted_state: ClassVar[State] = SEARCHED
    fits_rows: ClassVar[bool] = False
    _model: ClassVar[type]  # whose parameters are searched
    _searched: ClassVar[dict[str, str]]  # own parameter -> that of the model
    _descending: ClassVar[bool] = False  # order of the values that are tried

    def _choose(
        self,
        training: Training,
        target: Classes,
        groups: Any,
        *,
        first: Callable[[Candidate], Any] | None = None,
        rtol: float = 0.0,
        prefer: str | None = None,
    ) -> Any:
        """Return the best candidate, unfitted, and keep the scores of all.

        Of candidates with the same mean score (up to `rtol`) the one that `first` puts
        first is taken.
        """
        own = cast(BaseEstimator, self).get_params(deep=False)
        known = self._model().get_params(deep=False)
        model = self._model(**{name: own[name] for name in known if name in own})
        grid = self._candidates(model.grid(training, target))
        folds = cv_folds(self, training, target, groups)
        ask = partial(held_out, model, grid, training, target)
        values = search(ask, folds, n_jobs=self.n_jobs, prefer=prefer)
        scores = values.scores(self._score(target, training.weight))
        height = float(np.nanmax(np.abs(scores), initial=0.0))
        best = best_candidates(scores, 1e-12 + rtol * height)
        chosen = best[0] if first is None else min(best, key=lambda i: first(grid[i]))
        store_results(self, cv_results(grid, scores), int(chosen))
        return model.candidate(grid[chosen])

    def _candidates(self, grid: list[Candidate]) -> list[Candidate]:
        """Return the grid with the values that were given in place of its own."""
        values = {name: list(dict.fromkeys(c[name] for c in grid)) for name in grid[0]}
        for plural, name in self._searched.items():
            given = getattr(self, plural)
            own = values.pop(name)
            ascending = own if given is None else check_grid(given, plural)
            values[name] = sorted(map(float, ascending), reverse=self._descending)
        return [
            dict(zip(values, one, strict=True)) for one in product(*values.values())
        ]

    def _score(self, target: Classes, weight: Array | None) -> Score:
        classes = self.classes_  # type: ignore[attr-defined]
        return scorer(self.scoring, classes, target, weight=weight)

    scores_ = deprecated("scores_", "cv_results_", split_scores)


class SearchedAlpha(Searched):
    """A mixin of those that search alpha."""

    _searched: ClassVar[dict[str, str]] = {"alphas": "alpha"}
    _descending: ClassVar[bool] = True

    best_alpha_ = deprecated(
        "best_alpha_", "best_params_['alpha']", lambda m: m.best_params_["alpha"]
    )
    alphas_ = deprecated(
        "alphas_", "cv_results_['param_alpha']", lambda m: m.cv_results_["param_alpha"]
    )


@declares_parameters
class KreinLogisticRegressionCV(SearchedAlpha, LogisticModel):
    """`KreinLogisticRegression` with the penalty chosen by cross-validation.

    In every fold the penalties are tried from large to small, each fit started from
    the one before; rows and columns of the similarity are cut together.

    Where the negative eigenvalues are large, the solution is unique for large penalties
    only, under which little is learnt: on a similarity of proteins 48 % of new items
    were then wrong, and 3 % with flip. Smaller penalties are therefore tried on the
    flipped kernel, and the score decides (``indefinite="flip"``); ``"raise-alpha"``
    keeps to the indefinite kernel at any price.

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
    indefinite : {"flip", "raise-alpha", "allow"}
        As in `KreinLogisticRegression`, with another default; ``flipped_`` says
        whether the chosen model has the flipped kernel.
    fit_intercept, solver, multi_class, kernel, kernel_params, symmetrize, \
class_weight, solver_options, tol, max_iter, random_state, verbose
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

    alphas: Any = None
    _: KW_ONLY
    indefinite: str = "flip"

    _model = KreinLogisticRegression

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
        with warnings.catch_warnings():
            # The fit to all data says it once; folds would repeat it.
            warnings.filterwarnings("ignore", "the kernel's smallest eigenvalue")
            # Penalties raised to the same floor give the same model up to rounding.
            model = self._choose(training, target, groups, rtol=1e-7)
            if self.indefinite == "flip":  # chosen by its score, not forced
                fitted = model.fit_rows(training, target)
        if self.indefinite != "flip":
            fitted = model.fit_rows(training, target)
        self._store(fitted, training)
        return self

    def _score(self, target: Classes, weight: Array | None) -> Score:
        """Minus the log-loss, or what `scoring` says."""
        if self.scoring is not None:
            return scorer(
                self.scoring, self.classes_, target, weight=weight,
                proba=self._probabilities,
            )  # fmt: skip

        def minus_log_loss(values: Array, test: np.ndarray) -> float:
            return -float(
                log_loss(
                    target.codes[test],
                    self._probabilities(values),
                    sample_weight=None if weight is None else weight[test],
                    labels=np.arange(target.n),
                )
            )

        return minus_log_loss


@declares_parameters
class CPDSVCCV(SearchedAlpha, CPDClassifier):
    """`CPDSVC` with alpha (and, if "auto", the polynomials) by cross-validation.

    One kernel matrix serves all folds; each fold solves its path of alphas with warm
    starts, to a relative gap of 1e-6 (the final model to `tol`). The scale of the data
    is that of all training data, one number, which for thin-plate kernels only changes
    the meaning of alpha.

    Parameters
    ----------
    alphas : sequence of float, optional
        Values to try; 9 from 1e2 to 1e-6 when not given.
    cv : int, splitter or iterable, optional
        Five stratified folds when not given.
    scoring : str or callable, optional
        A scikit-learn scorer of labels or decision values; accuracy when not given.
    n_jobs : int, optional
        Folds solved at a time, in threads.
    kernel, exponent, degree, polynomial, n_basis, scale, loss, kernel_params, \
symmetrize, class_weight, probability, tol, max_iter, random_state, verbose
        As in `CPDSVC`.

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
    >>> model.best_params_["alpha"], len(model.cv_results_["params"])
    (0.01, 2)
    """

    alphas: Any = None

    _model = CPDSVC

    @replaces_state
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        P: Any = None,
        groups: Any = None,
    ) -> Self:
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
        training, target = self._start(X, y, sample_weight, P=P)
        training = training.dense()
        model = self._choose(training, target, groups, prefer="threads")
        self._finish(model, model.fit_rows(training, target), training, target)
        return self


@declares_parameters
class ProxySVCCV(Searched, KernelClassifier):
    """`ProxySVC` with C and rho chosen by cross-validation.

    Each fold is decomposed once; its grid is walked with warm starts, from the largest
    rho (next to the clipped kernel) down, and from the smallest C up. Folds run in
    parallel.

    Parameters
    ----------
    Cs, rhos : array-like, optional
        Grids. Unless given they follow from the spectrum: `default_grid`.
    cv : int, splitter or iterable, optional
        As in `sklearn.model_selection.GridSearchCV`; stratified 5-fold by default.
    scoring : str or callable, optional
        As in `GridSearchCV`; accuracy by default.
    n_jobs : int, optional
        Folds that run at the same time (joblib).
    new_points : {"clip", "raw", "project"}
        As in `ProxySVC`; also used within the folds.
    kernel, kernel_params, symmetrize, class_weight, probability, approximation, \
solver_options, tol, max_iter, random_state
        As in `ProxySVC`. With landmarks these are shared by all folds.
    verbose : int
        Report the best candidate and every row on standard error.

    Attributes
    ----------
    best_params_ : dict
        The parameters chosen; of equals the larger rho, then the smaller C.
    best_score_ : float
        Their mean score.
    best_index_ : int
        Their place in `cv_results_`.
    cv_results_ : dict
        Scores of all candidates, in the form of scikit-learn's `GridSearchCV`.
    best_estimator_ : ProxySVC
        Fitted on all data with the best values.
    classes_, dual_coef_, intercept_, support_, alpha_, result_
        Those of `best_estimator_`.

    References
    ----------
    Chen, Ye (2008), ICML, leave the estimation of rho as future work.

    Examples
    --------
    >>> import numpy as np
    >>> from krein import ProxySVCCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((40, 2))
    >>> K, y = np.tanh(X @ X.T), (X[:, 0] > 0).astype(int)
    >>> model = ProxySVCCV(cv=3).fit(K, y)
    >>> sorted(model.best_params_), bool(model.score(K, y) > 0.8)
    (['C', 'rho'], True)
    """

    Cs: Any = None
    _: KW_ONLY
    rhos: Any = None
    new_points: str = "clip"
    probability: bool = False
    approximation: Any = None
    solver_options: dict[str, Any] | None = None
    tol: float = 1e-4
    max_iter: Any = 10_000

    _model = ProxySVC
    _searched: ClassVar[dict[str, str]] = {"Cs": "C", "rhos": "rho"}
    _fitted_state = Fitted.state(
        Fitted("spectrum_", "spectrum"),
        Fitted("proxy_", "proxy"),
        Fitted("best_estimator_", "model"),
    )
    _parameter_constraints = CONSTRAINTS | {"new_points": [StrOptions(set(RULES))]}

    @replaces_state
    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None
    ) -> Self:
        """Choose C and rho, then fit on all data.

        Parameters
        ----------
        X : array-like of shape (n, n) or (n, n_features), or list of objects
            Raw similarities for ``kernel="precomputed"``, items otherwise.
        y : array-like of shape (n,)
            Class labels.
        sample_weight : array-like of shape (n,), optional
            Integer weights equal repetition, in the fits and in the scores.
        groups : array-like of shape (n,), optional
            For group splitters.

        Returns
        -------
        self
        """
        if self.new_points == "luss":
            raise ValueError(
                "new_points='luss' needs the similarities among new points and is not "
                "available in ProxySVCCV; choose 'clip', 'raw' or 'project'"
            )
        training, target = self._start(X, y, sample_weight)
        with shared_work():
            # Of equal means the largest rho, then the smallest C: the most regularised.
            model = self._choose(
                training, target, groups, first=lambda c: (-c["rho"], c["C"])
            )
            fitted = model.fit_rows(training, target)
        self._store(fitted, training)
        self._calibrate(model, training, target)
        for entry in declared_state(ProxySVC).values():
            if entry.place in vars(self):
                setattr(model, entry.place, vars(self)[entry.place])
        self.best_estimator_ = model
        return self

    C_ = deprecated("C_", "best_params_['C']", lambda m: m.best_params_["C"])
    rho_ = deprecated("rho_", "best_params_['rho']", lambda m: m.best_params_["rho"])
    scores_ = deprecated("scores_", "cv_results_", lambda m: m._score_table())

    def _score_table(self) -> Array:
        params = self.cv_results_["params"]
        n_C = len({candidate["C"] for candidate in params})
        return split_scores(self).reshape(n_C, len(params) // n_C, -1)

    def proxy_kernel(self, row: int = 0) -> Array:
        """Return the learned kernel of the best model: see `ProxySVC.proxy_kernel`.

        Parameters
        ----------
        row : int
            Which one-vs-rest row.

        Returns
        -------
        ndarray of shape (n_train, n_train)
        """
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_.proxy_kernel(row)
