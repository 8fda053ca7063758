"""Units in which numbers are near 1; powers of two, so that nothing is rounded."""

from __future__ import annotations

import numpy as np


def power_of_two(x: float) -> float:
    """Power of two near x > 0; 1 for what has none.

    Examples
    --------
    >>> power_of_two(1000.0), power_of_two(0.0)
    (1024.0, 1.0)
    """
    return float(2.0 ** np.round(np.log2(x))) if 0.0 < x < np.inf else 1.0
