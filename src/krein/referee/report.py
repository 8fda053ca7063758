"""What a model claims against what was found, in numbers and in words."""

from __future__ import annotations

import html
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from krein.referee.problem import Evidence, faults_of

_MEANING = {
    "gap": "global optimum to a gap",
    "stationarity": "stationary point to a residual",
    "none": "nothing is certified",
}


# Kind and value of a certificate, objective and status of a row, and its tolerance.
Claim = tuple[str, float, float, str, float]


def judge(evidence: Evidence, claim: Claim) -> tuple[str, float, list[str]]:
    """Say what holds of a claim and what does not, rounding counted."""
    (claimed, bound, objective, status, tol), (value, slack) = claim, evidence.objective
    known = {"gap": (evidence.gap, evidence.unit)} if evidence.gap is not None else {}
    if evidence.residual is not None:
        known["stationarity"] = (evidence.residual, evidence.residual_unit)
    kind = claimed if claimed in known else next(iter(known))
    measure, rounding = known[kind][0]
    solved = [m <= tol * (1 + 1e-6) * unit + s for (m, s), unit in known.values()]
    fine = kind != claimed or measure <= bound * (1 + 1e-9) + rounding
    recomputed = f"recomputed {measure:.6g} (rounding accounts for {rounding:.1g})"
    faults = evidence.faults + faults_of(
        (abs(objective - value) <= slack,
         f"objective_ says {objective:.9g}, recomputed {value:.9g}"),
        (claimed != "gap" or evidence.gap is not None,
         "a gap is claimed for a problem that is not convex"),
        (fine, f"{kind} claimed {bound:.6g}, {recomputed}"),
        (status != "converged" or any(solved),
         f"says converged with tol={tol:g}, but {recomputed}"),
    )  # fmt: skip
    kind = "none" if evidence.faults or status == "diverged" else kind
    return kind, measure, faults


def _some(values: Any) -> str:
    return np.array2string(np.atleast_1d(values), precision=6, threshold=4)


@dataclass(frozen=True)
class CertificateReport:
    """What `check_certificate` evidence.

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


def report_on(
    name: str, evidence: Iterable[Evidence], claims: list[Claim], faults: list[str]
) -> CertificateReport:
    """One report from the evidence on all rows, and what is wrong with the whole."""
    rows = [
        (e, claim, *judge(e, claim)) for e, claim in zip(evidence, claims, strict=True)
    ]
    kinds = [kind for *_, kind, _, _ in rows]
    kind = next((k for k in ("none", "stationarity", "gap") if k in kinds), "none")
    wrong, notes = [*faults], dict[str, None]()
    for i, (e, *_, own) in enumerate(rows):
        place = f"row {i}: " if len(rows) > 1 else ""
        wrong += [place + fault for fault in own]
        notes |= dict.fromkeys(f"note: {note}" for note in e.notes)
    numbers = [(claim[1], m, e.objective[0]) for e, claim, _, m, _ in rows]
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
