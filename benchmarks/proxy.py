"""The proxy-kernel SVM: cost in eigendecompositions, and the published solvers.

    python benchmarks/proxy.py [--quick] [--large] [--only TABLE ...]

Prints the tables of the user guide. All ratios are taken within one process, with the
BLAS threads that krein takes for the size; times are those of the processor, so that
other work on the machine counts less, and the smallest of several runs, eigh and fit in
turn. A fit is `Spectrum.exact` plus the solver, to a certified gap of 1e-6 relative to
f - f(0).
"""

from __future__ import annotations

import argparse
import functools
import itertools
import resource
import time

import numpy as np
import scipy.linalg

from krein import ProxySVCCV, Spectrum
from krein.machines.box import BalancedBox
from krein.machines.proxy import ProxySVM
from krein.machines.second_order import second_order
from krein.published.cutting_planes import accpm
from krein.published.gradient_methods import smm, spgm
from krein.published.semi_infinite import siqclp
from krein.threads import threads_for

CS = (1.0, 10.0)
RHOS = (0.01, 0.1, 1.0, 10.0, 100.0)
SETTINGS = tuple(itertools.product(CS, RHOS))
LARGE = ((1.0, 0.01), (1.0, 1.0), (1.0, 100.0), (10.0, 0.1), (10.0, 10.0))


def noisy_gaussian(n, seed=0):
    """K0 = Gaussian - 0.1 (E + E') / 2 on ten features, and labels of two classes."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 10))
    score = X[:, 0] + 0.5 * X[:, 1] ** 2 - 0.5 + 0.3 * rng.standard_normal(n)
    squares = np.sum(X**2, axis=1)
    K = np.exp(-(squares[:, None] + squares - 2 * X @ X.T) / 10)
    E = rng.standard_normal((n, n))
    K -= 0.05 * (E + E.T)
    return K, np.where(score > 0, 1.0, -1.0)


def seconds(function):
    start = time.process_time()
    answer = function()
    return time.process_time() - start, answer


def on_its_threads(table):
    """Print a table of n items on the threads that a fit of so many takes."""

    @functools.wraps(table)
    def printed(n, *given, **options):
        with threads_for(n):
            table(n, *given, **options)

    return printed


def make(spectrum, y, C, rho, **options):
    return ProxySVM(spectrum, BalancedBox(np.full(y.size, C), y), rho, **options)


@on_its_threads
def auto_table(n, repeats, settings=SETTINGS):
    """Time of a certified fit over the time of one eigh, by (C, rho)."""
    K, y = noisy_gaussian(n)
    eigh, spectra, solves = [], [], {}
    gaps = {}
    for _ in range(repeats):
        eigh.append(seconds(lambda: scipy.linalg.eigh(K, driver="evd"))[0])
        elapsed, spectrum = seconds(lambda: Spectrum.exact(K))
        spectra.append(elapsed)
        for C, rho in settings:
            elapsed, result = seconds(
                lambda C=C, rho=rho, spectrum=spectrum: second_order(
                    make(spectrum, y, C, rho)
                )
            )
            solves.setdefault((C, rho), []).append(elapsed)
            gaps[C, rho] = result.certificate.relative
    unit = min(eigh)
    print(
        f"\nn = {n}: eigh {unit:.4f} s, Spectrum.exact {min(spectra) / unit:.2f} eigh"
    )
    ratios = []
    for key, times in solves.items():
        ratios.append((min(spectra) + min(times)) / unit)
        print(
            f"  C = {key[0]:4g}  rho = {key[1]:6g}  fit {ratios[-1]:5.2f} eigh  "
            f"certified relative gap {gaps[key]:.1e}"
        )
    print(f"  median {np.median(ratios):.2f}, worst {max(ratios):.2f}")


@on_its_threads
def published_table(n, rhos, limits):
    """Gradients (eigendecompositions as published) to the stop, and the true gap."""
    K, y = noisy_gaussian(n)
    spectrum = Spectrum.exact(K)
    unit = min(seconds(lambda: scipy.linalg.eigh(K, driver="evd"))[0] for _ in range(3))
    methods = {
        "spgm, own stop": lambda p: spgm(p, stop="change", max_iter=limits["gradient"]),
        "smm, own stop": lambda p: smm(p, stop="change", max_iter=limits["gradient"]),
        "smm, true 1e-6": lambda p: smm(
            p, tol=1e-12, max_iter=limits["gradient"], callback=near_best
        ),
        "accpm": lambda p: accpm(p, tol=1e-6, max_iter=limits["accpm"]),
        "siqclp": lambda p: siqclp(p, tol=1e-2, max_iter=limits["siqclp"]),
    }
    goal = [np.inf]

    def near_best(iterate):
        return iterate.value >= goal[0]

    print(f"\nn = {n}: published solvers; cost of auto in eigh, factor of the others")
    factors = {"smm, own stop": [], "smm, true 1e-6": []}
    for C in CS:
        for rho in rhos:
            problem = make(spectrum, y, C, rho)
            best = second_order(problem, tol=1e-9).value
            rise = best - problem.constant
            goal[0] = best - 1e-6 * rise
            elapsed, result = seconds(lambda p=problem: second_order(p))
            cost = 1.0 + elapsed / unit
            print(
                f"  C = {C:g}, rho = {rho:g}: auto {cost:.2f} eigh, true relative gap "
                f"{(best - result.value) / rise:.1e}"
            )
            for name, solve in methods.items():
                elapsed, result = seconds(lambda p=problem, s=solve: s(p))
                history = result.history
                steps = (
                    history["evaluations"][-1]
                    if "evaluations" in history
                    else result.n_iter
                )
                if name in factors:
                    factors[name].append(steps / cost)
                print(
                    f"    {name:15s} {steps:6.0f} eigh  ({steps / cost:7.1f} x auto)  "
                    f"true relative gap {(best - result.value) / rise:.1e}  certified "
                    f"{result.certificate.relative:.1e}  {result.status}"
                )
    for name, values in factors.items():
        print(f"  median factor of {name}: {np.median(values):.0f} (of {len(values)})")


@on_its_threads
def grid_table(n):
    """A 5 x 5 grid of (C, rho) in five folds, in eigh of the fold's size."""
    K, y = noisy_gaussian(n)
    m = n * 4 // 5
    part = np.ascontiguousarray(K[:m, :m])
    eigh = lambda: scipy.linalg.eigh(part, driver="evd")  # noqa: E731
    unit = min(seconds(eigh)[0] for _ in range(3))
    elapsed, _ = seconds(lambda: ProxySVCCV(tol=1e-4).fit(K, y))
    unit = min(unit, *(seconds(eigh)[0] for _ in range(3)))
    print(
        f"\nn = {n}, 5 x 5 grid in 5 folds: {elapsed / unit:.1f} eigh of the fold size "
        f"(goal {5 * (1 + 25 * 0.3):.1f}), refit included"
    )


@on_its_threads
def siqclp_table(n, max_iter):
    """Kernels in the localisation set, with and without pruning."""
    K, y = noisy_gaussian(n)
    problem = make(Spectrum.exact(K), y, 1.0, 1.0)
    for prune in (True, False):
        result = siqclp(problem, tol=1e-2, max_iter=max_iter, prune=prune)
        history = result.history
        monotone = np.all(np.diff(history["bound"]) <= 0) and np.all(
            np.diff(history["value"]) >= 0
        )
        print(
            f"siqclp n = {n}, prune={prune}: {result.n_iter} iterations, at most "
            f"{history['size'].max():.0f} kernels, relative gap "
            f"{result.certificate.relative:.1e}, both bounds monotone: {monotone}"
        )


@on_its_threads
def memory_table(n):
    """Peak memory of one fit in n x n doubles, K0 itself included."""
    unit = 8.0 * n * n
    K, y = noisy_gaussian(n)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    K, y = noisy_gaussian(n)
    spectrum = Spectrum.exact(K)
    after_eigh = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    second_order(make(spectrum, y, 1.0, 1.0))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(
        f"\nmemory at n = {n}, in n x n doubles: making the data {before / unit:.2f}, "
        f"peak with the spectrum {after_eigh / unit:.2f}, with the solver "
        f"{peak / unit:.2f}"
    )


FULL = {
    "auto": lambda: (auto_table(208, repeats=30), auto_table(1200, repeats=5)),
    "grid": lambda: grid_table(1200),
    "siqclp": lambda: siqclp_table(208, 150),
    "published": lambda: published_table(
        1200, RHOS, {"gradient": 3000, "accpm": 300, "siqclp": 20}
    ),
    "large": lambda: (memory_table(3000), auto_table(5000, 1, LARGE)),
}
QUICK = {
    "auto": lambda: auto_table(208, repeats=3),
    "published": lambda: published_table(
        100, (1.0,), {"gradient": 500, "accpm": 50, "siqclp": 10}
    ),
    "siqclp": lambda: siqclp_table(60, 20),
    "grid": lambda: grid_table(200),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small sizes only")
    parser.add_argument("--large", action="store_true", help="n = 5000 as well")
    parser.add_argument("--only", nargs="+", choices=sorted(FULL), help="these tables")
    options = parser.parse_args()
    tables = QUICK if options.quick else FULL
    chosen = options.only or [
        name for name in tables if name != "large" or options.large
    ]
    for name in chosen:
        tables[name]()


if __name__ == "__main__":
    main()
