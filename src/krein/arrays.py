"""The type of every array of numbers in krein; sparse ones in one form."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

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
