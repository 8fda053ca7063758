"""Ridge regression as a Gaussian process, along the eigenvectors of its kernel.

It chooses the penalty, which is the variance of the noise, and states how far off
a prediction may be. Everything here is O(n) per alpha once targets and ones are known
along the eigenvectors; see `krein.estimators.ridge`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.optimize

from krein.arrays import Array
from krein.similarity.tiles import TiledMatrix

_TINY = 1e-300
_LEAST = 1e-10  # alpha tried, in units of the largest t
_MOST = 1e4  # alpha tried, in units of the largest t
_STEPS = 60  # alphas tried before the best is refined
_AT_THE_END = 2.0  # times the least alpha: the search would have gone on


@dataclass(frozen=True)
class GaussianProcess:
    """Targets and kernel along the eigenvectors.

    Attributes
    ----------
    values : ndarray of shape (n,)
        Eigenvalues t of the fixed kernel, not negative.
    targets, ones : ndarray of shape (n,)
        z and u.
    total : float
        Sum of the sample weights.
    null : float
        What the method makes of eigenvalue 0, which repeated samples have.
    fit_intercept : bool
        b is free, with a flat prior; else it is zero.
    beyond : ndarray of shape (2, 2) or None
        Products of y and of 1 with each other beyond the eigenvectors, which landmarks
        leave incomplete; None where there is nothing beyond.
    """

    values: Array
    targets: Array
    ones: Array
    total: float
    null: float
    fit_intercept: bool
    beyond: Array | None = None

    def _beyond(self, b: float, alpha: float) -> float:
        """``|y - b|^2`` beyond the eigenvectors, over the variance there."""
        if self.beyond is None:
            return 0.0
        both = np.array([1.0, -b])
        return float(both @ self.beyond @ both) / (self.null + alpha)

    def _degrees(self) -> float:
        return max(self.total - float(self.fit_intercept), 1.0)

    def intercept(self, alpha: float) -> tuple[float, float]:
        """Return the best b, and 1 over its variance (in units of the scale)."""
        if not self.fit_intercept:
            return 0.0, 1.0
        d = self.values + alpha
        weight = float(np.sum(self.ones**2 / d))
        pull = float(np.sum(self.ones * self.targets / d))
        if self.beyond is not None:
            weight += self.beyond[1, 1] / (self.null + alpha)
            pull += self.beyond[0, 1] / (self.null + alpha)
        weight = max(weight, _TINY)
        return pull / weight, weight

    def log_likelihood(self, alpha: float) -> float:
        """Log marginal likelihood of alpha at its best scale, but for a constant."""
        d = self.values + alpha
        b, weight = self.intercept(alpha)
        rest = float(np.sum((self.targets - b * self.ones) ** 2 / d))
        rest += self._beyond(b, alpha)
        n = self._degrees()
        repeated = (self.total - d.size) * np.log(self.null + alpha)
        spread = float(np.sum(np.log(d))) + repeated + np.log(weight)
        return -0.5 * (n * np.log(max(rest, _TINY) / n) + spread)

    def log_prior(self, alpha: float) -> float:
        """Log prior density of alpha, which keeps it away from zero.

        The likelihood of few targets is often largest at alpha = 0 although they are
        noisy, and intervals are then too narrow. The prior is that of Chung,
        Rabe-Hesketh, Dorie, Gelman and Liu (2013, Psychometrika 78, 685-709): the
        density of a standard deviation rises linearly from zero (gamma(2, rate -> 0)).
        Where the likelihood alone would choose zero, the estimate is then about one
        standard error away from it.

        The standard deviation here is that of the noise in units of the whole,
        ``sqrt(alpha / (alpha + s))``, s being the mean variance of f at the training
        items. It is at most 1, so that the density is proper: it is the one that makes
        the share of noise in the variance uniform. Nothing in it is tuned; against
        the likelihood of many targets it does not count.
        """
        return 0.5 * float(np.log(alpha / (alpha + self._mean_variance())))

    def _mean_variance(self) -> float:
        """Mean variance of f at the training items around its mean over them."""
        repeated = (self.total - self.values.size) * self.null
        sum_of_variances = float(self.values.sum()) + repeated
        if self.fit_intercept:
            outside = self.total - float(self.ones @ self.ones)
            of_the_sum = float(np.sum(self.ones**2 * self.values)) + outside * self.null
            sum_of_variances -= of_the_sum / self.total
        return max(sum_of_variances / self.total, _TINY)

    def _log_posterior(self, log_alpha: float) -> float:
        alpha = float(np.exp(log_alpha))
        return self.log_likelihood(alpha) + self.log_prior(alpha)

    def best_alpha(self) -> float:
        """Return the alpha of the largest marginal likelihood times prior."""
        largest = float(self.values.max(initial=0.0)) or 1.0
        grid = np.linspace(np.log(_LEAST * largest), np.log(_MOST * largest), _STEPS)
        scores = [self._log_posterior(float(log_alpha)) for log_alpha in grid]
        i = int(np.argmax(scores))
        found = scipy.optimize.minimize_scalar(
            lambda log_alpha: -self._log_posterior(float(log_alpha)),
            bounds=(grid[max(i - 1, 0)], grid[min(i + 1, _STEPS - 1)]),
            method="bounded",
            options={"xatol": 1e-8},
        )
        return float(np.exp(found.x))

    def sees_no_noise(self, alpha: float) -> bool:
        """Whether a chosen alpha is at the lower end of what is searched.

        Of targets that are all the same nothing can be said.
        """
        largest = float(self.values.max(initial=0.0)) or 1.0
        b, _ = self.intercept(alpha)
        varies = np.ptp(self.targets - b * self.ones) > 1e-10 * np.abs(b)
        return bool(varies) and alpha <= _AT_THE_END * _LEAST * largest

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

    def scale_of_tiles(
        self, alpha: float, vectors: TiledMatrix, w: Array, outside: Array
    ) -> float:
        """Return `scale` where the eigenvectors ``W^1/2 U`` are in tiles.

        `outside` are y and 1 less their part in the span of U.
        """
        d = self.values + alpha
        null = self.null + alpha
        b, total = self.intercept(alpha)
        squares = 0.0
        for rows, tile in vectors.tiles():
            share = w[rows]
            root = np.sqrt(w[rows])
            rest = outside[rows] * root[:, None] / null
            V = tile * root[:, None]
            missed = V @ ((self.targets - b * self.ones) / d) + rest @ [1.0, -b]
            whole = V**2 @ (1.0 / d - 1.0 / null) + 1.0 / null
            inverse = whole / share + (1.0 - 1.0 / share) / null
            if self.fit_intercept:
                inverse -= (V @ (self.ones / d) + rest[:, 1]) ** 2 / share / total
            squares += float(np.sum(missed**2 / np.maximum(inverse, _TINY)))
        return squares / self.total

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
