"""What to use, by the state of the negative part: the words stand beside their case."""

from __future__ import annotations

from krein.diagnostics.facts import NegativePart
from krein.diagnostics.findings import Finding

_HINT = 0.05  # p-value of a hint that the negative part knows the labels


def advise(
    verdict: str, part: NegativePart, order: int | None, findings: list[Finding]
) -> list[str]:
    """Return the lines of advice, most important first.

    Parameters
    ----------
    verdict : {"psd", "nearly psd", "indefinite"}
        What the spectrum is like.
    part : NegativePart
        What its negative part is like.
    order : int or None
        Of conditional positive definiteness.
    findings : list of Finding
        What is wrong with the data.
    """
    for finding in findings:
        meaningless = finding.severity == "error" and finding.key != "small-class"
        if meaningless or finding.key.startswith("nearly-"):
            return [f"First repair this: {finding.text}"]
    if verdict == "psd":
        return [
            "Positive semidefinite to rounding: no fix is needed, a plain "
            "SVC(kernel='precomputed') is right."
        ]
    if verdict == "nearly psd":
        return [
            "Nearly positive semidefinite: a plain SVC is good enough. "
            "SpectrumSVC('clip') removes the rest at the cost of one "
            "eigendecomposition."
        ]
    if order is not None:
        return [
            f"Conditionally positive definite of order {order}: CPDSVC uses it as it "
            "is, without any fix."
        ]
    return [_about_negative_part(part), _NEW_ROWS]


_NEW_ROWS = (
    "New rows must be mapped in the same way as the training matrix. krein's "
    "estimators do this: pass raw similarities, and do not fix the matrix by hand."
)


def _about_negative_part(part: NegativePart) -> str:
    """Keep the negative part only if it is known to have to do with the labels."""
    if part.related:
        return (
            "The negative part is related to the labels (permutation "
            f"p = {part.label_p_value:.2g}), so it is likely worth keeping: use "
            "SpectrumSVC('flip') or KreinSVC. Clip would remove it. "
            "krein.compare(K, y) decides by cross-validation."
        )
    if part.verdict == "noise":
        known = ""
        if part.label_p_value is not None:
            known = ", and no relation to the labels was shown"
        return (
            f"The negative part looks like noise{known}: likely best removed. Use "
            "SpectrumSVC('clip') or ProxySVC."
        )
    if part.label_p_value is not None:
        return _unrelated(part, part.label_p_value)
    if part.verdict == "structure":
        return (
            "The negative part has structure. Whether it helps depends on the labels, "
            "which were not given: call diagnose(K, y)."
        )
    return (
        "It is not clear whether the negative part is noise, and there are no labels "
        "to judge it by. krein.compare(K, y) decides by cross-validation."
    )


def _unrelated(part: NegativePart, p_value: float) -> str:
    """Its relation to the labels is at most a hint."""
    relation = "no relation of it to the labels was shown"
    if p_value <= _HINT:
        relation = "there is a hint of a relation to the labels, which is not sure"
    start = "Of the negative part it is not clear whether it is noise"
    if part.verdict == "structure":
        start = "The negative part has structure"
    return (
        f"{start}; {relation} (permutation p = {p_value:.2g}): start with "
        "SpectrumSVC('clip'). krein.compare(K, y) decides by cross-validation."
    )
