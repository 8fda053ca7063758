"""Claims of a model beside what was found: how far off a claim may be.

Rounding is the only excuse. The three tolerances of this page are what doubles can do
to a claim after it was true; what sums are rounded by comes with each number.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

# A claim is printed and stored with 16 digits: a bound may be short by this share.
_LAST_DIGITS = 1e-9
# An objective is a double: differences of this share of it are its last digits.
_OBJECTIVE = 4 * float(np.finfo(float).eps)
# "Converged" is said of a relative value computed by another formula.
_SAME_TOLERANCE = 1e-6


class Measured(NamedTuple):
    """A number that the referee has computed.

    Attributes
    ----------
    value : float
        The number.
    slack : float
        By how much another value is no contradiction.
    unit : float
        What a relative value refers to.
    digits : float
        Of an objective: what its last digits alone can be off.
    """

    value: float
    slack: float
    unit: float = 1.0
    digits: float = math.inf


class Evidence(NamedTuple):
    """What the referee found for one row.

    Attributes
    ----------
    objective : Measured
        Recomputed; its slack is what doubles can make of it.
    kind : {"gap", "stationarity"}
        A gap only if it is claimed and the problem is convex.
    found : Measured
        A valid bound, or the violation of the optimality conditions; its slack is what
        the referee cannot settle, which is nothing as a rule.
    faults : list of str
        What is wrong apart from the numbers: the point is not feasible, the
        attributes that predict are not those of the point that was certified.
    """

    objective: Measured
    kind: str
    found: Measured
    faults: list[str]

    def judge(self, claim: Any, tol: float) -> list[str]:
        """Say what of a `Result` does not hold."""
        return [
            *self.faults,
            *self._value_faults(claim),
            *self._bound_faults(claim),
            *self._status_faults(claim, tol),
        ]

    def _value_faults(self, claim: Any) -> list[str]:
        """Compare objectives: a gap says how far the optimum is from objective_."""
        value = self.objective.value
        allowed = self.objective.slack
        if self.kind == "gap":
            allowed = min(allowed, self.objective.digits + claim.certificate.value)
        same = abs(claim.value - value) <= allowed
        text = f"objective_ says {claim.value:.9g}, recomputed {value:.9g}"
        return faults_of((same, text))

    def _bound_faults(self, claim: Any) -> list[str]:
        bound = claim.certificate.value
        slack = self.found.slack
        if self.kind == "gap":  # it is about a difference from objective_
            slack += _OBJECTIVE * self.found.unit
        enough = self.found.value <= bound * (1 + _LAST_DIGITS) + slack
        return faults_of(
            (claim.certificate.kind == self.kind,
             "a gap is claimed for a problem that is not convex"),
            (enough, f"{self.kind} claimed {bound:.6g}, {self._recomputed}"),
        )  # fmt: skip

    def _status_faults(self, claim: Any, tol: float) -> list[str]:
        largest = tol * (1 + _SAME_TOLERANCE) * self.found.unit + self.found.slack
        solved = self.found.value <= largest
        text = f"says converged with tol={tol:g}, but {self._recomputed}"
        return faults_of((solved or claim.status != "converged", text))

    @property
    def _recomputed(self) -> str:
        value = self.found.value
        slack = self.found.slack
        return f"recomputed {value:.6g} (the last digits may account for {slack:.1g})"


def faults_of(*checks: tuple[bool | np.bool_, str]) -> list[str]:
    """Return the texts of those checks that are not true."""
    return [text for fine, text in checks if not fine]
