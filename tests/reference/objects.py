"""Graphs, places and distributions, from their definitions."""

import math
from collections import Counter
from itertools import pairwise, permutations

import numpy as np


def _neighbours(graph):
    n, edges, _ = graph
    return [
        sorted({v for u, v in edges if u == k} | {u for u, v in edges if v == k})
        for k in range(n)
    ]


def wl(g, h, *, n_iter):
    total = 0
    labels = [[str(c) for c in graph[2]] for graph in (g, h)]
    near = [_neighbours(g), _neighbours(h)]
    for _ in range(n_iter + 1):
        counts = [Counter(words) for words in labels]
        total += sum(counts[0][word] * counts[1][word] for word in counts[0])
        labels = [
            [
                f"({words[k]}|{','.join(sorted(words[m] for m in others[k]))})"
                for k in range(len(words))
            ]
            for words, others in zip(labels, near, strict=True)
        ]
    return float(total)


def optimal_assignment(g, h, *, depth, decay):
    if g[0] > h[0]:
        g, h = h, g
    near = [_neighbours(g), _neighbours(h)]

    def R(level, u, v):
        if level == 0:
            return float(g[2][u] == h[2][v])
        pairs = [R(level - 1, a, b) for a in near[0][u] for b in near[1][v]]
        return sum(pairs) / len(pairs) if pairs else 0.0

    node = [
        [sum(decay**k * R(k, u, v) for k in range(depth + 1)) for v in range(h[0])]
        for u in range(g[0])
    ]
    return max(
        sum(node[u][v] for u, v in enumerate(chosen))
        for chosen in permutations(range(h[0]), g[0])
    )


def great_circle(p, q):
    """By the angle between position vectors, in kilometres."""

    def position(place):
        lat, lon = map(math.radians, place)
        return np.array(
            [
                math.cos(lat) * math.cos(lon),
                math.cos(lat) * math.sin(lon),
                math.sin(lat),
            ]
        )

    u, v = position(p), position(q)
    angle = math.atan2(np.linalg.norm(np.cross(u, v)), u @ v)
    return 6371.0088 * angle


def wasserstein(x, y):
    """Area between the two step functions."""
    grid = sorted([*x, *y])
    area = 0.0
    for left, right in pairwise(grid):
        F = sum(value <= left for value in x) / len(x)
        G = sum(value <= left for value in y) / len(y)
        area += abs(F - G) * (right - left)
    return area


def gower(x, y, *, ranges):
    """Mean similarity over the columns that both rows have."""
    similar = []
    for a, b, width in zip(x, y, ranges, strict=True):
        if a is None or b is None:
            continue
        if width is None or width == 0:
            similar.append(float(a == b))
        else:
            similar.append(max(0.0, 1 - abs(a - b) / width))
    return sum(similar) / len(similar) if similar else 0.0
