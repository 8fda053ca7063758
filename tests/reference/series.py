"""Elastic distances, one pair and one cell at a time."""

import math

import numpy as np


def _inside(i, j, n_x, n_y, window):
    if window is None:
        return True
    cells = window if isinstance(window, int) else int(window * max(n_x, n_y))
    return i - j <= cells + max(0, n_x - n_y) and j - i <= cells + max(0, n_y - n_x)


def _samples(x):
    return np.atleast_2d(np.asarray(x, dtype=float)).T


def _run(n_x, n_y, window, start, match, skip_x, skip_y):
    """The recurrence on cells 0..n_x, 0..n_y; `start(i, j)` gives the border."""
    D = np.full((n_x + 1, n_y + 1), np.inf)
    for i in range(n_x + 1):
        for j in range(n_y + 1):
            if not _inside(i, j, n_x, n_y, window):
                continue
            if i == 0 or j == 0:
                D[i, j] = start(i, j)
            else:
                D[i, j] = min(
                    D[i - 1, j - 1] + match(i - 1, j - 1),
                    D[i - 1, j] + skip_x(i - 1, j - 1),
                    D[i, j - 1] + skip_y(i - 1, j - 1),
                )
    return D[n_x, n_y]


def _closed(i, j):
    return 0.0 if i == j == 0 else math.inf


def dtw(x, y, *, window=None):
    a, b = _samples(x), _samples(y)

    def cost(i, j):
        return float(np.sum((a[i] - b[j]) ** 2))

    return math.sqrt(_run(len(a), len(b), window, _closed, cost, cost, cost))


def erp(x, y, *, g=0.0, window=None):
    a, b = _samples(x), _samples(y)

    def gap(values):
        return sum(float(np.linalg.norm(value - g)) for value in values)

    return _run(
        len(a),
        len(b),
        window,
        lambda i, j: gap(a[:i]) + gap(b[:j]),
        lambda i, j: float(np.linalg.norm(a[i] - b[j])),
        lambda i, j: gap(a[i : i + 1]),
        lambda i, j: gap(b[j : j + 1]),
    )


def twe(x, y, *, nu=0.001, lmbda=1.0, window=None):
    a = np.vstack([np.zeros_like(_samples(x)[:1]), _samples(x)])
    b = np.vstack([np.zeros_like(_samples(y)[:1]), _samples(y)])

    def distance(u, v):
        return float(np.linalg.norm(u - v))

    return _run(
        len(a) - 1,
        len(b) - 1,
        window,
        _closed,
        lambda i, j: (
            distance(a[i + 1], b[j + 1]) + distance(a[i], b[j]) + 2 * nu * abs(i - j)
        ),
        lambda i, j: distance(a[i + 1], a[i]) + nu + lmbda,
        lambda i, j: distance(b[j + 1], b[j]) + nu + lmbda,
    )


def msm(x, y, *, c=1.0, window=None):
    total = 0.0
    for a, b in zip(_samples(x).T, _samples(y).T, strict=True):

        def extra(new, before, other):
            if before <= new <= other or before >= new >= other:
                return c
            return c + min(abs(new - before), abs(new - other))

        total += _run(
            len(a),
            len(b),
            window,
            _closed,
            lambda i, j, a=a, b=b: abs(a[i] - b[j]),
            lambda i, j, a=a, b=b, extra=extra: (
                extra(a[i], a[i - 1], b[j]) if i else math.inf
            ),
            lambda i, j, a=a, b=b, extra=extra: (
                extra(b[j], b[j - 1], a[i]) if j else math.inf
            ),
        )
    return total
