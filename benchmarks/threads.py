"""One thread of BLAS against those that users have.

    python benchmarks/threads.py fits [--busy]
    python benchmarks/threads.py sizes [N ...] [--only WORD ...]

`fits` runs what people run as they have it, alternately under a limit of one thread.
With `--busy` another process keeps a core busy all the while. `sizes` takes the size
`krein.threads.ONE_THREAD_BELOW` away and shows for rising sizes what threads gain:
that constant was chosen by it. Ratios are of all threads to one, on the clock (the best
repetition of each) and in processor time (the sums). Repetitions in which other
programs took the processor are left out where enough others are found (on Linux).
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import multiprocessing
import os
import time
import warnings
from pathlib import Path

import numpy as np
import scipy.linalg
from sklearn.datasets import make_moons
from threadpoolctl import ThreadpoolController, threadpool_info

from krein import (
    CPDSVC,
    KreinLogisticRegression,
    KreinRidge,
    ProxySVC,
    SpectrumSVC,
    SpectrumSVCCV,
    compare,
    sigmoid_kernel,
    threads,
)

GOAL_FIT, GOAL_COMPARE = 1.2, 1.1
GOAL_FIT_BUSY, GOAL_COMPARE_BUSY = 2.0, 1.5
SECONDS = 1.5  # of repetitions, per measurement
STRAY = 0.1  # cores; what other programs may take in a repetition that counts
STAT = Path("/proc/stat")
CONTROLLER = ThreadpoolController()


def data(n):
    """Two classes of points, and an indefinite similarity of them."""
    X, y = make_moons(n, noise=0.3, random_state=0)
    X = np.hstack([X, np.random.default_rng(0).standard_normal((n, 8))])
    return X, y, sigmoid_kernel(X, gamma=0.1, coef0=-1.0)


def fits_of(n):
    """What is fitted on n items."""
    X, y, K = data(n)
    return {
        "SpectrumSVC": lambda: SpectrumSVC().fit(K, y),
        "SpectrumSVCCV": lambda: SpectrumSVCCV().fit(K, y),
        "ProxySVC": lambda: ProxySVC().fit(K, y),
        "KreinLogisticRegression": lambda: KreinLogisticRegression().fit(K, y),
        "KreinRidge": lambda: KreinRidge().fit(K, y.astype(float)),
        "CPDSVC": lambda: CPDSVC().fit(X[:, :2], y),
    }


def parts_of(n):
    """What fits are made of."""
    _, y, K = data(n)
    v, V = y - 0.5, np.random.default_rng(0).standard_normal((n, 10))
    definite = K @ K + np.eye(n)
    return {
        "eigh": lambda: scipy.linalg.eigh(K, driver="evd", check_finite=False),
        "cholesky": lambda: scipy.linalg.cho_factor(definite, check_finite=False),
        "K @ K": lambda: K @ K,
        "K @ ten vectors": lambda: K @ V,
        "K @ vector": lambda: K @ v,
    }


def others_seconds():
    """Processor seconds of all other programs since the start; None if unknown."""
    try:
        fields = STAT.read_text().splitlines()[0].split()[1:]
    except OSError:  # not Linux
        return None
    user, nice, system, _, _, interrupts, more, stolen = map(int, fields[:8])
    ticks = user + nice + system + interrupts + more + stolen
    return ticks / os.sysconf("SC_CLK_TCK") - time.process_time()


def one_run(function, repeat, limit):
    """Seconds on the clock, of the processor, and of other programs meanwhile."""
    with CONTROLLER.limit(limits=limit, user_api="blas"):
        before = others_seconds()
        start, used = time.perf_counter(), time.process_time()
        for _ in range(repeat):
            function()
        clock = time.perf_counter() - start
        used = time.process_time() - used
    others = 0.0 if before is None else others_seconds() - before
    return clock / repeat, used / repeat, others / clock


def measured(function, budget=SECONDS, beside=0.0):
    """Best seconds with one thread and with all, ratio of processor time, disturbance.

    Repetitions alternate; short work is repeated until the clock can see it. Those in
    which other programs took the processor are repeated as well, up to four times the
    budget; the least disturbed ones count. `beside` is what is meant to run beside.
    """
    start = time.perf_counter()
    function()
    once = max(time.perf_counter() - start, 1e-9)
    repeat = max(1, int(0.1 / once))
    wanted = int(np.clip(budget / (2 * repeat * once), 2, 25))
    runs = {1: [], None: []}
    end = time.perf_counter() + 4 * max(budget, 2 * wanted * repeat * once)
    for done in itertools.count(1):
        for limit, found in runs.items():
            found.append(one_run(function, repeat, limit))
        quiet = min(sum(run[2] <= beside + STRAY for run in r) for r in runs.values())
        if quiet >= wanted or (done >= wanted and time.perf_counter() > end):
            break
    best = {
        limit: sorted(found, key=lambda run: run[2])[:wanted]
        for limit, found in runs.items()
    }
    clock = {limit: min(run[0] for run in kept) for limit, kept in best.items()}
    used = {limit: sum(run[1] for run in kept) for limit, kept in best.items()}
    stray = max(run[2] for kept in best.values() for run in kept) - beside
    return clock[1], clock[None], used[None] / used[1], stray


def line(name, n, found, goal=None):
    one, default, processor, stray = found
    target = "" if goal is None else f" (at most {goal:.1f})"
    print(
        f"{name}, n = {n}: one thread {1e3 * one:.4g} ms, default "
        f"{1e3 * default:.4g} ms = {default / one:.2f} x{target}, "
        f"processor {processor:.2f} x"
        + (f"; disturbed by {stray:.0%} of a core" if stray > STRAY else ""),
        flush=True,
    )


def _spin():
    while True:
        pass


@contextlib.contextmanager
def busy(wanted):
    """Another process that never rests, if wanted."""
    if not wanted:
        yield
        return
    other = multiprocessing.Process(target=_spin, daemon=True)
    other.start()
    try:
        yield
    finally:
        other.terminate()


def show_fits(beside):
    """Users' threads against one thread."""
    with busy(beside):
        for n in (100, 300, 1000):
            for name, fit in fits_of(n).items():
                goal = GOAL_FIT_BUSY if beside else GOAL_FIT
                line(name, n, measured(fit, beside=float(beside)), goal)
        _, y, K = data(400)
        run = measured(lambda: compare(K, y), budget=0.0, beside=float(beside))
        line("compare", 400, run, GOAL_COMPARE_BUSY if beside else GOAL_COMPARE)


def show_sizes(sizes, words):
    """What threads gain if nothing is limited."""
    threads.ONE_THREAD_BELOW = 0
    for n in sizes:
        for name, work in {**parts_of(n), **fits_of(n)}.items():
            if not words or name in words:
                line(name, n, measured(work))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["fits", "sizes"])
    parser.add_argument("n", nargs="*", type=int)
    parser.add_argument("--busy", action="store_true", help="beside a busy process")
    parser.add_argument("--only", nargs="+", default=[], help="what 'sizes' measures")
    given = parser.parse_args()
    counts = sorted({i["num_threads"] for i in threadpool_info()})
    print(f"threads as users have them: {', '.join(map(str, counts))}")
    warnings.simplefilter("ignore")  # convergence is not the question
    if given.what == "fits":
        show_fits(given.busy)
    else:
        show_sizes(given.n or [250, 500, 1000, 1500, 2000, 3000], given.only)


if __name__ == "__main__":
    main()
