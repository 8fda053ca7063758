"""What to use, by the state of the negative part: the words stand beside their case."""

from __future__ import annotations

from krein.diagnostics.facts import NegativePart
from krein.diagnostics.findings import Finding

_HINT = 0.05  # p-value of a hint that the negative part knows the labels


def advise(
    verdict: str,
    part: NegativePart,
    order: int | None,
    findings: list[Finding],
    *,
    kind: str = "similarity",
    numbers: bool = False,
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
    kind : {"similarity", "distance"}
        What was given.
    numbers : bool
        Whether numbers are to be predicted instead of classes.
    """
    for finding in findings:
        meaningless = finding.severity == "error" and finding.key != "small-class"
        if meaningless or finding.key.startswith("nearly-"):
            return [f"First repair this: {finding.text}"]
    use = _use(kind, numbers)
    svm = "SVR" if numbers else "SVC"
    if verdict == "psd":
        return [
            "Positive semidefinite to rounding: there is nothing to fix, a plain "
            f"{svm}(kernel='precomputed') is exact.",
            use,
        ]
    if verdict == "nearly psd":
        return [
            "Nearly positive semidefinite: the fix hardly matters, a plain "
            f"{svm} makes about the same of it.",
            use,
        ]
    if order is not None:
        return [
            f"Conditionally positive definite of order {order}: CPDSVC uses it as it "
            "is, without any fix.",
            use,
        ]
    return [_about_negative_part(part), use, _NEW_ROWS]


def _use(kind: str, numbers: bool) -> str:
    """The recommendation, the same for every matrix."""
    model = "SimilarityRegressor" if numbers else "SimilarityClassifier"
    call = f"{model}().fit(K, y)"
    question = "krein.compare(K, y)"
    if kind == "distance":
        call = f"{model}(kind='distance').fit(D, y)"
        question = "krein.compare(D, y, kind='distance')"
    return (
        f"Use {call}: by cross-validation it chooses what is made of the {kind}, the "
        f"fix and C. {question} says whether simpler methods are as good."
    )


_NEW_ROWS = (
    "New rows must be mapped in the same way as the training matrix. krein's "
    "estimators do this: pass raw similarities, and do not fix the matrix by hand."
)


def _about_negative_part(part: NegativePart) -> str:
    """Keep the negative part only if it is known to have to do with the labels."""
    if part.related:
        return (
            "The negative part is related to the labels (permutation "
            f"p = {part.label_p_value:.2g}), so it is likely worth keeping, as flip "
            "does. Clip would remove it."
        )
    if part.verdict == "noise":
        known = ""
        if part.label_p_value is not None:
            known = ", and no relation to the labels was shown"
        return (
            f"The negative part looks like noise{known}: likely best removed, as clip "
            "does."
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
        "to judge it by."
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
        f"{start}; {relation} (permutation p = {p_value:.2g}). Only cross-validation "
        "can say whether to keep it or to remove it, as clip does."
    )
