"""The smoothing spline of a conditionally positive definite kernel."""

from __future__ import annotations

from typing import Any, Self

from krein.arrays import Array
from krein.declarations import (
    CONSTRAINTS,
    NOT_NEGATIVE,
    declares_parameters,
    replaces_state,
)
from krein.estimators._cpd_model import CPDModel, CPDTraining, cpd_row, solve_path
from krein.estimators._tasks import KernelRegressor
from krein.machines.losses import Squared
from krein.sklearn_internals import StrOptions
from krein.training import FittedRows, Training, Values


@declares_parameters
class CPDRegressor(CPDModel, KernelRegressor):
    """Smoothing spline: squared loss with a conditionally positive definite kernel.

    Minimises ``alpha a'Phi a + sum_i w_i (y_i - f(x_i))^2`` over ``f = Phi a + P b``
    with ``P'a = 0``. With ``scale=False`` it is `scipy.interpolate.RBFInterpolator`
    with ``smoothing=alpha`` (cubic, thin_plate_spline, linear, quintic for exponents 3,
    2, 1, 5), and takes sample weights, subsets of basis points and precomputed kernels.
    The dual is ``max over c of alpha (2 c'y - c'(Phi + alpha W^-1) c)``, ``P'c = 0``,
    with the link a = c.

    Parameters
    ----------
    alpha : float
        Smoothing; it acts on scaled data if ``scale=True``. 0 interpolates: the
        function of least a'Phi a with f(x_i) = y_i, eq. (20) (Lemma 4.3 of Walder and
        Chapelle).
    polynomial : {"free", "zero"}
        Polynomials free or left out.
    kernel, exponent, degree, n_basis, scale, kernel_params, symmetrize, tol, \
max_iter, random_state, verbose
        As in `CPDSVC`.

    Attributes
    ----------
    dual_coef_, poly_coef_, intercept_, kernel_, objective_, duality_gap_, support_, \
n_iter_, result_
        As in `CPDSVC`.

    References
    ----------
    Wahba (1990), Spline Models for Observational Data; Walder, Chapelle (2007),
    equations (16) and (17), with P and P' exchanged.

    Examples
    --------
    >>> import numpy as np
    >>> from krein import CPDRegressor
    >>> X = np.linspace(0, 3, 30)[:, None]
    >>> model = CPDRegressor(alpha=1e-3).fit(X, np.sin(X[:, 0]))
    >>> float(np.round(model.predict([[1.55]])[0], 3))
    1.0
    """

    alpha: float = 1.0

    _parameter_constraints = CONSTRAINTS | {
        "alpha": [NOT_NEGATIVE],
        "polynomial": [StrOptions({"free", "zero"})],
    }

    @replaces_state
    def fit(self, X: Any, y: Any, sample_weight: Any = None, P: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like of shape (n, n_features) or (n, n), or list of objects
            Items; the raw kernel matrix for ``kernel="precomputed"``.
        y : array-like of shape (n,)
            Targets.
        sample_weight : array-like of shape (n,), optional
            Integer weights equal repetition; a sample of weight 0 is left out.
        P : array-like of shape (n, n_polynomials), optional
            Polynomials for a precomputed kernel; constants when not given.

        Returns
        -------
        self
        """
        training, target = self._start(X, y, sample_weight, P=P)
        self._store(self.fit_rows(training, target), training)
        return self

    def fit_rows(self, training: Training, target: Values) -> FittedRows:
        """Solve the one row; see `KernelModel.fit_rows`."""
        assert isinstance(training, CPDTraining)
        space = self._space(training, self.polynomial)
        (result,) = solve_path(
            space,
            Squared(target.y, training.weights),
            [self.alpha],
            tol=self.tol,
            max_iter=self.max_iter,
            training=training,
        )
        return FittedRows([cpd_row(space, result)])

    def predict(self, X: Any, P: Any = None) -> Array:
        """Predicted targets of new items.

        Parameters
        ----------
        X : array-like of shape (n_new, n_features) or (n_new, n_train), or objects
            New items, or their raw kernel rows.
        P : array-like of shape (n_new, n_polynomials), optional
            Polynomials at the new items, for a precomputed kernel fitted with them.

        Returns
        -------
        ndarray of shape (n_new,)
        """
        return self._decision_rows(X, P=P)[:, 0]
