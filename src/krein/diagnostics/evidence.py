"""What a check looks at, and what it says.

``K`` and ``FILE`` in the lines of a finding stand for what the reader has.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from krein.arrays import Array

__all__ = ["Evidence", "Finding", "Severity"]

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
        if self.y is None:
            return False
        return 1 < self.counts.size <= self.y.size // 2
