"""What to use, why, and how sure that is.

Structure in the negative part is a reason to keep it only where it has to do with the
labels: a repeatable direction that says nothing about the classes is as useless to a
classifier as noise.
"""

from __future__ import annotations

from typing import Literal

from krein.diagnostics.evidence import Finding
from krein.diagnostics.negative_part import NegativePart

__all__ = ["Confidence", "advise"]

Confidence = Literal["certain", "likely", "open"]

# Findings after which no method is worth naming.
_REPAIR_FIRST = (
    "looks-like-distances",
    "looks-like-similarities",
    "constant-labels",
    "labels-all-different",
    "nearly-diagonal",
    "nearly-constant",
)
_COMPARE = "krein.compare(K, y) decides by cross-validation."


def advise(
    verdict: str,
    part: NegativePart,
    order: int | None,
    findings: list[Finding],
    forms: dict[str, float],
) -> tuple[list[str], Confidence]:
    """Return the lines of advice, most important first, and how sure they are."""
    for finding in findings:
        if finding.key in _REPAIR_FIRST:
            return [f"First repair this: {finding.text}"], "certain"
    line, confidence = _method(verdict, part, order)
    lines = [line]
    if verdict == "indefinite" and not order:
        lines.append(
            "Whatever the fix, map new rows by the one fitted on training data "
            "(krein's estimators do); raw test rows on a fixed model are wrong."
        )
    if forms and verdict != "psd":
        best = min(forms, key=lambda name: forms[name])
        lines.append(
            f"Of the similarities of this distance {best} has the least negative mass "
            f"({forms[best]:.2g}); changing the form comes before spectrum surgery."
        )
    return lines, confidence


def _method(
    verdict: str, part: NegativePart, order: int | None
) -> tuple[str, Confidence]:
    if verdict == "psd":
        return (
            "Positive semidefinite to rounding: no fix is needed, a plain "
            "SVC(kernel='precomputed') is right.",
            "certain",
        )
    if verdict == "nearly psd":
        return (
            "Nearly positive semidefinite: a plain SVC will do; SpectrumSVC('clip') "
            "removes the doubt at the cost of one eigendecomposition.",
            "likely",
        )
    if order is not None:
        return (
            f"Conditionally positive definite of order {order}: CPDSVC uses it as it "
            "is, without any fix.",
            "certain",
        )
    return _indefinite(part)


def _indefinite(part: NegativePart) -> tuple[str, Confidence]:
    """Keep the negative part only if it is known to have to do with the labels."""
    if part.related:
        return (
            "The negative part has to do with the labels (permutation p = "
            f"{part.label_p_value:.2g}): likely worth keeping, by SpectrumSVC('flip') "
            f"or KreinSVC; clip would throw it away. {_COMPARE}",
            "likely",
        )
    if part.related is None and part.verdict == "structure":
        return (
            "The negative part has structure. Whether that helps depends on the "
            "labels, which were not given: diagnose(K, y) looks at them. Until then "
            "open.",
            "open",
        )
    if part.verdict == "noise":
        known = "" if part.related is None else " and does not show the labels"
        return (
            f"The negative part looks like noise{known}: likely best removed, by "
            "SpectrumSVC('clip') or ProxySVC.",
            "likely",
        )
    if part.related is None:
        return (
            "Not clear whether the negative part is noise, and there are no labels to "
            f"judge it by: open. {_COMPARE}",
            "open",
        )
    structure = " has structure but" if part.verdict == "structure" else ""
    return (
        f"The negative part{structure} shows no relation to the labels (permutation "
        f"p = {part.label_p_value:.2g}): start with SpectrumSVC('clip'). Open: "
        f"{_COMPARE}",
        "open",
    )
