"""The report on what was found, in numbers and in words."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from krein.referee.claims import Evidence

_MEANING = {  # weakest first
    "none": "nothing is certified",
    "stationarity": "stationary point to a residual, others may be better",
    "gap": "global optimum to a gap",
}


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


def report_on_parts(
    name: str, parts: dict[str, CertificateReport], faults: list[str]
) -> CertificateReport:
    """One report from those of the parts that a model averages, each with its name."""
    reports = list(parts.values())
    kinds = [report.kind for report in reports]
    kind = next(known for known in _MEANING if known in kinds)
    holds: bool | None = not faults and all(report.holds for report in reports)
    if not faults and any(report.holds is None for report in reports):
        holds = None
    claimed = np.concatenate([report.claimed for report in reports])
    recomputed = np.concatenate([report.recomputed for report in reports])
    verdict = {True: "holds", False: "does not hold", None: "cannot be checked"}
    lines = [f"{name}: the certificate {verdict[holds]} ({_MEANING[kind]})"]
    if claimed.size:
        lines.append(
            f"{claimed.size} rows: claimed at most {claimed.max():.6g}, recomputed at "
            f"most {recomputed.max():.6g}"
        )
    lines += [f"- {fault}" for fault in faults]
    for part, report in parts.items():
        if not report.holds:
            lines.append(f"- {part}: {report}")
    return CertificateReport(
        holds,
        kind,
        claimed,
        recomputed,
        np.concatenate([report.objective for report in reports]),
        "\n".join(lines),
    )


def unchecked(name: str, reason: str) -> CertificateReport:
    """Report that nothing can be said, and why."""
    text = f"{name}: the certificate cannot be checked: {reason}"
    return CertificateReport(None, "none", np.empty(0), np.empty(0), np.empty(0), text)
