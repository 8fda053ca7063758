"""What is wrong, or worth knowing, before any method is chosen; and what to use.

Every check yields a `Finding` for each thing it sees. A finding says in one sentence
what was seen, and carries the line of Python and the command that repair it; the words
stand in findings.toml.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from functools import cache, cached_property
from importlib import resources
from typing import Any, Literal

import numpy as np
import scipy.sparse

from krein.arrays import Array
from krein.diagnostics import facts
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
    X : array-like of shape (n, d) or None
        Coordinates of the items.
    """

    given: Array
    similarity: Array
    kind: str = "similarity"
    y: np.ndarray | None = None
    asymmetry: float = 0.0
    filled: int = 0
    X: Any = None

    @cached_property
    def spectrum(self) -> facts.SpectrumFacts:
        """All eigenvalues, or what is known about those of many items."""
        exact = self.similarity.shape[0] <= facts.EXACT_UP_TO
        look = facts.exact_facts if exact else facts.estimated_facts
        return look(self.similarity)

    @cached_property
    def cpd_order(self) -> int | None:
        """Order of conditional positive definiteness; asks for the spectrum."""
        return facts.cpd_order(self.similarity, self.spectrum, self.X)

    @cached_property
    def self_similarity(self) -> float:
        """Mean |k(x, x)|."""
        return float(np.abs(np.diagonal(self.similarity)).mean())

    @cached_property
    def has_self_similarity(self) -> bool:
        """Whether the diagonal means anything (that of -d is zero)."""
        return self.self_similarity > 1e-9 * float(np.abs(self.similarity).max())

    @cached_property
    def of_hits(self) -> bool:
        """Whether it looks like a table of hits: most pairs are absent, some alike."""
        present = self.similarity != 0.0
        np.fill_diagonal(present, False)
        few = 0 < np.count_nonzero(present) < 0.5 * present.size
        if not few or not self.has_self_similarity:
            return False
        typical = float(np.median(np.abs(self.similarity[present])))
        return typical > _NEARLY * self.self_similarity

    @cached_property
    def classes(self) -> np.ndarray | None:
        """The labels, if they are classes: two or more, of two items on average."""
        if self.y is None or is_continuous(self.y):
            return None
        return self.y if 1 < np.unique(self.y).size <= self.y.size // 2 else None


_SEVERITIES = ("error", "warning", "note")
_NEARLY = 0.05  # of the self-similarity: what counts as nothing, or as no difference
_FEW_ITEMS = 5  # as many as there are folds by default
_IMBALANCE = 0.9
_UNRELATED = 0.1  # p-value above which labels are called unrelated
_HINT = 0.05  # p-value of a hint that the negative part knows the labels


def find(evidence: Evidence) -> list[Finding]:
    """Return what was found, the worst first, and distances before all else."""
    found = [finding for check in _CHECKS for finding in check(evidence)]
    return sorted(found, key=lambda finding: _SEVERITIES.index(finding.severity))


@cache
def texts() -> dict[str, dict[str, str]]:
    """The words of findings and advice, by key."""
    place = resources.files("krein.diagnostics") / "findings.toml"
    return tomllib.loads(place.read_text("utf-8"))


def _found(severity: Severity, key: str, **values: Any) -> Finding:
    """A finding with the words of findings.toml."""
    words = texts()[key]
    python, command = words.get("python", ""), words.get("command", "")
    python = python.format(**values) if key == "scale" else python
    return Finding(severity, key, words["text"].format(**values), python, command)


def _numbers(seen: Evidence) -> Iterator[Finding]:
    """Distances instead of similarities, missing entries, directions that differ."""
    wrong = wrong_direction(seen.given, seen.kind, seen.classes)
    # Of splines of distances, such as d^3, a zero diagonal is right.
    if wrong is not None and (seen.kind == "distance" or not seen.cpd_order):
        yield _found("error", wrong.key, seems=wrong.seems, reason=wrong.reason)
    if seen.filled:
        entries = "entry" if seen.filled == 1 else "entries"
        yield _found("warning", "missing-filled", filled=seen.filled, entries=entries)
    if seen.asymmetry > ROUNDING:
        yield _found("warning", "asymmetric", asymmetry=seen.asymmetry)
    elif seen.asymmetry > 1e-8:
        found = _found("note", "rounding", asymmetry=seen.asymmetry)
        yield replace(found, key="asymmetric")


def spread(seen: Evidence) -> Iterator[Finding]:
    """Alike only to itself, alike to everything, or in odd units."""
    K, size = seen.similarity, seen.self_similarity
    if seen.has_self_similarity:
        diagonal = np.abs(np.diagonal(K))
        others = np.abs(K).sum(axis=1) - diagonal
        typical = float(np.median(others)) / (diagonal.size - 1)
        alone = np.mean(others < diagonal) > 0.5 or typical <= 0.2 * _NEARLY * size
        if alone and not seen.of_hits:
            yield _found("warning", "nearly-diagonal")
        # Hardly anything is left when the mean is taken out.
        if abs(float(np.diagonal(K).mean() - K.mean())) <= _NEARLY * size:
            yield _found("warning", "nearly-constant")
    else:
        size = float(np.abs(K).mean())
    if seen.kind == "similarity" and size and not 1e-2 <= size <= 1e2:
        yield _found("note" if 1e-4 <= size <= 1e4 else "warning", "scale", size=size)


def _labels(seen: Evidence) -> Iterator[Finding]:
    """One label, a label for each item, or classes that are hard to learn."""
    if seen.y is None:
        return
    counted = {"different": np.unique(seen.y).size, "n": seen.y.size}
    if counted["different"] == 1:
        yield _found("error", "constant-labels", n=seen.y.size, first=seen.y[0])
    elif is_continuous(seen.y):
        yield _found("note", "regression-target", **counted)
    elif seen.classes is None:
        yield _found("error", "labels-all-different", **counted)
    else:
        yield from _classes(seen, seen.classes)


def _classes(seen: Evidence, y: np.ndarray) -> Iterator[Finding]:
    p = facts.label_p_value(seen.similarity, y)
    if p > _UNRELATED:
        yield _found("warning", "labels-unrelated", p=p)
    classes, counts = np.unique(y, return_counts=True)
    rare = np.flatnonzero(counts < _FEW_ITEMS)
    if rare.size:
        named = ", ".join(f"{classes[k]} ({counts[k]})" for k in rare[:3])
        severity: Severity = "error" if counts.min() < 2 else "warning"
        about = {"least": _FEW_ITEMS, "rare": rare.size, "named": named}
        found = _found(severity, "small-class", **about)
        left = counts.size - rare.size  # classes, if the rare ones are left out
        yield found if left > 1 else replace(found, python="", command="")
    share = float(counts.max() / y.size)
    if share >= _IMBALANCE:
        yield _found("warning", "imbalance", share=share)


def _twins(seen: Evidence) -> Iterator[Finding]:
    """Equal items; in a table of hits near ones too (of a smooth kernel many are)."""
    group = duplicate_groups(seen.given)
    sizes = np.bincount(group)
    repeated = int(sizes[sizes > 1].sum())
    if repeated:
        labels = ""
        if seen.classes is not None:
            pairs = set(zip(group.tolist(), seen.classes.tolist(), strict=True))
            if len(pairs) > sizes.size:
                labels = " Some twins have different labels."
        severity: Severity = "note" if repeated < 0.05 * group.size else "warning"
        yield _found(severity, "duplicates", repeated=repeated, labels=labels)
    if seen.kind == "similarity" and seen.of_hits:
        share = near_duplicate_share(seen.similarity)
        if share >= 0.05:
            yield _found("warning", "near-duplicates", share=share)


def duplicate_groups(K: Array) -> np.ndarray:
    """Group number of each item; equal rows (to nine digits) are one group."""
    scale = float(np.abs(K).max()) or 1.0
    seen: dict[bytes, int] = {}
    # Adding 0.0 turns -0.0 into 0.0, which has other bytes.
    rows = (np.round(row / scale, 9) + 0.0 for row in K)
    return np.array([seen.setdefault(row.tobytes(), len(seen)) for row in rows])


def near_duplicate_share(K: Any, near: float = 0.9) -> float:
    """Share of the items with another one of at least `near` times self-similarity."""
    pairs = scipy.sparse.coo_array(K)
    root = np.sqrt(np.abs(K.diagonal()))
    found = pairs.data >= near * root[pairs.row] * root[pairs.col]
    found &= (pairs.row != pairs.col) & (pairs.data > 0)
    return np.unique(pairs.row[found]).size / K.shape[0]


_CHECKS = (_numbers, spread, _labels, _twins)


# ------------------------------------------------------------------------------ advice


def advise(
    verdict: str, part: facts.NegativePart, order: int | None, findings: list[Finding]
) -> list[str]:
    """Return the lines of advice, most important first."""
    say = {key: text.format for key, text in texts()["advice"].items()}
    for finding in findings:
        meaningless = finding.severity == "error" and finding.key != "small-class"
        if meaningless or finding.key.startswith("nearly-"):
            return [say["repair"](text=finding.text)]
    p, relation = part.label_p_value, "no relation to the labels"
    if p is not None and p <= _HINT:
        relation = "a hint of a relation to the labels, which is not sure,"
    known = "" if p is None else " and does not show the labels"
    structure = " has structure but" if part.verdict == "structure" else ""
    words = {"known": known, "structure": structure, "relation": relation}
    lines = [say[_advice(verdict, part, order)](order=order, p=p, **words)]
    if verdict == "indefinite" and not order:
        lines.append(say["new-rows"]())
    return lines


def _advice(verdict: str, part: facts.NegativePart, order: int | None) -> str:
    """Keep the negative part only if it is known to have to do with the labels."""
    if verdict != "indefinite":
        return verdict
    if order is not None:
        return "cpd"
    if part.related:
        return "related"
    if part.verdict == "noise" or (part.verdict, part.related) == ("structure", None):
        return part.verdict
    return "unclear" if part.related is None else "unrelated"
