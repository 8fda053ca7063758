"""Whether functions of a small space separate two classes: a linear program."""

from __future__ import annotations

import numpy as np
import scipy.optimize

from krein.arrays import Array


def separable(P: Array, y: Array) -> bool:
    """Tell whether some ``f = P b`` has ``y_i f_i > 0`` for every item.

    By scaling b this is ``y_i f_i >= 1``, the feasibility of a linear program. Where it
    holds, the c.p.d. SVM with free polynomials has the optimum 0 for every
    regularisation (Walder and Chapelle, 2007, section 6.2). The point that the program
    finds is checked, so that its tolerance decides nothing.

    Parameters
    ----------
    P : ndarray of shape (n, r)
        Values of a basis of the space.
    y : ndarray of shape (n,)
        Labels -1 and +1.

    Returns
    -------
    bool
    """
    r = P.shape[1]
    size = np.abs(P).max(axis=0, initial=0.0)
    size[size == 0.0] = 1.0
    signed = y[:, None] * (P / size)
    answer = scipy.optimize.linprog(
        np.zeros(r),
        A_ub=-signed,
        b_ub=-np.ones(y.size),
        bounds=[(None, None)] * r,
        method="highs",
    )
    if answer.x is None:
        return False
    rounding = 4.0 * r * np.finfo(float).eps * (np.abs(signed) @ np.abs(answer.x))
    return bool(np.all(signed @ answer.x > rounding))
