"""Which contender to use: a rule that was measured by its regret, and its reasons.

Scores on a handful of splits differ by chance, so that taking the highest one is
a gamble. A default that does well on most data is therefore kept unless another
contender beats it by more than one and a half standard errors: `similarity`, which
chooses what is fed to the machine; where that was not run `average`, the mean of many
spectrum SVMs; where that was not run clip, or the plain SVM on a positive
semidefinite similarity; `profiles` on a table of hits. ``benchmarks/regret.py`` has the
figures.

What is decided here is a record (`Recommendation`); `sentences` makes words of it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol

from krein.arrays import Array
from krein.comparison.columns import Column
from krein.comparison.contender import Contender
from krein.comparison.contenders import CONTENDERS, TASKS
from krein.comparison.problem import Problem
from krein.comparison.significance import beats, holm
from krein.selection.folds import Fold
from krein.verdicts import sentences
from krein.verdicts.reasons import (
    LEVEL,
    USELESS,
    Baseline,
    Fix,
    Higher,
    LabelsMatched,
    Reason,
    SpectrumFix,
    Standing,
    Verdict,
    Why,
)

_BEATEN = 1.5  # standard errors of a difference; see docs/decisions/0017
_RAW = "svc"
_FIXED = ("clip", "flip")  # the same machine as `_RAW`, on a fixed spectrum


@dataclass(frozen=True)
class Recommendation:
    """Which contender to use, and why.

    Attributes
    ----------
    contender : str
        Its name: the default, or what beats it by more than 1.5 corrected standard
        errors.
    verdict : Verdict
        What the scores say about it, such as ``"clear"`` or ``"nothing learnt"``.
    equals : tuple of str
        Contenders that cannot be told apart from the recommended one, which is among
        them, the highest score first.
    reasons : tuple of records
        The numbers behind the verdict: `Standing`, `Baseline`, `Higher`,
        `SpectrumFix`, `OtherKernel`, `LabelsMatched`, of `krein.verdicts.reasons`.
    task : str
        Classification or regression.
    kernel : str or None
        The recommended kernel, where several were compared.
    equal_kernels : tuple of str
        Kernels that cannot be told apart from it, itself included.
    """

    contender: str
    verdict: Verdict
    equals: tuple[str, ...]
    reasons: tuple[Reason, ...]
    task: str = "classification"
    kernel: str | None = None
    equal_kernels: tuple[str, ...] = ()

    @property
    def method(self) -> str:
        """The same as `contender`."""
        return self.contender

    @property
    def clear(self) -> bool:
        """False when others cannot be told apart from it."""
        if self.kernel is not None and self.useful:
            return self.verdict is Verdict.CLEAR
        return self.equals == (self.contender,)

    @property
    def useful(self) -> bool:
        """False when it was not shown to beat an answer that costs nothing."""
        return self.verdict not in USELESS

    @property
    def decided(self) -> bool:
        """False when no two contenders can be told apart although scores differ."""
        return self.verdict is not Verdict.NO_CLEAR_WINNER

    @property
    def text(self) -> str:
        """The recommendation in words."""
        return self.in_words()

    def in_words(
        self, name: Callable[[str], str] | None = None, *, below_headline: bool = False
    ) -> str:
        """Return the recommendation in words.

        Parameters
        ----------
        name : callable, optional
            What a contender is called; by its title when not given.
        below_headline : bool
            Leave out the first sentence where it says no more than the headline.

        Returns
        -------
        str
        """
        name = name or self.title
        if self.kernel is None or not self.useful:
            said = sentences.advice(self.verdict, self.equals, self.reasons, name)
        else:
            equal = self.equal_kernels
            said = sentences.about_kernels(self.kernel, self.reasons, equal, name)
        if below_headline and sentences.repeats_headline(self.verdict, self.reasons):
            del said[0]
        return " ".join(said)

    def title(self, contender: str) -> str:
        """What a contender is called in tables."""
        return TASKS[self.task].methods[contender].title

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON; each reason has its kind."""
        reasons = [{"kind": type(r).__name__, **asdict(r)} for r in self.reasons]
        plain = {**vars(self), "reasons": reasons, "text": self.text}
        plain |= {key: list(plain[key]) for key in ("equals", "equal_kernels")}
        return plain | {"verdict": str(self.verdict)}


# --------------------------------------------------------------------------- the choice


def default_method(
    methods: Collection[str], *, indefinite: bool, hits: bool = False
) -> str | None:
    """What is kept unless something beats it, of the methods that were run.

    Without negative eigenvalues clip is the plain SVM at the cost of an
    eigendecomposition; a table of hits has a default of its own.
    """
    robust = ["similarity", "average", "clip" if indefinite else _RAW]
    return next((m for m in ["profiles"] * hits + robust if m in methods), None)


def choose(
    scores: Mapping[str, Array],
    share: float,
    default: str | None,
    registry: Mapping[str, Any] = CONTENDERS,
) -> str:
    """Return the default, or the best of the methods that beat it.

    Parameters
    ----------
    scores : mapping of str to ndarray of shape (n_splits,)
        By method, on the same splits; larger is better.
    share : float
        n_test / n_train.
    default : str or None
        Of `default_method`.
    registry : mapping
        The methods by name.
    """
    if default is None:
        best = max(scores, key=lambda m: float(scores[m].mean()))
        near = [m for m in scores if not beats(scores[best], scores[m], share)]
        return min(near, key=lambda m: registry[m].simplicity)
    better = [m for m in scores if beats(scores[m], scores[default], share, _BEATEN)]
    order = {m: (-float(scores[m].mean()), registry[m].simplicity) for m in better}
    return min(better, key=lambda m: order[m], default=default)


class _Scored(Protocol):
    """What a recommendation is made of: scores of contenders on the same splits.

    `Comparison` is one; its docstrings say what each of these is.
    """

    @property
    def task(self) -> str: ...
    @property
    def problem(self) -> Problem: ...
    @property
    def splits(self) -> Sequence[Fold]: ...
    @property
    def registry(self) -> Mapping[str, Contender]: ...
    @property
    def ranking(self) -> list[str]: ...
    @property
    def best(self) -> str: ...
    @property
    def deciding(self) -> Column: ...
    @property
    def levels(self) -> list[tuple[str, float]]: ...
    @property
    def of_hits(self) -> bool: ...
    @property
    def indefinite(self) -> bool: ...
    @property
    def test_share(self) -> float: ...
    @property
    def can_differ(self) -> bool: ...
    @property
    def chosen(self) -> tuple[str, Why]: ...
    @property
    def p_values(self) -> dict[str, float]: ...
    def scores(self, method: str) -> Array: ...
    def mean(self, method: str) -> float: ...
    def shown(self, method: str) -> str: ...
    def shown_value(self, method: str) -> float: ...
    def p_value(self, a: str, b: str) -> float: ...
    def adjusted_p_value(self, a: str, b: str) -> float: ...
    def p_value_against_free(self, method: str) -> float | None: ...


def choose_contender(comparison: _Scored) -> tuple[str, Why]:
    """Return the contender to recommend, and the rule that chose it.

    What a test tells from the choice, and is higher, is taken instead.
    """
    ranking = comparison.ranking or [comparison.best]  # which says why there is none
    scores = {m: comparison.scores(m) for m in ranking}
    # Whether clip may differ from the plain SVM; not asked where that was not run.
    indefinite = _RAW not in scores or comparison.indefinite
    default = default_method(scores, indefinite=indefinite, hits=comparison.of_hits)
    chosen = choose(scores, comparison.test_share, default, comparison.registry)
    if comparison.can_differ:
        chosen = _surely_higher(comparison, ranking, chosen) or chosen
    if chosen == ranking[0]:
        return chosen, Why.HIGHEST
    if chosen == default:
        return chosen, Why.DEFAULT
    if default is None:
        return chosen, Why.SIMPLEST
    return chosen, Why.BEATS_DEFAULT


def _surely_higher(
    comparison: _Scored, ranking: Sequence[str], chosen: str
) -> str | None:
    """Return the first contender above the chosen one that a test tells from it."""
    others = [name for name in ranking if name != chosen]
    p_values = holm([comparison.p_value(chosen, other) for other in others])
    above = ranking.index(chosen)
    for other, p_value in zip(others[:above], p_values, strict=False):
        if p_value <= LEVEL:
            return other
    return None


def pairs_to_test(comparison: _Scored, chosen: str) -> list[tuple[str, str]]:
    """Pairs of contenders that a comparison makes statements about.

    All others against the recommended one; and the raw similarity against the same
    machine on a fixed spectrum, where it has negative eigenvalues.
    """
    pairs = [(chosen, other) for other in comparison.ranking if other != chosen]
    if _RAW not in comparison.ranking or not comparison.indefinite:
        return pairs
    fixed = [m for m in _FIXED if m in comparison.ranking]
    return pairs + [(_RAW, m) for m in fixed if chosen not in (_RAW, m)]


# -------------------------------------------------------------------------- the reasons


def recommend(comparison: _Scored) -> Recommendation:
    """Say which contender to use, and give the reasons as records.

    Parameters
    ----------
    comparison : Comparison
        Scores of contenders on the same splits.
    """
    chosen, why = comparison.chosen
    p_values = comparison.p_values
    equals = tuple(m for m in comparison.ranking if p_values[m] > LEVEL)
    baseline = _baseline(comparison, chosen)
    standing = Standing(
        contender=chosen,
        score=comparison.deciding.title,
        mean=comparison.shown_value(chosen),
        splits=len(comparison.splits),
        others=len(comparison.ranking) - 1,
        why=why,
    )
    verdict = _verdict(comparison, chosen, equals, baseline)
    reasons: list[Reason | None] = [standing, baseline, _higher(comparison, chosen)]
    reasons.append(_spectrum_fix(comparison, verdict))
    if comparison.problem.labels_matched:
        reasons.append(LabelsMatched())
    kept = tuple(reason for reason in reasons if reason is not None)
    return Recommendation(chosen, verdict, equals, kept, comparison.task)


def _baseline(comparison: _Scored, chosen: str) -> Baseline:
    """The best answer that costs nothing, and whether the contender is better."""
    sign = comparison.deciding.sign
    name, free = max(comparison.levels, key=lambda level: sign * level[1])
    return Baseline(name, free, comparison.p_value_against_free(chosen))


def _verdict(
    comparison: _Scored, chosen: str, equals: tuple[str, ...], baseline: Baseline
) -> Verdict:
    """Return what the scores say about the recommended contender."""
    if comparison.mean(chosen) <= comparison.deciding.sign * baseline.mean + 1e-12:
        return Verdict.NOTHING_LEARNT
    if baseline.p_value is not None and baseline.p_value > LEVEL:
        return Verdict.NOT_SHOWN
    if len(comparison.ranking) == 1:
        return Verdict.ONLY_ONE
    if equals == (chosen,):
        return Verdict.CLEAR
    if not comparison.can_differ:
        return Verdict.TOO_FEW_SPLITS
    if len(equals) == len(comparison.ranking) and _differ(comparison, chosen):
        return Verdict.NO_CLEAR_WINNER
    return Verdict.NOT_TOLD_APART


def _differ(comparison: _Scored, chosen: str) -> bool:
    """Whether a contender is further away than a standard error."""
    mine = comparison.scores(chosen)
    share = comparison.test_share
    others = [comparison.scores(m) for m in comparison.ranking if m != chosen]
    return any(beats(mine, s, share) or beats(s, mine, share) for s in others)


def _higher(comparison: _Scored, chosen: str) -> Higher | None:
    """The contenders of a higher score, as it is shown."""
    mine = comparison.shown(chosen)
    ahead = comparison.ranking[: comparison.ranking.index(chosen)]
    ahead = [m for m in ahead if comparison.shown(m) != mine]
    if not ahead:
        return None
    highest = ahead[0]
    mean = comparison.shown_value(highest)
    return Higher(highest, mean, comparison.p_values[highest], len(ahead))


def _spectrum_fix(comparison: _Scored, verdict: Verdict) -> SpectrumFix | None:
    """Whether it matters how negative eigenvalues are treated.

    The raw similarity is compared with the same machine on the clipped and on the
    flipped one: with other contenders it differs in more than the fix.
    """
    ran = comparison.ranking
    if _RAW not in ran:
        return None
    if not comparison.indefinite:
        return SpectrumFix(Fix.NOTHING_TO_FIX)
    fixed = [m for m in ran if m in _FIXED]
    if not fixed or verdict in USELESS:
        return None
    best = fixed[0]
    gain = comparison.mean(best) - comparison.mean(_RAW)
    p_value = comparison.adjusted_p_value(_RAW, best)
    outcome = Fix.NO_DIFFERENCE
    if p_value <= LEVEL:
        outcome = Fix.MATTERS if gain > 0 else Fix.RAW_IS_BETTER
    elif beats(comparison.scores(best), comparison.scores(_RAW), comparison.test_share):
        outcome = Fix.UNSURE
    return SpectrumFix(outcome, _RAW, best, gain, p_value)
