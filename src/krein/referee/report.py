"""What a model claims, what was found, and the sentences that compare them."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np

_MEANING = {
    "gap": "global optimum to a gap",
    "stationarity": "stationary point to a residual",
    "none": "nothing is certified",
}
Measured = tuple[float, float]  # a number, and what rounding can make of it


@dataclass
class Evidence:
    """What the referee found for one row.

    Attributes
    ----------
    objective : Measured
        Recomputed.
    gap : Measured or None
        A valid bound; None where the problem is not convex.
    residual : Measured or None
        Violation of the optimality conditions; None where a gap says it all.
    unit, residual_unit : float
        What a relative gap and a relative residual refer to.
    faults : list of str
        What is wrong apart from the numbers: the point is not feasible, the
        attributes that predict are not those of the point that was certified.
    notes : list of str
        What is worth saying although nothing is wrong.
    """

    objective: Measured
    gap: Measured | None = None
    residual: Measured | None = None
    unit: float = 1.0
    residual_unit: float = 1.0
    faults: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


# Kind of statement, what was claimed, what was recomputed, evidence, faults of a row.
Verdict = tuple[str, float, float, Evidence, list[str]]


def judge(found: Evidence, result: Any, tol: float) -> Verdict:
    """Compare what a row's result claims with the evidence, rounding counted."""
    claim, faults, (value, slack) = result.certificate, [*found.faults], found.objective
    if not abs(result.value - value) <= slack:
        faults.append(f"objective_ says {result.value:.9g}, recomputed {value:.9g}")
    if claim.kind == "gap" and found.gap is None:
        faults.append("a gap is claimed for a problem that is not convex")
    known = {"gap": (found.gap, found.unit)} if found.gap is not None else {}
    if found.residual is not None:
        known["stationarity"] = (found.residual, found.residual_unit)
    kind = claim.kind if claim.kind in known else next(iter(known))
    measure, slack = known[kind][0]
    if kind == claim.kind and not measure <= claim.value * (1 + 1e-9) + slack:
        faults.append(f"{kind} claimed {claim.value:.6g}, recomputed {measure:.6g} "
                      f"(rounding accounts for {slack:.1g})")  # fmt: skip
    solved = [m <= tol * (1 + 1e-6) * unit + s for (m, s), unit in known.values()]
    if result.status == "converged" and not any(solved):
        faults.append(f"says converged with tol={tol:g}, but recomputed {measure:.3g}")
    kind = "none" if found.faults or result.status == "diverged" else kind
    return kind, float(claim.value), measure, found, faults


def claim_of(gap: float, value: float, status: str) -> Any:
    """Return the claim of what has a gap but no result."""
    certificate = SimpleNamespace(kind="gap", value=gap)
    return SimpleNamespace(certificate=certificate, value=value, status=status)


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
        rows = {"holds": holds, "statement": _MEANING[self.kind],
                "claimed": _some(self.claimed),
                "recomputed": _some(self.recomputed)}  # fmt: skip
        cells = [f"<tr><th>{k}</th><td>{html.escape(v)}</td>" for k, v in rows.items()]
        table = f"<table><caption>krein certificate</caption>{''.join(cells)}</table>"
        return f"{table}<pre>{html.escape(self.text)}</pre>"


def summarise(
    name: str, verdicts: Sequence[Verdict], faults: Sequence[str] = ()
) -> CertificateReport:
    """One report from the verdicts on all rows."""
    kinds = [verdict[0] for verdict in verdicts]
    kind = next((k for k in ("none", "stationarity", "gap") if k in kinds), "none")
    numbers = [(claim, measure, e.objective[0]) for _, claim, measure, e, _ in verdicts]
    claimed, recomputed, objective = np.array(numbers).reshape(-1, 3).T
    wrong, notes = [*faults], dict[str, None]()
    for i, (*_, found, own) in enumerate(verdicts):
        place = f"row {i}: " if len(verdicts) > 1 else ""
        wrong += [place + fault for fault in own]
        notes |= dict.fromkeys(f"note: {note}" for note in found.notes)
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
