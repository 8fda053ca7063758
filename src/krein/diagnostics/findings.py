"""What is wrong, or worth knowing, before any method is chosen; and what to use.

Every check looks at one thing and returns a `Finding` or nothing. A finding says in
one sentence what was seen, and carries the line of Python and the command that repair
it; the words stand in findings.toml.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import cache, cached_property
from importlib import resources
from typing import Any, Literal

import numpy as np

from krein.arrays import Array
from krein.diagnostics.facts import NegativePart, label_p_value
from krein.splitting import duplicate_groups, looks_like_hits, near_duplicate_share
from krein.validation import ROUNDING, is_continuous, wrong_direction

Severity = Literal["error", "warning", "note"]


@dataclass(frozen=True)
class Finding:
    """One thing that was seen, and how to repair it.

    Attributes
    ----------
    severity : {"error", "warning", "note"}
        Results are meaningless; results suffer; good to know.
    key : str
        A stable name, such as ``"nearly-diagonal"``.
    text : str
        One sentence or two.
    python, command : str
        The line of Python and the command that repair it; empty where there is none.

    Examples
    --------
    >>> import numpy as np
    >>> from krein import diagnose
    >>> D = np.array([[0.0, 1.0, 2.0], [1.0, 0.0, 1.5], [2.0, 1.5, 0.0]])
    >>> [(finding.severity, finding.key) for finding in diagnose(D).findings]
    [('error', 'looks-like-distances')]
    """

    severity: Severity
    key: str
    text: str
    python: str = ""
    command: str = ""

    def to_dict(self) -> dict[str, str]:
        """Plain strings, ready for JSON."""
        return asdict(self)


@dataclass(frozen=True)
class Evidence:
    """What the checks look at.

    Attributes
    ----------
    given : ndarray of shape (n, n)
        The matrix as it was given, missing entries filled.
    similarity : ndarray of shape (n, n)
        Symmetric similarities: those given, or those made from distances.
    kind : {"similarity", "distance"}
        What the matrix was said to be.
    y : ndarray of shape (n,) or None
        Labels.
    asymmetry : float
        Largest ``|K_ij - K_ji|`` over the largest entry.
    filled : int
        Missing entries that were taken from the mirror entry.
    cpd_order : int or None
        Order of conditional positive definiteness: splines of distances, such as d^3,
        are similarities with a zero diagonal.
    """

    given: Array
    similarity: Array
    kind: str = "similarity"
    y: np.ndarray | None = None
    asymmetry: float = 0.0
    filled: int = 0
    cpd_order: int | None = None

    @cached_property
    def self_similarity(self) -> float:
        """Mean |k(x, x)|."""
        return float(np.abs(np.diagonal(self.similarity)).mean())

    @cached_property
    def has_self_similarity(self) -> bool:
        """Whether the diagonal means anything (that of -d is zero)."""
        return self.self_similarity > 1e-9 * float(np.abs(self.similarity).max())

    @cached_property
    def counts(self) -> np.ndarray:
        """Number of items of each class, the rarest first."""
        assert self.y is not None
        return np.sort(np.unique(self.y, return_counts=True)[1])

    @property
    def has_classes(self) -> bool:
        """Whether the labels are two classes or more, with more than one item each."""
        if self.y is None or is_continuous(self.y):
            return False
        return 1 < self.counts.size <= self.y.size // 2


_SEVERITIES = ("error", "warning", "note")
_NEARLY = 0.05  # of the self-similarity: what counts as nothing, or as no difference
_FEW_ITEMS = 5  # as many as there are folds by default
_IMBALANCE = 0.9
_UNRELATED = 0.1  # p-value above which labels are called unrelated
_HINT = 0.05  # p-value of a hint that the negative part knows the labels


def find(evidence: Evidence) -> list[Finding]:
    """Return what was found, the worst first, and distances before all else."""
    found = [finding for check in _CHECKS if (finding := check(evidence)) is not None]
    return sorted(found, key=lambda finding: _SEVERITIES.index(finding.severity))


@cache
def texts() -> dict[str, dict[str, str]]:
    """The words of findings and advice, by key."""
    place = resources.files("krein.diagnostics") / "findings.toml"
    return tomllib.loads(place.read_text("utf-8"))


def _found(severity: Severity, key: str, **values: Any) -> Finding:
    """A finding with the words of findings.toml."""
    words = texts()[key]
    python = words.get("python", "")
    return Finding(
        severity,
        key,
        words["text"].format(**values),
        python.format(**values) if key == "scale" else python,
        words.get("command", ""),
    )


# ------------------------------------------------------------------------- the numbers


def _direction(seen: Evidence) -> Finding | None:
    if seen.cpd_order and seen.kind == "similarity":
        return None  # d^3 and the like: a zero diagonal is right
    found = wrong_direction(seen.given, seen.kind, seen.y if seen.has_classes else None)
    if found is None:
        return None
    return _found("error", found.key, seems=found.seems, reason=found.reason)


def _missing(seen: Evidence) -> Finding | None:
    if not seen.filled:
        return None
    entries = "entry" if seen.filled == 1 else "entries"
    return _found("warning", "missing-filled", filled=seen.filled, entries=entries)


def _asymmetric(seen: Evidence) -> Finding | None:
    if seen.asymmetry <= 1e-8:
        return None
    if seen.asymmetry <= ROUNDING:
        found = _found("note", "rounding", asymmetry=seen.asymmetry)
        return replace(found, key="asymmetric")
    return _found("warning", "asymmetric", asymmetry=seen.asymmetry)


def _nearly_diagonal(seen: Evidence) -> Finding | None:
    """Off the diagonal nothing is left, or a row sums to less than its diagonal."""
    if not seen.has_self_similarity:
        return None
    diagonal = np.abs(np.diagonal(seen.similarity))
    others = np.abs(seen.similarity).sum(axis=1) - diagonal
    if looks_like_hits(seen.similarity, seen.self_similarity):
        return None
    if np.mean(others < diagonal) <= 0.5:
        typical = float(np.median(others)) / (diagonal.size - 1)
        if typical > 0.2 * _NEARLY * seen.self_similarity:
            return None
    return _found("warning", "nearly-diagonal")


def _nearly_constant(seen: Evidence) -> Finding | None:
    """Hardly anything is left when the mean is taken out."""
    if not seen.has_self_similarity:
        return None
    diagonal = float(np.diagonal(seen.similarity).mean())
    left = abs(diagonal - float(seen.similarity.mean()))
    small = left <= _NEARLY * seen.self_similarity
    return _found("warning", "nearly-constant") if small else None


def _scale(seen: Evidence) -> Finding | None:
    if seen.kind == "distance":
        return None
    size = seen.self_similarity if seen.has_self_similarity else 0.0
    size = size or float(np.abs(seen.similarity).mean())
    if size == 0.0 or 1e-2 <= size <= 1e2:
        return None
    return _found("note" if 1e-4 <= size <= 1e4 else "warning", "scale", size=size)


def _duplicates(seen: Evidence) -> Finding | None:
    group = duplicate_groups(seen.given)
    sizes = np.bincount(group)
    repeated = int(sizes[sizes > 1].sum())
    if not repeated:
        return None
    labels = ""
    if seen.y is not None and seen.has_classes and _disagree(group, seen.y):
        labels = " Some twins have different labels."
    severity: Severity = "note" if repeated < 0.05 * group.size else "warning"
    return _found(severity, "duplicates", repeated=repeated, labels=labels)


def _near_duplicates(seen: Evidence) -> Finding | None:
    """Of a table of hits: in a smooth kernel many pairs are near."""
    if seen.kind == "distance" or not seen.has_self_similarity:
        return None
    if not looks_like_hits(seen.similarity, seen.self_similarity):
        return None
    share = near_duplicate_share(seen.similarity)
    return _found("warning", "near-duplicates", share=share) if share >= 0.05 else None


def _disagree(group: np.ndarray, y: np.ndarray) -> bool:
    pairs = np.unique(
        np.column_stack([group, np.unique(y, return_inverse=True)[1]]), axis=0
    )
    return pairs.shape[0] > np.unique(group).size


# -------------------------------------------------------------------------- the labels


def _constant_labels(seen: Evidence) -> Finding | None:
    if seen.y is None or seen.counts.size > 1:
        return None
    return _found("error", "constant-labels", n=seen.y.size, first=seen.y[0])


def _all_different(seen: Evidence) -> Finding | None:
    if seen.y is None or seen.counts.size < 2 or seen.has_classes:
        return None
    counted = {"different": seen.counts.size, "n": seen.y.size}
    if is_continuous(seen.y):
        return _found("note", "regression-target", **counted)
    return _found("error", "labels-all-different", **counted)


def _small_class(seen: Evidence) -> Finding | None:
    if not seen.has_classes or seen.counts[0] >= _FEW_ITEMS:
        return None
    assert seen.y is not None
    classes, counts = np.unique(seen.y, return_counts=True)
    rare = np.flatnonzero(counts < _FEW_ITEMS)
    named = ", ".join(f"{classes[k]} ({counts[k]})" for k in rare[:3])
    severity: Severity = "error" if counts.min() < 2 else "warning"
    return _found(
        severity, "small-class", least=_FEW_ITEMS, rare=rare.size, named=named
    )


def _imbalance(seen: Evidence) -> Finding | None:
    share = float(seen.counts[-1] / seen.counts.sum()) if seen.has_classes else 0.0
    return _found("warning", "imbalance", share=share) if share >= _IMBALANCE else None


def _unrelated(seen: Evidence) -> Finding | None:
    if not seen.has_classes:
        return None
    assert seen.y is not None
    p = label_p_value(seen.similarity, seen.y)
    return _found("warning", "labels-unrelated", p=p) if p > _UNRELATED else None


_CHECKS: tuple[Callable[[Evidence], Finding | None], ...] = (
    _direction,
    _constant_labels,
    _all_different,
    _missing,
    _asymmetric,
    _nearly_diagonal,
    _nearly_constant,
    _unrelated,
    _duplicates,
    _near_duplicates,
    _small_class,
    _imbalance,
    _scale,
)


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
