"""Damaged files from seeds: every reader reads what is there or raises FormatError.

``python -m tests.files.damaged KIND FIRST COUNT`` tries seeds and writes a line for
each failure; ``KIND`` is one of `KINDS`, or ``all``. `try_file(kind, seed, folder)` is
one trial, for campaigns.
"""

import gzip
import io
import os
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import scipy.io
import scipy.sparse

from krein import FormatError, read_items, read_labels, read_matrix, write_matrix

TOKENS = [
    b"0", b"-1", b"nan", b"inf", b"1e999", b"99999999999999999999", b"\x00", b"\xff",
    b"\n", b"\r", b",", b";", b"\t", b" ", b"#", b'"', b"'", b"%%", b"2 3", b"0 0",
    b"=cmd()", b"\xef\xbb\xbf", b"\xff\xfe", b"PK\x03\x04", b"complex", b"symmetric",
    b"pattern", b"{", b"]", b":", b">", b"@data\n", b"1_0", b"1,5", b"\x1f\x8b", b"?",
]  # fmt: skip


def _matrix(rng):
    n = int(rng.integers(1, 6))
    A = np.round(rng.standard_normal((n, n)), 3)
    return A + A.T


def _names(rng, n):
    words = ["ann", "b b", "1", "#c", "=d", 'e"', "ä", "x,y", "long_name_of_an_item"]
    return [str(name) for name in rng.choice(words, n, replace=False)]


def _krein(suffix):
    def make(rng):
        K = _matrix(rng)
        names = _names(rng, len(K)) if rng.integers(2) and suffix != ".phy" else None
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"K{suffix}"
            write_matrix(path, K, names=names)
            return path.read_bytes()

    return make


def _table(rng):
    separator = str(rng.choice([",", ";", "\t", " "]))
    rows = [separator.join(map(repr, row)) for row in _matrix(rng).tolist()]
    text = "\n".join(rows) + "\n"
    return (text.replace(".", ",") if separator != "," else text).encode()


def _market(rng):
    A = _matrix(rng)
    handle = io.BytesIO()
    matrix = scipy.sparse.coo_array(A) if rng.integers(2) else A
    symmetry = str(rng.choice(["general", "symmetric"]))
    scipy.io.mmwrite(handle, matrix, symmetry=symmetry)
    return handle.getvalue()


def _matlab(rng):
    K = _matrix(rng)
    handle = io.BytesIO()
    variables = {"K": scipy.sparse.csc_array(K) if rng.integers(2) else K}
    if rng.integers(2):
        variables["names"] = np.array([f"n{i}" for i in range(len(K))], dtype=object)
    scipy.io.savemat(handle, variables, do_compression=bool(rng.integers(2)))
    return handle.getvalue()


def _text(text):
    return lambda rng: text.encode()


_SERIES = "@classLabel true a b\n@data\n1,2:3,4:a\n5,6:7,8:b\n"
_BLAST = "a\tb\t80.0\t50\t10\t0\t1\t50\t1\t50\t1e-10\t60.5\n"
# kind -> (name of the file, its content, how it is read)
KINDS = {
    "csv": ("K.csv", _krein(".csv"), read_matrix),
    "tsv": ("K.tsv", _krein(".tsv"), read_matrix),
    "table": ("K.txt", _table, read_matrix),
    "npy": ("K.npy", _krein(".npy"), read_matrix),
    "npz": ("K.npz", _krein(".npz"), read_matrix),
    "phylip": ("K.phy", _text("2\nann 0 1.5\nbob 1.5 0\n"), read_matrix),
    "mtx": ("K.mtx", _market, read_matrix),
    "mat": ("K.mat", _matlab, read_matrix),
    "pairs": ("hits.m8", _text(_BLAST * 2 + "x y 3\n"), read_matrix),
    "gzip": ("K.csv.gz", lambda rng: gzip.compress(_table(rng)), read_matrix),
    "fasta": ("s.fasta", _text(">a b\nACGT\n>c\nAC\nGT*\n"), read_items),
    "ts": ("s.ts", _text(_SERIES), read_items),
    "ucr": ("s.tsv", _text("1\t0.5\t1.5\n2\t3\tNaN\n"), read_items),
    "lines": ("w.txt", _text("one\ntwo words\n"), read_items),
    "labels": ("l.csv", _text('name,label\nann,1\n"b b",2\n'), read_labels),
}  # fmt: skip


def damage(rng, content):
    """Flip, cut, repeat, insert, overwrite; often where sizes stand, near the top."""
    data = bytearray(content)
    for _ in range(int(rng.integers(1, 6))):
        if not data:
            break
        reach = len(data) if rng.integers(2) else min(len(data), 160)
        at, action = int(rng.integers(reach)), rng.integers(6)
        token = TOKENS[rng.integers(len(TOKENS))]
        if action == 0:
            data[at] ^= 1 << int(rng.integers(8))
        elif action == 1 and rng.integers(2):
            del data[at:]
        elif action == 2:
            del data[at : at + int(rng.integers(1, 9))]
        elif action == 3:
            data[at:at] = data[at : at + int(rng.integers(1, 65))]
        elif action == 4:
            data[at:at] = token
        else:
            data[at : at + len(token)] = token
    return bytes(data)


def try_file(kind, seed, folder):
    """Read one damaged file; return what is wrong with that, or None."""
    name, make, read = KINDS[kind]
    rng = np.random.default_rng([seed, *kind.encode()])
    path = Path(folder) / name
    path.write_bytes(damage(rng, make(rng)))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = read(path)
    except FormatError as error:
        return None if str(error).startswith(str(path)) else f"file not named: {error}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return _wrong(found, read)


def _wrong(found, read):
    """What may not come out of a reader, whatever the file."""
    if len(found.data) == 0 or not found.notes:
        return f"nothing was read and nothing said: {found}"
    if read is read_matrix and not np.isfinite(found.data).all():
        return "numbers that are not finite"
    for names in (found.names, found.columns):
        if names is not None and len(set(names)) < len(names):
            return f"names that are not unique: {names}"
    if found.names is not None and len(found.names) != len(found.data):
        return f"{len(found.names)} names for {len(found.data)} items"
    return None


def main(kind, first, count):
    """Try seeds of one kind or of all."""
    os.environ.setdefault("KREIN_MEMORY_LIMIT", "1GB")
    seeds = range(int(first), int(first) + int(count))
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        for each in KINDS if kind == "all" else [kind]:
            for seed in seeds:
                problem = try_file(each, seed, folder)
                if problem is not None:
                    failures += 1
                    line = " ".join(problem.split())
                    sys.stdout.write(f"{each} {seed}  {line}\n")
            sys.stdout.write(f"{each}: {len(seeds)} tried\n")
            sys.stdout.flush()
    return min(failures, 1)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
