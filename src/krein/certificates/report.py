"""What a model claims, what was found, and the sentence that compares them."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

__all__ = [
    "EPS",
    "CertificateReport",
    "Claim",
    "Evidence",
    "Verdict",
    "claims_of",
    "judge",
    "norm",
    "summarise",
    "unchecked",
]

EPS = float(np.finfo(float).eps)


def norm(v: np.ndarray) -> float:
    """Euclidean norm that neither overflows nor underflows."""
    largest = float(np.abs(v).max(initial=0.0))
    return largest * float(np.linalg.norm(v / largest)) if largest > 0.0 else 0.0


_MEANING = {
    "gap": "global optimum to a gap",
    "stationarity": "stationary point to a residual",
    "none": "nothing is certified",
}


@dataclass(frozen=True)
class Claim:
    """What one row of a model says about itself."""

    kind: str
    certificate: float
    objective: float
    status: str
    tol: float


@dataclass
class Evidence:
    """What the referee found for one row.

    Attributes
    ----------
    objective, objective_slack : float
        Recomputed, and what rounding can make of it.
    gap, gap_slack : float
        A valid bound; None where the problem is not convex.
    residual, residual_slack : float
        Violation of the optimality conditions; None where a gap says it all.
    unit, residual_unit : float
        What a relative gap and a relative residual refer to.
    faults : list of str
        What is wrong apart from the numbers: the point is not feasible, the
        coefficients that predict are not those that were certified.
    notes : list of str
        What is worth saying although nothing is wrong.
    """

    objective: float
    objective_slack: float
    gap: float | None = None
    gap_slack: float = 0.0
    residual: float | None = None
    residual_slack: float = 0.0
    unit: float = 1.0
    residual_unit: float = 1.0
    faults: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Verdict:
    """The outcome for one row."""

    kind: str
    claimed: float
    recomputed: float
    objective: float
    faults: tuple[str, ...]
    notes: tuple[str, ...]


def claims_of(model: Any) -> tuple[list[Claim], list[str]]:
    """Claims by row, and where the model contradicts itself."""
    results = model.result_ if isinstance(model.result_, list) else [model.result_]
    faults = []
    for name, pick in [
        ("duality_gap_", lambda r: r.certificate.value),
        ("residual_", lambda r: r.certificate.value),
        ("objective_", lambda r: r.value),
    ]:
        stored = getattr(model, name, None)
        own = np.array([pick(result) for result in results])
        if stored is not None and not np.array_equal(stored, own, equal_nan=True):
            faults.append(f"{name} says {_some(stored)}, result_ says {_some(own)}")
    claims = [
        Claim(
            result.certificate.kind,
            float(result.certificate.value),
            float(result.value),
            result.status,
            float(model.tol),
        )
        for result in results
    ]
    return claims, faults


def judge(claim: Claim, found: Evidence) -> Verdict:
    """Compare the claim with the evidence, rounding counted."""
    faults = list(found.faults)
    off = abs(claim.objective - found.objective)
    if not off <= found.objective_slack:
        faults.append(
            f"objective_ says {claim.objective:.9g}, recomputed {found.objective:.9g} "
            f"(rounding accounts for {found.objective_slack:.1g})"
        )
    kind = claim.kind
    if kind == "gap" and found.gap is None:
        faults.append("a gap is claimed for a problem that is not convex")
        kind = "stationarity"
    measure = found.gap if kind == "gap" else found.residual
    slack = found.gap_slack if kind == "gap" else found.residual_slack
    if measure is None:  # a residual is claimed where only a gap can be had
        measure, slack, kind = found.gap or 0.0, found.gap_slack, "gap"
    if kind == claim.kind and not measure <= claim.certificate * (1 + 1e-9) + slack:
        faults.append(
            f"{kind} claimed {claim.certificate:.6g}, recomputed {measure:.6g} "
            f"(rounding accounts for {slack:.1g})"
        )
    faults += _not_converged(claim, found)
    if found.faults or claim.status == "diverged":
        kind = "none"
    return Verdict(
        kind,
        claim.certificate,
        measure,
        found.objective,
        tuple(faults),
        tuple(found.notes),
    )


def _not_converged(claim: Claim, found: Evidence) -> list[str]:
    """Say "converged" only if a gap or a residual is within tol, to rounding."""
    if claim.status != "converged":
        return []
    limit = claim.tol * (1 + 1e-6)
    measures = [
        (found.gap, found.gap_slack, limit * abs(found.unit)),
        (found.residual, found.residual_slack, limit * found.residual_unit),
    ]
    known = [(m, slack, most) for m, slack, most in measures if m is not None]
    if any(m <= most + slack for m, slack, most in known):
        return []
    worst = ", ".join(f"{m:.3g} (allowed {most:.3g})" for m, _, most in known)
    return [f"says converged with tol={claim.tol:g}, but recomputed {worst}"]


def _some(values: Any) -> str:
    return np.array2string(np.atleast_1d(values), precision=6, threshold=4)


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
        rows = {
            "holds": {True: "yes", False: "no", None: "not checked"}[self.holds],
            "statement": _MEANING[self.kind],
            "claimed": _some(self.claimed),
            "recomputed": _some(self.recomputed),
        }
        cells = "".join(
            f"<tr><th>{name}</th><td>{html.escape(value)}</td></tr>"
            for name, value in rows.items()
        )
        text = f"<pre>{html.escape(self.text)}</pre>"
        return f"<table><caption>krein certificate</caption>{cells}</table>{text}"


def summarise(
    name: str, verdicts: Sequence[Verdict], faults: Sequence[str]
) -> CertificateReport:
    """One report from the verdicts on all rows."""
    kinds = [verdict.kind for verdict in verdicts]
    kind = next(k for k in ("none", "stationarity", "gap") if k in kinds)
    claimed = np.array([verdict.claimed for verdict in verdicts])
    recomputed = np.array([verdict.recomputed for verdict in verdicts])
    objective = np.array([verdict.objective for verdict in verdicts])
    wrong = [*faults]
    for i, verdict in enumerate(verdicts):
        place = f"row {i}: " if len(verdicts) > 1 else ""
        wrong += [place + fault for fault in verdict.faults]
    head = "does not hold" if wrong else "holds"
    lines = [f"{name}: the certificate {head} ({_MEANING[kind]})"]
    lines.append(f"claimed {_some(claimed)}, recomputed {_some(recomputed)}")
    lines += [f"- {fault}" for fault in wrong]
    notes = dict.fromkeys(note for verdict in verdicts for note in verdict.notes)
    lines += [f"note: {note}" for note in notes]
    text = "\n".join(lines)
    return CertificateReport(not wrong, kind, claimed, recomputed, objective, text)


def unchecked(name: str, reason: str) -> CertificateReport:
    """Report that nothing can be said, and why."""
    text = f"{name}: the certificate cannot be checked: {reason}"
    nothing = np.empty(0)
    return CertificateReport(None, "none", nothing, nothing, nothing, text)
