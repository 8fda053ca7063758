"""Losses, and the sum of Fenchel and Young that certifies every convex machine.

    minimise  s/2 c'Kc + sum_i w_i l(z_i) + s r b,   z = m - y f,   f = K c + P b

over c with P'c = r: signs y, targets m, and a loss l of how far an output falls short.
With the conjugate ``l*(q) = max over z of q z - l(z)`` (Rockafellar, 1970, section 12),
the variables a = y c and q = s a / w, the terms of

    gap(c, b) = sum_i w_i [l(z_i) + l*(q_i) - q_i z_i]

are never negative (the inequality of Fenchel and Young), and their sum is the objective
at (c, b) less that of the dual at q (Rifkin and Lippert, 2007, "Value regularization
and Fenchel duality", Theorem 5). So where K is positive semidefinite on P'c = r it
bounds objective minus minimum. Where K is indefinite it is zero at stationary points
alone.

Every loss has its terms in a form without cancellation, so that a gap of 1e-20 is
recomputed to its leading digits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from krein.referee.digits import Array, Wide, exponential


class Loss(NamedTuple):
    """A loss.

    Attributes
    ----------
    value : callable
        l(z).
    slope : callable
        l'(z).
    young : callable
        l(z) + l*(q) - q z.
    ends : pair of float
        Smallest and largest q with a finite l*(q).
    """

    value: Callable[[Array], Array]
    slope: Callable[[Array], Array]
    young: Callable[[Wide, Wide], Wide]
    ends: tuple[float, float]


# ------------------------------------------------------------------ l(z) = max(0, z)
# l*(q) = 0 for 0 <= q <= 1. Cortes and Vapnik (1995).


def _hinge(z: Array) -> Array:
    return np.maximum(z, 0.0)


def _hinge_slope(z: Array) -> Array:
    return 1.0 * (z > 0.0)


def _hinge_young(z: Wide, q: Wide) -> Wide:
    return (1.0 - q) * z.positive() + q * (-z).positive()


# ------------------------------------------------------------------------ l(z) = z^2
# l*(q) = q^2 / 4. Saunders, Gammerman, Vovk (1998).


def _squared(z: Array) -> Array:
    return z**2


def _squared_slope(z: Array) -> Array:
    return 2.0 * z


def _squared_young(z: Wide, q: Wide) -> Wide:
    off = z - 0.5 * q
    return off * off


# -------------------------------------------------------------- l(z) = max(0, z)^2
# l*(q) = q^2 / 4 for q >= 0. Chapelle (2007), "Training a support vector machine in
# the primal", section 2.


def _squared_hinge(z: Array) -> Array:
    return np.maximum(z, 0.0) ** 2


def _squared_hinge_slope(z: Array) -> Array:
    return 2.0 * np.maximum(z, 0.0)


def _squared_hinge_young(z: Wide, q: Wide) -> Wide:
    off = z.positive() - 0.5 * q
    return off * off + q * (-z).positive()


# ---------------------------------------------------------- l(z) = log(1 + exp(z))
# l*(q) = q log q + (1 - q) log(1 - q). Jaakkola and Haussler (1999), section 3.


def _logistic(z: Array) -> Array:
    return np.logaddexp(0.0, z)


def sigmoid(z: Wide) -> Wide:
    """Return 1 / (1 + exp(-z))."""
    small = exponential(-z.absolute())
    return (1.0 / (1.0 + small)).where(z.high > 0.0, small / (1.0 + small))


def _logistic_young(z: Wide, q: Wide) -> Wide:
    """Relative entropy of q and p = sigmoid(z), as a sum of two positive terms.

    With d = q - p it is ``p h(d / p) + (1 - p) h(-d / (1 - p))``.
    """
    p = sigmoid(z)
    rest = sigmoid(-z)
    difference = q - p
    return p * _entropy(difference / p) + rest * _entropy(-difference / rest)


def _entropy(x: Wide) -> Array:
    """h(x) = (1 + x) log(1 + x) - x, x >= -1, which is near x^2 / 2 for a small x."""
    t = np.maximum(x.high, -1.0)
    small = np.abs(t) < 1e-2
    # The next term, t^8 / 56, is below the last digit of the first.
    near = np.where(small, t, 0.0)
    factors = np.full(t.shape, 1 / 42)
    for k in (30, 20, 12, 6, 2):
        factors = 1 / k - near * factors
    with np.errstate(divide="ignore", invalid="ignore"):
        far = np.where(t > -1.0, (1.0 + t) * np.log1p(t), 0.0) - t
    return np.where(small, near**2 * factors, far)


LOSSES = {
    "hinge": Loss(_hinge, _hinge_slope, _hinge_young, (0.0, 1.0)),
    "squared": Loss(_squared, _squared_slope, _squared_young, (-np.inf, np.inf)),
    "squared_hinge": Loss(
        _squared_hinge, _squared_hinge_slope, _squared_hinge_young, (0.0, np.inf)
    ),
    "logistic": Loss(_logistic, expit, _logistic_young, (0.0, 1.0)),
}
