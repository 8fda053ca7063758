"""Cost of starting: imports against scikit-learn's, and ``krein --help``.

    python benchmarks/start_up.py

Whole processes, alternating, minima over repetitions: what else the machine does
counts for both sides. Byte code is written and used, as in every installation.
"""

import os
import subprocess
import sys
import time


def seconds(*arguments):
    env = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    start = time.perf_counter()
    subprocess.run(
        [sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL, env=env
    )
    return time.perf_counter() - start


def main():
    runs = {
        "import sklearn.svm": ("-c", "import sklearn.svm"),
        "import krein": ("-c", "import krein"),
        "from krein import SpectrumSVC": ("-c", "from krein import SpectrumSVC"),
        "krein --help": ("-m", "krein", "--help"),
    }
    rounds = [[seconds(*run) for run in runs.values()] for _ in range(5)]
    best = dict(zip(runs, map(min, zip(*rounds, strict=True)), strict=True))
    for name, took in best.items():
        ratio = took / best["import sklearn.svm"]
        print(f"{name:30s} {took:.2f} s, {ratio:.2f} x import sklearn.svm")


if __name__ == "__main__":
    main()
