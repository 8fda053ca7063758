"""C and rho of the proxy-kernel SVM by cross-validation, one `eigh` per fold."""

from __future__ import annotations

import sys
from collections.abc import Callable
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from krein.arrays import Array
from krein.domain import BalancedBox
from krein.estimators._classifier import KernelClassifier
from krein.estimators._probability import sigmoid_calibration
from krein.estimators._search import (
    FitPath,
    best_candidates,
    check_grid,
    cv_folds,
    scorer,
    search,
)
from krein.estimators._training import Classes, FittedRows, Training
from krein.estimators.proxy import ProxySVC
from krein.problems.proxy import ProxySVM
from krein.solvers._warm_up import balanced_ray
from krein.spectrum import Spectrum
from krein.store.sharing import shared_work
from krein.store.state import Fitted, State, replaces_state

__all__ = ["ProxySVCCV", "default_grid"]


def default_grid(
    spectrum: Spectrum, target: Classes, weight: Array | None = None
) -> tuple[Array, Array]:
    """Grids of C and rho in the units of the similarity.

    C: 0.1 to 1000 over the mean positive eigenvalue, so that C K0 is of order one.
    rho: what the proxy adds to K0 is vv' / (4 rho), of norm ||v||^2 / (4 rho). With the
    v of a first, crude SVM (one ray, at the middle C), the smallest rho makes this norm
    as large as the largest eigenvalue of K0, where the labels reshape the kernel
    altogether; each further value is ten times larger, the last one close to clip.

    Parameters
    ----------
    spectrum : Spectrum
        Of the training similarity.
    target : Classes
        Classes of the samples.
    weight : ndarray of shape (n,), optional
        Sample weights.

    Returns
    -------
    Cs : ndarray of shape (5,)
    rhos : ndarray of shape (5,)
    """
    d = spectrum.eigenvalues
    mean = float(np.maximum(d, 0.0).sum()) / spectrum.n or 1.0
    Cs = np.logspace(-1, 3, 5) / mean
    largest = float(np.abs(d).max()) or 1.0
    upper = Cs[2] * (np.ones(spectrum.n) if weight is None else weight)
    signs = next(target.signs())
    # rho so large that the ray is that of the clipped kernel.
    rho = 1e6 * float(upper @ upper) / largest
    problem = ProxySVM(spectrum, BalancedBox(upper, signs), rho)
    v = problem.scale * balanced_ray(problem)
    start = float(v @ v) / (4.0 * largest)
    return Cs, start * np.logspace(0, 4, 5)


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
        Report every fold on standard error.

    Attributes
    ----------
    C_, rho_ : float
        Best values; ties go to the larger rho, then to the smaller C.
    Cs_, rhos_ : ndarray
        Grids used.
    scores_ : ndarray of shape (n_C, n_rho, n_folds)
        Score of every fold.
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
    >>> model.scores_.shape, bool(model.score(K, y) > 0.8)
    ((5, 5, 3), True)
    """

    _fitted_state: State = (
        Fitted("spectrum_", "spectrum", since=2),
        Fitted("proxy_", "proxy", since=2),
        Fitted("Cs_", "numbers", "i"),
        Fitted("rhos_", "numbers", "j"),
        Fitted("scores_", "numbers", "ijf"),
        Fitted("C_", "number"),
        Fitted("rho_", "number"),
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
        with shared_work():
            Cs, rhos = self._grids(training, target)
            folds = cv_folds(self.cv, training, target, groups)
            scores = search(
                self._fit_path(Cs, rhos), training, target, folds,
                scorer(self.scoring, self.classes_, target),
                n_jobs=self.n_jobs, told=self._told(len(folds)),
            )  # fmt: skip
            best = best_candidates(scores)
            order = np.lexsort((Cs[best // rhos.size], -rhos[best % rhos.size]))
            i, j = divmod(int(best[order[0]]), rhos.size)
            final = self._model(Cs[i], rhos[j])
            fitted = final.fit_rows(training, target)
        self.Cs_, self.rhos_ = Cs, rhos
        self.scores_ = scores.reshape(Cs.size, rhos.size, len(folds))
        self.C_, self.rho_ = float(Cs[i]), float(rhos[j])
        self._store(fitted, training)
        if self.probability:
            self.calibration_ = sigmoid_calibration(
                final.fit_rows, training, target, self.random_state
            )
        self.best_estimator_ = self._as_best(final)
        return self

    def _grids(self, training: Training, target: Classes) -> tuple[Array, Array]:
        spectrum = training.K.spectrum(training.weight)
        Cs, rhos = default_grid(spectrum, target, training.weight)
        return (
            Cs if self.Cs is None else check_grid(self.Cs, "Cs"),
            rhos if self.rhos is None else check_grid(self.rhos, "rhos"),
        )

    def _fit_path(self, Cs: Array, rhos: Array) -> FitPath:
        """Fit the grid, from the largest rho down and from the smallest C up."""

        def fit_path(training: Training, target: Classes) -> list[FittedRows]:
            found: dict[tuple[int, int], FittedRows] = {}
            for i, C in enumerate(Cs):
                near = None
                for j in reversed(range(rhos.size)):
                    start = found[i - 1, j].alpha if i else near
                    model = self._model(C, rhos[j], start)
                    found[i, j] = model.fit_rows(training, target)
                    near = found[i, j].alpha
            return [found[i, j] for i in range(Cs.size) for j in range(rhos.size)]

        return fit_path

    def _told(self, n_folds: int) -> Callable[[int, Array], None] | None:
        def tell(fold: int, scores: Array) -> None:
            best = float(np.nanmax(scores))
            sys.stderr.write(f"fold {fold + 1} of {n_folds}: best {best:.4f}\n")

        return tell if self.verbose else None

    def _model(self, C: float, rho: float, start: Array | None = None) -> ProxySVC:
        """Return the ProxySVC of a point of the grid (weights are passed)."""
        options = dict(self.solver_options or {})
        if start is not None:
            options["init"] = start
        return ProxySVC(
            C=float(C),
            rho=float(rho),
            new_points=self.new_points,
            solver_options=options or None,
            tol=self.tol,
            max_iter=self.max_iter,
            random_state=self.random_state,
        )

    def _as_best(self, model: ProxySVC) -> ProxySVC:
        """Give the chosen model what was fitted, and how to treat new items."""
        model.set_params(
            kernel=self.kernel,
            kernel_params=self.kernel_params,
            symmetrize=self.symmetrize,
            class_weight=self.class_weight,
            probability=self.probability,
            approximation=self.approximation,
        )
        own = ("Cs_", "rhos_", "scores_", "C_", "rho_")
        for name, value in vars(self).items():
            if name.endswith("_") and not name.startswith("_") and name not in own:
                setattr(model, name, value)
        return model

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
