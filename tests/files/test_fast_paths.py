"""Fast readers give what the careful ones give, or give up."""

import gzip

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from krein import FormatError, read_items, read_matrix
from krein.files import item_files, line_blocks, square

# ------------------------------------------------------------------------------ FASTA

LINES = st.sampled_from(
    [">a", ">b one two", "> c", ">", ">>d", ">é", "ACGT", "acgu*-.", "AC GT", "", " ",
     ";note", "A1", "ÄC", "A>C", ">a\tb", "\x0b>e", "AC\r", ">f\r", "A\x00", "\x1f"]
)  # fmt: skip


def outcome(read, path):
    """Names and items, or the error."""
    try:
        found = read(path)
    except FormatError as error:
        return str(error)
    return found.names, found.data


@given(lines=st.lists(LINES, max_size=8), end=st.sampled_from(["", "\n"]))
def test_sequences_read_fast_are_those_read_carefully(tmp_path_factory, lines, end):
    path = tmp_path_factory.mktemp("fasta") / "s.fasta"
    path.write_text("\n".join(lines) + end, newline="")
    fast = item_files.fast_fasta(path)
    careful = outcome(item_files.careful_fasta, path)
    if fast is not None:
        assert (fast.names, fast.data) == careful
    assert outcome(item_files.read_fasta, path) == careful


def test_ordinary_sequences_are_read_fast(tmp_path):
    text = ">a first\nACGT\nAC\n>b\n\nacgt*\n>c\nA-.C"
    path = tmp_path / "s.fasta"
    path.write_text(text)
    assert item_files.fast_fasta(path).data == ["ACGTAC", "acgt*", "A-.C"]
    path.write_bytes(gzip.compress(text.encode()))
    assert item_files.fast_fasta(path).names == ["a", "b", "c"]


def test_packed_sequences_beyond_the_memory_are_refused(tmp_path, monkeypatch):
    path = tmp_path / "s.fasta"
    path.write_bytes(gzip.compress(b">a\n" + b"A" * 10**7 + b"\n"))
    monkeypatch.setenv("KREIN_MEMORY_LIMIT", "1MB")
    with pytest.raises(MemoryError, match="KREIN_MEMORY_LIMIT"):
        read_items(path)


# ---------------------------------------------------------------------- Matrix Market

HEADS = [
    f"{layout} {field} {symmetry}"
    for layout in ("coordinate", "array")
    for field in ("real", "integer", "pattern")
    for symmetry in ("general", "symmetric")
    if (layout, field) != ("array", "pattern")
]
VALUES = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.integers(-(10**20), 10**20).map(str),
    st.sampled_from(["1.", ".5", "+2", "1e3", "1E-310", "007", "0.100000000000000006"]),
)
ODD = st.sampled_from(
    ["nan", "inf", "1_0", "x", "", "1 ", " 2", "%c", "\t3", "4\r", "1e999", "٣", "0x1"]
)


@st.composite
def markets(draw):
    """A Matrix Market file, nearly always a right one."""
    head = draw(st.sampled_from(HEADS))
    n = draw(st.integers(1, 4))
    layout, field, symmetry = head.split()
    values = draw(st.lists(VALUES, min_size=16, max_size=16))
    lower = [(i, j) for j in range(n) for i in range(j, n)]
    places = [(i, j) for j in range(n) for i in range(n)]
    if symmetry != "general":
        places = lower
    if layout == "array":
        lines, sizes = values[: len(places)], f"{n} {n}"
    else:
        places = draw(st.permutations(places))[: draw(st.integers(0, len(places)))]
        value = [""] * 16 if field == "pattern" else [f" {value}" for value in values]
        pairs = zip(places, value, strict=False)
        lines = [f"{i + 1} {j + 1}{v}" for (i, j), v in pairs]
        sizes = f"{n} {n} {len(lines)}"
    for _ in range(draw(st.integers(0, 2))):
        lines.insert(draw(st.integers(0, len(lines))), draw(ODD | st.just("1 1 5")))
    return "\n".join([f"%%MatrixMarket matrix {head}", "% c", sizes, *lines, ""])


@pytest.mark.parametrize("text", ["2 2", "2 2\n", "1 1\n5", "1 1\n5\n"])
def test_a_file_that_ends_without_a_line_end(tmp_path, text):
    path = tmp_path / "K.mtx"
    path.write_text(f"%%MatrixMarket matrix array real general\n{text}")
    if text[0] == "1":
        assert read_matrix(path).data.tolist() == [[5.0]]
    else:
        with pytest.raises(FormatError, match="4 entries are announced, 0 follow"):
            read_matrix(path)


@given(text=markets())
def test_entries_read_fast_are_those_read_carefully(tmp_path_factory, text):
    path = tmp_path_factory.mktemp("market") / "K.mtx"
    path.write_text(text, newline="")

    def result():
        try:
            return read_matrix(path).data.tolist()
        except FormatError as error:
            return str(error)

    fast = result()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(square, "fast_numbers", lambda *_: None)
        assert fast == result()


@pytest.mark.parametrize("head", HEADS)
def test_ordinary_matrices_are_read_fast(tmp_path, monkeypatch, head):
    layout, field, symmetry = head.split()
    sign = {"general": 0.5, "symmetric": 1, "skew-symmetric": -1}[symmetry]
    K = np.array([[0.0, sign * 2.25], [2.25, 0.0]])
    if field == "pattern":
        K = np.sign(K)
    places = [(1, 0), (0, 1)] if symmetry == "general" else [(1, 0)]
    lines = [f"{i + 1} {j + 1} {K[i, j]:g}" for i, j in places]
    if field == "pattern":
        lines = [line.rpartition(" ")[0] for line in lines]
    sizes = f"2 2 {len(lines)}"
    if layout == "array":
        order = {"symmetric": [0, 2, 3], "skew-symmetric": [2], "general": [0, 2, 1, 3]}
        lines = [f"{K.ravel()[k]:g}" for k in order[symmetry]]
        sizes = "2 2"
    path = tmp_path / "K.mtx"
    text = "\n".join([f"%%MatrixMarket matrix {head}", sizes, *lines, ""])
    path.write_text(text)
    monkeypatch.setattr(square, "careful_numbers", None)  # is not called
    np.testing.assert_array_equal(read_matrix(path).data, K)


def test_long_numbers_are_the_nearest_doubles():
    """Also halfway between two doubles, beyond 64 bits, and in other notations."""
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 1 << 53, 5000)
    halfway = [f"{2 * k + 1}" for k in (bits | 1 << 52).tolist()]  # 54 bits
    texts = [repr(x) for x in rng.random(5000).tolist()]
    texts += [f"{x:.17f}" for x in rng.random(5000).tolist()]
    texts += [f"{k[:-5]}.{k[-5:]}" for k in halfway] + halfway
    texts += ["0.000000000000000000001", "99999999999999999999", "-1.5e-300", "+.25"]
    text = "".join(f"{word}\n" for word in texts).encode()
    found = line_blocks.fast_numbers(text, 0, 1)
    assert found[:, 0].tolist() == [float(word) for word in texts]
    for odd in ("1_0.00000000", "..123456789", "0x1234567890", "nan", "."):
        assert line_blocks.fast_numbers(f"{odd}\n".encode(), 0, 1) is None


@pytest.mark.parametrize("odd", ["AC1D", "AC D", "AC_D"])
def test_the_fast_reader_leaves_odd_letters_to_the_careful_one(tmp_path, odd):
    path = tmp_path / "items.fasta"
    path.write_text(f">a\nACD\n>b\n{odd}\n")
    assert item_files.fast_fasta(path) is None
    if odd != "AC D":
        with pytest.raises(FormatError, match="line 4"):
            read_items(path)
