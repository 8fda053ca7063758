"""Items of any kind, taken by position."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["take"]


def take(items: Any, rows: Any) -> Any:
    """Items at the given positions (indices or a slice), whatever holds them."""
    if hasattr(items, "iloc"):
        return items.iloc[rows]
    if isinstance(items, np.ndarray):
        return items[rows]
    if isinstance(rows, slice):
        return list(items[rows])
    return [items[i] for i in rows]
