"""What a recommendation consists of: a verdict, and reasons with their numbers.

Nothing here has words for people. They are made of these records in `sentences`, and
nowhere else.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

LEVEL = 0.05  # p-value up to which two contenders are told apart


class Verdict(StrEnum):
    """What the scores say about the recommended contender."""

    CLEAR = "clear"  # better than every other contender
    NOT_TOLD_APART = "not told apart"  # from some of the others
    NO_CLEAR_WINNER = "no clear winner"  # from none, although scores differ
    TOO_FEW_SPLITS = "too few splits"  # for any test to tell two apart
    ONLY_ONE = "only one"  # contender was run
    NOT_SHOWN = "not shown"  # to be better than an answer that costs nothing
    NOTHING_LEARNT = "nothing learnt"  # no better than an answer that costs nothing


USELESS = (Verdict.NOT_SHOWN, Verdict.NOTHING_LEARNT)


class Why(StrEnum):
    """Why this contender, and not the one of the highest score."""

    HIGHEST = "highest"
    DEFAULT = "default"  # of `default_contender`, and nothing beats it
    BEATS_DEFAULT = "beats default"
    SIMPLEST = "simplest"  # of those near the highest, where no default was run


class Fix(StrEnum):
    """What the scores say about fixing the spectrum."""

    MATTERS = "matters"
    UNSURE = "unsure"  # the fixed matrix is better, but not beyond chance
    NO_DIFFERENCE = "no difference"  # that these data can show
    RAW_IS_BETTER = "raw is better"
    NOTHING_TO_FIX = "nothing to fix"  # the similarity is positive semidefinite


@dataclass(frozen=True)
class Standing:
    """The recommended contender: its score, and why it is recommended.

    Attributes
    ----------
    contender : str
        Its name.
    score : str
        Title of the score that decides.
    mean : float
        Over the splits; of errors as people read them, without a sign.
    splits : int
        Number of splits.
    others : int
        Number of other contenders with a score on every split.
    why : Why
        The rule that chose it.
    """

    contender: str
    score: str
    mean: float
    splits: int
    others: int
    why: Why


@dataclass(frozen=True)
class Baseline:
    """The best answer that costs nothing, and a test against it.

    Attributes
    ----------
    name : str
        What the answer is.
    mean : float
        Its score.
    p_value : float or None
        One-sided test that the recommended contender is better; None where one split
        of such a score allows no test.
    """

    name: str
    mean: float
    p_value: float | None


@dataclass(frozen=True)
class Higher:
    """Contenders of a higher score, which cannot be told from the recommended one.

    Attributes
    ----------
    contender : str
        The highest of them.
    mean : float
        Its score.
    p_value : float
        Of its difference to the recommended contender, as in the table.
    number : int
        How many contenders are higher.
    """

    contender: str
    mean: float
    p_value: float
    number: int


@dataclass(frozen=True)
class SpectrumFix:
    """The raw similarity against the same machine on a fixed spectrum.

    Attributes
    ----------
    outcome : Fix
        What can be said.
    raw, fixed : str
        Contenders; empty where there is nothing to fix.
    gain : float
        Score of the fixed one minus that of the raw one.
    p_value : float
        Of this difference, adjusted together with those of the table.
    """

    outcome: Fix
    raw: str = ""
    fixed: str = ""
    gain: float = 0.0
    p_value: float = 1.0


@dataclass(frozen=True)
class OtherKernel:
    """Another kernel with the contender that is recommended for it.

    Attributes
    ----------
    kernel, contender : str
        Their names.
    mean : float
        The score.
    p_value : float
        Of the difference to the recommended kernel, adjusted for all kernels.
    """

    kernel: str
    contender: str
    mean: float
    p_value: float


@dataclass(frozen=True)
class LabelsMatched:
    """Labels were found by the names of the items, so that their order is right."""


Reason: TypeAlias = (
    Standing | Baseline | Higher | SpectrumFix | OtherKernel | LabelsMatched
)
