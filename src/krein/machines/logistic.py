"""Kernel logistic regression with an indefinite kernel: what is solved, what is true.

Objective (Liu et al., eq. (5), with sample weights w, N = sum w, and an intercept b)

    L(A, b) = (1/N) sum_i w_i loss(t_i, f_i) + alpha/2 tr(A'KA),   F = KA + 1b',

with one column and the sigmoid for two classes, k columns and the softmax otherwise;
targets t are 0 / 1 and the coefficients A act on the raw kernel. With c = 1/(N alpha)
the stationary points in the Krein space are the solutions of

    A = c W (T - P(F)),     1'A = 0 where there is an intercept,                  (*)

so every coefficient lies in [-c w_i, c w_i]. L is unbounded below as soon as K has a
negative eigenvalue (the penalty falls quadratically, the loss grows linearly), hence
(*) describes saddle points, not minima. They are the stationary points of

    D(P) = sum_i w_i sum p ln p + (c/2) tr(G'WKWG),   G = T - P,

whose Hessian is positive definite if |mu_min(W^1/2 K W^1/2)| < 4 N alpha (two classes;
2 N alpha for the softmax): then (*) has exactly one solution. `uniqueness_ratio` is
the quotient of both sides.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, logsumexp, softmax

from krein.arrays import Array, product_and_error
from krein.result import Certificate

_INTERCEPT_STEPS = 200
_NEWTON_STEPS = 10  # for one column, before bisection
_FINE = {"xtol": 1e-15, "rtol": 1e-15, "maxiter": 500}
_EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class Point:
    """A point of the dual: outputs without intercept and all that follows from them.

    Attributes
    ----------
    outputs : ndarray of shape (n, k)
        H, the free variable.
    intercept : ndarray of shape (k,)
        The intercept that solves 1'W(T - P(H + b)) = 0, or zeros.
    scores : ndarray of shape (n, k)
        G = T - P(H + b).
    coef : ndarray of shape (n, k)
        A = c W G.
    image : ndarray of shape (n, k)
        K A; the point is a solution exactly when it equals `outputs`.
    dual : float
        c D, the merit function.
    """

    outputs: Array
    intercept: Array
    scores: Array
    coef: Array
    image: Array
    dual: float

    @property
    def defect(self) -> Array:
        """R = H - KA."""
        return self.outputs - self.image


@dataclass(frozen=True)
class Curvature:
    """A root of the loss's Hessian, LL' = c w_i (diag p_i - p_i p_i') by rows."""

    P: Array
    scale: Array

    @cached_property
    def _root(self) -> Array:
        return np.sqrt(self.P)

    @cached_property
    def diagonal(self) -> Array:
        """One column only: the n numbers s with LL' = diag(s^2)."""
        return (self.scale * np.sqrt(self.P * (1.0 - self.P)))[:, 0]

    def right(self, V: Array) -> Array:
        """L'V."""
        if self.P.shape[1] == 1:
            return self.diagonal[:, None] * V
        mean = np.sum(self.P * V, axis=1, keepdims=True)
        return self.scale * self._root * (V - mean)

    def left(self, U: Array) -> Array:
        """L U."""
        if self.P.shape[1] == 1:
            return self.diagonal[:, None] * U
        total = np.sum(self._root * U, axis=1, keepdims=True)
        return self.scale * (self._root * U - self.P * total)

    def damped(self, factor: float) -> Curvature:
        """LL' times `factor`: what a shift of I + L'KL by 1/factor - 1 amounts to."""
        return self if factor == 1.0 else replace(self, scale=self.scale * factor**0.5)


@dataclass(frozen=True)
class IndefiniteLogistic:
    """The problem (*) of the module's docstring, frozen: it holds data, never iterates.

    Parameters
    ----------
    K : ndarray of shape (n, n), or anything with ``K @ v``
        Raw similarity, symmetric, of any signature.
    targets : ndarray of shape (n, k)
        Zeros and ones; k = 1 for two classes.
    alpha : float
        Penalty, the paper's lambda.
    weight : ndarray of shape (n,), optional
        Sample weights; they act as repetition.
    fit_intercept : bool
        Unpenalised intercept; the paper's model has none.
    """

    K: Any
    targets: Array
    alpha: float
    weight: Array | None = None
    fit_intercept: bool = True

    @property
    def n_columns(self) -> int:
        """Number of columns k of the coefficients."""
        return self.targets.shape[1]

    @cached_property
    def column_weight(self) -> Array:
        """Sample weights as a column."""
        n = self.targets.shape[0]
        return np.ones((n, 1)) if self.weight is None else self.weight[:, None]

    @cached_property
    def total(self) -> float:
        """N, the sum of the weights."""
        return float(self.column_weight.sum())

    @cached_property
    def bound(self) -> Array:
        """Largest magnitude c w_i of a coefficient, (n, 1)."""
        return self.column_weight / (self.total * self.alpha)

    # ------------------------------------------------------------------------ the loss

    def probabilities(self, F: Array) -> Array:
        """P(F): sigmoid of the one column, softmax of several."""
        return expit(F) if F.shape[1] == 1 else softmax(F, axis=1)

    def scores(self, F: Array) -> Array:
        """T - P(F), minus the derivative of the loss."""
        if F.shape[1] == 1:
            return np.where(self.targets > 0, expit(-F), -expit(F))
        return self.targets - softmax(F, axis=1)

    def losses(self, F: Array) -> Array:
        """Logistic loss of each sample, (n,)."""
        if F.shape[1] == 1:
            return np.logaddexp(0.0, (1.0 - 2.0 * self.targets) * F)[:, 0]
        return logsumexp(F, axis=1) - np.sum(self.targets * F, axis=1)

    def curvature(self, F: Array) -> Curvature:
        """Square root of the loss's Hessian times c."""
        return Curvature(self.probabilities(F), np.sqrt(self.bound))

    def intercept(self, H: Array, start: Array | None = None) -> Array:
        """Return the b that minimises the loss of H + b, i.e. 1'W(T - P(H + b)) = 0."""
        if not self.fit_intercept:
            return np.zeros(self.n_columns)
        counts = np.sum(self.column_weight * self.targets, axis=0)
        if self.n_columns > 1:
            return self._softmax_intercept(H, counts, start)
        odds = float(np.log(counts[0]) - np.log(self.total - counts[0]))
        slack = 1.0 + 8.0 * _EPS * float(np.abs(H).max())
        low, high = odds - float(H.max()) - slack, odds - float(H.min()) + slack
        b = odds if start is None else float(start[0])
        w = self.column_weight[:, 0]
        for _ in range(_NEWTON_STEPS):
            P = self.probabilities(H + b)[:, 0]
            G = self.scores(H + b)[:, 0]
            excess = float(w @ G)
            slope = float(w @ (P * (1.0 - P)))
            b = min(max(b + excess / max(slope, 1e-9 * self.total), low), high)
            if abs(excess) <= 2 * _EPS * self.total:
                return np.array([b])
        b = brentq(lambda b: w @ self.scores(H + b)[:, 0], low, high, **_FINE)
        return np.array([b])

    def _softmax_intercept(self, H: Array, counts: Array, start: Array | None) -> Array:
        """Newton's method, shortened by a Levenberg term where it does not descend."""
        w = self.column_weight
        b = np.zeros(self.n_columns) if start is None else start
        value = float(w[:, 0] @ self.losses(H + b))
        # No optimum lies further away: outputs would outweigh all shares of classes.
        reach = 4.0 * (float(np.ptp(H)) + float(np.log(self.total / counts.min())))
        damping = 0.0
        polish = 2  # steps once the loss is flat to rounding
        for _ in range(_INTERCEPT_STEPS):
            P = softmax(H + b, axis=1)
            mass = np.sum(w * P, axis=0)
            excess = counts - mass
            hessian = np.diag(mass + damping) - (w * P).T @ P
            step = np.linalg.lstsq(hessian, excess, rcond=1e-14)[0]
            # A Hessian of nearly sure classes may send b to where float64 ends.
            new = b + step if np.abs(step).max() <= reach else b
            new_value = float(w[:, 0] @ self.losses(H + new))
            if new_value < value:
                damping *= 0.1
            elif np.abs(excess).max() > 1e-7 * self.total:
                damping = max(10.0 * damping, 1e-3 * float(mass.max()))
                continue
            elif polish == 0:
                break
            else:
                damping = 0.0
                polish -= 1
            b = new - new.mean()
            value = new_value
        return b

    # ---------------------------------------------------------------------- the points

    def point(self, H: Array, start: Array | None = None) -> Point:
        """All that follows from outputs H; costs one product with K."""
        b = self.intercept(H, start)
        F = H + b
        G = self.scores(F)
        A = self.bound * G
        image = self.K @ A
        # sum p ln p = p'F - log-partition, and the loss is log-partition - t'F.
        entropy = -float(np.sum(A * F)) - float(self.bound[:, 0] @ self.losses(F))
        dual = entropy + 0.5 * float(np.sum(A * image))
        return Point(H, b, G, A, image, dual)

    def value(
        self, A: Array, image: Array | None = None, b: Array | None = None
    ) -> float:
        """L(A, b), eq. (5), at the best intercept where none is given."""
        H = self.K @ A if image is None else image
        F = H + (self.intercept(H) if b is None else b)
        loss = float(self.column_weight[:, 0] @ self.losses(F)) / self.total
        return loss + 0.5 * self.alpha * float(np.sum(A * H))

    def certificate(
        self, A: Array, b: Array, image: Array | None = None, error: Array | float = 0.0
    ) -> Certificate:
        """Stationarity residual max |A / (c w) - (T - P(KA + b))|, with |1'A| too.

        It is scale-free already. Rounding of K A counts where no `image` is given,
        else `error`, a bound on it.
        """
        H = image
        if H is None:
            H, error = product_and_error(self.K, A)
        worst = float(np.abs(A / self.bound - self.scores(H + b)).max())
        worst += self._slope * float(np.max(error)) + _EPS
        if self.fit_intercept:
            spread = _EPS * np.sqrt(len(A)) * np.abs(A).sum(axis=0)
            worst = max(worst, float((np.abs(A.sum(axis=0)) + spread).max()))
        return Certificate("stationarity", worst, worst)

    @property
    def _slope(self) -> float:
        """Probabilities change by at most this share of what the outputs do."""
        return 0.25 if self.n_columns == 1 else 0.5

    def rounding(self, A: Array) -> float:
        """What rounding of K A may add to the stationarity residual."""
        return self._slope * float(np.max(self._image_error(A))) + _EPS

    def dual_rounding(self, point: Point) -> float:
        """What rounding may change the dual of a point by."""
        sizes = np.abs(point.coef)
        terms = float(np.sum(sizes * np.abs(point.outputs + point.intercept)))
        return float(np.sum(sizes * self._image_error(point.coef))) + _EPS * terms

    def _image_error(self, A: Array) -> Array:
        """Bound the rounding of K A.

        Of a matrix that can only be multiplied nothing is known.
        """
        if not (isinstance(self.K, np.ndarray) or hasattr(self.K, "block")):
            return np.zeros_like(A)
        return product_and_error(self.K, A)[1]


# --------------------------------------------------------------------------------------
# Uniqueness


def uniqueness_threshold(alpha: float, total: float, n_columns: int) -> float:
    """Return 4 N alpha (two classes) or 2 N alpha (softmax), the bound on |mu_min|."""
    return (4.0 if n_columns == 1 else 2.0) * total * alpha


def uniqueness_ratio(smallest: float, alpha: float, total: float, n_cols: int) -> float:
    """|mu_min| over the threshold; below 1 there is exactly one solution.

    Parameters
    ----------
    smallest : float
        Smallest eigenvalue of W^1/2 K W^1/2.
    alpha : float
        Penalty.
    total : float
        Sum of the sample weights.
    n_cols : int
        Columns of the problem, 1 for two classes.
    """
    return max(0.0, -smallest) / uniqueness_threshold(alpha, total, n_cols)
