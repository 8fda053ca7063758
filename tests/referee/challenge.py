"""Other feasible points, found by methods of our own, try to beat a claimed optimum.

Projected ascent with backtracking from several starts; nothing of krein is used but the
fitted numbers. Problems are written down a third time here, in their plainest form.
"""

import numpy as np


def project(a, y, upper, total=0.0):
    """Nearest point of 0 <= a <= upper, y'a = total, by bisection."""
    reach = float(np.abs(a).max() + upper.max()) + 1.0
    low, high = -reach, reach
    for _ in range(60):
        tau = 0.5 * (low + high)
        if float(y @ np.clip(a - tau * y, 0.0, upper)) > total:
            low = tau
        else:
            high = tau
    return np.clip(a - high * y, 0.0, upper)


def ascend(value_grad, nearest, start, steps=60):
    """Best value found on the way."""
    a = nearest(start)
    value, g = value_grad(a)
    best, t = value, 1.0
    for _ in range(steps):
        for _ in range(40):
            new = nearest(a + t * g)
            new_value, new_g = value_grad(new)
            d = new - a
            if new_value >= value + g @ d - (d @ d) / (2 * t) - 1e-15 * abs(value):
                break
            t *= 0.5
        if not np.any(d):
            break
        a, value, g, t = new, new_value, new_g, 2.0 * t
        best = max(best, value)
    return best


def weighted_spectrum(K, w):
    root = np.sqrt(w)
    return (*np.linalg.eigh(root[:, None] * K * root), root)


def fixed_kernel(K, w, method):
    """K~ of a spectrum fix."""
    d, U, root = weighted_spectrum(K, w)
    f = {
        "clip": lambda: np.maximum(d, 0.0),
        "flip": lambda: np.abs(d),
        "square": lambda: d**2,
        "shift": lambda: d - min(0.0, d[0]),
        "diffusion": lambda: np.exp(d / np.abs(d).max()),
    }[method]()
    return (U * f) @ U.T / root / root[:, None]


def svm(K, y, upper):
    def value_grad(a):
        f = y * (K @ (y * a))
        return a.sum() - 0.5 * a @ f, 1.0 - f

    return value_grad, lambda a: project(a, y, upper)


def regression(K, t, upper, epsilon):
    """Variables a and a* stacked; v = a - a*."""
    n = t.size
    y = np.repeat([1.0, -1.0], n)
    margin = np.concatenate([t, -t]) - epsilon

    def value_grad(a):
        v = a[:n] - a[n:]
        f = K @ v
        return margin @ a - 0.5 * v @ f, margin - y * np.concatenate([f, f])

    return value_grad, lambda a: project(a, y, np.concatenate([upper, upper]))


def one_class(K, upper, nu):
    ones = np.ones(upper.size)

    def value_grad(v):
        f = K @ v
        return -0.5 * v @ f, -f

    return value_grad, lambda v: project(v, ones, upper, nu * upper.sum())


def proxy(K, y, w, upper, rho):
    root = np.sqrt(w)
    A0 = root[:, None] * K * root

    def value_grad(a):
        u = y * a / root
        d, U = np.linalg.eigh(A0 + np.outer(u, u) / (4 * rho))
        d = np.maximum(d, 0.0)
        value = a.sum() - rho * (d @ d) + rho * np.sum(A0 * A0)
        return value, 1.0 - y * (U @ (d * (U.T @ u))) / root

    return value_grad, lambda a: project(a, y, upper)


def spline(phi, P, t, w, alpha, loss, free):
    """Minus the objective, in a = Z z (P'a = 0) and polynomial coefficients."""
    U, s, _ = np.linalg.svd(P)
    Z = U[:, int(np.sum(s > 1e-10 * s[0])) :]
    A = Z.T @ phi @ Z
    F = np.hstack([phi @ Z, P]) if free else phi @ Z
    k = Z.shape[1]

    def value_grad(x):
        f = F @ x
        if loss == "squared":
            cost, slope = w @ (t - f) ** 2, -2 * w * (t - f)
        elif loss == "logistic":
            margin = np.clip(t * f, -500.0, 500.0)
            cost, slope = w @ np.logaddexp(0, -t * f), -w * t / (1 + np.exp(margin))
        else:
            short = np.maximum(0.0, 1 - t * f)
            cost, slope = w @ short**2, -2 * w * t * short
        gradient = F.T @ slope
        gradient[:k] += 2 * alpha * (A @ x[:k])
        return -(cost + alpha * x[:k] @ A @ x[:k]), -gradient

    return value_grad, lambda x: x, F.shape[1]
