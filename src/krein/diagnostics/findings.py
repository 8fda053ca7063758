"""What is wrong, or worth knowing, before any method is chosen.

Every check looks at one thing and returns a `Finding` or nothing. A finding says in
one sentence what was seen, and carries the line of Python and the command that repair
it; ``K`` and ``FILE`` in these lines stand for what the reader has.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from krein.arrays import Array
from krein.diagnostics.spectrum_facts import label_p_value
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
_UNRELATED = 0.1


def find(evidence: Evidence) -> list[Finding]:
    """Return what was found, the worst first, and distances before all else."""
    found = [finding for check in _CHECKS if (finding := check(evidence)) is not None]
    return sorted(found, key=lambda finding: _SEVERITIES.index(finding.severity))


# ------------------------------------------------------------------------- the numbers


def _direction(seen: Evidence) -> Finding | None:
    if seen.cpd_order and seen.kind == "similarity":
        return None  # d^3 and the like: a zero diagonal is right
    found = wrong_direction(seen.given, seen.kind, seen.y if seen.has_classes else None)
    if found is None:
        return None
    kind = "distance" if seen.kind == "similarity" else "similarity"
    python = "diagnose(K, y)"
    if kind == "distance":
        python = (
            "diagnose(K, y, kind='distance'); "
            "K = np.exp(-K / np.median(K[np.triu_indices_from(K, 1)]))"
        )
    return Finding(
        "error",
        found.key,
        f"These look like {found.seems}: {found.reason}. Results would be meaningless.",
        python,
        f"krein inspect FILE --kind {kind}",
    )


def _missing(seen: Evidence) -> Finding | None:
    if not seen.filled:
        return None
    many = "entry" if seen.filled == 1 else "entries"
    return Finding(
        "warning",
        "missing-filled",
        f"{seen.filled} missing {many} taken from the mirror entry.",
        "K = np.where(np.isnan(K), K.T, K)",
    )


def _asymmetric(seen: Evidence) -> Finding | None:
    if seen.asymmetry <= 1e-8:
        return None
    if seen.asymmetry <= ROUNDING:
        return Finding(
            "note",
            "asymmetric",
            f"Both directions differ by up to {seen.asymmetry:.2g} of the largest "
            "entry: taken for rounding, the mean is used.",
        )
    return Finding(
        "warning",
        "asymmetric",
        "The matrix is not symmetric (by up to "
        f"{seen.asymmetry:.2g} of the largest entry); the facts are those of the mean "
        "of both directions. Find out why they differ, or use the mean.",
        "SpectrumSVC(symmetrize=True).fit(K, y)",
        "krein compare FILE --labels LABELS --symmetrize",
    )


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
    return Finding(
        "warning",
        "nearly-diagonal",
        "Nearly diagonal: every item is alike only to itself, so that nothing can be "
        "learnt from the others. In exp(-gamma d) gamma is too large; try "
        "gamma='median'.",
        "SpectrumSVC(kernel='edit', kernel_params={'gamma': 'median'})",
        "krein compare ITEMS --labels LABELS --kernel edit --param gamma=median",
    )


def _nearly_constant(seen: Evidence) -> Finding | None:
    """Hardly anything is left when the mean is taken out."""
    if not seen.has_self_similarity:
        return None
    diagonal = float(np.diagonal(seen.similarity).mean())
    left = abs(diagonal - float(seen.similarity.mean()))
    if left > _NEARLY * seen.self_similarity:
        return None
    return Finding(
        "warning",
        "nearly-constant",
        "Nearly constant: all items are alike to nearly the same degree. In "
        "exp(-gamma d) gamma is too small; try gamma='median', or take the mean out.",
        "K = sklearn.preprocessing.KernelCenterer().fit_transform(K)",
        "krein compare ITEMS --labels LABELS --kernel edit --param gamma=median",
    )


def _scale(seen: Evidence) -> Finding | None:
    if seen.kind == "distance":
        return None
    size = seen.self_similarity if seen.has_self_similarity else 0.0
    size = size or float(np.abs(seen.similarity).mean())
    if size == 0.0 or 1e-2 <= size <= 1e2:
        return None
    return Finding(
        "note" if 1e-4 <= size <= 1e4 else "warning",
        "scale",
        f"Self-similarities are of size {size:.2g}: C = 1 acts as C = {size:.2g} "
        "would on a similarity of size 1. compare chooses C in the right units; "
        "elsewhere divide.",
        f"K = K / {size:.3g}",
    )


def _duplicates(seen: Evidence) -> Finding | None:
    group = duplicate_groups(seen.given)
    sizes = np.bincount(group)
    repeated = int(sizes[sizes > 1].sum())
    if not repeated:
        return None
    text = (
        f"{repeated} items have an exact twin (the same similarities to all items). "
        "In cross-validation a twin in the training part gives the answer away: keep "
        "twins on one side."
    )
    if seen.y is not None and seen.has_classes and _disagree(group, seen.y):
        text += " Some twins have different labels."
    return Finding(
        "note" if repeated < 0.05 * group.size else "warning",
        "duplicates",
        text,
        "groups = np.unique(np.round(K / abs(K).max(), 9), axis=0, "
        "return_inverse=True)[1].ravel(); "
        "compare(K, y, groups=groups)",
        "krein compare FILE --labels LABELS --groups twins",
    )


def _near_duplicates(seen: Evidence) -> Finding | None:
    """Of a table of hits: in a smooth kernel many pairs are near."""
    if seen.kind == "distance" or not seen.has_self_similarity:
        return None
    if not looks_like_hits(seen.similarity, seen.self_similarity):
        return None
    share = near_duplicate_share(seen.similarity)
    if share < 0.05:
        return None
    return Finding(
        "warning",
        "near-duplicates",
        f"{share:.0%} of the items have a near-duplicate: random folds put them on "
        "both sides, and errors look too small. Keep relatives together.",
        "compare(K, y, groups=krein.similarity_groups(K, 0.5))",
        "krein compare FILE --labels LABELS --split-by-similarity 0.5",
    )


def _disagree(group: np.ndarray, y: np.ndarray) -> bool:
    pairs = np.unique(
        np.column_stack([group, np.unique(y, return_inverse=True)[1]]), axis=0
    )
    return pairs.shape[0] > np.unique(group).size


# -------------------------------------------------------------------------- the labels


# The usual reason of labels that cannot be: another column was meant.
_OTHER_COLUMN_IN_PYTHON = "y = krein.read_labels(path, names=names, column=title).data"
_OTHER_COLUMN = "krein inspect FILE --labels LABELS --label-column TITLE"


def _constant_labels(seen: Evidence) -> Finding | None:
    if seen.y is None or seen.counts.size > 1:
        return None
    return Finding(
        "error",
        "constant-labels",
        f"All {seen.y.size} labels are {seen.y[0]!r}: there is nothing to tell apart.",
        _OTHER_COLUMN_IN_PYTHON,
        _OTHER_COLUMN,
    )


def _all_different(seen: Evidence) -> Finding | None:
    if seen.y is None or seen.counts.size < 2 or seen.has_classes:
        return None
    many = f"{seen.counts.size} different labels for {seen.y.size} items"
    if is_continuous(seen.y):
        return Finding(
            "note",
            "regression-target",
            f"{many}, all of them numbers: taken as numbers to be predicted, not as "
            "classes.",
            "SpectrumSVRCV().fit(K, y)",
            "krein compare FILE --labels LABELS --task regression",
        )
    return Finding(
        "error",
        "labels-all-different",
        f"{many}: is it the wrong column, or another separator?",
        _OTHER_COLUMN_IN_PYTHON,
        _OTHER_COLUMN,
    )


def _small_class(seen: Evidence) -> Finding | None:
    if not seen.has_classes or seen.counts[0] >= _FEW_ITEMS:
        return None
    assert seen.y is not None
    classes, counts = np.unique(seen.y, return_counts=True)
    rare = counts < _FEW_ITEMS
    named = ", ".join(
        f"{c} ({n})" for c, n in list(zip(classes[rare], counts[rare], strict=True))[:3]
    )
    return Finding(
        "error" if counts.min() < 2 else "warning",
        "small-class",
        f"Classes with fewer than {_FEW_ITEMS} items: {int(rare.sum())} ({named}). "
        "A class of one item cannot be tested.",
        "keep = pd.Series(y).map(pd.Series(y).value_counts()) >= 5; "
        "K, y = K[np.ix_(keep, keep)], y[keep]",
    )


def _imbalance(seen: Evidence) -> Finding | None:
    if not seen.has_classes:
        return None
    share = float(seen.counts[-1] / seen.counts.sum())
    if share < _IMBALANCE:
        return None
    return Finding(
        "warning",
        "imbalance",
        f"One class has {share:.0%} of the items: always saying so is {share:.0%} "
        "accurate. Judge by balanced accuracy.",
        "compare(K, y, scoring='balanced_accuracy')",
        "krein compare FILE --labels LABELS --scoring balanced_accuracy",
    )


def _unrelated(seen: Evidence) -> Finding | None:
    if not seen.has_classes:
        return None
    assert seen.y is not None
    p_value = label_p_value(seen.similarity, seen.y)
    if p_value <= _UNRELATED:
        return None
    return Finding(
        "warning",
        "labels-unrelated",
        "No relation between similarities and labels was found (permutation p = "
        f"{p_value:.2g}): alike items have no more labels in common than others. Are "
        "the labels in the order of the matrix?",
        "y = krein.read_labels(path, names=names).data  # by name",
    )


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
