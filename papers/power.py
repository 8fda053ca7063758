"""Which claims were at risk: those that a run could have shown to be wrong.

A claim that holds says little if it had to hold. Two kinds are counted apart, whatever
their verdict: those that follow from another row, and those that cannot fail (a
tolerance that nothing misses, a theorem, a property of our own code).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from papers.claims import Claim

__all__ = ["AT_RISK", "CANNOT_FAIL", "FOLLOWS", "kind_of", "reason_of", "verdicts_of"]

AT_RISK = "at risk"
FOLLOWS = "follows from another row"
CANNOT_FAIL = "cannot fail"

# (table, quantity) -> kind, and why.
_APART: dict[tuple[str, str], tuple[str, str]] = {
    ("chen-table1", "positive eigenvalues"): (
        FOLLOWS,
        "the number of points less the negative eigenvalues",
    ),
    ("chen-table1", "ratio"): (FOLLOWS, "of lambda_max and lambda_min"),
    ("chen-figures", "bounds are monotone"): (
        CANNOT_FAIL,
        "Theorem 4.1, and our code keeps the best bounds",
    ),
    ("chen-figures", "keeps the set smaller"): (CANNOT_FAIL, "pruning drops kernels"),
    ("liu-table2", "positive semidefinite in every half"): (
        FOLLOWS,
        "the sign of mu_min",
    ),
    ("liu-table5", "Gaussian is positive definite"): (CANNOT_FAIL, "a theorem"),
    ("liu-figure2", "faster at epsilon 1 than at 1e-4"): (
        FOLLOWS,
        "the ratio of both times",
    ),
    ("walder-table1", "standard error"): (
        CANNOT_FAIL,
        "a factor of three for the spread of five splits",
    ),
    ("walder-table1", "not worse than the Gaussian by two standard errors"): (
        CANNOT_FAIL,
        "one-sided, with the wide standard errors of five splits",
    ),
    ("walder-table1", "matches the Gaussian on every set"): (
        FOLLOWS,
        "the rows of the sets",
    ),
    ("walder-usps", "printed errors, % of 2007"): (
        FOLLOWS,
        "arithmetic on the printed errors",
    ),
    ("walder-usps", "better than free polynomials"): (FOLLOWS, "both errors"),
    ("walder-figure1", "is the same as another lambda"): (
        CANNOT_FAIL,
        "a symmetry of the kernel",
    ),
    ("walder-figure1", "boundary is a straight line"): (
        CANNOT_FAIL,
        "the limit of large lambda",
    ),
    ("walder-figure1", "separates the training points"): (
        CANNOT_FAIL,
        "Lemma 4.3: an interpolant exists",
    ),
    ("ying-table3", "accuracies agree within two standard errors"): (
        CANNOT_FAIL,
        "four solvers of one problem, to two standard errors",
    ),
    ("ying-table3", "slower than SMM"): (FOLLOWS, "the ratios of times"),
    ("ying-table3", "slower than SPGM"): (FOLLOWS, "the ratios of times"),
    ("ying-figure1", "needs fewer iterations than SPGM"): (
        FOLLOWS,
        "the ratio of both numbers of iterations",
    ),
    ("liu-figure3", "fewer iterations than CCCP-GD"): (
        FOLLOWS,
        "both numbers of iterations",
    ),
}


def kind_of(claim: Claim) -> str:
    """Tell whether a claim was at risk, whatever became of it."""
    return _APART.get((claim.table, claim.quantity), (AT_RISK, ""))[0]


def reason_of(claim: Claim) -> str:
    """Say why a claim is counted apart; "" where it is not."""
    return _APART.get((claim.table, claim.quantity), (AT_RISK, ""))[1]


def verdicts_of(claims: Iterable[Claim], kind: str) -> Counter[str]:
    """Count the verdicts of claims of one kind."""
    return Counter(claim.verdict for claim in claims if kind_of(claim) == kind)
