"""Every sentence about a comparison, made of the records in `reasons`.

The terminal, the page, ``str()`` and the JSON of the command line take their words from
here. To say something otherwise, change `SENTENCES`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from krein.verdicts.reasons import (
    LEVEL,
    Baseline,
    Fix,
    Higher,
    LabelsMatched,
    OtherKernel,
    Reason,
    SpectrumFix,
    Standing,
    Verdict,
    Why,
)

Name = Callable[[str], str]  # a contender's name -> what it is called in a sentence
_NAMED = 3  # contenders that a sentence names; of more it says the number
_HEADLINE = 15  # words
R = TypeVar("R")

_FREE_ANSWERS = {  # what an answer that costs nothing does, by its name
    "chance": "guessing",
    "largest class": "always naming the largest class",
    "shares of the classes": "naming the shares of the classes",
    "always the mean": "always naming the mean",
}

SENTENCES = {
    # which contender, by verdict; {why} is one of the clauses below
    Verdict.CLEAR: (
        "Use {name}{why}: its mean {score} {mean} {over} is clearly better than that "
        "of every other method."
    ),
    Verdict.NOT_TOLD_APART: "Use {name}{why}: mean {score} {mean} {over}.",
    Verdict.NO_CLEAR_WINNER: (
        "No clear winner: {best} has the best score (mean {score} {top} {over}), but "
        "these data cannot tell {name} from any other method. Use {name}{why}."
    ),
    "no clear winner, the best": (
        "No clear winner: {name} has the best score (mean {score} {mean} {over}), but "
        "these data cannot tell it from any other method. Use it."
    ),
    Verdict.TOO_FEW_SPLITS: (
        "Nothing can be tested {over}: {best} has the best score (mean {score} {top}). "
        "Use {name}{why}."
    ),
    Verdict.ONLY_ONE: "Only {name} was run: mean {score} {mean} {over}.",
    Verdict.NOT_SHOWN: (
        "It was not shown that anything was learnt: {name} has a mean {score} of "
        "{mean} {over}, and {free_answer} has {free} (p = {p}). More items may show "
        "it; until then {name} is the one to try."
    ),
    Verdict.NOTHING_LEARNT: (
        "Nothing was learnt: {name} has a mean {score} of {mean} {over}, and "
        "{free_answer} has {free}. {doubt} Until that is settled, no method can be "
        "recommended."
    ),
    # over how many splits
    "over splits": "over {splits} splits",
    "over one split": "on one split",
    # what to look at where nothing was learnt
    "doubt": (
        "Are the labels in the order of the items, and does a large number mean "
        "similar?"
    ),
    "doubt, labels matched": (
        "The labels were matched by name, so their order is right. Does a large "
        "number mean similar, and are these the labels that the similarity is about?"
    ),
    # why it is recommended
    Why.HIGHEST: "",
    Why.DEFAULT: ", which does well on most data and is not clearly beaten here",
    Why.BEATS_DEFAULT: (
        ", which is better than the usual default by more than 1.5 standard errors"
    ),
    Why.SIMPLEST: ", the simplest of those near the best",
    # the other contenders
    "equal, all": "No other method can be told apart from it.",
    "equal": "{names} cannot be told apart from it.",
    "higher, one": (
        "{name} has a better score ({mean}, p = {p}), but not by more than chance "
        "explains."
    ),
    "higher, many": (
        "{number} methods have better scores, {name} the best ({mean}, p = {p}), but "
        "not by more than chance explains."
    ),
    "and": " and ",
    "more": "{number} more",
    # whether the spectrum has to be fixed
    Fix.MATTERS: (
        "{raw} is behind {fixed} by {gain} (p = {p}): the spectrum fix matters."
    ),
    Fix.UNSURE: (
        "{raw} is behind {fixed} by {gain} (p = {p}); the data are too few to be sure "
        "that the fix matters."
    ),
    Fix.NO_DIFFERENCE: (
        "How negative eigenvalues are treated makes no difference that these data can "
        "show."
    ),
    Fix.RAW_IS_BETTER: "{raw} is ahead of {fixed} by {gain} (p = {p}): do not fix it.",
    Fix.NOTHING_TO_FIX: (
        "The similarity is positive semidefinite: there is nothing to fix."
    ),
    # what a model that chooses what is fed to it has chosen
    "fed": (
        "In {splits} splits {name} was fed the similarity {conversions}; the best fix "
        "of each was {fixes}."
    ),
    # several kernels
    "kernel": (
        "Use {kernel} with {name}: mean {score} {mean} {over}, against {others}."
    ),
    "kernel, other": "{kernel} {mean} (p = {p})",
    "kernel, equal": "These data cannot tell it from {kernels}.",
    # what the p-values of a table are
    "p, items": (
        "p: the probability of a difference this large to the recommended method, if "
        "both were equally good; above 0.05 the two cannot be told apart. It comes "
        "from a paired test over items that allows for overlapping training sets, and "
        "is adjusted for the number of tests (Holm)."
    ),
    "p, splits": (
        "p: the probability of a difference this large to the recommended method, if "
        "both were equally good; above 0.05 the two cannot be told apart. It comes "
        "from the corrected resampled t-test over splits, and is adjusted for the "
        "number of tests (Holm)."
    ),
    "p, kernels": (
        "In this table the recommended method is that of the same kernel; kernels are "
        "compared in the sentence above."
    ),
    "p, none": "Few splits cannot prove any difference: p-values are left out.",
    "optimism": (
        "The best of {number} scores, {best}, is partly luck, because it was chosen "
        "as the best. Corrected for that by the bootstrap, the {score} is {corrected}."
    ),
    "intervals": "Means with 95 % intervals, widened for overlapping training sets.",
    "intervals, none": "Scores of one split: there are no intervals.",
    # headlines, of at most fifteen words
    "headline": "Use {using}: {score} {mean}",
    "headline, kernel": "{kernel} with {name}",
    "headline, not shown": (
        "Nothing was shown to be learnt: {score} {mean}, {free_name} {free}"
    ),
    "headline, nothing learnt": (
        "Nothing was learnt: {score} {mean}, {free_name} {free}"
    ),
    "headline, no clear winner": " (no clear winner)",
    "headline, beside": ", {name} {value}",
    # what failed, and what a saved model is worth
    "failed": "{name} failed: {why}",
    "nothing completed": "No method was run.",
    "left out": "{name} was left out, it failed: {why}",
    "saved, nothing learnt": (
        "warning: the saved model is no better than an answer that costs nothing"
    ),
    "saved, not shown": (
        "warning: the saved model was not shown to be better than an answer that costs "
        "nothing"
    ),
    # the demo, in errors
    "demo, fix": (
        "{raw} is wrong on {raw_errors} % of new items, {second} on {second_errors} %, "
        "{third} on {third_errors} %, and what krein recommends, {name}, on {errors} %."
    ),
    "demo, nothing to fix": (
        "the similarity is positive semidefinite, {raw} is wrong on {raw_errors} % of "
        "new items, and no method is clearly better. Nothing has to be done here."
    ),
}


def say(key: str, **values: object) -> str:
    """Return a sentence with its values."""
    return SENTENCES[key].format(**values)


def advice(
    verdict: Verdict, equals: Sequence[str], reasons: Sequence[Reason], name: Name
) -> list[str]:
    """Return a recommendation in sentences, the answer first.

    Parameters
    ----------
    verdict : Verdict
        What the scores say.
    equals : sequence of str
        Contenders that cannot be told from the recommended one, itself included.
    reasons : sequence of Reason
        The numbers.
    name : callable
        What a contender is called.
    """
    standing = _only(reasons, Standing)
    if standing is None:
        raise ValueError("a recommendation has to have a Standing among its reasons")
    higher = _only(reasons, Higher)
    matched = _only(reasons, LabelsMatched) is not None
    doubt = say("doubt, labels matched" if matched else "doubt")
    said = [_answer(verdict, standing, higher, _only(reasons, Baseline), name, doubt)]
    if verdict is Verdict.NOT_TOLD_APART:
        said += _about_equals(standing, equals, name)
        said += _about_higher(higher, name)
    fix = _only(reasons, SpectrumFix)
    return said if fix is None else [*said, _about_fix(fix, name)]


def repeats_headline(verdict: Verdict, reasons: Sequence[Reason]) -> bool:
    """Whether the first sentence says no more than the headline."""
    standing = _only(reasons, Standing)
    highest = standing is not None and standing.why is Why.HIGHEST
    others = any(isinstance(reason, OtherKernel) for reason in reasons)
    return verdict is Verdict.NOT_TOLD_APART and highest and not others


def _only(reasons: Sequence[Reason], kind: type[R]) -> R | None:
    """The reason of a kind, if there is one."""
    return next((reason for reason in reasons if isinstance(reason, kind)), None)


def _answer(
    verdict: Verdict,
    standing: Standing,
    higher: Higher | None,
    baseline: Baseline | None,
    name: Name,
    doubt: str,
) -> str:
    """The sentence that names the contender to use."""
    best = standing if higher is None else higher
    key: str = verdict
    if verdict is Verdict.NO_CLEAR_WINNER and higher is None:
        key = "no clear winner, the best"
    return say(
        key,
        name=name(standing.contender),
        why=say(standing.why),
        score=standing.score,
        mean=_score(standing.mean),
        over=_over(standing.splits),
        best=name(best.contender),
        top=_score(best.mean),
        doubt=doubt,
        **({} if baseline is None else _free(baseline)),
    )


def _over(splits: int) -> str:
    """Over how many splits a mean is."""
    return say("over one split") if splits == 1 else say("over splits", splits=splits)


def _free(baseline: Baseline) -> dict[str, str]:
    """The answer that costs nothing: its short name, what it does, and its score."""
    return {
        "free_name": baseline.name,
        "free_answer": _FREE_ANSWERS.get(baseline.name, baseline.name),
        "free": _score(baseline.mean),
        "p": "" if baseline.p_value is None else p_value_in_words(baseline.p_value),
    }


def _about_equals(standing: Standing, equals: Sequence[str], name: Name) -> list[str]:
    """Name the contenders that cannot be told apart from the recommended one."""
    others = [name(other) for other in equals if other != standing.contender]
    if not others:
        return []
    if len(others) == standing.others > 1:
        return [say("equal, all")]
    return [say("equal", names=_listed(others))]


def _listed(names: list[str]) -> str:
    """The first names, and how many more there are."""
    if len(names) > _NAMED:
        names = [*names[:_NAMED], say("more", number=len(names) - _NAMED)]
    if len(names) == 1:
        return names[0]
    return ", ".join(names[:-1]) + say("and") + names[-1]


def _about_higher(higher: Higher | None, name: Name) -> list[str]:
    """Name the highest of the contenders that are higher than the recommended one."""
    if higher is None:
        return []
    key = "higher, one" if higher.number == 1 else "higher, many"
    sentence = say(
        key,
        name=name(higher.contender),
        mean=_score(higher.mean),
        p=p_value_in_words(higher.p_value),
        number=higher.number,
    )
    return [sentence]


def _about_fix(fix: SpectrumFix, name: Name) -> str:
    """Say whether it matters how negative eigenvalues are treated."""
    return say(
        fix.outcome,
        raw=name(fix.raw) if fix.raw else "",
        fixed=name(fix.fixed) if fix.fixed else "",
        gain=_score(abs(fix.gain)),
        p=p_value_in_words(fix.p_value),
    )


def about_kernels(
    kernel: str, reasons: Sequence[Reason], equal_kernels: Sequence[str], name: Name
) -> list[str]:
    """Return the recommendation of one kernel among several in sentences."""
    standing = _only(reasons, Standing)
    if standing is None:
        raise ValueError("a recommendation has to have a Standing among its reasons")
    others = [
        say(
            "kernel, other",
            kernel=reason.kernel,
            mean=_score(reason.mean),
            p=p_value_in_words(reason.p_value),
        )
        for reason in reasons
        if isinstance(reason, OtherKernel)
    ]
    sentence = say(
        "kernel",
        kernel=kernel,
        name=name(standing.contender),
        score=standing.score,
        mean=_score(standing.mean),
        over=_over(standing.splits),
        others=", ".join(others),
    )
    equal = [other for other in equal_kernels if other != kernel]
    if not equal:
        return [sentence]
    return [sentence, say("kernel, equal", kernels=", ".join(equal))]


def headline(
    verdict: Verdict,
    reasons: Sequence[Reason],
    name: Name,
    *,
    kernel: str = "",
    raw: tuple[str, float] | None = None,
) -> str:
    """Return the answer in at most fifteen words.

    Parameters
    ----------
    verdict, reasons, name
        As in `advice`.
    kernel : str
        The recommended kernel, where there are several.
    raw : (str, float), optional
        The contender on the raw matrix and its score, to be named beside.
    """
    standing = _only(reasons, Standing)
    baseline = _only(reasons, Baseline)
    if standing is None or baseline is None:
        raise ValueError("a headline needs a Standing and a Baseline")
    score = {"score": standing.score, "mean": _score(standing.mean)}
    if verdict is Verdict.NOTHING_LEARNT:
        return say("headline, nothing learnt", **score, **_free(baseline))
    if verdict is Verdict.NOT_SHOWN:
        return say("headline, not shown", **score, **_free(baseline))
    using = name(standing.contender)
    if kernel:
        using = say("headline, kernel", kernel=kernel, name=using)
    text = say("headline", using=using, **score)
    beside = (baseline.name, baseline.mean)
    if raw is not None and raw[0] != standing.contender:
        beside = (name(raw[0]), raw[1])
    more = [say("headline, beside", name=beside[0], value=_score(beside[1]))]
    if verdict is Verdict.NO_CLEAR_WINNER:
        more.insert(0, say("headline, no clear winner"))
    for addition in more:  # what does not fit is left to the text
        if len(f"{text}{addition}".split()) <= _HEADLINE:
            text += addition
    return text


def demo_finding(comparison: Any) -> str:
    """Mistakes of the recommended contender of the demo and of the plain ones."""
    wrong = {row["method"]: 100 * (1 - row["accuracy"]) for row in comparison.table()}
    errors = {name: f"{share:.1f}" for name, share in wrong.items()}
    answer = comparison.recommendation
    title = comparison.title
    if not comparison.indefinite and "svc" in answer.equals:
        return say("demo, nothing to fix", raw=title("svc"), raw_errors=errors["svc"])
    return say(
        "demo, fix",
        raw=title("svc"),
        raw_errors=errors["svc"],
        second=title("neighbors"),
        second_errors=errors["neighbors"],
        third=title("features"),
        third_errors=errors["features"],
        name=title(answer.contender),
        errors=errors[answer.contender],
    )


def _score(value: float) -> str:
    return f"{value:.3f}"


def p_value_in_words(value: float) -> str:
    """Two digits of a p-value, or as many as show that it is above the level."""
    digits = 2
    while value > LEVEL >= float(f"{value:.{digits}g}"):
        digits += 1
    return f"{value:.{digits}g}"
