"""Kernels: adapters against bare libraries, cores, and memory.

    python benchmarks/kernels.py [overhead] [elastic] [cores] [memory]

Ratios are of minima over alternating runs, so that what else the machine does counts
for both sides. Overheads are of processor time on
one core, which other work on the machine does not change.
"""

import argparse
import subprocess
import sys
import time
import warnings
from functools import partial

import numpy as np
from threadpoolctl import threadpool_limits

from krein import kernel_matrix, smith_waterman_kernel
from krein.kernels import KERNELS
from krein.kernels.distances import fill_pairs

N = 500


def seconds(call, clock=time.perf_counter):
    start = clock()
    call()
    return clock() - start


def alternate(first, second, repeats=3, clock=time.perf_counter):
    """Return the smallest time of each of two calls, run in turn."""
    times = [(seconds(first, clock), seconds(second, clock)) for _ in range(repeats)]
    return tuple(min(column) for column in zip(*times, strict=True))


# --------------------------------------------------- adapter against bare library


def dtw_pair():
    from dtaidistance import dtw

    X = np.random.default_rng(1).standard_normal((N, 60))
    rows = np.triu_indices(N, k=1)

    def bare():
        D = np.zeros((N, N))
        D[rows] = dtw.distance_matrix_fast(X, parallel=False, compact=True, window=7)
        return D + D.T

    return lambda: KERNELS["dtw"].distance(X, window=6), bare


def edit_pair():
    from rapidfuzz import process
    from rapidfuzz.distance import DamerauLevenshtein

    rng = np.random.default_rng(2)
    words = ["".join(rng.choice(list("abcdefgh"), 60)) for _ in range(N)]
    return (
        lambda: KERNELS["damerau"].distance(words),
        lambda: process.cdist(words, words, scorer=DamerauLevenshtein.distance),
    )


def proteins(n, length=200):
    rng = np.random.default_rng(3)
    return ["".join(rng.choice(list("ACDEFGHIKLMNPQRSTVWY"), length)) for _ in range(n)]


def alignment_pair():
    import parasail

    sequences = proteins(N)

    def row(i, start):
        profile = parasail.profile_create_sat(sequences[i], parasail.blosum62)
        align = parasail.sw_striped_profile_sat
        return [align(profile, other, 12, 1).score for other in sequences[start:]]

    return (
        lambda: smith_waterman_kernel(sequences),
        lambda: fill_pairs(sequences, sequences, row),
    )


def spd_stack(n=N):
    A = np.random.default_rng(4).standard_normal((n, 8, 12))
    return A @ A.transpose(0, 2, 1)


def spd_pair():
    from pyriemann.geometry.distance import pairwise_distance

    X = spd_stack()
    return (
        lambda: KERNELS["affine_invariant"].distance(X),
        lambda: pairwise_distance(X, metric="riemann"),
    )


def elastic_pairs(n=60, length=427):
    """Ours and aeon's compiled function, by name and window."""
    from aeon import distances

    X = np.random.default_rng(1).standard_normal((n, length))
    for name in ("msm", "twe", "erp"):
        compiled = getattr(distances, f"{name}_pairwise_distance")
        for window in (None, 0.05):
            compiled(X[:3], window=window)  # compiled outside the clock
            yield (
                f"{name} / aeon, window {window}",
                partial(KERNELS[name].distance, X, window=window),
                partial(compiled, X, window=window),
            )


def elastic():
    """NumPy against compiled code; ERP's values rightly differ from aeon's."""
    warnings.simplefilter("ignore")  # numba on aeon's types
    try:
        for label, ours, theirs in elastic_pairs():
            first, second = alternate(ours, theirs, 3, clock=time.process_time)
            yield (
                f"{label}: {first:.2f} s / {second:.2f} s = {first / second:.2f} "
                "(at most 1.00)"
            )
    except ImportError as error:
        yield f"elastic distances against aeon: skipped, {error}"


def overhead():
    cases = {
        "dtw / dtaidistance": dtw_pair,
        "damerau / rapidfuzz": edit_pair,
        "smith_waterman / parasail": alignment_pair,
        "affine_invariant / pyriemann": spd_pair,
    }
    for name, make in cases.items():
        try:
            adapter, bare = make()
        except ImportError as error:
            yield f"{name}: skipped, {error}"
            continue
        with threadpool_limits(1):
            ours, theirs = alternate(adapter, bare, 5, clock=time.process_time)
        pair = theirs / (N * (N - 1) / 2) * 1e6
        yield (
            f"{name}, n={N}: {ours:.2f} s / {theirs:.2f} s = {ours / theirs:.2f} "
            f"(at most 1.10), {pair:.1f} microseconds a pair"
        )


# ---------------------------------------------------------------- cores and memory


def cores():
    series = np.random.default_rng(1).standard_normal((200, 150))
    cases = {
        "dtw (processes)": ("dtw", series),
        "msm (processes)": ("msm", series),
        "smith_waterman (processes)": ("smith_waterman", proteins(250)),
        "more: smith_waterman (processes)": ("smith_waterman", proteins(750)),
        "affine_invariant (processes)": ("affine_invariant", spd_stack()),
        "more: affine_invariant (processes)": ("affine_invariant", spd_stack(1500)),
    }
    for label, (name, items) in cases.items():
        kernel_matrix(name, items[:20], n_jobs=2)  # workers are started
        with threadpool_limits(1):
            one, two = alternate(
                lambda name=name, items=items: kernel_matrix(name, items, n_jobs=1),
                lambda name=name, items=items: kernel_matrix(name, items, n_jobs=2),
            )
        yield (
            f"{label}: {one:.2f} s on one core, {two:.2f} s on two, "
            f"{one / two:.2f} times (at least 1.8)"
        )


MEMORY = """
import resource, sys, tempfile, pathlib
import numpy as np
from krein import kernel_matrix
X = np.random.default_rng(0).random((10_000, 20))
kernel_matrix("tl1", X[:100])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
with tempfile.TemporaryDirectory() as folder:
    kernel_matrix("tl1", X, memory_limit="100MB", out=pathlib.Path(folder) / "K.npy")
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(before / 1e3, after / 1e3)
"""


def memory():
    run = [sys.executable, "-c", MEMORY]
    output = []
    elapsed = seconds(
        lambda: output.append(
            subprocess.run(run, check=True, capture_output=True, text=True).stdout
        )
    )
    before, after = map(float, output[0].split())
    yield (
        f"tl1 n=10000 to a file (800 MB) under memory_limit 100 MB: process peak "
        f"{after:.0f} MB, {before:.0f} MB before it, {elapsed:.1f} s with start"
    )


def main():
    parts = {part.__name__: part for part in (overhead, elastic, cores, memory)}
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", metavar="part", help=", ".join(parts))
    chosen = parser.parse_args().parts or list(parts)
    if unknown := set(chosen) - set(parts):
        parser.error(f"no part {', '.join(sorted(unknown))}; known: {', '.join(parts)}")
    for name in chosen:
        for line in parts[name]():
            print(line, flush=True)


if __name__ == "__main__":
    main()
