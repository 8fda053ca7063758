"""Matrix Market, MATLAB and numpy files: against SciPy, and when they are damaged."""

import contextlib
import gzip
import io
import os
import struct
import subprocess
import sys

import numpy as np
import pytest
import scipy.io
import scipy.sparse

from krein import FormatError, read_items, read_labels, read_matrix
from krein.files.sources import TooLargeError

# ---------------------------------------------------------------------- Matrix Market


@pytest.mark.parametrize("symmetry", ["general", "symmetric"])
@pytest.mark.parametrize("sparse", [True, False])
@pytest.mark.parametrize("kind", ["real", "integer"])
def test_matrix_market_equals_scipy(tmp_path, rng, symmetry, sparse, kind):
    A = rng.standard_normal((6, 6)) * (rng.random((6, 6)) > 0.4)
    A = np.rint(9 * A).astype(int) if kind == "integer" else A
    A = A if symmetry == "general" else A + A.T
    path = tmp_path / "K.mtx"
    matrix = scipy.sparse.coo_array(A) if sparse else A
    scipy.io.mmwrite(path, matrix, symmetry=symmetry, comment="by\nscipy", precision=17)
    np.testing.assert_array_equal(read_matrix(path).data, A)


def test_matrix_market_of_patterns_and_rectangles(write):
    head = "%%MatrixMarket matrix coordinate pattern general\n"
    read = read_matrix(write("a.mtx", head + "2 3 2\n1 3\n2 1\n"))
    assert read.data.tolist() == [[0, 0, 1], [1, 0, 0]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("array real symmetric\n2 3\n1\n2\n3\n", "symmetric matrix has 2 rows and 3"),
        ("array real symmetric\n0 0\n", "expected the numbers of rows"),
        ("array real general\n0 3\n", "expected the numbers of rows"),
        ("array real symmetric\n3 3\n1\n2\n", "6 entries are announced, 2 follow"),
        ("coordinate real symmetric\n2 3 1\n1 1 1\n", "has 2 rows and 3"),
        ("coordinate real symmetric\n3 3 4\n1 1 1\n", "4 entries are announced, 1"),
        ("coordinate real general\n2 2 1\n3 1 1\n", r"\(3, 1\) is outside \(2, 2\)"),
        ("coordinate real general\n2 2 1\n0 1 1\n", "outside"),
        ("coordinate real general\n2 2 2\n1 1 1\n1 1 2\n", "given twice"),
        ("coordinate real symmetric\n2 2 2\n1 2 1\n2 1 2\n", "given twice"),
        ("coordinate real general\n2 2 1\n1 1\n", "line 3: expected row, column"),
        ("coordinate real general\n2 2 1\n1 1 x\n", "line 3, column 3: expected a num"),
        ("coordinate complex general\n1 1 1\n1 1 1 0\n", "complex coordinate"),
        ("array complex hermitian\n1 1\n1 0\n", "array hermitian is not read"),
        ("array real general\n-1 2\n", "numbers of rows"),
        ("array real general\n99999999999 99999999999\n1\n", "GB"),
        ("", "expected '%%MatrixMarket matrix"),
    ],
)
def test_damaged_matrix_market(write, text, message):
    with pytest.raises(FormatError, match=message):
        read_matrix(write("a.mtx", f"%%MatrixMarket matrix {text}"))


# ----------------------------------------------------------------------------- MATLAB


@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i1", "u1", "i2", "u2", "i4", "u8", "?"])
def test_matlab_equals_scipy(tmp_path, rng, packed, dtype):
    A = (100 * rng.random((4, 5))).astype(dtype)
    path = tmp_path / "K.mat"
    scipy.io.savemat(path, {"K": A, "note": "ä text"}, do_compression=packed)
    read = read_matrix(path)
    np.testing.assert_array_equal(read.data, scipy.io.loadmat(path)["K"])
    np.testing.assert_array_equal(read.data, A)


def test_matlab_sparse_cells_and_other_variables(tmp_path, rng):
    A = rng.random((5, 5)) * (rng.random((5, 5)) > 0.5)
    names = np.array(["a", "bb", "ü", "日本", "x" * 40], dtype=object)
    path = tmp_path / "K.mat"
    variables = {
        "K": scipy.sparse.csc_array(A),
        "names": names,
        "y": [1, 0, 1, 0, 1],
        "s": {"field": 1},
        "empty": np.zeros((0, 0)),
        "cube": np.ones((2, 2, 2)),
        "names2": np.array(["ab", "c"]),
    }
    scipy.io.savemat(path, variables)
    read = read_matrix(path)
    np.testing.assert_array_equal(read.data, A)
    assert read.names == names.tolist()
    assert read.target.tolist() == [1, 0, 1, 0, 1]
    with pytest.raises(FormatError, match="has no array 's'; it has K, cube, empty"):
        read_matrix(path, key="s")
    scipy.io.savemat(path, {"K": A + 1j})
    with pytest.raises(FormatError, match=r"got shape \(5, 5\), dtype complex128"):
        read_matrix(path)


def test_whole_numbers_of_matlab_stay_whole(tmp_path):
    path = tmp_path / "K.mat"
    whole = np.array([3, 4], dtype=np.int32)
    scipy.io.savemat(path, {"K": np.eye(2), "names": whole, "y": whole})
    read = read_matrix(path)
    assert read.names == ["3", "4"]
    assert read.target.dtype == np.int32


def test_no_changed_bit_of_packed_matlab_changes_a_number(tmp_path):
    K = np.arange(25.0).reshape(5, 5)
    path = tmp_path / "K.mat"
    scipy.io.savemat(path, {"K": K}, do_compression=True)
    content = path.read_bytes()
    for place in range(8 * 136, 8 * len(content)):
        damaged = bytearray(content)
        damaged[place // 8] ^= 1 << place % 8
        path.write_bytes(damaged)
        with contextlib.suppress(FormatError):
            np.testing.assert_array_equal(read_matrix(path).data, K)


def test_matlab_of_other_versions_is_named(tmp_path, write):
    scipy.io.savemat(tmp_path / "K.mat", {"K": np.eye(2)}, format="4")
    with pytest.raises(FormatError, match="save it with -v7"):
        read_matrix(tmp_path / "K.mat")
    head = b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM"
    for content in (head, b"\x89HDF\r\n\x1a\n"):
        with pytest.raises(FormatError, match=r"7\.3 \(HDF5\) file; save it with -v7"):
            read_matrix(write("K.mat", content))


def test_big_endian_matlab(write):
    def element(kind, data):
        tag = struct.pack(">II", kind, len(data))
        return tag + data.ljust(-(-len(data) // 8) * 8, b"\0")

    parts = [
        element(6, struct.pack(">II", 6, 0)),
        element(5, struct.pack(">ii", 2, 1)),
        element(1, b"K"),
        element(9, struct.pack(">dd", 1.5, -2.0)),
    ]
    head = b"MATLAB 5.0 MAT-file".ljust(124) + b"\x01\x00MI"
    read = read_matrix(write("K.mat", head + element(14, b"".join(parts))))
    assert read.data.tolist() == [[1.5], [-2.0]]


# ------------------------------------------------------------------------------ memory


def _bombs():
    """Small files that hold 60 to 100 MB."""
    mat = io.BytesIO()
    scipy.io.savemat(mat, {"K": np.zeros((3000, 3000))}, do_compression=True)
    npz = io.BytesIO()
    np.savez_compressed(npz, K=np.zeros((3000, 3000)))
    row = b",".join([b"0"] * 3000) + b"\n"
    yield "K.csv.gz", gzip.compress(row * 3000), read_matrix
    yield "line.csv.gz", gzip.compress(b"0" * 60_000_000), read_matrix
    yield "lines.csv.gz", gzip.compress(b"0\n" * 5_000_000), read_matrix
    yield "s.fasta.gz", gzip.compress(b">a\n" + b"ACGT" * 15_000_000), read_items
    yield "s.txt.gz", gzip.compress(b"a\n" * 5_000_000), read_items
    yield "l.csv.gz", gzip.compress(b"a\n" * 5_000_000), read_labels
    yield "s.tsv.gz", gzip.compress(row.replace(b",", b"\t") * 3000), read_items
    yield "K.mat", mat.getvalue(), read_matrix
    yield "K.npz", npz.getvalue(), read_matrix
    yield "K.phy", b"9000\n" + b"a\n" * 9001, read_matrix
    yield (
        "K.mtx",
        b"%%MatrixMarket matrix coordinate real general\n9000 9000 1\n1 1 1\n",
        read_matrix,
    )


@pytest.mark.parametrize("bomb", _bombs(), ids=lambda bomb: bomb[0])
def test_what_is_packed_respects_the_memory_limit(write, monkeypatch, bomb):
    name, content, read = bomb
    assert len(content) < 1_000_000
    path = write(name, content)
    monkeypatch.setenv("KREIN_MEMORY_LIMIT", "20MB")
    with pytest.raises(TooLargeError, match=r"memory|GB are available") as caught:
        read(path)
    assert isinstance(caught.value, FormatError)
    assert isinstance(caught.value, MemoryError)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc for its peak memory")
def test_the_peak_stays_near_the_limit(write):
    path = write("K.csv.gz", gzip.compress((b",".join([b"0"] * 4000) + b"\n") * 8000))
    program = (
        "import sys, resource\n"
        "from krein import FormatError, read_matrix\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "try:\n    read_matrix(sys.argv[1])\n"
        "except FormatError:\n    pass\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)\n"
    )
    environment = {**os.environ, "KREIN_MEMORY_LIMIT": "50MB"}
    ended = subprocess.run(
        [sys.executable, "-c", program, str(path)],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert int(ended.stdout) < 200_000  # KB; what it holds is 256 MB as numbers


# ------------------------------------------------------------------- devices and pipes


@pytest.mark.parametrize("read", [read_matrix, read_items, read_labels])
def test_devices_pipes_and_folders_are_not_read(tmp_path, read):
    os.mkfifo(tmp_path / "K.csv")
    for path in (tmp_path / "K.csv", "/dev/zero"):
        with pytest.raises(FormatError, match="device or a pipe; pass - for standard"):
            read(path)
    with pytest.raises(IsADirectoryError, match="but a folder"):
        read(tmp_path)
    with pytest.raises(FileNotFoundError, match="is not a file"):
        read(tmp_path / "none.csv")


def test_standard_input_is_read_when_asked_for(monkeypatch):
    class Input:
        buffer = io.BytesIO(b"a,b\n1,2\n2,1\n")

    monkeypatch.setattr(sys, "stdin", Input)
    assert read_matrix("-").names == ["a", "b"]
    Input.buffer = io.BytesIO(b"1,2\n2,x\n")
    with pytest.raises(FormatError, match=r"^standard input, line 2, column 2:"):
        read_matrix("-")


def test_a_damaged_name_in_a_numpy_file_is_refused(tmp_path):
    names = np.array(["ab", "cd"])
    content = io.BytesIO()
    np.save(content, np.eye(2))
    start = content.tell()
    np.save(content, names)
    damaged = bytearray(content.getvalue())
    damaged[-1] = 0xFF  # no such character
    (tmp_path / "K.npy").write_bytes(damaged)
    with pytest.raises(FormatError, match="no character"):
        read_matrix(tmp_path / "K.npy")
    (tmp_path / "K.npy").write_bytes(damaged[: start + 9])
    with pytest.raises(FormatError, match="header cannot be read"):
        read_matrix(tmp_path / "K.npy")
