"""Kernels on vectors, one pair at a time."""

import math

import numpy as np


def tl1(x, y, *, tau):
    return max(tau - sum(abs(a - b) for a, b in zip(x, y, strict=True)), 0.0)


def rbf(x, y, *, gamma):
    return math.exp(-gamma * sum((a - b) ** 2 for a, b in zip(x, y, strict=True)))


def laplacian(x, y, *, gamma):
    return math.exp(-gamma * sum(abs(a - b) for a, b in zip(x, y, strict=True)))


def _dot(x, y):
    return sum(a * b for a, b in zip(x, y, strict=True))


def tanimoto(x, y):
    union = _dot(x, x) + _dot(y, y) - _dot(x, y)
    return _dot(x, y) / union if union else 1.0


def sigmoid(x, y, *, gamma, coef0):
    return math.tanh(gamma * _dot(x, y) + coef0)


def polynomial(x, y, *, degree, gamma, coef0):
    return (gamma * _dot(x, y) + coef0) ** degree


def thin_plate(x, y, *, exponent):
    """Polyharmonic kernel of one pair."""
    r = np.sqrt(np.sum((x - y) ** 2))
    if exponent % 2 == 0:
        return (-1) ** (exponent / 2 + 1) * r**exponent * np.log(r) if r > 0 else 0.0
    return (-1) ** np.ceil(exponent / 2) * r**exponent


def multiquadric(x, y, *, c, power):
    """Multiquadric of one pair."""
    return (-1) ** np.ceil(power) * (c**2 + np.sum((x - y) ** 2)) ** power
