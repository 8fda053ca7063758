"""What a model claims against what was found, in numbers and in words."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from krein.referee.problem import Evidence, faults_of

_MEANING = {
    "gap": "global optimum to a gap",
    "stationarity": "stationary point to a residual",
    "none": "nothing is certified",
}


class Claim(NamedTuple):
    """Kind and value of a certificate, objective and status of a row, tolerance."""

    kind: str
    value: float
    objective: float
    status: str
    tol: float


class Verdict(NamedTuple):
    """The statement that holds for a row, and what speaks against the claim."""

    kind: str
    measure: float
    faults: list[str]


def judge(found: Evidence, claim: Claim) -> Verdict:
    """Compare what a row claims with the evidence, rounding counted."""
    value, slack = found.objective
    known = {"gap": (found.gap, found.unit)} if found.gap is not None else {}
    if found.residual is not None:
        known["stationarity"] = (found.residual, found.residual_unit)
    kind = claim.kind if claim.kind in known else next(iter(known))
    measure, rounding = known[kind][0]
    within = measure <= claim.value * (1 + 1e-9) + rounding
    solved = [m <= claim.tol * (1 + 1e-6) * unit + s for (m, s), unit in known.values()]
    text = f"{kind} claimed {claim.value:.6g}, recomputed {measure:.6g}"
    faults = faults_of(
        (
            abs(claim.objective - value) <= slack,
            f"objective_ says {claim.objective:.9g}, recomputed {value:.9g}",
        ),
        (
            claim.kind != "gap" or found.gap is not None,
            "a gap is claimed for a problem that is not convex",
        ),
        (
            kind != claim.kind or within,
            f"{text} (rounding accounts for {rounding:.1g})",
        ),
        (
            claim.status != "converged" or any(solved),
            f"says converged with tol={claim.tol:g}, but recomputed {measure:.3g}",
        ),
    )
    kind = "none" if found.faults or claim.status == "diverged" else kind
    return Verdict(kind, measure, found.faults + faults)


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
        holds = {True: "yes", False: "no", None: "not checked"}[self.holds]
        rows = {
            "holds": holds,
            "statement": _MEANING[self.kind],
            "claimed": _some(self.claimed),
            "recomputed": _some(self.recomputed),
        }
        cells = [f"<tr><th>{k}</th><td>{html.escape(v)}</td>" for k, v in rows.items()]
        table = f"<table><caption>krein certificate</caption>{''.join(cells)}</table>"
        return f"{table}<pre>{html.escape(self.text)}</pre>"


def report_on(
    name: str,
    found: Iterable[Evidence],
    claims: Sequence[Claim],
    faults: Sequence[str] = (),
) -> CertificateReport:
    """One report from the evidence on all rows, and what is wrong with the whole."""
    pairs = list(zip(found, claims, strict=True))
    verdicts = [judge(*pair) for pair in pairs]
    kinds = [verdict.kind for verdict in verdicts]
    kind = next((k for k in ("none", "stationarity", "gap") if k in kinds), "none")
    wrong = [*faults]
    for i, verdict in enumerate(verdicts):
        place = f"row {i}: " if len(verdicts) > 1 else ""
        wrong += [place + fault for fault in verdict.faults]
    notes = dict.fromkeys(f"note: {note}" for e, _ in pairs for note in e.notes)
    claimed, recomputed, objective = (
        np.array(numbers)
        for numbers in (
            [claim.value for _, claim in pairs],
            [verdict.measure for verdict in verdicts],
            [evidence.objective[0] for evidence, _ in pairs],
        )
    )
    head = "does not hold" if wrong else "holds"
    lines = [
        f"{name}: the certificate {head} ({_MEANING[kind]})",
        f"claimed {_some(claimed)}, recomputed {_some(recomputed)}",
        *(f"- {fault}" for fault in wrong),
        *notes,
    ]
    text = "\n".join(lines)
    return CertificateReport(not wrong, kind, claimed, recomputed, objective, text)


def unchecked(name: str, reason: str) -> CertificateReport:
    """Report that nothing can be said, and why."""
    text = f"{name}: the certificate cannot be checked: {reason}"
    nothing = np.empty(0)
    return CertificateReport(None, "none", nothing, nothing, nothing, text)
