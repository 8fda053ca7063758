"""What can be compared where items are many: landmarks, and an exact fit on a sample.

Landmarks use every item, but only the directions that `LANDMARKS` of them span. An
exact fit on a sample knows all directions of few items. Which of both is better
depends on the data, so `compare` tries both.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from krein.arrays import Array
from krein.estimators.spectral import SpectrumSVC
from krein.similarity.matrix import Similarities
from krein.training import Classes, Training, Values

MANY_ITEMS = 5000  # items; from more on both take part without being named
LANDMARKS = 500  # items
SAMPLE_ITEMS = 2000  # items; their exact fit takes about as long as that on landmarks

_GRID_ITEMS = 500  # items that tell the unit of C
_ROUGH_GAP = 1e-3  # relative gap of a candidate that is only ranked


def sample_of(target: Classes | Values, size: int) -> np.ndarray | None:
    """Positions of a random sample that has items of every class; None: all items.

    Parameters
    ----------
    target : Classes or Values
        What is to be learnt of the items.
    size : int
        Number of items to draw.
    """
    if size >= target.size:
        return None
    order = np.random.RandomState(0).permutation(target.size)
    if isinstance(target, Classes):
        _, first = np.unique(target.codes[order], return_index=True)
        order = np.concatenate([order[first], np.delete(order, first)])
    return np.sort(order[:size])


def landmark_grid(K: Array) -> list[dict[str, Any]]:
    """Values of C for flip, in units of the flipped similarity of some items."""
    some = np.linspace(0, K.shape[0] - 1, min(_GRID_ITEMS, K.shape[0])).astype(int)
    part = Training(Similarities(K[np.ix_(some, some)]), None, None, some.size)
    no_target = Classes(np.zeros(some.size, dtype=int), 2)
    return SpectrumSVC("flip").grid(part, no_target)


def rough_landmarks(approximation: Any, C: float) -> SpectrumSVC:
    """Return flip on landmarks, for ranking candidates only."""
    return SpectrumSVC("flip", approximation=approximation, tol=_ROUGH_GAP, C=C)
