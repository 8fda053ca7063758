"""Kernel ridge regression with a kernel that need not be positive.

As a Gaussian process it chooses its penalty and states its uncertainty. Along the
eigenvectors V of the (weighted) similarity the fixed kernel has eigenvalues t, and
y - b is normal with covariance ``scale (V diag(t) V' + alpha I)``. Everything here is
O(n) per alpha once ``z = V'W^1/2 y`` and ``u = V'W^1/2 1`` are known. A sample of
integer weight w counts as w samples with the same target.

A new item with raw similarities s has the coordinates ``c = g (V'W^1/2 s)``, g the gain
of the method, and a fixed self-similarity k~ that no rule can know: what the method
does to an item's similarity with itself depends on directions that only training items
have. The rule here: k~ is the raw self-similarity k, or ``sum c^2 / t`` where that is
more (k~ cannot be less in a positive semidefinite kernel).
"""

from __future__ import annotations

from dataclasses import KW_ONLY, replace
from functools import partial
from typing import Any, cast

import numpy as np
import scipy.sparse
from sklearn.utils.validation import check_is_fitted

from krein.arrays import Array, extended_product
from krein.declarations import CONSTRAINTS, POSITIVE, Fitted, declares_parameters
from krein.estimators._tasks import KernelRegressor
from krein.items import take
from krein.kernels import kernel_matrix
from krein.machines.gaussian_process import GaussianProcess
from krein.machines.ridge import spectral_ridge
from krein.machines.tall_ridge import TallRidge
from krein.similarity.low_rank import LowRank
from krein.sklearn_internals import StrOptions, num_samples
from krein.spectrum.decomposition import Spectrum, is_psd, rescale, zero_tolerance
from krein.spectrum.fixed_kernel import by_spectrum, rounding_of_targets
from krein.spectrum.fixes import FIXES, Fix, as_fix
from krein.training import FittedRows, Row, Training, Values
from krein.validation import refuse_mask
from krein.words import warn_user


@declares_parameters
class KreinRidge(KernelRegressor):
    """Kernel ridge regression on an indefinite similarity.

    On the raw kernel the stationary point of ``sum (y - f)^2 + alpha a'Ka`` solves
    ``(K + alpha I)a = y - b``, which is singular where an eigenvalue is -alpha and
    amplifies what lies near. ``"stabilised"`` bounds the amplification by 1 / alpha, as
    a positive kernel has it; ``"flip"`` and ``"clip"`` change the spectrum first.
    All methods are the same on a positive kernel, but for square, shift and diffusion.
    There the dual is ``max over u of alpha (2 u'y - u'(K + alpha W^-1) u)``, W the
    sample weights and ``sum_i u_i = 0``, with the link u = a.

    Parameters
    ----------
    alpha : float or "auto"
        Penalty, which is the variance of the noise if the kernel is the covariance of a
        Gaussian process. ``"auto"`` takes the largest marginal likelihood, with the
        scale of the kernel free, times a weak prior that keeps the noise from being
        zero (Chung et al., 2013), from the one eigendecomposition.
    method : {"stabilised", "none", "flip", "clip", "shift", "square", ...}
        ``stabilised``: eigenvalues l with ``|l + alpha| < alpha`` are divided by
        alpha^2 / (l + alpha) instead of l + alpha: continuous, and 0 at the resonance;
        ``none``: the raw equation; others as in `SpectrumSVC`.
    fit_intercept : bool
        Unpenalised intercept.
    t : float
        Time of the diffusion.
    approximation : KreinNystroem, optional
        Train on landmarks, as in `SpectrumSVC`; all methods but shift and diffusion go
        with it. Standard deviations are those of the approximated process;
        what landmarks leave of an item's self-similarity counts as variance.
    kernel, kernel_params, symmetrize, tol, max_iter, random_state, verbose
        As in `SpectrumSVC`; the solution is direct: a relative gap or residual above
        tol warns, max_iter is not used.

    Attributes
    ----------
    dual_coef_, intercept_, support_, result_
        As in `SpectrumSVC`.
    alpha_used_ : float
        The penalty, given or found.
    noise_variance_ : float
        Variance of a measurement around f: `alpha_used_`, for ``alpha="auto"`` times
        the scale of the kernel, which leave-one-out residuals settle.
    variance_ : dict
        What ``predict(return_std=True)`` needs; n^2 numbers.
    objective_ : ndarray of shape (1,)
        ``sum w (y - f)^2 + alpha a'Ka`` on the kernel that was trained on; for
        ``stabilised`` on an indefinite kernel that of the bounded system.
    duality_gap_ : ndarray of shape (1,)
        Where no eigenvalue trained on is negative: the minimum is at most this much
        below `objective_`.
    residual_ : ndarray of shape (1,)
        Elsewhere: how far the linear system is from being solved, relative to the
        targets, rounding counted. For ``stabilised`` it is the bounded one: along
        eigenvectors with ``|l + alpha| < alpha`` the coefficient x of the target t
        misses ``alpha x = t (l + alpha) / alpha``.

    Notes
    -----
    ``predict(X, return_std=True, k_diag=...)`` gives the standard deviation of f, as
    scikit-learn's `GaussianProcessRegressor` does, to which it is equal on a positive
    kernel with ``alpha`` given and ``fit_intercept=False``. A new measurement lies
    around the mean with variance ``std**2 + noise_variance_``. Where the method changes
    the spectrum, the fixed self-similarity of a new item is taken to be its raw one,
    or what its similarities to the training items imply where that is more; for
    ``stabilised`` and ``none`` the process is that of the clipped kernel. Measured with
    ``alpha="auto"``, 90 % intervals held 89 to 93 % of new targets on average over five
    data sets, by kernel and method (benchmarks/prediction_sets.py).

    References
    ----------
    Ong, Mary, Canu, Smola (2004), "Learning with non-positive kernels", ICML; Oglic,
    Gaertner (2018), "Learning in reproducing kernel Krein spaces", ICML; Chung,
    Rabe-Hesketh, Dorie, Gelman, Liu (2013), "A nondegenerate penalized likelihood
    estimator for variance parameters in multilevel models", Psychometrika 78.

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

    alpha: float | str = 1.0
    _: KW_ONLY
    method: Any = "stabilised"
    fit_intercept: bool = True
    t: float = 1.0
    approximation: Any = None
    max_iter: Any = 10_000_000

    _fitted_state = Fitted.state(
        Fitted("alpha_used_", "number", needed=False),
        Fitted("noise_variance_", "number", needed=False),
        Fitted("variance_", "table", needed=False),
    )

    _parameter_constraints = CONSTRAINTS | {
        "alpha": [POSITIVE, StrOptions({"auto"})],
        "method": [StrOptions({"stabilised", *FIXES}), Fix, callable],
    }

    def fit_rows(self, training: Training, target: Values) -> FittedRows:
        """Solve the system; see `KernelModel.fit_rows`."""
        if training.landmarks is not None:
            return self._fit_landmarks(cast(LowRank, training.K), training, target.y)
        y = target.y
        spectrum = training.K.spectrum(training.weight)
        raw = self.method == "stabilised"
        record = as_fix("none" if raw else self.method)
        kernel, gain = record.apply(spectrum.eigenvalues, spectrum.tolerance, self.t)
        with_null = np.append(spectrum.eigenvalues, 0.0)
        null, _ = record.apply(with_null, spectrum.tolerance, self.t)
        process = _process(spectrum, kernel, y, float(null[-1]), self.fit_intercept)
        alpha = self._penalty(process)
        convex = is_psd(kernel)
        if convex:
            kernel = np.maximum(kernel, 0.0)
        elif not raw:
            self._refuse_singular(kernel + alpha)
        fixed_kernel = by_spectrum(training.K, record, spectrum, self.t)
        result, b = spectral_ridge(
            spectrum,
            kernel + alpha,
            y,
            alpha=alpha,
            convex=convex,
            fit_intercept=self.fit_intercept,
            tol=self.tol,
            bounded=raw,
            spread=rounding_of_targets(record, spectrum, kernel, self.t),
            precise=_precise(training.K) if raw else fixed_kernel.precise(),
        )
        scale = 1.0
        if isinstance(self.alpha, str):
            scale = process.scale(alpha, spectrum.eigenvectors, training.weight)
        if record.needs == "nothing":  # the process has the clipped kernel
            gain = (spectrum.eigenvalues > spectrum.tolerance).astype(float)
        elif record.new_rows == "raw":
            gain = np.ones_like(kernel)
        facts = {
            "alpha_used_": alpha,
            "noise_variance_": scale * alpha,
            "variance_": {
                "scale": scale,
                "axes": rescale(spectrum.eigenvectors, spectrum.sqrt_weight),
                "gain": gain,
                **vars(process),
                "items": np.arange(y.size) if training.kept is None else training.kept,
            },
        }
        return FittedRows([Row(fixed_kernel.to_raw(result.x), b, result)], facts)

    def _penalty(self, process: GaussianProcess) -> float:
        """Return the penalty given, or the one that the process chooses."""
        if not isinstance(self.alpha, str):
            return float(self.alpha)
        alpha = process.best_alpha()
        if process.sees_no_noise(alpha):
            warn_user(
                f"KreinRidge(alpha='auto') chose the least penalty it may, "
                f"{alpha:.2g}: "
                "the targets look free of noise. If they are not, standard deviations "
                "are too small, and predictions follow the noise: give alpha a number, "
                "or choose it by GridSearchCV"
            )
        return alpha

    def _fit_landmarks(self, K: LowRank, training: Training, y: Array) -> FittedRows:
        """Solve on the features of landmarks, which stay in tiles."""
        raw = self.method == "stabilised"
        record = as_fix("none" if raw else self.method)
        sizes = K.eigenvalues if record.needs == "nothing" else K.sizes(record, self.t)
        factored = K.operand()
        weight = np.ones(y.size) if training.weight is None else training.weight
        sums = factored.vectors.transpose_dot(np.column_stack([weight * y, weight]))
        z, u = np.ascontiguousarray(sums.T)
        outside = np.column_stack([y, np.ones_like(y)]) - factored.vectors @ sums
        beyond = outside.T @ (weight[:, None] * outside)
        total = float(weight.sum())
        values = np.maximum(sizes, 0.0)
        process = GaussianProcess(
            values, z, u, total, 0.0, self.fit_intercept, beyond=beyond
        )
        alpha = self._penalty(process)
        if not raw and sizes.min(initial=0.0) < 0.0:
            self._refuse_singular(sizes + alpha)
        problem = TallRidge(factored.vectors, sizes, y, weight, alpha, z, u, raw)
        result, b = problem.solve(fit_intercept=self.fit_intercept, tol=self.tol)
        scale = 1.0
        if isinstance(self.alpha, str):
            scale = process.scale_of_tiles(alpha, factored.vectors, weight, outside)
        raw_rows = K.eigenvalues
        facts = {
            "alpha_used_": alpha,
            "noise_variance_": scale * alpha,
            "variance_": {
                "scale": scale,
                "axes": K.basis * raw_rows,
                "gain": values / raw_rows,
                **vars(process),
                "items": training.landmarks,
            },
        }
        coef = K.basis @ (sizes * result.x)
        return FittedRows([Row(coef, b, replace(result, x=coef))], facts)

    def _refuse_singular(self, total: Array) -> None:
        """Refuse eigenvalues of K + alpha I of which one is zero to rounding."""
        least = float(np.abs(total).min())
        size = float(np.abs(total).max())
        if least > zero_tolerance(total):
            return
        alpha = float(self.alpha)
        # Far beyond the smallest eigenvalue nothing is near -alpha.
        enough = 1.1 * (alpha - float(total.min()))
        raise ValueError(
            f"alpha={alpha:g} makes K + alpha I singular to rounding: its eigenvalues "
            f"go from {least:.3g} to {size:.3g} in size. alpha={enough:.3g} or more "
            "makes all of them positive; or use method='stabilised', 'flip' or 'clip'"
        )

    def predict(self, X: Any, return_std: bool = False, k_diag: Any = None) -> Any:
        """Predicted targets of new items, with their standard deviation on request.

        Parameters
        ----------
        X : array-like of shape (n_new, n_train) or items as in fit
        return_std : bool
            Return the standard deviation of f too (without the noise of a measurement:
            that is ``noise_variance_``).
        k_diag : array-like of shape (n_new,), optional
            Similarities of the new items to themselves; needed for ``return_std`` with
            a precomputed kernel, computed otherwise.

        Returns
        -------
        ndarray of shape (n_new,), or two of them with ``return_std=True``
        """
        mean = super().predict(X)
        return (mean, self._std(X, k_diag)) if return_std else mean

    def _std(self, X: Any, k_diag: Any) -> Array:
        check_is_fitted(self)
        if getattr(self, "variance_", None) is None:
            raise ValueError(
                "return_std needs what a fit with this version of krein keeps, and the "
                "model comes from an older file; fit it again"
            )
        known = dict(self.variance_)
        scale, axes, gain, items = (
            known.pop(name) for name in ("scale", "axes", "gain", "items")
        )
        self._refuse_changed_kernel()
        X = self._check_items(X, reset=False)
        if self._precomputed:
            rows = X.toarray() if scipy.sparse.issparse(X) else X
            rows = rows if rows.shape[1] == items.size else rows[:, items]
        elif self._approximation is not None:  # its items are the landmarks
            rows = kernel_matrix(self.kernel_, X, self.X_fit_)
        else:
            rows = kernel_matrix(self.kernel_, X, take(self.X_fit_, items))
        k = self._self_similarities(X, k_diag)
        process = GaussianProcess(**known)
        variance = process.latent_variance(self.alpha_used_, (rows @ axes) * gain, k)
        return np.sqrt(scale * variance)

    def _self_similarities(self, X: Any, k_diag: Any) -> Array:
        n = num_samples(X)
        if k_diag is None and not self._precomputed:
            one = (take(X, [i]) for i in range(n))
            return np.array([kernel_matrix(self.kernel_, x, x)[0, 0] for x in one])
        refuse_mask(k_diag, "k_diag")
        k = np.asarray(k_diag, dtype=float) if k_diag is not None else None
        if k is None or k.shape != (n,) or not np.isfinite(k).all():
            given = "nothing" if k is None else f"an array of shape {k.shape}"
            raise ValueError(
                "return_std=True with kernel='precomputed' needs k_diag, similarities "
                f"of the {n} new items to themselves (often 1); got {given}"
            )
        return k


def _precise(K: Any) -> Any:
    """Products with a dense similarity as it is given, with more digits."""
    if getattr(K, "is_sparse", True):
        return None
    return partial(extended_product, K.dense())


def _process(
    spectrum: Spectrum, kernel: Array, y: Array, null: float, fit_intercept: bool
) -> GaussianProcess:
    """Targets along the eigenvectors; negative eigenvalues carry no variance."""
    root = np.ones_like(y) if spectrum.sqrt_weight is None else spectrum.sqrt_weight
    V = spectrum.eigenvectors
    return GaussianProcess(
        values=np.maximum(kernel, 0.0),
        targets=V.T @ (root * y),
        ones=V.T @ root,
        total=float(root @ root),
        null=null,
        fit_intercept=fit_intercept,
    )
