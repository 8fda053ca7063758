"""Support vector regression on a similarity made positive."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

from krein.estimators._parameters import declares_parameters
from krein.estimators._regressor import KernelRegressor
from krein.estimators._svm_rows import with_slack
from krein.estimators._training import FittedRows, Row, Training, Values
from krein.machines.libsvm import svr_dual


@declares_parameters
class SpectrumSVR(KernelRegressor):
    """Support vector regression on a similarity whose spectrum is made positive.

    Parameters
    ----------
    method : str
        As in `SpectrumSVC`.
    C, epsilon : float
        As in `sklearn.svm.SVR`.
    t : float
        Time of the diffusion.
    kernel, kernel_params, symmetrize, tol, max_iter, random_state, verbose
        As in `SpectrumSVC`.

    Attributes
    ----------
    dual_coef_, intercept_, support_
        As in `SpectrumSVC`.

    References
    ----------
    Smola, Schoelkopf (2004), Statistics and Computing 14.

    Notes
    -----
    With K~ the treated kernel, w the sample weights and f = K~ v + b it solves::

        primal  min over v, b of  v'K~v / 2 + C sum_i w_i max(0, |y_i - f_i| - epsilon)
        dual    max over v of  y'v - epsilon sum_i |v_i| - v'K~v / 2,
                |v_i| <= C w_i,  sum_i v_i = 0

    with the same v in both; `duality_gap_` is their difference, rounding counted.

    Examples
    --------
    >>> import numpy as np
    >>> from krein import SpectrumSVR, tl1_kernel
    >>> X = np.linspace(0, 1, 20)[:, None]
    >>> K = tl1_kernel(X)
    >>> model = SpectrumSVR(C=100.0, epsilon=0.01).fit(K, np.sin(3 * X[:, 0]))
    >>> bool(model.score(K, np.sin(3 * X[:, 0])) > 0.99)
    True
    """

    method: Any = "clip"
    _: KW_ONLY
    C: float = 1.0
    epsilon: float = 0.1
    t: float = 1.0

    def fit_rows(self, training: Training, target: Values) -> FittedRows:
        """Fit the one row; see `KernelModel.fit_rows`."""
        trained = training.K.treated(self.method, self.t, training.weight)
        result, intercept = svr_dual(
            trained.kernel(),
            target.y,
            training.upper(self.C),
            epsilon=self.epsilon,
            tol=self.tol,
            max_iter=self.max_iter,
            psd=trained.psd,
        )
        result = with_slack(result, trained.slack, self.tol)
        row = Row(trained.to_raw(result.x), intercept, result)
        return FittedRows([row])
