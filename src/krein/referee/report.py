"""What was found, claims compared with it, and the report on them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

_MEANING = {  # weakest first
    "none": "nothing is certified",
    "stationarity": "stationary point to a residual, others may be better",
    "gap": "global optimum to a gap",
}


class Measured(NamedTuple):
    """A number, what rounding can make of it, and what a relative one refers to."""

    value: float
    slack: float
    unit: float = 1.0


class Evidence(NamedTuple):
    """What the referee found for one row.

    Attributes
    ----------
    objective : Measured
        Recomputed.
    kind : {"gap", "stationarity"}
        A gap only if it is claimed and the problem is convex.
    found : Measured
        A valid bound, or the violation of the optimality conditions.
    faults : list of str
        What is wrong apart from the numbers: the point is not feasible, the
        attributes that predict are not those of the point that was certified.
    """

    objective: Measured
    kind: str
    found: Measured
    faults: list[str]

    def judge(self, claim: Any, tol: float) -> list[str]:
        """Say what of a `Result` does not hold, rounding counted."""
        bound, objective = claim.certificate.value, claim.value
        (value, slack, _), (measure, rounding, unit) = self.objective, self.found
        recomputed = f"recomputed {measure:.6g} (rounding accounts for {rounding:.1g})"
        solved = measure <= tol * (1 + 1e-6) * unit + rounding
        return self.faults + faults_of(
            (abs(objective - value) <= slack,
             f"objective_ says {objective:.9g}, recomputed {value:.9g}"),
            (claim.certificate.kind == self.kind,
             "a gap is claimed for a problem that is not convex"),
            (measure <= bound * (1 + 1e-9) + rounding,
             f"{self.kind} claimed {bound:.6g}, {recomputed}"),
            (solved or claim.status != "converged",
             f"says converged with tol={tol:g}, but {recomputed}"),
        )  # fmt: skip


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
    kinds, numbers, wrong = [], [], [*faults]
    for i, (found, claim) in enumerate(rows):
        certified = not found.faults and claim.status != "diverged"
        kinds.append(found.kind if certified else "none")
        numbers.append((claim.certificate.value, found.found[0], found.objective[0]))
        wrong += [f"row {i}: {fault}" for fault in found.judge(claim, tol)]
    kind = next((k for k in _MEANING if k in kinds), "none")
    claimed, recomputed, objective = np.array(numbers).reshape(-1, 3).T
    head = f"the certificate {'does not hold' if wrong else 'holds'} ({_MEANING[kind]})"
    some = [np.array2string(x, precision=6, threshold=4) for x in (claimed, recomputed)]
    text = f"{name}: {head}\nclaimed {some[0]}, recomputed {some[1]}"
    text = "\n- ".join([text, *wrong])
    return CertificateReport(not wrong, kind, claimed, recomputed, objective, text)


def unchecked(name: str, reason: str) -> CertificateReport:
    """Report that nothing can be said, and why."""
    text = f"{name}: the certificate cannot be checked: {reason}"
    return CertificateReport(None, "none", np.empty(0), np.empty(0), np.empty(0), text)
