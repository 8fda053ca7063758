"""Regression: treatment of the spectrum and C by cross-validation."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from numbers import Real
from typing import Any, Self

import numpy as np
from sklearn.utils._param_validation import Interval

from krein.arrays import Array
from krein.estimators._folds import cv_folds
from krein.estimators._gains import (
    SEARCH_CONSTRAINTS,
    SPECTRUM_SEARCHED,
    SpectrumSearch,
    loosely,
)
from krein.estimators._regressor import KernelRegressor
from krein.estimators._training import FittedRows, Row, Training, Values
from krein.machines.libsvm import svr_dual
from krein.machines.svm_path import svm_path
from krein.similarity.treated import TreatedKernel
from krein.store.state import State, replaces_state


class SpectrumSVRCV(SpectrumSearch, KernelRegressor):
    """`SpectrumSVR` with C and the method chosen by cross-validation.

    The search of `SpectrumSVCCV` with the mean squared error in place of the log-loss:
    all treatments ``|l|^p``, ``w |l|^p`` of the spectrum and all C on one
    eigendecomposition per fold, the near-best averaged into one `dual_coef_`.

    Parameters
    ----------
    Cs : array-like, optional
        Grid of C, for a transformed kernel divided by the mean of its diagonal and
        targets divided by their standard deviation; six values from 0.1 to 562.
    epsilon : float
        Half the width of the tube, in standard deviations of the targets.
    gains, combine, n_jobs
        As in `SpectrumSVCCV`.
    cv : int, splitter or iterable, optional
        As in `sklearn.model_selection.GridSearchCV`; five shuffled folds by default.
    kernel, kernel_params, symmetrize, tol, max_iter, random_state
        As in `SpectrumSVR`; `random_state` seeds the default folds.
    verbose : int
        1 tells the chosen settings and their scores on standard error.

    Attributes
    ----------
    best_params_ : dict
        Of the best setting: ``SpectrumSVR(**best_params_)``.
    cv_results_ : dict
        As in `SpectrumSVCCV`; scores are negative mean squared errors.
    members_ : list of dict
        The machines that were averaged, the best first: parameters of `SpectrumSVR`
        and "results".
    dual_coef_, intercept_, support_
        As in `SpectrumSVR`; means over the members.
    duality_gap_ : ndarray of shape (1,)
        The largest certified gap of the members.
    n_iter_ : ndarray of shape (n_rows,)
        The largest number of iterations of the members.

    References
    ----------
    Smola, Schoelkopf (2004) for the machine; Chen, Garcia, Gupta, Rahimi, Cazzanti
    (2009) for the transforms; Breiman (1996) for averages of models.

    Examples
    --------
    >>> import numpy as np
    >>> from krein import SpectrumSVRCV, tl1_kernel
    >>> X = np.linspace(0, 1, 30)[:, None]
    >>> K = tl1_kernel(X)
    >>> model = SpectrumSVRCV().fit(K, np.sin(3 * X[:, 0]))
    >>> bool(model.score(K, np.sin(3 * X[:, 0])) > 0.9)
    True
    """

    _fitted_state: State = SPECTRUM_SEARCHED

    _parameter_constraints: dict = {  # noqa: RUF012
        **KernelRegressor._parameter_constraints,
        **SEARCH_CONSTRAINTS,
        "epsilon": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        Cs=None,
        *,
        epsilon=0.1,
        gains=None,
        cv=None,
        combine="average",
        n_jobs=None,
        kernel="precomputed",
        kernel_params=None,
        symmetrize=False,
        tol=1e-6,
        max_iter=1_000_000,
        random_state=None,
        verbose=0,
    ):
        self.Cs = Cs
        self.epsilon = epsilon
        self.gains = gains
        self.cv = cv
        self.combine = combine
        self.n_jobs = n_jobs
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.symmetrize = symmetrize
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose

    @replaces_state
    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None
    ) -> Self:
        """Score all settings on the folds, then fit the best ones on all data.

        Parameters
        ----------
        X : array-like of shape (n, n) or (n, n_features), or list of objects
            Raw similarities for ``kernel="precomputed"``, items otherwise.
        y : array-like of shape (n,)
            Targets.
        sample_weight : array-like of shape (n,), optional
            Integer weights equal repetition in the fits and scores of the search and
            in the members. The folds are those of the samples given: copies of a
            sample would fall into several folds, so that a search on repeated samples
            may choose other settings.
        groups : array-like of shape (n,), optional
            For group splitters.

        Returns
        -------
        self
        """
        training, target = self._start(X, y, sample_weight)
        folds = cv_folds(self, training, target, groups)
        path = partial(_path, epsilon=self.epsilon)
        settings, values = self._out_of_fold(path, training, target, folds)
        scores = np.column_stack(
            [
                _scores(part[:, :, 0] - target.y[test], training.weight, test)
                for part, (_, test) in zip(values, folds, strict=True)
            ]
        )
        self._take_best(self._rows, training, target, settings, scores)
        return self

    def _rows(
        self,
        trained: TreatedKernel,
        training: Training,
        target: Values,
        C: float,
        starts: Sequence[Array],
    ) -> tuple[dict[str, float], FittedRows]:
        _, spread = _mean_and_spread(target.y, training.weight)
        params = {"C": C * spread, "epsilon": self.epsilon * spread}
        result, intercept = svr_dual(
            trained.kernel(),
            target.y,
            training.upper(params["C"]),
            epsilon=params["epsilon"],
            tol=self.tol,
            max_iter=self.max_iter,
            psd=trained.psd,
            start=starts[0] if starts else None,
        )
        row = Row(trained.to_raw(result.x), intercept, result)
        return params, FittedRows([row])


def _path(
    K: Array, target: Values, Cs: Array, weight: Array | None, *, epsilon: float
) -> tuple[Array, Array]:
    """Machines of all C, on targets of mean 0 and standard deviation 1."""
    mean, spread = _mean_and_spread(target.y, weight)
    t = (target.y - mean) / spread
    limits = loosely(K.shape[0])
    coef, intercept = svm_path(K, t, Cs, weight, epsilon=epsilon, **limits)
    return spread * coef[:, None], mean + spread * intercept[:, None]


def _mean_and_spread(y: Array, weight: Array | None) -> tuple[float, float]:
    """Mean and standard deviation; 1 where all targets are the same."""
    scale = float(np.abs(y).max()) or 1.0  # squares of y need not be finite
    mean = float(np.average(y / scale, weights=weight))
    variance = float(np.average((y / scale - mean) ** 2, weights=weight))
    return mean * scale, (variance**0.5 if variance > 1e-24 else 1.0) * scale


def _scores(errors: Array, weight: Array | None, test: np.ndarray) -> Array:
    """Negative mean squared errors of all settings on a fold."""
    return -np.average(
        errors**2, axis=1, weights=None if weight is None else weight[test]
    )
