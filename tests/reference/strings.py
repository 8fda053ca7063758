"""String and alignment scores, from their definitions."""

import math
from functools import lru_cache


def edit(a, b):
    @lru_cache(None)
    def d(i, j):
        if i == 0 or j == 0:
            return i + j
        return min(
            d(i - 1, j) + 1, d(i, j - 1) + 1, d(i - 1, j - 1) + (a[i - 1] != b[j - 1])
        )

    return d(len(a), len(b))


def damerau(a, b):
    """Edits and swaps; letters may be inserted between swapped ones."""

    @lru_cache(None)
    def d(i, j):
        if i == 0 or j == 0:
            return i + j
        best = min(
            d(i - 1, j) + 1, d(i, j - 1) + 1, d(i - 1, j - 1) + (a[i - 1] != b[j - 1])
        )
        for k in range(1, i):
            for m in range(1, j):
                if a[k - 1] == b[j - 1] and b[m - 1] == a[i - 1]:
                    between = (i - k - 1) + 1 + (j - m - 1)
                    best = min(best, d(k - 1, m - 1) + between)
        return best

    return d(len(a), len(b))


def lcs(a, b, *, normalize=False):
    @lru_cache(None)
    def length(i, j):
        if i == 0 or j == 0:
            return 0
        if a[i - 1] == b[j - 1]:
            return length(i - 1, j - 1) + 1
        return max(length(i - 1, j), length(i, j - 1))

    score = length(len(a), len(b))
    return score / math.sqrt(len(a) * len(b)) if normalize else score


def jaro_winkler(a, b):
    reach = max(0, max(len(a), len(b)) // 2 - 1)
    used = [False] * len(b)
    matched_a = []
    for i, letter in enumerate(a):
        for j in range(max(0, i - reach), min(len(b), i + reach + 1)):
            if not used[j] and b[j] == letter:
                used[j] = True
                matched_a.append(letter)
                break
    matched_b = [letter for letter, hit in zip(b, used, strict=True) if hit]
    m = len(matched_a)
    if m == 0:
        return 0.0
    swaps = sum(x != y for x, y in zip(matched_a, matched_b, strict=True)) // 2
    jaro = (m / len(a) + m / len(b) + (m - swaps) / m) / 3
    prefix = 0
    while prefix < min(4, len(a), len(b)) and a[prefix] == b[prefix]:
        prefix += 1
    return jaro + 0.1 * prefix * (1 - jaro) if jaro > 0.7 else jaro


def alignment(a, b, *, matrix, gap_open, gap_extend, local, normalize=False):
    """Best score over alignments: every gap length is tried at every cell."""
    score = _alignment(a, b, matrix, gap_open, gap_extend, local)
    if not normalize:
        return score
    own = [_alignment(s, s, matrix, gap_open, gap_extend, local) for s in (a, b)]
    return score / math.sqrt(own[0] * own[1])


def _alignment(a, b, matrix, gap_open, gap_extend, local):
    match, mismatch = matrix

    def gap(length):
        return gap_open + length * gap_extend if length else 0

    @lru_cache(None)
    def best(i, j):
        if i == 0 or j == 0:
            return 0 if local else -gap(i + j)
        options = [best(i - 1, j - 1) + (match if a[i - 1] == b[j - 1] else mismatch)]
        options += [best(i - k, j) - gap(k) for k in range(1, i + 1)]
        options += [best(i, j - k) - gap(k) for k in range(1, j + 1)]
        return max(options + [0] * local)

    if not local:
        return best(len(a), len(b))
    return max(best(i, j) for i in range(len(a) + 1) for j in range(len(b) + 1))


def smith_waterman(a, b, **params):
    return alignment(a, b, local=True, **params)


def needleman_wunsch(a, b, **params):
    return alignment(a, b, local=False, **params)
