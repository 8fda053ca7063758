"""What is wrong, or worth knowing, before any method is chosen.

Every check yields a `Finding` for each thing it sees. A finding says in one sentence
what was seen, and carries the line of Python and the command that repair it. In these
lines K, FILE, ITEMS, KERNEL and LABELS stand for what the reader has.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from krein.arrays import Array
from krein.diagnostics import facts
from krein.diagnostics.twins import (
    ItemGroups,
    duplicate_groups,
    near_duplicate_groups,
    of_several,
)
from krein.numbers_or_classes import is_continuous
from krein.validation import ROUNDING, Direction, empty_half, wrong_direction

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
    items : tuple of tuples of int
        Positions (from 0) of the items it is about, in groups: twins, relatives,
        members of a rare class. Empty where it is about all of them.

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
    items: ItemGroups = field(default=(), repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Plain strings and numbers, ready for JSON."""
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
    task : {"classification", "regression"} or None
        What the labels are; None to find it by their numbers.
    sparse : bool
        Whether pairs were absent, which are the least alike: no distances.
    """

    given: Array
    similarity: Array
    kind: str = "similarity"
    y: np.ndarray | None = None
    asymmetry: float = 0.0
    filled: int = 0
    X: Any = None
    task: str | None = None
    sparse: bool = False

    @cached_property
    def are_numbers(self) -> bool:
        """Whether the labels are numbers to be predicted."""
        if self.y is None or self.task is not None:
            return self.task == "regression"
        return is_continuous(self.y)

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
        if self.y is None or self.are_numbers:
            return None
        return self.y if 1 < np.unique(self.y).size <= self.y.size // 2 else None


_SEVERITIES = ("error", "warning", "note")
_SILENT_ASYMMETRY = 1e-8  # of the largest entry: not worth a word
_NEARLY = 0.05  # of the self-similarity: what counts as nothing, or as no difference
_FEW_OTHERS = 10  # below, they must be unlike on average
_TYPICAL_NOTHING = 0.01  # of the self-similarity: typical similarity to others
_USUAL_SIZE = (1e-2, 1e2)  # self-similarities that need no word
_WORKABLE_SIZE = (1e-4, 1e4)  # self-similarities that need no warning
_FEW_ITEMS = 5  # items of a class: as many as there are folds by default
_IMBALANCE = 0.9  # share of the largest class
_UNRELATED = 0.1  # p-value above which no relation to the labels was shown
_TWINS = 0.05  # share of items with a twin, from which on it is a warning
_NAMED = 3  # rare classes that are named


def find(evidence: Evidence) -> list[Finding]:
    """Return what was found, the worst first, and distances before all else."""
    found = [finding for check in _CHECKS for finding in check(evidence)]
    return sorted(found, key=lambda finding: _SEVERITIES.index(finding.severity))


# ------------------------------------------------------------------------- the numbers


def _numbers(seen: Evidence) -> Iterator[Finding]:
    """Distances instead of similarities, missing entries, directions that differ."""
    wrong = None
    if not seen.sparse:
        wrong = wrong_direction(seen.given, seen.kind, seen.classes)
    # Of splines of distances, such as d^3, a zero diagonal is right.
    if wrong is not None and (seen.kind == "distance" or not seen.cpd_order):
        yield _wrong_direction(wrong)
    if seen.filled:
        entries = "entry" if seen.filled == 1 else "entries"
        yield Finding(
            "warning",
            "missing-filled",
            f"{seen.filled} missing {entries} taken from the mirror entry (across the "
            "diagonal).",
            python=_OF_READERS["missing-filled"][0],
        )
    empty = empty_half(seen.given) if seen.asymmetry > ROUNDING else None
    if empty is not None:
        yield Finding(
            "error",
            "empty-half",
            f"The {empty} half of the matrix is zero throughout: it is one triangle. "
            "What follows is about the mean with these zeros. Mirror the other half.",
            python="K = K + K.T - np.diag(np.diagonal(K))",
            command="krein inspect FILE --symmetrize",
        )
    elif seen.asymmetry > ROUNDING:
        yield Finding(
            "warning",
            "asymmetric",
            "The matrix is not symmetric (the two directions differ by up to "
            f"{seen.asymmetry:.2g} of the largest entry). What follows is about their "
            "mean. Find out why they differ, or use the mean.",
            python="SpectrumSVC(symmetrize=True).fit(K, y)",
            command="krein compare FILE --labels LABELS --symmetrize",
        )
    elif seen.asymmetry > _SILENT_ASYMMETRY:
        yield Finding(
            "note",
            "asymmetric",
            f"Both directions differ by up to {seen.asymmetry:.2g} of the largest "
            "entry: taken for rounding, and the mean is used.",
        )


_TURN_ROUND = {  # repairs by the key of a wrong direction: Python, kind of inspect
    "looks-like-distances": (
        "diagnose(K, y, kind='distance'); "
        "K = np.exp(-K / np.median(K[np.triu_indices_from(K, 1)]))",
        "distance",
    ),
    "looks-like-similarities": ("diagnose(K, y)", "similarity"),
    "inverted-similarity": (
        "diagnose(K, y, kind='distance'); K = K.max() - K",
        "distance",
    ),
    "inverted-distance": ("diagnose(K, y)", "similarity"),
}


def _wrong_direction(wrong: Direction) -> Finding:
    python, kind = _TURN_ROUND[wrong.key]
    return Finding(
        "error",
        wrong.key,
        f"These look like {wrong.seems}: {wrong.reason}. Results would be meaningless.",
        python=python,
        command=f"krein inspect FILE --kind {kind}",
    )


_OF_READERS = {  # repairs of what the readers of files noticed: Python, command
    "missing-filled": ("K = np.where(np.isnan(K), K.T, K)", ""),
    "names-ignored": (
        "labels = read_labels(path, names=read.names).data",
        "krein inspect FILE --labels LABELS",
    ),
}


def finding_of_reader(key: str, text: str) -> Finding:
    """What a reader of files noticed, in its words, with the repair if there is one."""
    python, command = _OF_READERS.get(key, ("", ""))
    return Finding("warning", key, text, python=python, command=command)


def spread(seen: Evidence) -> Iterator[Finding]:
    """Alike only to itself, alike to everything, or in odd units."""
    K = seen.similarity
    size = seen.self_similarity
    if seen.has_self_similarity:
        diagonal = np.abs(np.diagonal(K))
        others = np.abs(K).sum(axis=1) - diagonal
        typical = float(np.median(others)) / (diagonal.size - 1)
        # A sum over few others is small by itself.
        few = min(1.0, (diagonal.size - 1) / _FEW_OTHERS)
        alone = np.mean(others < few * diagonal) > 0.5
        alone = alone or typical <= _TYPICAL_NOTHING * size
        if alone and not seen.of_hits:
            yield _nearly_diagonal()
        # Hardly anything is left when the mean is taken out.
        if abs(float(np.diagonal(K).mean() - K.mean())) <= _NEARLY * size:
            yield _nearly_constant()
    else:
        size = float(np.abs(K).mean())
    if seen.kind == "similarity" and size and not _is_within(size, _USUAL_SIZE):
        yield _odd_units(size)


def _is_within(size: float, bounds: tuple[float, float]) -> bool:
    return bounds[0] <= size <= bounds[1]


def _nearly_diagonal() -> Finding:
    return Finding(
        "warning",
        "nearly-diagonal",
        "Nearly diagonal: every item is similar only to itself, so nothing can be "
        "learnt about new items. In exp(-gamma d) gamma is too large; try "
        "gamma='median', or give the distances themselves.",
        python="krein.SimilarityClassifier(kind='distance')  # of the distances d",
        command="krein compare ITEMS --labels LABELS --kernel KERNEL "
        "--param gamma=median",
    )


def _nearly_constant() -> Finding:
    return Finding(
        "warning",
        "nearly-constant",
        "Nearly constant: all items are about equally similar. In exp(-gamma d) gamma "
        "is too small; try gamma='median', or subtract the mean.",
        python="K = sklearn.preprocessing.KernelCenterer().fit_transform(K)",
        command="krein compare ITEMS --labels LABELS --kernel KERNEL "
        "--param gamma=median",
    )


def _odd_units(size: float) -> Finding:
    return Finding(
        "note" if _is_within(size, _WORKABLE_SIZE) else "warning",
        "scale",
        f"Self-similarities are of size {size:.2g}: C = 1 acts as C = {size:.2g} would "
        "on a similarity of size 1. compare chooses C in the right units; elsewhere "
        "divide the similarity by its size.",
        python=f"K = K / {size:.3g}",
    )


# -------------------------------------------------------------------------- the labels


def _labels(seen: Evidence) -> Iterator[Finding]:
    """One label, a label for each item, or classes that are hard to learn."""
    if seen.y is None:
        return
    different = np.unique(seen.y).size
    n = seen.y.size
    if different == 1:
        yield Finding(
            "error",
            "constant-labels",
            f"All {n} labels are {seen.y[0]!r}: there is nothing to learn.",
            python="y = krein.read_labels(path, names=names, column=title).data",
            command="krein inspect FILE --labels LABELS --label-column TITLE",
        )
    elif seen.are_numbers:
        kind = "kind='distance'" if seen.kind == "distance" else ""
        yield Finding(
            "note",
            "regression-target",
            f"{different} different labels for {n} items, all of them numbers: taken "
            "as numbers to be predicted, not as classes.",
            python=f"SimilarityRegressor({kind}).fit(K, y)",
            command="krein compare FILE --labels LABELS --task regression",
        )
    elif seen.classes is None:
        yield Finding(
            "error",
            "labels-all-different",
            f"{different} different labels for {n} items: is this the wrong column, or "
            "is the separator a different one?",
            python="y = krein.read_labels(path, names=names, column=title).data",
            command="krein inspect FILE --labels LABELS --label-column TITLE",
        )
    else:
        yield from _classes(seen, seen.classes)


def _classes(seen: Evidence, y: np.ndarray) -> Iterator[Finding]:
    """Labels that have nothing to do with the numbers; rare and large classes."""
    relation = facts.label_relation(seen.similarity, y)
    if relation.p_value > _UNRELATED:
        yield _unrelated(relation)
    classes, counts = np.unique(y, return_counts=True)
    rare = np.flatnonzero(counts < _FEW_ITEMS)
    if rare.size:
        found = _small_classes(classes[rare], counts[rare], counts.size)
        members = [np.flatnonzero(y == label) for label in classes[rare]]
        yield replace(found, items=tuple(tuple(part.tolist()) for part in members))
    share = float(counts.max() / y.size)
    if share >= _IMBALANCE:
        yield Finding(
            "warning",
            "imbalance",
            f"One class has {share:.0%} of the items: always naming it is {share:.0%} "
            "accurate. Judge by balanced accuracy.",
            python="compare(K, y, scoring='balanced_accuracy')",
            command="krein compare FILE --labels LABELS --scoring balanced_accuracy",
        )


def _unrelated(relation: facts.LabelRelation) -> Finding:
    """What was found instead of a relation, and what the test would have noticed."""
    return Finding(
        "warning",
        "labels-unrelated",
        "No relation between similarities and labels was shown: for "
        f"{relation.shared:.0%} of the items the most similar other item has the same "
        f"label, by chance for {relation.by_chance:.0%} (permutation p = "
        f"{relation.p_value:.2g}). From about {relation.noticed:.0%} on this test of "
        f"{relation.items} items notices a relation; a weaker one may be there.",
        python="y = krein.read_labels(path, names=names).data  # by name",
    )


def _small_classes(rare: np.ndarray, counts: np.ndarray, n_classes: int) -> Finding:
    """Classes of few items; without them there must be two for a repair."""
    pairs = zip(rare[:_NAMED], counts[:_NAMED], strict=True)
    named = ", ".join(f"{label} ({count})" for label, count in pairs)
    python = (
        "keep = pd.Series(y).map(pd.Series(y).value_counts()) >= 5; "
        "K, y = K[np.ix_(keep, keep)], y[keep]"
    )
    command = "krein compare FILE --labels LABELS --min-members 5"
    found = Finding(
        "error" if counts.min() < 2 else "warning",
        "small-class",
        f"Classes with fewer than {_FEW_ITEMS} items: {rare.size} ({named}). A class "
        "of one item cannot be tested.",
        python=python,
        command=command,
    )
    two_are_left = n_classes - rare.size > 1
    return found if two_are_left else replace(found, python="", command="")


# --------------------------------------------------------------------------- the twins


def _twins(seen: Evidence) -> Iterator[Finding]:
    """Equal items; in a table of hits near ones too (of a smooth kernel many are)."""
    group = duplicate_groups(seen.given)
    twins = of_several(group)
    if twins:
        yield _duplicates(seen, group, twins)
    if seen.kind == "similarity" and seen.of_hits:
        relatives = of_several(near_duplicate_groups(seen.similarity))
        share = sum(map(len, relatives)) / seen.similarity.shape[0]
        if share >= _TWINS:
            yield Finding(
                "warning",
                "near-duplicates",
                f"{share:.0%} of the items have a near-duplicate: random folds put "
                "them on both sides, and errors look too small. Keep relatives "
                "together.",
                python="compare(K, y, groups=krein.similarity_groups(K, 0.5))",
                command="krein compare FILE --labels LABELS --split-by-similarity 0.5",
                items=relatives,
            )


def _duplicates(seen: Evidence, group: np.ndarray, twins: ItemGroups) -> Finding:
    repeated = sum(map(len, twins))
    labels = ""
    if seen.classes is not None:
        pairs = set(zip(group.tolist(), seen.classes.tolist(), strict=True))
        if len(pairs) > group.max() + 1:
            labels = " Some twins have different labels."
    return Finding(
        "note" if repeated < _TWINS * group.size else "warning",
        "duplicates",
        f"{repeated} items have an exact twin (the same similarities to all items). In "
        "cross-validation a twin in the training part gives the answer away: keep "
        f"twins on one side.{labels}",
        python="groups = np.unique(np.round(K / abs(K).max(), 9), axis=0, "
        "return_inverse=True)[1].ravel(); compare(K, y, groups=groups)",
        command="krein compare FILE --labels LABELS --groups twins",
        items=twins,
    )


_CHECKS = (_numbers, spread, _labels, _twins)
