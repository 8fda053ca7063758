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


def absolute(x, y):
    return [abs(a - b) for a, b in zip(x, y, strict=True)]


def euclidean(x, y):
    return math.sqrt(sum(d * d for d in absolute(x, y)))


def squared_euclidean(x, y):
    return sum(d * d for d in absolute(x, y))


def city_block(x, y):
    return sum(absolute(x, y))


def chebyshev(x, y):
    return max(absolute(x, y))


def minkowski(x, y, *, p):
    return sum(d**p for d in absolute(x, y)) ** (1 / p)


def canberra(x, y):
    sizes = [abs(a) + abs(b) for a, b in zip(x, y, strict=True)]
    return sum(d / s for d, s in zip(absolute(x, y), sizes, strict=True) if s)


def bray_curtis(x, y):
    total = sum(x) + sum(y)
    return sum(absolute(x, y)) / total if total else 0.0


def cosine(x, y):
    return 1 - _dot(x, y) / math.sqrt(_dot(x, x) * _dot(y, y))


def correlation(x, y):
    return cosine(x - np.mean(x), y - np.mean(y))


def jensen_shannon(x, y):
    p, q = np.array(x) / sum(x), np.array(y) / sum(y)
    parts = [(p, (p + q) / 2), (q, (p + q) / 2)]
    sums = [
        sum(a * math.log(a / b) for a, b in zip(*pair, strict=True) if a)
        for pair in parts
    ]
    return math.sqrt(max(0.0, sum(sums) / 2))


def hamming(x, y):
    return sum(a != b for a, b in zip(x, y, strict=True)) / len(x)


def _four_counts(x, y):
    pairs = [(bool(a), bool(b)) for a, b in zip(x, y, strict=True)]
    return [pairs.count(p) for p in ((1, 1), (1, 0), (0, 1), (0, 0))]


def jaccard(x, y):
    a, b, c, _ = _four_counts(x, y)
    return (b + c) / (a + b + c) if a + b + c else 0.0


def dice(x, y):
    a, b, c, _ = _four_counts(x, y)
    return (b + c) / (2 * a + b + c) if a + b + c else 0.0


def rogers_tanimoto(x, y):
    a, b, c, d = _four_counts(x, y)
    return 2 * (b + c) / (a + d + 2 * (b + c))


def russell_rao(x, y):
    return _four_counts(x, y)[0] / len(x)


def sokal_sneath(x, y):
    a, b, c, _ = _four_counts(x, y)
    return 2 * (b + c) / (a + 2 * (b + c)) if a + b + c else 0.0


def yule(x, y):
    a, b, c, d = _four_counts(x, y)
    return 2 * b * c / (a * d + b * c) if b * c else 0.0


def standardised(x, y, *, variances):
    squares = zip(absolute(x, y), variances, strict=True)
    return math.sqrt(sum(d * d / v for d, v in squares))


def mahalanobis(x, y, *, inverse_covariance):
    step = np.subtract(x, y)
    return math.sqrt(step @ np.array(inverse_covariance) @ step)


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
