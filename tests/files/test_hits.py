"""Tables of hits: the right sparse matrix, or one clear error."""

import gzip

import networkx
import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.neighbors import kneighbors_graph

from krein import FormatError, Named, read_hits, read_matrix, write_hits
from krein.files import sources as text_files
from krein.files.line_blocks import Layout, careful_lines, fast_lines
from krein.files.sources import Place

TWELVE = "{q}\t{t}\t{identity}\t70\t41\t0\t48\t119\t42\t112\t{evalue}\t{score}"


def table(rows):
    return "".join(
        TWELVE.format(q=q, t=t, identity=i, evalue=e, score=s) + "\n"
        for q, t, i, e, s in rows
    )


ROWS = [
    ("a", "a", 1.0, 1e-80, 200),
    ("a", "b", 0.4, 1e-9, 60.5),
    ("b", "b", 1.0, 1e-70, 180),
    ("b", "c", 0.2, 2.0, 20),
    ("a", "b", 0.3, 1e-3, 30),
    ("c", "c", 1.0, 1e-50, 150),
]


@pytest.fixture
def m8(tmp_path):
    path = tmp_path / "hits.m8"
    path.write_text(table(ROWS))
    return path


def naive(text, join=max):
    """Query, target, score by a loop; raises on anything but three fields."""
    found, names = {}, {}
    for line in text.split("\n"):
        line = line.rstrip("\r")
        if not line.strip() or line.startswith("#"):
            continue
        query, target, score = (field.strip() for field in line.split("\t"))
        score = float(score)
        if not (0 <= score < float("inf")) or not query or not target:
            raise ValueError(line)
        pair = names.setdefault(query, len(names)), names.setdefault(target, len(names))
        found[pair] = score if pair not in found else join(found[pair], score)
    return list(names), {pair: score for pair, score in found.items() if score > 0}


def as_dict(hits):
    data = hits.data.tocoo()
    pairs = zip(data.row.tolist(), data.col.tolist(), strict=True)
    return dict(zip(pairs, data.data.tolist(), strict=True))


def test_twelve_columns(m8):
    hits = read_hits(m8)
    assert isinstance(hits.data, scipy.sparse.csr_array)
    assert hits.names == ["a", "b", "c"]
    assert hits.columns is None
    expected = [[200, 60.5, 0], [0, 180, 20], [0, 0, 150]]
    np.testing.assert_array_equal(hits.data.toarray(), expected)
    assert hits.data.has_sorted_indices
    assert hits.data.nnz == 5


def test_several_hits_of_a_pair_are_summed(m8):
    assert read_hits(m8, several="sum").data[0, 1] == 90.5
    with pytest.raises(ValueError, match="several must be 'max' or 'sum', got 'mean'"):
        read_hits(m8, several="mean")


def test_names_fix_the_order_and_keep_items_without_hits(m8):
    hits = read_hits(m8, names=["d", "c", "b", "a"])
    assert hits.names == ["d", "c", "b", "a"]
    assert hits.data.shape == (4, 4)
    assert hits.data[3, 2] == 60.5
    assert hits.data[[0]].nnz == 0


def test_new_items_against_training_items(tmp_path):
    path = tmp_path / "new.tsv"
    path.write_text("x\ta\t3\ny\tb\t4\nx\tb\t1\n")
    hits = read_hits(path, against=["b", "a", "c"])
    assert (hits.names, hits.columns) == (["x", "y"], ["b", "a", "c"])
    np.testing.assert_array_equal(hits.data.toarray(), [[1, 3, 0], [4, 0, 0]])
    with pytest.raises(FormatError, match=r"line 2, column 2: 'b' is not among"):
        read_hits(path, against=["a"])
    with pytest.raises(FormatError, match=r"line 2, column 1: 'y' is not among"):
        read_hits(path, names=["x"], against=["a", "b"])


def test_unknown_name(m8):
    message = r"line 4, column 2: 'c' is not among the 2 names in names="
    with pytest.raises(FormatError, match=message):
        read_hits(m8, names=["a", "b"])
    with pytest.raises(ValueError, match="names holds 'a' twice"):
        read_hits(m8, names=["a", "b", "a"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\tb\t1\na\tb\tnan\n", "line 2, column 3: expected a finite number"),
        ("a\tb\t1\na\tb\t-2\n", "line 2, column 3: the score -2 is negative"),
        ("a\tb\t1\na\tb\tx\n", "line 2, column 3: expected a number, got 'x'"),
        ("a\tb\t1\na\t\t2\n", "line 2, column 2: the name is missing"),
        ("a\tb\t1\na\tb\n", "line 2: has 2 fields, the lines above have 3"),
        ("# nothing\n\n", "there are no hits in the file"),
        ("", "there are no hits in the file"),
        ("a\tb\t1\t2\t3\n", "has 5 fields and no title line"),
        ("a\tb\t1\0\n", "holds zero bytes"),
        ("query\ttarget\tlddt\tprob\na\tb\t1\t1\n", "has no column 'bitscore'"),
    ],
)
def test_one_clear_error(tmp_path, text, message):
    path = tmp_path / "bad.tsv"
    path.write_text(text)
    with pytest.raises(FormatError, match=message):
        read_hits(path)


def test_not_utf8_and_not_complete(tmp_path):
    path = tmp_path / "latin.tsv"
    path.write_bytes("a\tb\t1\nä\tb\t1\n".encode("latin-1") + b"a\tb\t\n")
    with pytest.raises(FormatError, match="line 2: this is not UTF-8"):
        read_hits(path)
    packed = gzip.compress(b"a\tb\t1\n" * 1000)
    path.write_bytes(packed[: len(packed) // 2])
    with pytest.raises(FormatError, match="cannot be unpacked"):
        read_hits(path)


def test_a_name_that_is_not_utf8_is_refused_where_all_else_is_well(tmp_path):
    path = tmp_path / "latin.tsv"
    path.write_bytes("a\tb\t1\nä\tb\t1\n".encode("latin-1"))
    with pytest.raises(FormatError, match="line 2: this is not UTF-8"):
        read_hits(path)


def test_titles_and_other_layouts(tmp_path):
    path = tmp_path / "titled.tsv"
    path.write_text("query\ttarget\tlddt\tbits\na\tb\t0.5\t60\n")
    assert read_hits(path).data[0, 1] == 60
    assert read_hits(path, "lddt").data[0, 1] == 0.5
    assert read_hits(path, 3).data[0, 1] == 0.5
    path.write_text("left,right,value\na,b,7\n")
    with pytest.raises(FormatError, match="has no column 'query'"):
        read_hits(path)
    path.write_text("a;0.5;b\n")
    hits = read_hits(path, "lddt", columns=["query", "lddt", "target"])
    assert as_dict(hits) == {(0, 1): 0.5}
    path.write_text("a   b  3\nc d 4\n")
    assert as_dict(read_hits(path)) == {(0, 1): 3, (2, 3): 4}
    path.write_text('"a,1",b,3\n"a,1",c,4\n')
    assert read_hits(path).names == ["a,1", "b", "c"]
    with pytest.raises(ValueError, match="small e-values are good ones"):
        read_hits(path, "evalue", columns=["query", "target", "evalue"])
    with pytest.raises(ValueError, match="score=9 must be a title or the number"):
        read_hits(path, 9)


def test_blast_with_comments(tmp_path):
    path = tmp_path / "hits.blast"
    head = "# BLASTP\n# Fields: query acc.ver, subject acc.ver, bit score, evalue\n"
    path.write_text(head + "# 1 hits found\na\tb\t60\t1e-9\n# BLASTP\nc\td\t50\t1\n")
    assert as_dict(read_hits(path)) == {(0, 1): 60, (2, 3): 50}


def test_packed_and_in_many_blocks(tmp_path, monkeypatch):
    lines = [f"q{i % 97}\tt{i % 31}\t{i % 13}.25" for i in range(5000)]
    text = "\ufeff" + "\r\n".join(lines)
    path = tmp_path / "hits.tsv.gz"
    path.write_bytes(gzip.compress(text.encode()))
    whole = read_hits(path)
    names, expected = naive(text.removeprefix("\ufeff"))
    assert whole.names == names
    assert as_dict(whole) == expected
    monkeypatch.setattr(text_files, "_BLOCK", 100)
    assert as_dict(read_hits(path)) == expected
    assert (
        as_dict(read_hits(path, several="sum"))
        == naive(text.removeprefix("\ufeff"), lambda a, b: a + b)[1]
    )


def test_packed_by_zstandard(tmp_path):
    path = tmp_path / "hits.m8.zst"
    path.write_bytes(b"\x28\xb5\x2f\xfd packed")
    with pytest.raises(FormatError, match=r"packed by Zstandard; unpack it"):
        read_hits(path)


def test_scipy_npz_and_back(tmp_path, m8):
    hits = read_hits(m8)
    path = tmp_path / "hits.npz"
    scipy.sparse.save_npz(path, hits.data)
    again = read_hits(path)
    assert again.names == ["0", "1", "2"]
    assert as_dict(again) == as_dict(hits)
    write_hits(path, hits, overwrite=True)
    assert read_hits(path).names == hits.names
    assert (scipy.sparse.load_npz(path) != hits.data).nnz == 0
    with pytest.raises(FileExistsError, match="exists"):
        write_hits(path, hits)
    np.savez(path, K=np.eye(3))
    with pytest.raises(FormatError, match="expected a sparse matrix in csr form"):
        read_hits(path)


def test_damaged_npz(tmp_path, m8):
    hits = read_hits(m8)
    path = tmp_path / "hits.npz"
    write_hits(path, hits)
    arrays = dict(np.load(path))
    arrays["indices"] = arrays["indices"] + 2
    np.savez(path, **arrays)
    with pytest.raises(FormatError, match="the sparse matrix is damaged"):
        read_hits(path)


@pytest.mark.parametrize("name", ["#1", " a", "a\u00a0"])
def test_hits_of_names_that_a_table_would_lose_are_not_written(tmp_path, name):
    hits = Named(scipy.sparse.eye_array(2, format="csr"), [name, "b"])
    with pytest.raises(ValueError, match="cannot stand in a table; use"):
        write_hits(tmp_path / "hits.tsv", hits)
    write_hits(tmp_path / "hits.npz", hits)
    assert read_hits(tmp_path / "hits.npz").names == hits.names


@pytest.mark.parametrize("suffix", [".tsv", ".csv", ".npz"])
def test_written_hits_are_read_again(tmp_path, suffix):
    data = scipy.sparse.random_array((4, 3), density=0.5, random_state=0).tocsr()
    hits = Named(data, ["w", "x", "y", "z"], ["a", "b", "c"])
    path = tmp_path / f"hits{suffix}"
    write_hits(path, hits)
    again = read_hits(path, names=hits.names, against=hits.columns)
    np.testing.assert_array_equal(again.data.toarray(), data.toarray())
    with pytest.raises(ValueError, match=r"cannot stand in a table; use \.npz"):
        write_hits(tmp_path / "x.tsv", Named(data, ["w\t", "x", "y", "z"], list("abc")))
    assert not (tmp_path / "x.tsv").exists()


def test_sparse_arrays_and_graphs():
    X = np.random.default_rng(0).standard_normal((6, 2))
    near = kneighbors_graph(X, 2)
    hits = read_hits(near)
    np.testing.assert_array_equal(hits.data.toarray(), near.toarray())
    graph = networkx.Graph()
    graph.add_edge("a", "b", weight=2.0)
    graph.add_edge("b", "b", weight=3.0)
    hits = read_hits(networkx.to_scipy_sparse_array(graph), names=list(graph))
    assert as_dict(hits) == {(0, 1): 2, (1, 0): 2, (1, 1): 3}
    with pytest.raises(ValueError, match="negative score -1"):
        read_hits(scipy.sparse.csr_array([[0.0, -1.0], [0.0, 0.0]]))


FIELDS = st.sampled_from(
    ["a", "b", "c", "long_name_of_an_item", "ä", " b ", "", "1", "0", "2.50", "1e3",
     "nan", "-1", "inf", "x", "1_0", "+3", "12345678901234567890", '"q"', "#a"]
)  # fmt: skip


@settings(deadline=None, max_examples=300)
@given(
    rows=st.lists(st.tuples(FIELDS, FIELDS, FIELDS), min_size=1, max_size=6),
    ends=st.sampled_from(["\n", "\r\n"]),
)
def test_the_fast_way_never_disagrees_with_the_careful_one(rows, ends):
    text = "".join("\t".join(row) + ends for row in rows).encode()
    layout = Layout("\t", 3, 0, 1, 2)
    fast = fast_lines(text, layout)
    if fast is None:
        return
    careful = careful_lines(text, layout, Place("x", 1))
    assert (fast.query, fast.target) == (careful.query, careful.target)
    np.testing.assert_array_equal(fast.scores, careful.scores)


def damaged(rng):
    """A small table with faults in it."""
    n = rng.integers(1, 8)
    words = np.array(["a", "b", "cc", "dd1", "a_rather_long_name", "é"])
    lines = [
        f"{rng.choice(words)}\t{rng.choice(words)}\t{rng.integers(0, 9)}.{i}"
        for i in range(n)
    ]
    text = bytearray(rng.choice(["\n", "\r\n"]).join(lines).encode() + b"\n")
    for _ in range(rng.integers(0, 3)):
        place = rng.integers(0, len(text))
        what = rng.integers(0, 3)
        byte = int(rng.choice(list(b"\t\n ,;#-+.en19x\xff")))
        if what == 0:
            text[place] = byte
        elif what == 1:
            text.insert(place, byte)
        elif len(text) > 2:
            del text[place : place + rng.integers(1, 4)]
    return bytes(text)


def check_fuzzed(path, n_tables, seed):
    rng = np.random.default_rng(seed)
    right = 0
    for _ in range(n_tables):
        data = damaged(rng)
        path.write_bytes(data)
        try:
            hits = read_hits(path)
        except FormatError:
            continue
        first = next(x for x in data.decode().split("\n") if x.strip() and x[0] != "#")
        if "\t" not in first:
            continue  # another separator: the oracle knows tabs only
        names, expected = naive(data.decode())
        assert (hits.names, as_dict(hits)) == (names, expected), data
        right += 1
    return right


def test_fuzzed_tables(tmp_path):
    assert check_fuzzed(tmp_path / "hits.tsv", 500, 0) > 100


@pytest.mark.slow
def test_ten_thousand_fuzzed_tables(tmp_path):
    assert check_fuzzed(tmp_path / "hits.tsv", 10_000, 1) > 2000


def test_a_list_of_pairs_is_known_by_the_title_of_its_number(tmp_path):
    path = tmp_path / "new.csv"
    path.write_text("new,train,distance\nx,a,1.5\nx,b,0.5\ny,a,0.25\ny,b,2\n")
    read = read_matrix(path, mirror=False)
    assert (read.names, read.columns) == (["x", "y"], ["a", "b"])
    assert read.data.tolist() == [[1.5, 0.5], [0.25, 2.0]]
