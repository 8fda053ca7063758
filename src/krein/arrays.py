"""Arrays of numbers: their type, sparse rows, units, threads of linear algebra."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

Array = NDArray[np.float64]


def compressed_rows(matrix: Any) -> scipy.sparse.csr_array:
    """Compressed rows in float64, with 32-bit positions where they suffice.

    Scikit-learn refuses longer ones, and slicing by arrays makes them.
    """
    matrix = scipy.sparse.csr_array(matrix, dtype=np.float64)
    if matrix.indices.dtype == np.int32 or max(matrix.nnz, *matrix.shape) >= 2**31:
        return matrix
    positions = matrix.indices.astype(np.int32), matrix.indptr.astype(np.int32)
    return scipy.sparse.csr_array((matrix.data, *positions), shape=matrix.shape)


def real_numbers(values: Any) -> Array:
    """Return what a kernel gave as float64; complex numbers would lose a part."""
    values = np.asarray(values)
    if np.iscomplexobj(values):
        raise TypeError(
            "kernel returned complex numbers; similarities must be real: return the "
            "real part, or the magnitude, whichever is meant"
        )
    return values.astype(np.float64, copy=False)


def power_of_two(x: float) -> float:
    """Power of two near x > 0; 1 for what has none.

    Examples
    --------
    >>> power_of_two(1000.0), power_of_two(0.0)
    (1024.0, 1.0)
    """
    return float(2.0 ** np.round(np.log2(x))) if 0.0 < x < np.inf else 1.0


@cache
def _libraries() -> ThreadpoolController:
    return ThreadpoolController()  # looking for them takes 15 ms


def blas_threads(limit: int | None) -> AbstractContextManager[object]:
    """Use at most so many threads of BLAS inside of the block; None: as they are.

    Passes over tiles of a few hundred columns are many short products. On two cores
    two threads take twice the processor time of one and no less time, and much more
    of both when something else runs beside them.

    Parameters
    ----------
    limit : int or None
        Number of threads.
    """
    if limit is None:
        return nullcontext()
    return _libraries().limit(limits=limit, user_api="blas")
