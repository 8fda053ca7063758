"""C and rho of the proxy-kernel SVM by cross-validation, one `eigh` per fold."""

from __future__ import annotations

from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from krein.arrays import Array
from krein.estimators._classifier import KernelClassifier
from krein.estimators._folds import cv_folds
from krein.estimators._probability import sigmoid_calibration
from krein.estimators._scoring import scorer
from krein.estimators._search import (
    SEARCHED,
    SearchResults,
    best_candidates,
    check_grid,
    deprecated,
    search,
    split_scores,
)
from krein.estimators._training import Classes, Training
from krein.estimators.proxy import ProxySVC
from krein.store.sharing import shared_work
from krein.store.state import Fitted, State, replaces_state


class ProxySVCCV(KernelClassifier):
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

    _fitted_state: State = (
        *SEARCHED,
        Fitted("spectrum_", "spectrum", since=2),
        Fitted("proxy_", "proxy", since=2),
        Fitted("best_estimator_", "model"),
    )

    _parameter_constraints: dict = {  # noqa: RUF012
        **{
            name: ProxySVC._parameter_constraints[name]
            for name in ProxySVC._parameter_constraints
            if name not in ("C", "rho", "solver")
        },
        "Cs": ["array-like", None],
        "rhos": ["array-like", None],
        "cv": ["cv_object"],
        "scoring": [str, callable, None],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        Cs=None,
        *,
        rhos=None,
        cv=None,
        scoring=None,
        n_jobs=None,
        new_points="clip",
        kernel="precomputed",
        kernel_params=None,
        symmetrize=False,
        class_weight=None,
        probability=False,
        approximation=None,
        solver_options=None,
        tol=1e-4,
        max_iter=10_000,
        random_state=None,
        verbose=0,
    ):
        self.Cs = Cs
        self.rhos = rhos
        self.cv = cv
        self.scoring = scoring
        self.n_jobs = n_jobs
        self.new_points = new_points
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.symmetrize = symmetrize
        self.class_weight = class_weight
        self.probability = probability
        self.approximation = approximation
        self.solver_options = solver_options
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose

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
            Integer weights equal repetition; not used in the scores.
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
        model = self.candidate_model()
        with shared_work():
            grid = self._candidates(model, training, target)
            folds = cv_folds(self, training, target, groups)
            scores = search(
                model, grid, training, target, folds,
                scorer(self.scoring, self.classes_, target), n_jobs=self.n_jobs,
            )  # fmt: skip
            # Of equal means the largest rho, then the smallest C: the most regularised.
            best = min(
                best_candidates(scores), key=lambda i: (-grid[i]["rho"], grid[i]["C"])
            )
            found = SearchResults(grid, scores, int(best))
            final = model.candidate(found.params)
            fitted = final.fit_rows(training, target)
        self._store(fitted, training)
        if self.probability:
            self.calibration_, self.conformity_ = sigmoid_calibration(
                final, training, target, self.random_state
            )
        self.best_estimator_ = self._as_best(final)
        found.store(self)
        return self

    def candidate_model(self) -> ProxySVC:
        """Return the `ProxySVC` whose C and rho are searched."""
        own = ("Cs", "rhos", "cv", "scoring", "n_jobs")
        params = {k: v for k, v in self.get_params(deep=False).items() if k not in own}
        return ProxySVC(**params)

    def _candidates(
        self, model: ProxySVC, training: Training, target: Classes
    ) -> list[dict[str, Any]]:
        grid = model.grid(training, target)
        values: dict[str, Any] = {"C": self.Cs, "rho": self.rhos}
        for name, given in values.items():
            if given is None:
                values[name] = np.unique([candidate[name] for candidate in grid])
            else:
                values[name] = check_grid(given, f"{name}s")
        return [
            {"C": float(C), "rho": float(rho)}
            for C in values["C"]
            for rho in values["rho"]
        ]

    def _as_best(self, model: ProxySVC) -> ProxySVC:
        """Give the chosen model what was fitted."""
        for name, value in vars(self).items():
            if name.endswith("_") and not name.startswith("_"):
                setattr(model, name, value)
        return model

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
