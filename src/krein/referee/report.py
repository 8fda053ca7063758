"""What was found, claims compared with it, and the report on them."""

from __future__ import annotations

import html
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

_MEANING = {  # weakest first
    "none": "nothing is certified",
    "stationarity": "stationary point to a residual, others may be better",
    "gap": "global optimum to a gap",
}
# Kind and value of a certificate, objective and status of a row, and its tolerance.
Claim = tuple[str, float, float, str, float]


class Measured(NamedTuple):
    """A number, what rounding can make of it, and what a relative one refers to."""

    value: float
    slack: float
    unit: float = 1.0


@dataclass
class Evidence:
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
    notes : list of str
        What is worth saying although nothing is wrong.
    """

    objective: Measured
    kind: str
    found: Measured
    faults: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def judge(self, claim: Claim) -> tuple[str, list[str]]:
        """Say what holds of a claim and what does not, rounding counted."""
        claimed, bound, objective, status, tol = claim
        (value, slack, _), (measure, rounding, unit) = self.objective, self.found
        recomputed = f"recomputed {measure:.6g} (rounding accounts for {rounding:.1g})"
        faults = self.faults + faults_of(
            (abs(objective - value) <= slack,
             f"objective_ says {objective:.9g}, recomputed {value:.9g}"),
            (claimed == self.kind, "a gap is claimed for a problem that is not convex"),
            (measure <= bound * (1 + 1e-9) + rounding,
             f"{self.kind} claimed {bound:.6g}, {recomputed}"),
            (status != "converged" or measure <= tol * (1 + 1e-6) * unit + rounding,
             f"says converged with tol={tol:g}, but {recomputed}"),
        )  # fmt: skip
        return "none" if self.faults or status == "diverged" else self.kind, faults


def faults_of(*checks: tuple[bool | np.bool_, str]) -> list[str]:
    """Return the texts of those checks that are not true."""
    return [text for fine, text in checks if not fine]


def _some(values: np.ndarray) -> str:
    return np.array2string(values, precision=6, threshold=4)


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

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        holds = {True: "yes", False: "no", None: "not checked"}[self.holds]
        rows = {"holds": holds, "statement": _MEANING[self.kind],
                "claimed": _some(self.claimed),
                "recomputed": _some(self.recomputed)}  # fmt: skip
        cells = [f"<tr><th>{k}</th><td>{html.escape(v)}</td>" for k, v in rows.items()]
        table = f"<table><caption>krein certificate</caption>{''.join(cells)}</table>"
        return f"{table}<pre>{html.escape(self.text)}</pre>"


@np.errstate(over="ignore")  # rounding beyond the largest number is infinite
def report_on(
    name: str, rows: Iterable[tuple[Evidence, Claim]], faults: list[str]
) -> CertificateReport:
    """One report from evidence and claims of all rows, and faults of the whole."""
    kinds, numbers, wrong, notes = [], [], [*faults], dict[str, None]()
    for i, (evidence, claim) in enumerate(rows):
        kind, own = evidence.judge(claim)
        kinds.append(kind)
        numbers.append((claim[1], evidence.found.value, evidence.objective.value))
        wrong += [f"row {i}: {fault}" for fault in own]
        notes |= dict.fromkeys(f"note: {note}" for note in evidence.notes)
    kind = next((k for k in _MEANING if k in kinds), "none")
    claimed, recomputed, objective = np.array(numbers).reshape(-1, 3).T
    head = "does not hold" if wrong else "holds"
    lines = [f"{name}: the certificate {head} ({_MEANING[kind]})"]
    lines.append(f"claimed {_some(claimed)}, recomputed {_some(recomputed)}")
    text = "\n".join([*lines, *(f"- {fault}" for fault in wrong), *notes])
    return CertificateReport(not wrong, kind, claimed, recomputed, objective, text)


def unchecked(name: str, reason: str) -> CertificateReport:
    """Report that nothing can be said, and why."""
    text = f"{name}: the certificate cannot be checked: {reason}"
    nothing = np.empty(0)
    return CertificateReport(None, "none", nothing, nothing, nothing, text)
