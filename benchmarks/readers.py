"""CPU seconds of the readers on large files.

    python benchmarks/readers.py            all of them
    python benchmarks/readers.py mtx fasta  some of them
    python benchmarks/readers.py --tiny     in a second, for a smoke test

The files are made in a temporary folder. The last column is the time of the reader that
goes line by line, which takes over where the fast one gives up.
"""

import sys
import tempfile
import time
from pathlib import Path
from unittest import mock

import numpy as np

from krein import read_hits, read_items, read_matrix
from krein.files import hit_table, item_files, square


def coordinates(path, size):
    """Matrix Market, coordinate: size x size entries."""
    rng = np.random.default_rng(0)
    with path.open("w") as file:
        file.write("%%MatrixMarket matrix coordinate real general\n")
        file.write(f"{size} {size} {size * size}\n")
        for i in range(1, size + 1):
            values = enumerate(rng.random(size).tolist(), start=1)
            file.writelines(f"{i} {j} {value!r}\n" for j, value in values)


def numbers(path, size):
    """Matrix Market, array: size x size entries."""
    values = np.random.default_rng(0).random(size * size).tolist()
    head = f"%%MatrixMarket matrix array real general\n{size} {size}\n"
    path.write_text(head + "".join(f"{value!r}\n" for value in values))


def sequences(path, size):
    """FASTA: size records of 250 letters on lines of 60."""
    rng = np.random.default_rng(0)
    letters = np.frombuffer(b"ACDEFGHIKLMNPQRSTVWY", dtype=np.uint8)
    with path.open("w") as file:
        for k in range(size):
            text = rng.choice(letters, 250).tobytes().decode()
            lines = [text[i : i + 60] for i in range(0, 250, 60)]
            file.write(f">P{k} of a family\n" + "\n".join(lines) + "\n")


def hits(path, size):
    """BLAST's twelve columns: size lines."""
    rng = np.random.default_rng(0)
    rest = "0.5\t70\t41\t0\t48\t119\t42\t112\t1e-09"
    with path.open("w") as file:
        for k in range(size):
            target, score = rng.integers(1000), rng.integers(20, 900)
            file.write(f"q{k // 100}\tq{target}\t{rest}\t{score}\n")


# What makes the file, its name and size, its reader, and where the fast way is.
CASES = {
    "mtx": (coordinates, "K.mtx", 2000, read_matrix, (square, "fast_numbers")),
    "array": (numbers, "A.mtx", 2000, read_matrix, (square, "fast_numbers")),
    "fasta": (sequences, "s.fasta", 200_000, read_items, (item_files, "fast_fasta")),
    "hits": (hits, "hits.m8", 1_000_000, read_hits, (hit_table, "fast_lines")),
}


def seconds(read, path, repeats):
    """CPU seconds of the best of some runs."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        read(path)
        times.append(time.process_time() - start)
    return min(times)


def main(words):
    """Print a line per reader."""
    tiny = "--tiny" in words
    chosen = [word for word in words if word != "--tiny"] or CASES
    with tempfile.TemporaryDirectory() as folder:
        for name in chosen:
            make, file, size, read, fast = CASES[name]
            path = Path(folder) / file
            make(path, 20 if tiny else size)
            took = seconds(read, path, 1 if tiny else 3)
            with mock.patch.object(*fast, lambda *_: None):
                careful = seconds(read, path, 1)
            what = f"{make.__doc__:51} {path.stat().st_size / 1e6:6.1f} MB"
            print(f"{name:6} {what} {took:6.2f} s, line by line {careful:6.2f} s")
            path.unlink()


if __name__ == "__main__":
    main(sys.argv[1:])
