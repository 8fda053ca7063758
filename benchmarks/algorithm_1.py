"""How often Algorithm 1 of Walder and Chapelle (2007), as printed, misses the optimum.

    python benchmarks/algorithm_1.py [number of problems]
    python benchmarks/algorithm_1.py factors

Random problems with spline kernels of 6 to 60 items in one to three dimensions, the
regularisation from 1e-4 to 10. Each is solved as printed
(`krein.published.walder_algorithm_1`) and by `krein.CPDSVC`, whose certified gap is the
yardstick. Counted are runs that end by line 32 at the optimum (to 1e-6 of it), those
that end above it, and those in which the system of line 17 is singular.

Runs that reach a loss of zero are counted apart. Their last step fits the violators
exactly, y f = 1, and rounding decides which of them line 25 still calls violators
(y f < 1): with all of them the run ends, with fewer line 17 is singular. That differs
from one processor to the next, the other counts do not.
"""

from __future__ import annotations

import sys
import time
from collections import Counter

import numpy as np

from krein import CPDSVC, published

NO_LOSS = 1e-20  # sum of squares per item, all of it rounding


def draw(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Kernel, polynomials, labels and regularisation of one problem."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(6, 61)), int(rng.integers(1, 4))
    X = rng.standard_normal((n, d))
    noise = rng.choice([0.3, 1.0, 3.0]) * rng.standard_normal(n)
    y = np.where(X[:, 0] + noise > 0, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    r = np.sqrt(np.sum((X[:, None] - X) ** 2, axis=2))
    exponent = rng.choice([1, 3])
    Phi = -r if exponent == 1 else r**3
    P = np.column_stack([np.ones(n), X])
    return Phi, P, y, 10.0 ** rng.uniform(-4, 1)


def outcome(seed: int) -> str:
    """What became of one run."""
    Phi, P, y, lam = draw(seed)
    result = published.walder_algorithm_1(Phi, y, P, lam=lam)
    if result.history["value"][-1] <= NO_LOSS * y.size:
        return "no loss left"
    if result.status == "diverged":
        return "singular"
    if result.status != "converged":
        return "no end"
    model = CPDSVC(alpha=lam, kernel="precomputed").fit(Phi, y, P=P)
    best = float(model.objective_[0])
    unit = max(best, 1e-8 * y.size)
    return "above the optimum" if result.value - best > 1e-6 * unit else "optimum"


def compare_factors() -> None:
    """Print seconds, steps and objectives of fresh and of updated factors."""
    for n in (300, 700, 1500):
        rng = np.random.default_rng(n)
        X = rng.standard_normal((n, 2))
        y = np.where(X[:, 0] + 0.5 * rng.standard_normal(n) > 0, 1.0, -1.0)
        Phi = -np.sqrt(np.sum((X[:, None] - X) ** 2, axis=2))
        for lam in (1e-3, 1e-1, 10.0):
            line = f"{n:5d} items, lam {lam:6g}:"
            seconds = {}
            for factor in ("fresh", "updated"):
                start = time.process_time()
                result = published.walder_algorithm_1(
                    Phi, y, lam=lam, b_beta=True, factor=factor
                )
                seconds[factor] = time.process_time() - start
                line += f"  {factor} {seconds[factor]:6.2f} s, {result.n_iter:2d} steps"
                line += f", objective {result.value:.8g}"
            ratio = seconds["updated"] / seconds["fresh"]
            print(f"{line}  updated / fresh {ratio:.1f}")


if __name__ == "__main__":
    if sys.argv[1:] == ["factors"]:
        compare_factors()
        sys.exit()
    n_problems = int(sys.argv[1]) if len(sys.argv) > 1 else 1500
    counts = Counter(outcome(seed) for seed in range(n_problems))
    for name, count in counts.most_common():
        print(f"{name:18} {count:5d} of {n_problems}")
