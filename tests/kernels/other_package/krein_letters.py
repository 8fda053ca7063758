"""A package that brings kernels: one by an entry point, one registered on import."""

import numpy as np

from krein import register_kernel


def common_letters_kernel(X, Y=None, *, power=1.0):
    """Letters that two words have in common."""
    Y = X if Y is None else Y
    return np.array([[len({*x} & {*y}) ** power for y in Y] for x in X], float)


@register_kernel("letter_overlap", input="strings", definiteness="pd")
def letter_overlap_kernel(X, Y=None):
    """Letters in common over letters of either word."""
    Y = X if Y is None else Y
    return np.array([[len({*x} & {*y}) / len({*x} | {*y}) for y in Y] for x in X])
