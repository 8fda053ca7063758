"""Where people wait: commands on files, many classes, the demo.

    python benchmarks/waits.py [classes] [names] [demo] [hits HITS LABELS]

"classes" is one-vs-rest on 40 classes over what it is made of: one eigendecomposition
and scikit-learn's one-vs-rest SVC on the clipped kernel, in one process, minima of
three runs in turns. "names" compares all methods on 1000 made-up
names of two classes by edit distance. "hits" compares on a table of hits: all methods
on superfamilies of 10 and more domains, then three methods on larger ones. Commands run
in a process of their own; processor time is that of the process and its children.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np


def kernels_of_classes(n, count):
    """Labels, and kernels with C on which no, few and many items are on a bound."""
    from scipy.spatial.distance import cdist

    from krein import tl1_kernel

    rng = np.random.default_rng(0)
    y = np.arange(n) % count
    X = rng.standard_normal((count, 20))[y] + 0.9 * rng.standard_normal((n, 20))
    distances = cdist(X, X, metric="cityblock")
    pairs = distances[np.triu_indices(n, 1)]

    def near(share):  # TL1 with a length that leaves so many pairs
        return np.maximum(np.quantile(pairs, share) - distances, 0.0)

    kinds = {
        "no bound": (tl1_kernel(X), 10.0),
        "few bounds": (near(0.0011), 10.0),
        "half on bounds": (near(0.03), 10.0),
        "many bounds": (near(0.3), 0.1),
    }
    return y, kinds


def classes(n=1500, count=40):
    """Print one-vs-rest machines over their parts, at two tolerances."""
    y, kinds = kernels_of_classes(n, count)
    for kind, (K, C) in kinds.items():
        best, bounded = one_vs_rest(K, y, C)
        for name in ("tol 1e-6", "tol 1e-3"):
            print(
                f"one-vs-rest, {count} classes, {kind}, n = {n}, {name}: "
                f"{best[name]:.2f} s = {best[name] / best['parts']:.2f} x (eigh + SVC "
                f"{best['parts']:.2f} s), {bounded:.2%} of the items on a bound",
                flush=True,
            )


def one_vs_rest(K, y, C):
    """Least processor seconds of machines and their parts; share on a bound."""
    import scipy.linalg
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.svm import SVC

    from krein import SpectrumSVC

    def parts():
        values, U = scipy.linalg.eigh(K, driver="evd")
        positive = values > 0
        clipped = (U[:, positive] * values[positive]) @ U[:, positive].T
        OneVsRestClassifier(SVC(C=C, kernel="precomputed")).fit(clipped, y)

    def machine(tol):
        return SpectrumSVC("clip", C=C, tol=tol).fit(K, y)

    calls = {"parts": parts, "tol 1e-6": lambda: machine(1e-6)}
    calls["tol 1e-3"] = lambda: machine(1e-3)
    best = dict.fromkeys(calls, np.inf)
    for _ in range(3):
        for name, call in calls.items():
            start = time.process_time()
            model = call()
            best[name] = min(best[name], time.process_time() - start)
    a = np.abs(model.alpha_)
    return best, np.mean((a <= 0.0) | (a >= C))


def command(what, *words):
    """Run a command of krein and print what it took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "krein", *map(str, words)],
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    wall = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(f"{what}: {spent:.1f} processor s, {wall:.1f} s", flush=True)


def names(folder):
    """Print what a comparison on 1000 names takes."""
    rng = np.random.default_rng(0)
    parts = ["ma", "ri", "lo", "an", "el", "ka", "jo", "be", "tri", "so", "vi", "de"]
    ends = [["a", "ia", "ina", "ette", "is"], ["o", "us", "er", "on", "is"]]
    rows = ["name,label"]
    for i in range(1000):
        stem = "".join(rng.choice(parts, rng.integers(2, 4)))
        rows.append(f"{stem}{rng.choice(ends[i % 2])},{'fm'[i % 2]}")
    path = folder / "names.csv"
    path.write_text("\n".join(rows) + "\n")
    given = ["--items", "name", "--labels", "label", "--kernel", "edit"]
    command("compare, 1000 names, edit distance", "compare", path, *given)


def hits(path, labels):
    """Print what comparisons on a table of hits take."""
    given = ["compare", path, "--labels", labels, "--label-column", "superfamily"]
    command("compare, hits, 10 domains a class", *given)
    fewer = ["--methods", "neighbors,profiles,clip", "--folds", 3, "--min-members", 28]
    command("compare, hits, 3 methods, 28 domains a class", *given, *fewer)


def main(words):
    words = words or ["classes", "names", "demo"]
    with tempfile.TemporaryDirectory() as folder:
        if "classes" in words:
            classes()
        if "names" in words:
            names(Path(folder))
        if "demo" in words:
            command("krein demo", "demo", "--output", Path(folder) / "demo")
        if "hits" in words:
            hits(*words[words.index("hits") + 1 :][:2])


if __name__ == "__main__":
    main(sys.argv[1:])
