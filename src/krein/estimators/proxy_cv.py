"""C and rho of the proxy-kernel SVM by cross-validation, one `eigh` per fold."""

from __future__ import annotations

import sys
from numbers import Integral
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import _fit_context, clone
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv
from sklearn.utils.validation import _num_samples, check_is_fitted

from krein.arrays import Array
from krein.domain import BalancedBox
from krein.estimators._classifier import KernelClassifier
from krein.estimators._training import Training, keep_positive, one_vs_rest
from krein.estimators.proxy import ProxySVC
from krein.problems.proxy import ProxySVM
from krein.solvers._warm_up import balanced_ray
from krein.spectrum import Spectrum
from krein.validation import check_classes_weigh

__all__ = ["ProxySVCCV", "default_grid"]


def default_grid(
    spectrum: Spectrum, codes: np.ndarray, weight: Array | None = None
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
    codes : ndarray of shape (n,)
        Class numbers.
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
    signs = next(iter(one_vs_rest(codes, int(codes.max()) + 1)))
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
    kernel, kernel_params, symmetrize, class_weight, probability, solver_options, \
tol, max_iter, random_state
        As in `ProxySVC`.
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
        self.solver_options = solver_options
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y, sample_weight=None, groups=None):
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
        items = self._check_items(X, reset=True)
        codes = self._check_targets(y, _num_samples(items))
        weight = self._check_weight(items, sample_weight, self._class_weights(codes))
        check_classes_weigh(self.classes_, codes, weight)
        K = self._training_kernel(items, getattr(X, "dtype", None))
        training = keep_positive(K, weight)
        kept = np.arange(training.n) if training.kept is None else training.kept
        spectrum = Spectrum.exact(training.K, training.weight)
        Cs, rhos = default_grid(spectrum, codes[kept], training.weight)
        self.Cs_ = Cs if self.Cs is None else _positive(self.Cs, "Cs")
        self.rhos_ = rhos if self.rhos is None else _positive(self.rhos, "rhos")
        self._search(K, codes, weight, groups)
        self._refit(spectrum, training, codes[kept])
        return self

    def _search(self, K: Array, codes: np.ndarray, weight: Any, groups: Any) -> None:
        """Scores of the grid, and the best point of it."""
        model = self._model()
        splits = list(check_cv(self.cv, codes, classifier=True).split(K, codes, groups))
        jobs = Parallel(n_jobs=self.n_jobs)(
            delayed(_score_fold)(
                model, K, self.classes_, codes, weight, train, test, self.Cs_,
                self.rhos_, self.scoring,
                f"fold {k + 1} of {len(splits)}" if self.verbose else None,
            )
            for k, (train, test) in enumerate(splits)
        )  # fmt: skip
        self.scores_ = np.stack(jobs, axis=-1)
        mean = self.scores_.mean(axis=-1)
        best = np.argwhere(mean >= mean.max() - 1e-12)
        order = np.lexsort((self.Cs_[best[:, 0]], -self.rhos_[best[:, 1]]))
        i, j = best[order[0]]
        self.C_, self.rho_ = float(self.Cs_[i]), float(self.rhos_[j])

    def _refit(self, spectrum: Spectrum, training: Any, codes: np.ndarray) -> None:
        final = self._model()
        final.set_params(C=self.C_, rho=self.rho_, probability=self.probability)
        final.fit_checked(spectrum, training, codes, self.classes_)
        self.best_estimator_ = final
        self.dual_coef_, self.alpha_ = final.dual_coef_, final.alpha_
        self.intercept_, self.result_ = final.intercept_, final.result_
        self.support_ = np.flatnonzero(np.any(self.dual_coef_ != 0.0, axis=0))
        if self.probability:
            self.calibration_ = final.calibration_

    def _model(self) -> ProxySVC:
        """Return an unfitted ProxySVC with the shared settings (weights are passed)."""
        return ProxySVC(
            new_points=self.new_points,
            solver_options=self.solver_options,
            tol=self.tol,
            max_iter=self.max_iter,
            random_state=self.random_state,
        )

    def proxy_kernel(self, row=0):
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


def _positive(grid: Any, name: str) -> Array:
    values = np.asarray(grid, dtype=np.float64).ravel()
    if values.size == 0 or not np.all(np.isfinite(values) & (values > 0)):
        raise ValueError(f"{name} must hold positive numbers, got {grid!r}")
    return np.sort(values)


def _score_fold(
    model: ProxySVC,
    K: Array,
    classes: np.ndarray,
    codes: np.ndarray,
    weight: Array | None,
    train: np.ndarray,
    test: np.ndarray,
    Cs: Array,
    rhos: Array,
    scoring: Any,
    progress: str | None,
) -> Array:
    """Scores (n_C, n_rho) of one fold from one eigendecomposition."""
    if weight is not None:
        train = train[weight[train] > 0.0]
    fold_weight = None if weight is None else weight[train]
    training = Training(K[np.ix_(train, train)], fold_weight, None, train.size)
    K_test, y_test = K[np.ix_(test, train)], classes[codes[test]]
    spectrum = Spectrum.exact(training.K, fold_weight)
    scorer = None if scoring is None else check_scoring(model, scoring)
    scores = np.empty((Cs.size, rhos.size))
    solved: dict[int, Array] = {}  # at the last C, by rho
    for i, C in enumerate(Cs):
        near = None
        for j in reversed(range(rhos.size)):
            start = solved.get(j, near)
            options = {**(model.solver_options or {}), "init": start}
            fitted = clone(model).set_params(C=C, rho=rhos[j], solver_options=options)
            fitted.fit_checked(spectrum, training, codes[train], classes)
            if scorer is None:
                scores[i, j] = np.mean(_predicted(fitted, K_test) == y_test)
            else:
                scores[i, j] = scorer(fitted, K_test, y_test)
            near = solved[j] = fitted.alpha_
    if progress:
        sys.stderr.write(f"{progress}: best {scores.max():.4f}\n")
    return scores


def _predicted(fitted: ProxySVC, K_test: Array) -> np.ndarray:
    """Labels by the decision function, without checking the fold's rows again."""
    values = K_test @ fitted.dual_coef_.T + fitted.intercept_
    if values.shape[1] == 1:
        return fitted.classes_[(values[:, 0] > 0).astype(int)]
    return fitted.classes_[np.argmax(values, axis=1)]
