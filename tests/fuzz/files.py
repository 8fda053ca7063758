"""Damaged files: every reader gives what is there, or one error that names the file."""

import os
import tempfile
import warnings
from pathlib import Path

import numpy as np
import scipy.io

import krein
from krein.files.sources import FormatError

from . import TrialError

CLEAR = (FormatError, krein.ModelFileError)


def _matrix(rng, n=5):
    A = rng.standard_normal((n, n))
    return np.round(A + A.T, 3)


def _names(n):
    return [f"item {i}" for i in range(n)]


def _matrix_file(suffix):
    def write(rng, folder):
        path = folder / f"matrix{suffix}"
        krein.write_matrix(path, _matrix(rng), names=_names(5))
        return path, krein.read_matrix

    return write


def _market(rng, folder):
    path = folder / "matrix.mtx"
    symmetric = bool(rng.integers(2))
    K = _matrix(rng)
    scipy.io.mmwrite(path, K, symmetry="symmetric" if symmetric else "general")
    return path, krein.read_matrix


def _matlab(rng, folder):
    path = folder / "matrix.mat"
    compressed = bool(rng.integers(2))
    scipy.io.savemat(path, {"K": _matrix(rng)}, do_compression=compressed)
    return path, krein.read_matrix


def _text(name, text, read):
    def write(rng, folder):
        path = folder / name
        path.write_text(text)
        return path, read

    return write


def _model(rng, folder):
    path = folder / "model.krein"
    y = np.array([0, 1, 0, 1, 1])
    models = [krein.KreinSVC(), krein.ProxySVC(), krein.SpectrumSVC("flip")]
    model = models[rng.integers(len(models))]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        krein.save_model(model.fit(_matrix(rng), y), path)
    return path, krein.load_model


FASTA = ">one first\nACGTACGT\n>two\nACGGTT\n\n>three\nTTTT\n"
LABELS = "item,label\none,a\ntwo,b\nthree,a\n"
HITS = "one\ttwo\t98.5\t100\t1\t0\t1\t100\t1\t100\t1e-30\t200\n" * 3
SERIES = "@problemName p\n@timeStamps false\n@data\n1,2,3:a\n2,3,4:b\n"
KINDS = {
    ".csv": _matrix_file(".csv"),
    ".tsv": _matrix_file(".tsv"),
    ".npz": _matrix_file(".npz"),
    ".npy": _matrix_file(".npy"),
    ".mtx": _market,
    ".mat": _matlab,
    "fasta": _text("items.fasta", FASTA, krein.read_items),
    "labels": _text("labels.csv", LABELS, krein.read_labels),
    "hits": _text("hits.tsv", HITS, lambda path: krein.read_hits(path)),
    "series": _text("series.ts", SERIES, krein.read_items),
    "model": _model,
}
TOKENS = [
    b"0", b"-1", b"nan", b"inf", b"1e999", b"99999999999999999999", b"\x00", b"\xff",
    b"\n", b",", b"\t", b"#", b'"', b"%%", b"2 3", b"0 0", b"=cmd()", b"\xef\xbb\xbf",
    b"PK\x03\x04", b"complex", b"pattern", b"{", b"]", b":", b">",
]  # fmt: skip


def damaged(rng, data):
    """Flip, cut, repeat, insert; most of all near the beginning, where sizes stand."""
    data = bytearray(data)
    for _ in range(int(rng.integers(1, 5))):
        if not data:
            return bytes(data)
        reach = len(data) if rng.integers(2) else min(len(data), 128)
        at = int(rng.integers(reach))
        which = rng.integers(6)
        if which == 0:
            data[at] ^= 1 << int(rng.integers(8))
        elif which == 1:
            del data[at:]
        elif which == 2:
            del data[at : at + int(rng.integers(1, 9))]
        elif which == 3:
            data[at:at] = data[at : at + int(rng.integers(1, 65))]
        elif which == 4:
            data[at:at] = TOKENS[rng.integers(len(TOKENS))]
        else:
            token = TOKENS[rng.integers(len(TOKENS))]
            data[at : at + len(token)] = token
    return bytes(data)


def files(seed):
    """Read one damaged file."""
    rng = np.random.default_rng([seed, 4])
    os.environ.setdefault("KREIN_MEMORY_LIMIT", "1GB")
    kind = str(rng.choice(list(KINDS)))
    with tempfile.TemporaryDirectory() as folder:
        path, read = KINDS[kind](rng, Path(folder))
        path.write_bytes(damaged(rng, path.read_bytes()))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                read(path)
        except CLEAR as error:
            if path.name not in str(error):
                raise TrialError(f"{kind}: file not named: {error}") from error
        except Exception as error:
            raise TrialError(f"{kind}: {type(error).__name__}: {error}") from error
