"""Items that are equal, or nearly so, and which of them belong together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse
from scipy.sparse.csgraph import connected_components

from krein.arrays import Array

ItemGroups = tuple[tuple[int, ...], ...]

NEAR = 0.9  # of the self-similarity: from here on two items are near-duplicates
_GROUPS_SHOWN = 3
_ITEMS_SHOWN = 4  # of a group


def duplicate_groups(K: Array) -> np.ndarray:
    """Group number of each item; equal rows (to nine digits) are one group."""
    scale = float(np.abs(K).max()) or 1.0
    seen: dict[bytes, int] = {}
    # Adding 0.0 turns -0.0 into 0.0, which has other bytes.
    rows = (np.round(row / scale, 9) + 0.0 for row in K)
    return np.array([seen.setdefault(row.tobytes(), len(seen)) for row in rows])


def near_duplicate_groups(K: Any, near: float = NEAR) -> np.ndarray:
    """Group number of each item; a chain of near-duplicates is one group.

    Two items are near where their similarity is at least `near` times their
    self-similarity.
    """
    pairs = scipy.sparse.coo_array(K)
    root = np.sqrt(np.abs(K.diagonal()))
    are_near = pairs.data >= near * root[pairs.row] * root[pairs.col]
    are_two = pairs.row != pairs.col
    linked = are_near & are_two & (pairs.data > 0)
    ones = np.ones(int(linked.sum()))
    ends = (pairs.row[linked], pairs.col[linked])
    links = scipy.sparse.coo_array((ones, ends), shape=K.shape)
    _, group = connected_components(links, directed=False)
    return group


def of_several(group: np.ndarray) -> ItemGroups:
    """Return the positions of the items of each group that has more than one."""
    order = np.argsort(group, kind="stable")
    starts = np.flatnonzero(np.diff(group[order])) + 1
    parts = np.split(order, starts)
    several = [tuple(part.tolist()) for part in parts if part.size > 1]
    return tuple(sorted(several))


def listed_groups(groups: Sequence[Sequence[object]]) -> str:
    """Return the first groups in a line: ``a, b; c, d, e; 4 more groups``."""
    parts = []
    for group in groups[:_GROUPS_SHOWN]:
        names = [str(item) for item in group[:_ITEMS_SHOWN]]
        if len(group) > _ITEMS_SHOWN:
            names.append(f"{len(group) - _ITEMS_SHOWN} more")
        parts.append(", ".join(names))
    left = len(groups) - _GROUPS_SHOWN
    if left > 0:
        parts.append("1 more group" if left == 1 else f"{left} more groups")
    return "; ".join(parts)
