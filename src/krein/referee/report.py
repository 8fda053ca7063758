"""What was found, claims compared with it, and the report on them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

_MEANING = {  # weakest first
    "none": "nothing is certified",
    "stationarity": "stationary point to a residual, others may be better",
    "gap": "global optimum to a gap",
}
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


@dataclass(frozen=True)
class CertificateReport:
    """What `check_certificate` found.

    Attributes
    ----------
    holds : bool or None
        True if every claim of the model is confirmed, False if one is not, None where
        the referee cannot check (the text says why).
    kind : {"gap", "stationarity", "none"}
        The statement that holds: the global optimum lies within `recomputed` of the
        objective; the point is stationary to `recomputed`; or neither.
    claimed : ndarray of shape (n_rows,)
        Gaps or residuals that the model claims.
    recomputed : ndarray of shape (n_rows,)
        The same by the referee.
    objective : ndarray of shape (n_rows,)
        The objective by the referee.
    text : str
        The findings in words, also ``str(report)``.

    Examples
    --------
    >>> import numpy as np
    >>> from krein import KreinSVC, check_certificate
    >>> K = np.array([[1.0, 0.9, -0.8], [0.9, 1.0, 0.7], [-0.8, 0.7, 1.0]])
    >>> y = ["a", "a", "b"]
    >>> report = check_certificate(KreinSVC(C=10.0).fit(K, y), K, y)
    >>> report.holds, report.kind
    (True, 'gap')
    """

    holds: bool | None
    kind: str
    claimed: np.ndarray
    recomputed: np.ndarray
    objective: np.ndarray
    text: str

    def __repr__(self) -> str:
        return self.text


@np.errstate(over="ignore", invalid="ignore")  # what overflows is no claim
def report_on(
    name: str, rows: Iterable[tuple[Evidence, Any]], faults: list[str], tol: float
) -> CertificateReport:
    """One report from evidence and claims of all rows, and faults of the whole."""
    kinds = []
    claimed = []
    recomputed = []
    objective = []
    wrong = list(faults)
    for i, (evidence, claim) in enumerate(rows):
        certified = not evidence.faults and claim.status != "diverged"
        kinds.append(evidence.kind if certified else "none")
        claimed.append(claim.certificate.value)
        recomputed.append(evidence.found.value)
        objective.append(evidence.objective.value)
        wrong += [f"row {i}: {fault}" for fault in evidence.judge(claim, tol)]
    kind = next((known for known in _MEANING if known in kinds), "none")
    text = _words(name, kind, claimed, recomputed, wrong)
    numbers = np.array(claimed), np.array(recomputed), np.array(objective)
    return CertificateReport(not wrong, kind, *numbers, text)


def _words(
    name: str,
    kind: str,
    claimed: list[float],
    recomputed: list[float],
    wrong: list[str],
) -> str:
    verdict = "does not hold" if wrong else "holds"
    claims = np.array2string(np.array(claimed), precision=6, threshold=4)
    again = np.array2string(np.array(recomputed), precision=6, threshold=4)
    lines = [
        f"{name}: the certificate {verdict} ({_MEANING[kind]})",
        f"claimed {claims}, recomputed {again}",
    ]
    return "\n".join(lines + [f"- {fault}" for fault in wrong])


def unchecked(name: str, reason: str) -> CertificateReport:
    """Report that nothing can be said, and why."""
    text = f"{name}: the certificate cannot be checked: {reason}"
    return CertificateReport(None, "none", np.empty(0), np.empty(0), np.empty(0), text)
