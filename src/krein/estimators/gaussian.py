"""Ridge regression as a Gaussian process: the penalty and the uncertainty.

Along the eigenvectors V of the (weighted) similarity the treated kernel has eigenvalues
t, and y - b is normal with covariance ``scale (V diag(t) V' + alpha I)``. Everything
here is O(n) per alpha once ``z = V'W^1/2 y`` and ``u = V'W^1/2 1`` are known. A sample
of integer weight w counts as w samples with the same target.

A new item with raw similarities s has the coordinates ``c = g (V'W^1/2 s)``, g the gain
of the method, and a treated self-similarity k~ that no rule can know: what the method
does to an item's similarity with itself depends on directions that only training items
have. The rule here: k~ is the raw self-similarity k, or ``sum c^2 / t`` where that is
more (k~ cannot be less in a positive semidefinite kernel).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.optimize

from krein.arrays import Array

_TINY = 1e-300
_LEAST, _MOST, _STEPS = 1e-10, 1e4, 60  # alphas tried, in units of the largest t


@dataclass(frozen=True)
class GaussianProcess:
    """Targets and kernel along the eigenvectors.

    Attributes
    ----------
    values : ndarray of shape (n,)
        Eigenvalues t of the treated kernel, not negative.
    targets, ones : ndarray of shape (n,)
        z and u.
    total : float
        Sum of the sample weights.
    null : float
        What the method makes of eigenvalue 0, which repeated samples have.
    fit_intercept : bool
        b is free, with a flat prior; else it is zero.
    """

    values: Array
    targets: Array
    ones: Array
    total: float
    null: float
    fit_intercept: bool

    def _degrees(self) -> float:
        return max(self.total - float(self.fit_intercept), 1.0)

    def intercept(self, alpha: float) -> tuple[float, float]:
        """Return the best b, and 1 over its variance (in units of the scale)."""
        if not self.fit_intercept:
            return 0.0, 1.0
        d = self.values + alpha
        weight = max(float(np.sum(self.ones**2 / d)), _TINY)
        return float(np.sum(self.ones * self.targets / d)) / weight, weight

    def log_likelihood(self, alpha: float) -> float:
        """Log marginal likelihood of alpha at its best scale, but for a constant."""
        d = self.values + alpha
        b, weight = self.intercept(alpha)
        rest = float(np.sum((self.targets - b * self.ones) ** 2 / d))
        n = self._degrees()
        repeated = (self.total - d.size) * np.log(self.null + alpha)
        spread = float(np.sum(np.log(d))) + repeated + np.log(weight)
        return -0.5 * (n * np.log(max(rest, _TINY) / n) + spread)

    def best_alpha(self) -> float:
        """Return the alpha of largest marginal likelihood."""
        largest = float(self.values.max(initial=0.0)) or 1.0
        grid = np.linspace(np.log(_LEAST * largest), np.log(_MOST * largest), _STEPS)
        scores = [self.log_likelihood(float(np.exp(x))) for x in grid]
        i = int(np.argmax(scores))
        found = scipy.optimize.minimize_scalar(
            lambda x: -self.log_likelihood(float(np.exp(x))),
            bounds=(grid[max(i - 1, 0)], grid[min(i + 1, _STEPS - 1)]),
            method="bounded",
            options={"xatol": 1e-8},
        )
        return float(np.exp(found.x))

    def scale(self, alpha: float, vectors: Array, weight: Array | None) -> float:
        """Return the scale at which left-out targets are as far off as expected.

        The mean square of leave-one-out residuals over their variance, in closed form.
        The likelihood has a scale of its own, which trusts the kernel more.
        """
        d = self.values + alpha
        w = np.ones(d.size) if weight is None else weight
        b, total = self.intercept(alpha)
        missed = vectors @ ((self.targets - b * self.ones) / d)
        # Of one copy of each sample; copies of it stay.
        inverse = (vectors**2 @ (1.0 / d)) / w + (1.0 - 1.0 / w) / (self.null + alpha)
        if self.fit_intercept:
            inverse -= (vectors @ (self.ones / d)) ** 2 / w / total
        return float(np.sum(missed**2 / np.maximum(inverse, _TINY))) / self.total

    def latent_variance(self, alpha: float, c: Array, k: Array) -> Array:
        """Variance of f at new items, in units of the scale.

        Parameters
        ----------
        alpha : float
            Noise.
        c : ndarray of shape (n_new, n)
            Coordinates of the new items.
        k : ndarray of shape (n_new,)
            Their raw similarities to themselves.
        """
        d = self.values + alpha
        span = self.values > d.size * np.finfo(float).eps * float(d.max())
        inside = np.sum(c[:, span] ** 2 / self.values[span], axis=1)
        variance = np.maximum(k, inside) - np.sum(c**2 / d, axis=1)
        if self.fit_intercept:
            _, weight = self.intercept(alpha)
            variance = variance + (1.0 - c @ (self.ones / d)) ** 2 / weight
        return np.maximum(variance, 0.0)
