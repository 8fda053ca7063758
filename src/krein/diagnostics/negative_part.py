"""The negative part: noise or structure, related to the labels or not, and what to use.

Three views: the semicircle of symmetric noise (Wigner), agreement of the negative
eigenvectors between random halves of the items, and alignment with the labels against
permutations. Structure is a reason to keep the negative part only where it has to do
with the labels: a repeatable direction that says nothing about the classes is as
useless to a classifier as noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy.linalg

from krein.arrays import Array
from krein.diagnostics.findings import Finding, texts
from krein.diagnostics.spectrum_facts import SpectrumFacts, centred_indicators

# |x| <= 0.404 R holds for half of a semicircle distribution of radius R.
_SEMICIRCLE_MEDIAN = 0.4040
_HALVES = 5
_PERMUTATIONS = 200
RELATED = 0.01  # p-values of a relation, and of a hint of one
_HINT = 0.05

Verdict = Literal["none", "noise", "structure", "unclear"]


@dataclass(frozen=True)
class NegativePart:
    """What the negative part of the spectrum looks like.

    Attributes
    ----------
    verdict : {"none", "noise", "structure", "unclear"}
        The summary of the views below.
    noise_edge : float or None
        Radius of the semicircle fitted to the negative eigenvalues (their bulk);
        None where fewer than a quarter of the eigenvalues are negative, which
        symmetric noise on all entries cannot produce.
    outside : int
        Negative eigenvalues beyond the edge by more than its fluctuation.
    agreement : float or None
        Mean |cosine| between the leading negative eigenvector of one half of the
        items and that of the other half carried over by the similarities.
    agreement_by_chance : float or None
        What independent vectors of that length would give.
    label_p_value : float or None
        Share of label permutations whose alignment with the negative eigenspace is
        at least as large; None without labels.
    """

    verdict: Verdict
    noise_edge: float | None = None
    outside: int = 0
    agreement: float | None = None
    agreement_by_chance: float | None = None
    label_p_value: float | None = None

    @property
    def related(self) -> bool | None:
        """Whether the negative part knows the labels; None without labels."""
        return None if self.label_p_value is None else self.label_p_value <= RELATED


def examine_negative_part(
    K: Array, facts: SpectrumFacts, y: np.ndarray | None, seed: int = 0
) -> NegativePart:
    """Judge the negative part of a symmetric similarity."""
    if facts.signature[1] == 0:
        return NegativePart("none")
    rng = np.random.default_rng(seed)
    edge, outside = semicircle(facts)
    agreement, chance = half_agreement(K, rng)
    p_value = None if y is None else label_alignment(facts, y, rng)
    repeatable = agreement > max(3.0 * chance, 0.3)
    if repeatable or (p_value is not None and p_value <= RELATED):
        verdict: Verdict = "structure"
    elif edge is not None and outside == 0:
        verdict = "noise"
    else:
        verdict = "unclear"
    return NegativePart(verdict, edge, outside, agreement, chance, p_value)


def semicircle(facts: SpectrumFacts) -> tuple[float | None, int]:
    """Fit Wigner's semicircle to the negative eigenvalues; count those outside.

    Symmetric noise of deviation s on n items has its eigenvalues within 2 s sqrt(n),
    half of them negative; the edge fluctuates by about R n^-2/3.
    """
    n = sum(facts.signature)
    negative = -facts.eigenvalues[facts.eigenvalues < 0]
    if not facts.exact or facts.signature[1] < 0.25 * n or negative.size < 8:
        return None, 0
    edge = float(np.median(negative)) / _SEMICIRCLE_MEDIAN
    outside = int(np.sum(negative > edge * (1.0 + 4.0 * n ** (-2 / 3)) * 1.1))
    return edge, outside


def half_agreement(K: Array, rng: np.random.Generator) -> tuple[float, float]:
    """Carry the leading negative eigenvector of one half to the other and compare."""
    n = K.shape[0]
    if n < 8:
        return 0.0, 1.0
    half = min(n // 2, 1000)
    cosines = []
    for _ in range(_HALVES):
        items = rng.permutation(n)[: 2 * half]
        a, b = items[:half], items[half:]
        u_a, l_a = _lowest(K[np.ix_(a, a)])
        u_b, l_b = _lowest(K[np.ix_(b, b)])
        if l_a >= 0 or l_b >= 0:
            cosines.append(0.0)
            continue
        carried = K[np.ix_(b, a)] @ u_a
        norm = float(np.linalg.norm(carried))
        cosines.append(abs(float(carried @ u_b)) / norm if norm else 0.0)
    # Mean |cosine| of a random unit vector with a fixed one in `half` dimensions.
    return float(np.mean(cosines)), float(np.sqrt(2.0 / (np.pi * half)))


def _lowest(A: Array) -> tuple[Array, float]:
    values, vectors = scipy.linalg.eigh(A, subset_by_index=[0, 0])
    return vectors[:, 0], float(values[0])


def label_alignment(
    facts: SpectrumFacts, y: np.ndarray, rng: np.random.Generator
) -> float:
    """Permutation p-value of the labels' energy in the negative eigenspace.

    The statistic is sum_i |l_i| |u_i' Z|^2 over negative eigenpairs, with Z the
    centred class indicators.
    """
    Z = centred_indicators(y)
    negative = facts.eigenvalues < 0
    U = facts.eigenvectors[:, negative] * np.sqrt(-facts.eigenvalues[negative])
    observed = float(np.sum((U.T @ Z) ** 2))
    at_least = sum(
        float(np.sum((U.T @ Z[rng.permutation(y.size)]) ** 2)) >= observed
        for _ in range(_PERMUTATIONS)
    )
    return (1 + at_least) / (1 + _PERMUTATIONS)


# ------------------------------------------------------------------------------ advice


Confidence = Literal["certain", "likely", "open"]

# Findings after which no method is worth naming.
_REPAIR_FIRST = (
    "looks-like-distances",
    "looks-like-similarities",
    "inverted-similarity",
    "inverted-distance",
    "constant-labels",
    "labels-all-different",
    "nearly-diagonal",
    "nearly-constant",
)


def advise(
    verdict: str,
    part: NegativePart,
    order: int | None,
    findings: list[Finding],
    forms: dict[str, float],
) -> tuple[list[str], Confidence]:
    """Return the lines of advice, most important first, and how sure they are."""
    say = {key: text.format for key, text in texts()["advice"].items()}
    for finding in findings:
        if finding.key in _REPAIR_FIRST:
            return [say["repair"](text=finding.text)], "certain"
    key, confidence = _advice(verdict, part, order)
    hint = part.label_p_value is not None and part.label_p_value <= _HINT
    lines = [
        say[key](
            order=order,
            p=part.label_p_value,
            known="" if part.related is None else " and does not show the labels",
            structure=" has structure but" if part.verdict == "structure" else "",
            relation="a hint of a relation to the labels, which is not sure,"
            if hint
            else "no relation to the labels",
        )
    ]
    if verdict == "indefinite" and not order:
        lines.append(say["new-rows"]())
    if forms and verdict != "psd":
        best = min(forms, key=lambda name: forms[name])
        lines.append(say["forms"](best=best, mass=forms[best]))
    return lines, confidence


def _advice(
    verdict: str, part: NegativePart, order: int | None
) -> tuple[str, Confidence]:
    """Keep the negative part only if it is known to have to do with the labels."""
    if verdict == "psd":
        return "psd", "certain"
    if verdict == "nearly psd":
        return "nearly-psd", "likely"
    if order is not None:
        return "cpd", "certain"
    if part.related:
        return "related", "likely"
    if part.related is None and part.verdict == "structure":
        return "structure", "open"
    if part.verdict == "noise":
        return "noise", "likely"
    return ("unclear" if part.related is None else "unrelated"), "open"
