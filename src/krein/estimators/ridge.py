"""Kernel ridge regression with a kernel that need not be positive."""

from __future__ import annotations

from numbers import Real

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from krein.arrays import Array
from krein.estimators._regressor import KernelRegressor
from krein.estimators._training import FittedRows, Row, Training, Values
from krein.estimators.spectral import METHOD_CONSTRAINTS
from krein.matrices.treated import by_spectrum
from krein.methods import METHODS, Method, as_method
from krein.solvers.ridge import spectral_ridge

__all__ = ["KreinRidge"]


class KreinRidge(KernelRegressor):
    """Kernel ridge regression on an indefinite similarity.

    On the raw kernel the stationary point of ``sum (y - f)^2 + alpha a'Ka`` solves
    ``(K + alpha I)a = y - b``, which is singular where an eigenvalue is -alpha and
    amplifies what lies near. ``"stabilised"`` bounds the amplification by 1 / alpha, as
    a positive kernel has it; ``"flip"`` and ``"clip"`` change the spectrum first.
    All methods are the same on a positive kernel, but for square, shift and diffusion.

    Parameters
    ----------
    alpha : float
        Penalty.
    method : {"stabilised", "none", "flip", "clip", "shift", "square", ...}
        ``stabilised``: eigenvalues l with ``|l + alpha| < alpha`` are divided by
        alpha^2 / (l + alpha) instead of l + alpha: continuous, and 0 at the resonance;
        ``none``: the raw equation; others as in `SpectrumSVC`.
    fit_intercept : bool
        Unpenalised intercept.
    t : float
        Time of the diffusion.
    kernel, kernel_params, symmetrize, tol, max_iter, random_state, verbose
        As in `SpectrumSVC`; the solution is direct: a relative gap or residual above
        tol warns, max_iter is not used.

    Attributes
    ----------
    dual_coef_, intercept_, support_, result_
        As in `SpectrumSVC`.
    objective_ : ndarray of shape (1,)
        ``sum w (y - f)^2 + alpha a'Ka`` on the kernel that was trained on; for
        ``stabilised`` on an indefinite kernel that of the bounded system.
    duality_gap_ : ndarray of shape (1,)
        Where no eigenvalue trained on is negative: the minimum is at most this much
        below `objective_`.
    residual_ : ndarray of shape (1,)
        Elsewhere: how far the linear system (for ``stabilised`` the bounded one) is
        from being solved, relative to the targets.

    References
    ----------
    Ong, Mary, Canu, Smola (2004), "Learning with non-positive kernels", ICML; Oglic,
    Gaertner (2018), "Learning in reproducing kernel Krein spaces", ICML.

    Examples
    --------
    >>> import numpy as np
    >>> from krein import KreinRidge, tl1_kernel
    >>> X = np.linspace(0, 1, 20)[:, None]
    >>> K = tl1_kernel(X)
    >>> model = KreinRidge(alpha=0.01).fit(K, np.sin(3 * X[:, 0]))
    >>> bool(model.score(K, np.sin(3 * X[:, 0])) > 0.99)
    True
    """

    _parameter_constraints: dict = {  # noqa: RUF012
        **KernelRegressor._parameter_constraints,
        **METHOD_CONSTRAINTS,
        "alpha": [Interval(Real, 0, None, closed="neither")],
        "method": [StrOptions({"stabilised", *METHODS}), Method, callable],
        "fit_intercept": ["boolean"],
    }

    def __init__(
        self,
        alpha=1.0,
        *,
        method="stabilised",
        fit_intercept=True,
        t=1.0,
        kernel="precomputed",
        kernel_params=None,
        symmetrize=False,
        tol=1e-6,
        max_iter=10_000_000,
        random_state=None,
        verbose=0,
    ):
        self.alpha = alpha
        self.method = method
        self.fit_intercept = fit_intercept
        self.t = t
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.symmetrize = symmetrize
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose

    def fit_rows(self, training: Training, target: Values) -> FittedRows:
        """Solve the system; see `KernelModel.fit_rows`."""
        y = target.y
        spectrum = training.K.spectrum(training.weight)
        raw = self.method == "stabilised"
        record = as_method("none" if raw else self.method)
        kernel, _ = record.apply(spectrum.eigenvalues, spectrum.tolerance, self.t)
        rounding = kernel.size * np.finfo(float).eps * np.abs(kernel).max(initial=0.0)
        result, b = spectral_ridge(
            spectrum,
            self._denominators(kernel),
            y,
            alpha=float(self.alpha),
            convex=bool(kernel.min(initial=0.0) >= -rounding),
            fit_intercept=self.fit_intercept,
            tol=self.tol,
        )
        treated = by_spectrum(training.K, record, spectrum, self.t)
        return FittedRows([Row(treated.to_raw(result.x), b, result)])

    def _denominators(self, kernel: Array) -> Array:
        """What the targets are divided by along each eigenvector."""
        total = kernel + self.alpha
        if self.method != "stabilised" and as_method(self.method).needs == "spectrum":
            return total
        size = float(np.abs(total).max())
        if self.method == "stabilised":
            near = np.abs(total) < self.alpha
            safe = np.where(total == 0.0, 1e-300, total)
            return np.where(near, self.alpha**2 / safe, total)
        if np.abs(total).min() <= 1e-14 * size:
            raise ValueError(
                f"alpha={self.alpha:g} makes K + alpha I singular to rounding: its "
                f"eigenvalues go from {np.abs(total).min():.3g} to {size:.3g} in size. "
                "Change alpha, or use method='stabilised', 'flip' or 'clip'"
            )
        return total
