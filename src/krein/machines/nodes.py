"""Nodes of the quadrature for positive parts, and resolvents of D at them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from krein.arrays import Array


@dataclass(frozen=True)
class Rule:
    """A trapezoidal rule in log t, in units of the scale S.

    Attributes
    ----------
    step : float
        Spacing of the nodes in log t.
    lowest, highest : float
        Range of t.
    dtype : type
        Precision of the table and of all results.
    """

    step: float
    lowest: float
    highest: float
    dtype: Any = np.float64

    def nodes(self) -> Array:
        """Return the nodes t_k; the weights are ``step * t_k``."""
        count = int(np.ceil(np.log(self.highest / self.lowest) / self.step)) + 1
        return self.lowest * np.exp(self.step * np.arange(count))


# Errors about 1e-14 S, and about 1e-6 S in single precision.
FINE = Rule(0.28, 1e-14, 3e4)
COARSE = Rule(0.56, 1e-7, 2e3, np.float32)
# A sign jumps at zero: nodes far below the smallest eigenvalue that is not rounding.
SIGN = Rule(0.28, 1e-20, 3e4)


@dataclass(frozen=True)
class Table:
    """Nodes, weights and resolvents of D, in units of `scale`.

    `resolvents` has the real parts ``d / (d^2 + t^2)`` of 1 / (d - it) for all nodes t,
    then the imaginary parts ``t / (d^2 + t^2)``: products with both are one.
    """

    scale: float
    d: Array
    nodes: Array
    weights: Array
    resolvents: Array
    kappa: float

    @cached_property
    def positive(self) -> Array:
        """Return max(d, 0)."""
        return np.maximum(self.d, 0.0)

    @cached_property
    def bend(self) -> Array:
        """Weights in the diagonal of the Jacobian, but for F."""
        return self.weights * self.nodes * (1.0 / np.pi)

    @classmethod
    def build(cls, d: Array, scale: float, rule: Rule) -> Table:
        """Return the table of a diagonal d whose scale is `scale`."""
        t = rule.nodes()
        weights = rule.step * t
        # The integrands are flat below the first node, which stands for all of them.
        weights[0] /= -np.expm1(-rule.step)
        kappa = 1.0 - (2.0 / np.pi) * float(np.sum(weights / (t**2 + 1.0)))
        d = (d / scale).astype(rule.dtype)
        t, weights = t.astype(rule.dtype), weights.astype(rule.dtype)
        both = np.empty((2, t.size, d.size), rule.dtype)
        np.divide(1.0, np.add.outer(t**2, d**2), out=both[1])
        np.multiply(both[1], d, out=both[0])
        both[1] *= t[:, None]
        return cls(scale, d, t, weights, both.reshape(-1, d.size), kappa)
