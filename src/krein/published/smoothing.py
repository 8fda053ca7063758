"""The smoothed objective of Luss and d'Aspremont (2007) for the proxy-kernel SVM."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.linalg

from krein.arrays import Array
from krein.machines.proxy import ProxySVM
from krein.result import Result


class SmoothedProxySVM(ProxySVM):
    """f_eps: the objective with smoothed eigenvalues, eps > 0.

    Luss and d'Aspremont (2007) took f for nondifferentiable, because ``max(0, l)`` of
    the eigenvalues l of A = K0 + vv' / (4 rho), v = y * a, is, and "quadratically
    smoothed" it (Ying et al., section 4.1; Chen and Ye, section 2). Ying et al.,
    Theorem 1, showed that f is differentiable as it stands. The documents at hand say
    no more than that; filled in here is the usual quadratic smoothing of a maximum,

        h(l) = max over 0 <= u <= 1 of  u l - eps u^2 / 2
             = 0 for l <= 0,  l^2 / (2 eps) for l <= eps,  l - eps / 2 otherwise,

    with K_eps = h(A) in place of K* = A_+ (eq. 4). Then, summed over eigenvalues,

        f_eps(a) = e'a + rho ||K0||_F^2 - rho sum s(l),
        s(l) = l_+^2 - (l_+ - h(l))^2,     gradient e - Y s'(A) v / 2,
        s'(l) = 3 l^2 / eps - l^3 / eps^2 below eps,

    and 2 l from eps on. s is convex and does not decrease, so f_eps is concave; its
    gradient has the Lipschitz constant of Theorem 2; 0 <= f_eps - f <= rho n eps^2 / 4.

    Parameters
    ----------
    problem : ProxySVM
        The problem, with all its eigenpairs.
    share : float
        eps over the largest magnitude of an eigenvalue of K0.
    """

    def __init__(self, problem: ProxySVM, share: float) -> None:
        if not problem.full:
            raise ValueError(
                "smoothing needs all eigenpairs of the similarity, not landmarks; use "
                "smoothing=0"
            )
        vars(self).update(vars(problem))  # the same problem, but for f
        self.eps = share * max(problem.norm, 1e-300)
        positive = np.maximum(problem.spectrum.eigenvalues, 0.0)
        self.before = float(positive @ positive)

    def rise_grad(self, a: Array) -> tuple[float, Array]:
        """f_eps(a) - f(0) and the gradient of f_eps, by one eigendecomposition."""
        v = self.scale * a
        A = self._weighted + np.outer(v, v / (4.0 * self.rho))
        values, U = scipy.linalg.eigh(A, driver="evd", check_finite=False)
        positive = np.maximum(values, 0.0)
        r = np.clip(values / self.eps, 0.0, 1.0)
        small = values < self.eps
        lost = np.where(small, self.eps * r * (1.0 - 0.5 * r), 0.5 * self.eps)  # l - h
        slope = np.where(small, self.eps * r * r * (3.0 - r), 2.0 * positive)
        total = float(np.sum(positive * positive - lost * lost))
        rise = float(a.sum()) - self.rho * (total - self.before)
        return rise, 1.0 - 0.5 * self.scale * (U @ (slope * (U.T @ v)))


def of_plain_objective(
    problem: ProxySVM, result: Result, tol: float | None = None
) -> Result:
    """Judge the maximiser of f_eps as a point of f.

    Parameters
    ----------
    problem : ProxySVM
        The problem without smoothing.
    result : Result
        Of the smoothed one.
    tol : float, optional
        Relative gap of f that was asked for: above it the run has not converged.

    Returns
    -------
    Result
        ``value`` is f(x), the certificate bounds max f - f(x);
        ``info["smoothed_value"]`` and ``info["smoothed_gap"]`` are those of f_eps.
    """
    rise, gradient = problem.rise_grad(result.x)
    certificate = problem.certificate(result.x, rise, gradient)
    smoothed = {
        "smoothed_value": result.value,
        "smoothed_gap": result.certificate.value,
    }
    status = result.status
    if status == "converged" and tol is not None and not certificate.relative <= tol:
        status = "stalled"  # by the smoothing, not by rounding
    return replace(
        result,
        value=problem.constant + rise,
        certificate=certificate,
        status=status,
        info={**result.info, **smoothed},
    )
