"""The dual of an SVM in rational numbers: the objective and the optimum exactly."""

from fractions import Fraction


def solve(matrix, right):
    """Gauss-Jordan elimination on Fractions; None if the matrix is singular."""
    n = len(right)
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    for k in range(n):
        pivot = max(range(k, n), key=lambda i: abs(rows[i][k]))
        if rows[pivot][k] == 0:
            return None
        rows[k], rows[pivot] = rows[pivot], rows[k]
        rows[k] = [x / rows[k][k] for x in rows[k]]
        for i in range(n):
            if i != k and rows[i][k]:
                rows[i] = [
                    x - rows[i][k] * y for x, y in zip(rows[i], rows[k], strict=True)
                ]
    return [row[-1] for row in rows]


def exact(array):
    """Nested lists of Fractions from an array of floats."""
    if array.ndim == 1:
        return [Fraction(x) for x in array.tolist()]
    return [exact(row) for row in array]


def dual_value(K, y, a):
    """e'a - a'YKYa / 2 for lists of Fractions."""
    v = [p * q for p, q in zip(y, a, strict=True)]
    f = [sum(p * q for p, q in zip(row, v, strict=True)) for row in K]
    return sum(a) - sum(p * q for p, q in zip(v, f, strict=True)) / 2


def exact_optimum(K, y, upper, guess):
    """Optimum whose active set is that of `guess`, verified; None if it is not so.

    All arguments are lists of Fractions.
    """
    n = len(y)
    free = [i for i in range(n) if 0 < guess[i] < upper[i]]
    a = [Fraction(0) if g <= 0 else g for g in guess]
    fixed = [0 if i in free else y[i] * min(a[i], upper[i]) for i in range(n)]
    outputs = [sum(p * q for p, q in zip(row, fixed, strict=True)) for row in K]
    system = [[*(y[i] * y[j] * K[i][j] for j in free), y[i]] for i in free]
    system.append([*(y[j] for j in free), Fraction(0)])
    found = solve(system, [*(1 - y[i] * outputs[i] for i in free), -sum(fixed)])
    if found is None:
        return None
    *inner, tau = found
    for i, x in zip(free, inner, strict=True):
        a[i] = x
    v = [p * q for p, q in zip(y, a, strict=True)]
    for i in range(n):
        reduced = 1 - y[i] * (tau + sum(p * q for p, q in zip(K[i], v, strict=True)))
        wrong = (a[i] <= 0 and reduced > 0) or (a[i] >= upper[i] and reduced < 0)
        if wrong or not 0 <= a[i] <= upper[i]:
            return None
    return dual_value(K, y, a)
