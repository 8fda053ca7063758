"""Cross-validation of alpha for the c.p.d. SVM, on one kernel matrix."""

from __future__ import annotations

from numbers import Integral
from typing import Any, Self

from krein.estimators._folds import cv_folds
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
from krein.estimators.cpd import CPDSVC
from krein.store.state import State, replaces_state


class CPDSVCCV(CPDSVC):
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
    kernel, exponent, degree, polynomial, n_basis, basis, scale, loss, kernel_params, \
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

    _fitted_state: State = SEARCHED

    _parameter_constraints: dict = {  # noqa: RUF012
        **{
            name: constraint
            for name, constraint in CPDSVC._parameter_constraints.items()
            if name not in ("alpha", "solver")
        },
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
        training, target = self._start_cpd(X, y, sample_weight, P)
        training = training.dense()
        own = ("alphas", "cv", "scoring", "n_jobs")
        params = {k: v for k, v in self.get_params(deep=False).items() if k not in own}
        model = CPDSVC(**params)
        grid = model.grid(training, target)
        if self.alphas is not None:
            alphas = check_grid(self.alphas, "alphas")[::-1]
            kinds = dict.fromkeys(c["polynomial"] for c in grid)
            grid = [{"alpha": float(a), "polynomial": p} for p in kinds for a in alphas]
        folds = cv_folds(self, training, target, groups)
        scores = search(
            model, grid, training, target, folds,
            scorer(self.scoring, self.classes_, target, weight=training.weight),
            n_jobs=self.n_jobs, prefer="threads",
        )  # fmt: skip
        found = SearchResults(grid, scores, int(best_candidates(scores)[0]))
        final = model.candidate(found.params)
        self._finish(final, final.fit_rows(training, target), training, target)
        found.store(self)
        return self

    @classmethod
    def path(
        cls,
        X: Any,
        y: Any,
        alphas: Any,
        *,
        sample_weight: Any = None,
        P: Any = None,
        **params: Any,
    ) -> list[CPDSVC]:
        """Fit `CPDSVC` for several values of alpha; see `CPDSVC.path`."""
        return CPDSVC.path(X, y, alphas, sample_weight=sample_weight, P=P, **params)

    @property
    def alpha(self) -> float:
        """The alpha in use, for what is inherited."""
        return self.best_params_["alpha"]

    best_alpha_ = deprecated(
        "best_alpha_", "best_params_['alpha']", lambda m: m.best_params_["alpha"]
    )
    scores_ = deprecated("scores_", "cv_results_", split_scores)
    alphas_ = deprecated(
        "alphas_", "cv_results_['param_alpha']", lambda m: m.cv_results_["param_alpha"]
    )
