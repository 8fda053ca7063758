"""What a truncated spectrum leaves out: the bound holds, and nothing less would."""

from dataclasses import replace

import numpy as np

from krein.domain import BalancedBox
from krein.problems.proxy import ProxySVM
from krein.solvers.second_order import second_order
from krein.spectrum import Spectrum


def value(K, y, a, rho):
    """f(a) in full, by its closed form."""
    v = y * a
    d = np.linalg.eigvalsh(K + np.outer(v, v) / (4 * rho))
    return a.sum() - rho * np.sum(np.maximum(d, 0.0) ** 2) + rho * np.sum(K * K)


def share_of_bound(seed):
    """True loss by truncation over what `truncation_error` allows."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 9))
    k = int(rng.integers(1, n))
    Q, _ = np.linalg.qr(rng.standard_normal((n, n)))
    eps = 10.0 ** rng.uniform(-3, 0)
    kept = rng.choice([-1, 1], k) * rng.uniform(eps, 2, k)
    rest = rng.choice([-1, 1], n - k) * eps * rng.choice([1, rng.uniform()], n - k)
    K = (Q * np.append(kept, rest)) @ Q.T
    K = 0.5 * (K + K.T)
    y = np.append([1.0, -1.0], rng.choice([-1.0, 1.0], n - 2))
    C, rho = 10.0 ** rng.uniform(-1, 2), 10.0 ** rng.uniform(-2, 1)
    full = Spectrum.exact(K)
    order = np.argsort(-np.abs(full.eigenvalues))
    chosen = np.sort(order[:k])
    part = replace(
        full,
        eigenvalues=full.eigenvalues[chosen],
        eigenvectors=full.eigenvectors[:, chosen],
        truncation=float(np.abs(full.eigenvalues[order[k]])),
    )
    box = BalancedBox(np.full(n, C), y)
    problem = ProxySVM(part, box, rho)
    found = second_order(problem, tol=1e-9)
    best = second_order(ProxySVM(full, box, rho), tol=1e-9)
    bound = problem.truncation_error(found.x)
    if bound < 1e-7:
        return 0.0
    lost = value(K, y, best.x, rho) - value(K, y, np.clip(found.x, 0.0, C), rho)
    return (lost - found.certificate.value) / bound


def test_the_bound_holds_and_is_attained():
    shares = [share_of_bound(seed) for seed in [*range(40), 353, 429, 2240]]
    assert max(shares) <= 1.0 + 1e-6
    assert max(shares) > 0.95
