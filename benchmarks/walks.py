"""How many modules of krein a common call touches, and how deep its calls go.

    python benchmarks/walks.py

A module counts if one of its functions runs during the call (imports apart). Depth is
the longest chain of calls between functions of krein.
"""

from __future__ import annotations

import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import krein

ROOT = str(Path(krein.__file__).parent)


def walk(call: Callable[[], Any]) -> tuple[int, int]:
    """Number of modules that a call touches, and its depth."""
    modules, depth, deepest = set(), 0, 0

    def trace(frame, event, arg):
        nonlocal depth, deepest
        name = frame.f_code.co_filename
        if not name.startswith(ROOT) or frame.f_code.co_name == "<module>":
            return
        if event == "call":
            modules.add(name)
            depth += 1
            deepest = max(deepest, depth)
        elif event == "return":
            depth -= 1

    call()  # modules are loaded, caches filled
    sys.setprofile(trace)
    try:
        call()
    finally:
        sys.setprofile(None)
    return len(modules), deepest


def main() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3))
    K, y = np.tanh(X @ X.T), (X[:, 0] > 0).astype(int)

    def fit():
        krein.SpectrumSVC("clip").fit(K, y).predict(K)

    def compare():
        with tempfile.TemporaryDirectory() as folder:
            krein.compare(K, y, cv=2).to_html(Path(folder) / "page.html")

    def fasta():
        from krein.cli import main as command

        with tempfile.TemporaryDirectory() as folder:
            sequences = Path(folder) / "items.fasta"
            labels = Path(folder) / "labels.csv"
            letters = "ACDEFGHIKLMNPQRSTVWY"
            words = ["".join(rng.choice(list(letters), 12)) for _ in range(24)]
            sequences.write_text("".join(f">s{i}\n{w}\n" for i, w in enumerate(words)))
            rows = "".join(f"s{i},{'ab'[i % 2]}\n" for i in range(24))
            labels.write_text("name,label\n" + rows)
            page = Path(folder) / "page.html"
            given = ["compare", sequences, "--labels", labels, "--html", page,
                     "--kernel", "edit", "--json"]  # fmt: skip
            command([str(word) for word in given])

    goals = {
        "SpectrumSVC fit and predict": (fit, 14, 12),
        "compare with its page": (compare, 50, None),
        "krein compare on a FASTA file": (fasta, 70, None),
    }
    for name, (call, most, deepest) in goals.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            count, depth = walk(call)
        goal = f"goal {most}" + (f", depth {deepest}" if deepest else "")
        print(f"{name}: {count} modules, depth {depth} ({goal})", file=sys.stderr)


if __name__ == "__main__":
    main()
