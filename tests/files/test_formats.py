"""Files in and out: round trips, what other programs write, and broken files."""

import gzip
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from krein import FormatError, read_items, read_labels, read_matrix, write_matrix
from krein.files.readers import ITEM_FORMATS, MATRIX_FORMATS

NAMES = ["ann", "bob", "a,b", 'quo"te']


# --------------------------------------------------------------------- round trips


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".csv", ".tsv", ".mtx"])
@settings(
    max_examples=15,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    K=hnp.arrays(
        float,
        st.integers(1, 5).map(lambda n: (n, n)),
        elements=st.floats(allow_nan=False, allow_infinity=False),
    )
)
def test_square_matrices_come_back_bit_for_bit(tmp_path, suffix, K):
    path = tmp_path / f"K{suffix}"
    write_matrix(path, K, overwrite=True)
    np.testing.assert_array_equal(read_matrix(path).data, K)


@pytest.mark.parametrize("suffix", [".npz", ".csv", ".tsv"])
def test_names_come_back(tmp_path, suffix, rng):
    K = rng.random((4, 4))
    write_matrix(tmp_path / f"K{suffix}", K, names=NAMES)
    read = read_matrix(tmp_path / f"K{suffix}")
    assert read.names == NAMES
    np.testing.assert_array_equal(read.data, K)


def test_rows_and_columns_with_other_names(tmp_path, rng):
    K = rng.random((2, 3))
    write_matrix(tmp_path / "K.csv", K, names=["x", "y"], columns=["a", "b", "c"])
    read = read_matrix(tmp_path / "K.csv")
    assert (read.names, read.columns) == (["x", "y"], ["a", "b", "c"])
    np.testing.assert_array_equal(read.data, K)


def test_nothing_is_written_on_failure(tmp_path):
    cases = [
        ("K.mtx", np.eye(2), {"names": ["a", "b"]}, "no place for names"),
        ("K.csv", np.eye(2), {"names": ["a", "a"]}, "'a' twice"),
        ("K.csv", np.eye(2), {"names": ["a"]}, "1 entries for 2"),
        ("K.csv", np.full((2, 2), np.nan), {}, "finite"),
        ("K.m8", np.eye(2), {}, "format to write"),
    ]
    for name, K, options, message in cases:
        with pytest.raises(ValueError, match=message):
            write_matrix(tmp_path / name, K, **options)
    assert os.listdir(tmp_path) == []
    write_matrix(tmp_path / "K.csv", np.eye(2))
    with pytest.raises(FileExistsError, match="overwrite=True"):
        write_matrix(tmp_path / "K.csv", np.eye(3))
    assert read_matrix(tmp_path / "K.csv").data.shape == (2, 2)


# -------------------------------------------------------------------------- tables


def test_tables_with_and_without_names(write):
    plain = write("a.csv", "1,0.5\n0.5,1\n")
    assert read_matrix(plain).names is None
    header = write("b.csv", "ann,bob\n1,0.5\n0.5,1\n")
    assert read_matrix(header).names == ["ann", "bob"]
    rows = write("c.tsv", "ann\t1\t0.5\nbob\t0.5\t1\n")
    assert read_matrix(rows).names == ["ann", "bob"]
    both = write("d.csv", "\ufeff,bob,ann\r\nann,2,1\r\nbob,3,2\r\n".encode())
    read = read_matrix(both)
    assert read.names == ["ann", "bob"]
    np.testing.assert_array_equal(read.data, [[1, 2], [2, 3]])
    packed = write("e.csv.gz", gzip.compress(b"1,2\n3,4\n"))
    np.testing.assert_array_equal(read_matrix(packed).data, [[1, 2], [3, 4]])


def test_broken_tables_are_located(write):
    cases = {
        "1,2\n3,x\n": r"a\.csv, line 2, column 2: expected a number, got 'x'",
        "1,2\n3,\n": "1 entries are missing, the first in row 2 and column 2",
        "1,2\n3,inf\n": "line 2, column 2: expected a finite number, got inf",
        "1,2\n3\n": "line 2: has 1 fields",
        "": "the file is empty",
        "a,b\n": "names but no numbers",
        ",a,a\na,1,2\nb,2,1\n": "line 1: the name 'a' is duplicated",
        "a,1,2\na,2,1\n": r"line 2: the name 'a' is duplicated \(first in line 1\)",
        "a,b,c\n1,2\n3,4\n": "line 1: has 3 names for 2 columns",
        '1,"2\n3,4': "line",
    }
    for text, message in cases.items():
        with pytest.raises(FormatError, match=message):
            read_matrix(write("a.csv", text))
    with pytest.raises(FormatError, match="line 2: this is not UTF-8"):
        read_matrix(write("a.csv", b"1,2\n\xff\xfe,1\n"))
    with pytest.raises(FormatError, match="is it complete"):
        read_matrix(write("a.csv.gz", gzip.compress(b"1,2\n" * 999)[:-12]))


def test_phylip_square_lower_and_strict(write):
    square = write("a.phy", "2\nann 0 1.5\nbob 1.5 0\n")
    lower = write("b.phy", "   3\nann\nbob 1\ncarl 2 3\n")
    strict = write("d.phy", "2\nann smith 0.0  1.5\nbob        1.5  0.0\n")
    np.testing.assert_array_equal(read_matrix(square).data, [[0, 1.5], [1.5, 0]])
    expected = [[0, 1, 2], [1, 0, 3], [2, 3, 0]]
    np.testing.assert_array_equal(read_matrix(lower).data, expected)
    assert read_matrix(strict).names == ["ann smith", "bob"]
    for text, message in {
        "two\n": "line 1: expected the number of items",
        "3\nann 0 1 2\n": "3 items are announced, 1 lines follow",
        "2\nann 0\n 1\nbob 1\n 0\n": "all distances of an item into one line",
        "2\nann 0 1\nann 1 0\n": "line 3: the name 'ann' is duplicated",
        "2\nann 0 x\nbob 1 0\n": r"expected|distances",
        "": "expected the number of items",
    }.items():
        with pytest.raises(FormatError, match=message):
            read_matrix(write("e.phy", text))


# --------------------------------------------------------------------------- pairs

BLAST = """# BLASTP 2.15.0+
a\ta\t100.0\t50\t0\t0\t1\t50\t1\t50\t1e-30\t100
a\tb\t80.0\t50\t10\t0\t1\t50\t1\t50\t1e-10\t60.5
a\tb\t70.0\t20\t6\t0\t1\t20\t1\t20\t1e-3\t20
b\ta\t80.0\t50\t10\t0\t1\t50\t1\t50\t1e-10\t61
b\tb\t100.0\t50\t0\t0\t1\t50\t1\t50\t1e-30\t110
c\tc\t100.0\t50\t0\t0\t1\t50\t1\t50\t1e-30\t90
"""


def test_pair_lists(write):
    read = read_matrix(write("hits.m8", BLAST))
    assert read.names == ["a", "b", "c"]
    expected = [[100, 61, 0], [61, 110, 0], [0, 0, 90]]
    np.testing.assert_array_equal(read.data, expected)
    with pytest.raises(FormatError, match=r"2 pairs are missing, .*\('a', 'c'\)"):
        read_matrix(write("hits.m8", BLAST), missing="error")
    short = read_matrix(write("hits.tsv", "x\ty\t3\n"), format="pairs", missing=-1)
    np.testing.assert_array_equal(short.data, [[-1, 3], [3, -1]])
    with pytest.raises(FormatError, match="line 2: has 2 fields"):
        read_matrix(write("hits.pairs", "x y 3\nx y\n"))
    with pytest.raises(FormatError, match="line 1, column 3: expected a number"):
        read_matrix(write("hits.pairs", "x y z\n"))
    with pytest.raises(FormatError, match="no pairs"):
        read_matrix(write("hits.pairs", "# nothing\n"))


# ---------------------------------------------------------------------- binary files


def test_small_file_that_declares_much_is_refused(write):
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (60000, 60000), }"
    header = header.ljust(117) + b"\n"
    magic = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little")
    with pytest.raises(FormatError, match="28800000000 bytes, but 0 follow"):
        read_matrix(write("K.npy", magic + header))


def test_broken_binary_files_are_refused(tmp_path, write, rng):
    write_matrix(tmp_path / "K.npy", rng.random((5, 5)))
    whole = (tmp_path / "K.npy").read_bytes()
    for cut in (0, 3, 60, len(whole) - 8):
        with pytest.raises(FormatError, match=r"header|bytes"):
            read_matrix(write("cut.npy", whole[:cut]))
    write_matrix(tmp_path / "K.npz", rng.random((5, 5)))
    whole = (tmp_path / "K.npz").read_bytes()
    for cut in (0, 60, len(whole) - 8):
        with pytest.raises(FormatError, match="cannot be read"):
            read_matrix(write("cut.npz", whole[:cut]))
    with pytest.raises(FormatError, match=r"\.mat file cannot be read"):
        read_matrix(write("cut.mat", b"MATLAB 5.0"))
    with pytest.raises(FormatError, match="4 entries are announced, 1 follow"):
        read_matrix(
            write("cut.mtx", "%%MatrixMarket matrix array real general\n2 2\n1")
        )
    np.save(tmp_path / "o.npy", np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(FormatError, match="Python objects"):
        read_matrix(tmp_path / "o.npy")
    np.save(tmp_path / "v.npy", np.ones(3))
    with pytest.raises(FormatError, match=r"shape \(3,\)"):
        read_matrix(tmp_path / "v.npy")
    np.save(tmp_path / "n.npy", np.array([[1.0, np.inf]]))
    with pytest.raises(FormatError, match="row 1 and column 2 hold inf"):
        read_matrix(tmp_path / "n.npy")


def test_array_is_chosen_by_key(tmp_path):
    np.savez(tmp_path / "two.npz", P=np.eye(2), Q=np.ones((3, 3)))
    with pytest.raises(FormatError, match=r"found P, Q; choose one with key="):
        read_matrix(tmp_path / "two.npz")
    assert read_matrix(tmp_path / "two.npz", key="Q").data.shape == (3, 3)
    with pytest.raises(FormatError, match="no array 'R'"):
        read_matrix(tmp_path / "two.npz", key="R")
    np.savez(tmp_path / "y.npz", X=np.eye(2), y=["a", "b"])
    assert read_matrix(tmp_path / "y.npz").target.tolist() == ["a", "b"]
    np.savez(tmp_path / "d.npz", K=np.eye(2), names=["a", "a"])
    with pytest.raises(FormatError, match="'a' is duplicated"):
        read_matrix(tmp_path / "d.npz")


def test_sparse_matrix_market(write):
    text = "%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n1 1 1.0\n2 1 0.5\n"
    np.testing.assert_array_equal(
        read_matrix(write("s.mtx", text)).data, [[1, 0.5], [0.5, 0]]
    )


# ---------------------------------------------------------------------------- items

FASTA = ">sp|P1 first protein\nMKV\nLA AG\n\n>P2\nacgt*\n"


def test_fasta_equals_biopython(write):
    SeqIO = pytest.importorskip("Bio.SeqIO", reason="extra 'bio'")
    path = write("two.fasta", FASTA)
    read = read_items(path)
    with open(path) as handle:
        theirs = list(SeqIO.parse(handle, "fasta"))
    assert read.names == [record.id for record in theirs]
    assert read.data == [str(record.seq).replace(" ", "") for record in theirs]
    for text, message in {
        ">a\nAC\n>b\n": "line 3: the sequence 'b' is empty",
        ">a\n>b\nAC\n": "line 1: the sequence 'a' is empty",
        "ACGT\n": "line 1: expected '>'",
        ">\nAC\n": "line 1: a sequence has no name",
        ">a\nAC\n>a\nAC\n": r"line 3: the name 'a' is duplicated",
        ">a\nAC1T\n": "line 2, column 3: '1' is not a letter",
        "": "no sequences",
    }.items():
        with pytest.raises(FormatError, match=message):
            read_items(write("bad.fa", text))


def test_series_files(write):
    read = read_items(write("a.tsv", "1\t0.5\t1.5\n2\t3\tNaN\n"))
    assert [x.tolist() for x in read.data] == [[0.5, 1.5], [3.0]]
    assert read.target.tolist() == [1, 2]
    with pytest.raises(FormatError, match="line 1, column 2: expected a finite"):
        read_items(write("b.tsv", "1\tnan\t1.5\n"))
    text = "#c\n@problemName x\n@classLabel true a b\n@data\n1,2:3,4:a\n5,6:7,8:b\n"
    read = read_items(write("c.ts", text))
    assert read.data.tolist() == [[[1, 2], [3, 4]], [[5, 6], [7, 8]]]
    assert read.target.tolist() == ["a", "b"]
    for bad, message in {
        "@data\n": "no series",
        "x\n": "line 1: expected a line that begins with @",
        "@timestamps true\n@data\n1,2\n": "pairs",
        "@data\n1,2:3\n": "line 2: the channels",
        "@data\n1,2\n1:2\n": "line 3: has 2 channels",
        "@data\n1,?\n": "line 2, column 2: expected a number, got '\\?'",
    }.items():
        with pytest.raises(FormatError, match=message):
            read_items(write("d.ts", bad))


def test_files_that_others_read_are_named(write):
    text = "@relation r\n@attribute a real\n@data\n1\n"
    with pytest.raises(FormatError, match=r"scipy\.io\.arff\.loadarff"):
        read_items(write("a.arff", text))
    with pytest.raises(FormatError, match="load_svmlight_file"):
        read_items(write("a.libsvm", "+1 1:0.5 3:2\n"))


def test_strings_vectors_and_arrays(write, tmp_path, rng):
    assert read_items(write("w.txt", "one\ntwo words\n")).data == ["one", "two words"]
    with pytest.raises(FormatError, match="line 2: the line is empty"):
        read_items(write("w.txt", "one\n\nthree\n"))
    vectors = read_items(write("v.csv", "name,f1,f2\na,1,2\nb,3,4\n"))
    assert (vectors.names, vectors.columns) == (["a", "b"], ["f1", "f2"])
    np.savez(tmp_path / "i.npz", X=rng.random((2, 3, 3)), y=[0, 1])
    assert read_items(tmp_path / "i.npz").data.shape == (2, 3, 3)


# --------------------------------------------------------------------------- labels


def test_labels_in_the_order_of_names(write):
    path = write("l.csv", "name,label\nbob,sick\nann,well\n")
    assert read_labels(path).names == ["bob", "ann"]
    read = read_labels(path, names=["ann", "bob"])
    assert read.data.tolist() == ["well", "sick"]
    with pytest.raises(FormatError, match=r"no label for 'carl' \(1 of 2 items"):
        read_labels(path, names=["ann", "carl"])
    plain = read_labels(write("p.csv", "y\n1\n0\n1\n"))
    assert plain.data.tolist() == [1, 0, 1]
    assert plain.data.dtype.kind == "i"
    for text, message in {
        "a,b,c\n1,2,3\n": r"has 3 columns \(a, b, c\)",
        "ann,1\nann,2\n": "line 2: the name 'ann' is duplicated",
        "ann,1\nbob,\n": "line 2, column 2: the label is missing",
        "": "no rows",
    }.items():
        with pytest.raises(FormatError, match=message):
            read_labels(write("b.csv", text))
    with pytest.raises(FormatError, match="3 labels for 2 items"):
        read_labels(write("p.csv", "y\n1\n0\n1\n"), names=["a", "b"])


# ------------------------------------------------------------------ any broken file


@settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    content=st.one_of(
        st.binary(max_size=80),
        st.text(alphabet="a1.,\t\n>:@-{}'\"# x", max_size=60).map(str.encode),
    ),
    suffix=st.sampled_from(sorted({*MATRIX_FORMATS, *ITEM_FORMATS})),
)
@pytest.mark.filterwarnings("ignore")
def test_any_content_is_read_or_refused_in_one_way(tmp_path, content, suffix):
    path = tmp_path / f"any{suffix}"
    path.write_bytes(content)
    readers = [read_labels]
    readers += [read_matrix] * (suffix in MATRIX_FORMATS)
    readers += [read_items] * (suffix in ITEM_FORMATS)
    for reader in readers:
        message = None
        try:
            assert len(reader(path).data) > 0
        except FormatError as error:
            message = str(error)
        assert message is None or message.startswith(str(path))


def test_names_of_files_and_formats(tmp_path, write):
    with pytest.raises(FileNotFoundError, match="is not a file"):
        read_matrix(tmp_path / "no.csv")
    with pytest.raises(ValueError, match="not known by name or content"):
        read_matrix(write("a.xyz", "\0"))
    with pytest.raises(ValueError, match="format must be one of"):
        read_matrix(write("a.xyz", "1"), format="excel")
    error = FormatError("f", "wrong", line=3, column=2)
    assert str(pickle.loads(pickle.dumps(error))) == "f, line 3, column 2: wrong"


def test_reading_a_file_does_not_wait_for_scikit_learn(write):
    path = write("K.csv", "1,2\n2,1\n")
    code = "import sys; from krein import read_matrix; read_matrix(sys.argv[1]); "
    code += "sys.exit('sklearn' in sys.modules)"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", code, str(path)]
    assert subprocess.run(command, env=environment, check=False).returncode == 0
