"""Tables of hits on the command line: a sparse similarity of the items with a label."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from krein.formats import FormatError, Named, read_hits

__all__ = ["leave_out_rare", "near_duplicates", "read_if_hits"]

_ITEMS = 200  # fewer items, or more pairs, are read as a matrix
_DENSITY = 0.2
_NEAR = 0.9


def read_if_hits(path: str, format: str | None) -> Named | None:
    """Read a table of hits as a sparse similarity; None if it is something else."""
    from krein import HitSimilarity
    from krein.formats.recognise import choose_format

    if path == "-" or not Path(path).is_file():
        return None
    try:
        if choose_format(Path(path), format, matrix=True) != "pairs":
            return None
        hits = read_hits(path)
    except FormatError:
        return None  # the reader of matrices says what is wrong
    n = hits.data.shape[0]
    if n < _ITEMS or hits.data.nnz > _DENSITY * n * n:
        return None
    own = bool((hits.data.diagonal() > 0).any())
    rule = HitSimilarity(normalize=own)
    K = rule.fit_transform(hits)
    missing = getattr(rule, "n_imputed_", 0)
    notes = [
        f"read {hits.data.nnz} hits of {n} items ({hits.data.nnz / n**2:.2%} of the "
        "pairs); the better direction of a pair counts",
        f"scores over the roots of self scores, {missing} of them missing"
        if own
        else "no self scores: scores as they are",
    ]
    return replace(hits, data=K, notes=notes)


def leave_out_rare(read: Any, members: int) -> tuple[Any, list[str]]:
    """Leave out items of classes that are too small to train and test on."""
    from krein.arrays import compressed_rows

    classes, codes = np.unique(read.target, return_inverse=True)
    counts = np.bincount(codes)
    kept = np.flatnonzero(counts[codes] >= members)
    if kept.size == codes.size:
        return read, []
    large = int((counts >= members).sum())
    if large < 2:
        raise ValueError(
            f"{large} classes have {members} items or more; at least two are needed. "
            "Choose a smaller --min-members"
        )
    note = (
        f"{codes.size - kept.size} items of {classes.size - large} classes with fewer "
        f"than {members} members are left out (--min-members); {kept.size} items of "
        f"{large} classes remain"
    )
    part = replace(
        read,
        data=compressed_rows(read.data[kept][:, kept]),
        names=[read.names[k] for k in kept],
        target=read.target[kept],
        groups=None if read.groups is None else read.groups[kept],
    )
    return part, [note]


def near_duplicates(K: Any) -> list[str]:
    """Say how many items have a near-duplicate, which may lie on the other side."""
    pairs = K.tocoo()
    root = np.sqrt(np.abs(K.diagonal()))
    near = pairs.data >= _NEAR * root[pairs.row] * root[pairs.col]
    near &= (pairs.row != pairs.col) & (pairs.data > 0)
    share = np.unique(pairs.row[near]).size / K.shape[0]
    if share < 0.05:
        return []
    return [
        f"{share:.0%} of the items have a near-duplicate (similarity of {_NEAR} or "
        "more): random folds put them on both sides, and errors will look too small. "
        "--split-by-similarity 0.5 keeps relatives together"
    ]
