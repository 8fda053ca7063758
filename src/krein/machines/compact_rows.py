"""Rows of numbers of all training items, kept by the few that say something.

A model on m landmarks has coefficients on these only, and the variables of a machine
in a box lie on its bounds but for a few: classes x n numbers say little more than m or
the few do. Both forms give the whole array on request, the same to the last bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from krein.arrays import Array


@dataclass(frozen=True)
class LandmarkRows:
    """Rows that are zero but at the landmarks.

    Attributes
    ----------
    values : ndarray of shape (n_rows, m)
        Numbers at the landmarks.
    positions : ndarray of int of shape (m,)
        Where the landmarks are among the items, ascending.
    n : int
        Number of items.

    Examples
    --------
    >>> LandmarkRows(np.array([[2.0, 3.0]]), np.array([1, 3]), 5).wide()
    array([[0., 2., 0., 3., 0.]])
    """

    values: Array
    positions: np.ndarray
    n: int

    def __post_init__(self) -> None:
        inside = np.all((self.positions >= 0) & (self.positions < self.n))
        if self.values.shape[1:] != self.positions.shape or not inside:
            raise ValueError(
                f"rows at {self.positions.shape} landmarks among {self.n} items do not "
                f"go with values of shape {self.values.shape}"
            )

    @property
    def shape(self) -> tuple[int, int]:
        """Of the whole array."""
        return self.values.shape[0], self.n

    def wide(self) -> Array:
        """Return the whole array (n_rows, n)."""
        rows = np.zeros(self.shape)
        rows[:, self.positions] = self.values
        return rows


@dataclass(frozen=True)
class BoxRows:
    """Rows of variables ``0 <= a_i <= upper_i``: two bits each, and the free ones.

    Attributes
    ----------
    upper : ndarray of shape (n,)
        Upper bounds of all rows; all the same number where it has the shape (1,).
    at_upper : ndarray of uint8 of shape (n_rows, ceil(n / 8))
        One bit for each variable: it is on its upper bound.
    free : ndarray of uint8 of shape (n_rows, ceil(n / 8))
        One bit for each variable: it is on no bound.
    values : ndarray
        The variables on no bound, row by row.
    n : int
        Number of items.
    """

    upper: Array
    at_upper: np.ndarray
    free: np.ndarray
    values: Array
    n: int

    def __post_init__(self) -> None:
        bits = (self.at_upper.shape[0], -(-self.n // 8))
        sound = (
            self.at_upper.shape == self.free.shape == bits
            and self.upper.shape in ((1,), (self.n,))
            and self.values.shape == (_count(self.free, self.n),)
        )
        if not sound:
            raise ValueError("rows of variables in a box do not fit together")

    @classmethod
    def of(cls, a: Array, upper: Array) -> BoxRows:
        """Return the compact form of one row."""
        at_upper = a == upper
        free = (a != 0.0) & ~at_upper
        same = upper[:1] if np.all(upper == upper[0]) else upper
        return cls(
            upper=same.copy(),
            at_upper=np.packbits(at_upper)[None],
            free=np.packbits(free)[None],
            values=a[free],
            n=a.size,
        )

    @classmethod
    def stacked(cls, rows: Sequence[BoxRows]) -> BoxRows:
        """Return rows of the same box as one."""
        return cls(
            upper=rows[0].upper,
            at_upper=np.vstack([one.at_upper for one in rows]),
            free=np.vstack([one.free for one in rows]),
            values=np.concatenate([one.values for one in rows]),
            n=rows[0].n,
        )

    @property
    def shape(self) -> tuple[int, int]:
        """Of the whole array."""
        return self.at_upper.shape[0], self.n

    def wide(self) -> Array:
        """Return the whole array (n_rows, n)."""
        rows = np.empty(self.shape)
        used = 0
        for k, row in enumerate(rows):
            np.multiply(_mask(self.at_upper[k], self.n), self.upper, out=row)
            free = _mask(self.free[k], self.n)
            count = int(free.sum())
            row[free] = self.values[used : used + count]
            used += count
        return rows

    def placed(self, positions: np.ndarray, n: int) -> BoxRows:
        """Return the same for n items, zero but at some of them, in their order."""

        def moved(packed: np.ndarray) -> np.ndarray:
            bits = np.zeros((self.shape[0], n), dtype=bool)
            bits[:, positions] = np.unpackbits(packed, axis=1, count=self.n)
            return np.packbits(bits, axis=1)

        upper = self.upper
        if upper.size > 1:
            upper = np.zeros(n)
            upper[positions] = self.upper
        return BoxRows(upper, moved(self.at_upper), moved(self.free), self.values, n)


def _mask(packed: np.ndarray, n: int) -> np.ndarray:
    return np.unpackbits(packed, count=n).astype(bool)


def _count(packed: np.ndarray, n: int) -> int:
    """Number of bits set, row by row: without all of them unpacked at once."""
    return sum(int(_mask(row, n).sum()) for row in packed)
