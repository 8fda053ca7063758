"""Feasibility of a point of a box, apart from the code that makes points feasible."""

import numpy as np


def contains(domain, a, tol=1e-10):
    """Whether ``0 <= a <= upper`` and ``y'a = balance`` to a relative tolerance."""
    scale = float(domain.upper.max())
    inside = np.all(a >= -tol * scale) and np.all(a <= domain.upper + tol * scale)
    excess = abs(float(domain.y @ a) - domain.balance)
    return bool(inside) and excess <= tol * max(float(a.sum()), scale)
