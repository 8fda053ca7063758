"""Whether labels that are numbers are numbers to be predicted, or classes."""

from __future__ import annotations

from typing import Any

import numpy as np

_FEWEST_NUMBERS = 10  # up to so many different whole numbers are classes
_PER_NUMBER = 3.0  # items per whole number, below which they are no classes
_PER_NUMBER_IN_DOUBT = 5.0  # the same for numbers that do not look like codes


def is_continuous(y: Any) -> bool:
    """Whether labels are numbers to be predicted rather than classes.

    Numbers some of which are not whole. Of whole ones more than ten different, and for
    each of them fewer than three items (unless they number the items), or fewer than
    five and no codes: codes of classes count from 0 or 1 without a gap, or every one of
    them has as many items. scikit-learn's classifiers refuse numbers with decimals as
    labels too; pass classes as text.
    """
    values = np.asarray(y)
    if values.ndim != 1 or values.dtype.kind not in "iuf" or not values.size:
        return False
    if not np.isfinite(values).all():
        return False
    if not (values == np.round(values)).all():
        return True
    numbers, counts = np.unique(values, return_counts=True)
    if numbers.size <= _FEWEST_NUMBERS:
        return False
    without_gap = bool(np.ptp(numbers) + 1 == numbers.size)
    if numbers.size > values.size / _PER_NUMBER:
        return not (without_gap and numbers.size == values.size)
    codes = (without_gap and numbers[0] in (0, 1)) or counts.min() == counts.max()
    return bool(numbers.size > values.size / _PER_NUMBER_IN_DOUBT and not codes)
