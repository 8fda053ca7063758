"""Kernels on vectors, one pair at a time."""

import math


def tl1(x, y, *, tau):
    return max(tau - sum(abs(a - b) for a, b in zip(x, y, strict=True)), 0.0)


def rbf(x, y, *, gamma):
    return math.exp(-gamma * sum((a - b) ** 2 for a, b in zip(x, y, strict=True)))


def laplacian(x, y, *, gamma):
    return math.exp(-gamma * sum(abs(a - b) for a, b in zip(x, y, strict=True)))


def _dot(x, y):
    return sum(a * b for a, b in zip(x, y, strict=True))


def sigmoid(x, y, *, gamma, coef0):
    return math.tanh(gamma * _dot(x, y) + coef0)


def polynomial(x, y, *, degree, gamma, coef0):
    return (gamma * _dot(x, y) + coef0) ** degree
