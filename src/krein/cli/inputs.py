"""Files -> what the commands work on, by `krein.formats`."""

from __future__ import annotations

from typing import Any

import numpy as np

from krein.formats import Named, read_items, read_labels, read_matrix

__all__ = ["read_input", "read_target"]


def read_input(path: str, kernel: str) -> Named:
    """Read a square matrix, or items when a kernel is going to compare them."""
    if kernel != "precomputed":
        return read_items(path)
    read = read_matrix(path)
    if read.names is not None and read.columns not in (None, read.names):
        raise ValueError(
            f"{path}: rows and columns have different names; expected the similarities "
            "of items to themselves, in the same order"
        )
    return Named(read.data, read.names or read.columns, target=read.target)


def read_target(path: str | None, read: Named, option: str = "--labels") -> Any:
    """Return one label per item, from a file of labels or from the input itself."""
    n = len(read.data)
    if path is None:
        if read.target is None:
            raise ValueError(f"the input has no labels; give them with {option} FILE")
        return read.target
    labels = np.asarray(read_labels(path, names=read.names).data)
    if labels.size != n:
        raise ValueError(f"{path} has {labels.size} labels for {n} items")
    return labels
