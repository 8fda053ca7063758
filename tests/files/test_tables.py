"""Tables as people have them: recognised by content, and said."""

import gzip
import io

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from krein import FormatError, read_items, read_matrix, write_matrix
from krein.files.cells import name_from_text, name_to_text, read_rows
from krein.files.matching import align_columns
from krein.files.writers import write_rows

K = np.array([[1.0, 0.5, 0.25], [0.5, 1.0, 0.125], [0.25, 0.125, 1.0]])
NAMES = ["ann", "bob", "carl"]


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({}, True),
        ({"sep": ";", "decimal": ","}, True),
        ({"sep": "\t"}, True),
        ({"sep": " "}, True),
        ({"index": False}, True),
        ({"header": False}, True),
        ({"header": False, "index": False}, False),
        ({"quoting": 1}, True),
        ({"quoting": 2}, True),
        ({"lineterminator": "\r\n", "encoding": "utf-8-sig"}, True),
        ({"sep": ";", "decimal": ",", "header": False, "index": False}, False),
        ({"sep": " ", "decimal": ",", "header": False, "index": False}, False),
    ],
)
def test_what_pandas_writes(tmp_path, options, named):
    pd = pytest.importorskip("pandas")
    path = tmp_path / "K.txt"  # the name says nothing
    pd.DataFrame(K, NAMES, NAMES).to_csv(path, **options)
    read = read_matrix(path)
    np.testing.assert_array_equal(read.data, K)
    assert read.names == (NAMES if named else None)
    shown = {"\t": "tab", " ": "blanks"}.get(options.get("sep"), None)
    assert (shown or f"'{options.get('sep', ',')}'") in read.notes[0]
    assert ("decimal commas" in read.notes[0]) == ("decimal" in options)


@pytest.mark.parametrize("options", [{}, {"index": False}, {"header": False}])
def test_an_integer_index_of_pandas_is_no_data(tmp_path, options):
    pd = pytest.importorskip("pandas")
    pd.DataFrame(K).to_csv(tmp_path / "K.csv", **options)
    read = read_matrix(tmp_path / "K.csv")
    np.testing.assert_array_equal(read.data, K)
    assert read.names in (None, ["0", "1", "2"])
    assert read.columns is None


def test_what_r_writes(write):
    expected = [[1, 0.5], [0.5, 1]]
    for text, names in [
        ('"a" "b"\n"a" 1 0.5\n"b" 0.5 1\n', ["a", "b"]),  # write.table
        ('"","a","b"\n"a",1,0.5\n"b",0.5,1\n', ["a", "b"]),  # write.csv
        ('"";"a";"b"\n"a";1;0,5\n"b";0,5;1\n', ["a", "b"]),  # write.csv2
        ('"V1" "V2"\n"1" 1 0.5\n"2" 0.5 1\n', ["V1", "V2"]),  # a matrix without names
    ]:
        read = read_matrix(write("K.txt", text))
        np.testing.assert_array_equal(read.data, expected)
        assert (read.names, read.columns) == (names, None)


def test_one_line_says_what_was_read(write):
    text = ";ann;bob\nann;1,5;2\nbob;2;1,5\n"
    expected = (
        "read 2 x 2 numbers, names from first row and column, separator ';', "
        "decimal commas"
    )
    assert read_matrix(write("K.csv", text)).notes == [expected]
    plain = read_matrix(write("K.csv", "1 2\n2 1\n"))
    assert plain.notes == ["read 2 x 2 numbers, no names, separator blanks"]


def test_columns_are_put_into_the_order_of_the_rows(write):
    read = read_matrix(write("K.csv", ",b,a\na,0.5,1\nb,2,0.5\n"))
    np.testing.assert_array_equal(read.data, [[1, 0.5], [0.5, 2]])
    assert "columns put into the order of the rows" in read.notes[0]


def test_format_and_separator_override(write):
    path = write("K.csv", "a b,1,2\nb c,2,1\n")
    assert read_matrix(path, separator=",").names == ["a b", "b c"]
    with pytest.raises(ValueError, match=r"separator must be ',', ';', '\|', 'tab'"):
        read_matrix(path, separator=".")
    assert read_matrix(write("K.txt", "1|2\n2|1\n"), separator="|").data.sum() == 6
    series = write("s.tsv", "1\t2\t3\n0\t3\t4\n")
    assert read_items(series).target.tolist() == [1, 0]
    assert read_items(series, format="csv").data.shape == (2, 3)


def test_text_among_numbers_is_located(write):
    for text, message in {
        "1,2\n2,1_0\n": "line 2, column 2: expected a number, got '1_0'",
        "2;3\n1;1.234,5\n": "line 2, column 2: expected a number",
        "x,2\n2,1\n": "line 1, column 1: expected a number, got 'x'",
        "1;1.234,5\n2;3\n": "line 1, column 2: expected a number, got '1.234,5'",
        "0,1O,3\n10,0,1\n3,1,0\n": "line 1, column 2: expected a number, got '1O'",
        "1;0,5\n0.5;3\n": "line 2, column 1: .* decimal commas and points in one file",
        '1,2\n"3,4\n': "line 2: a quote is opened and not closed",
        '1,2\n"3"x,4\n': "line 2, column 1: text behind a closing quote",
        "1,2\n٣,4\n": "expected a number, got '٣'",
    }.items():
        with pytest.raises(FormatError, match=message):
            read_matrix(write("K.csv", text))


@pytest.mark.parametrize(("lines", "closed"), [(1001, True), (1002, False)])
def test_a_quote_goes_on_over_a_thousand_lines(lines, closed, write):
    """Where a mark is missing, the rest of a file is not looked at for its end."""
    text = 'name,remark\na,"' + "\n".join(["x"] * lines) + '"\n'
    rows = read_rows(write("remarks.csv", text), ",")
    if closed:
        *_, last = rows
        assert last.fields[1].count("\n") == lines - 1
    else:
        with pytest.raises(FormatError, match="line 2: a quote is opened"):
            list(rows)


def test_names_that_read_as_numbers_are_names_in_quotes(write):
    read = read_matrix(write("K.csv", '"1",2,3\n"x",4,5\n"7",6,7\n'))
    assert read.names == ["1", "x", "7"]
    assert read.data.tolist() == [[2, 3], [4, 5], [6, 7]]


def test_a_comma_is_decimal_only_where_it_separates_nothing(write):
    for text in ['"0,5",1\n1,"0,5"\n', 'a,b\n"0,5",1\n1,"0,5"\n']:
        with pytest.raises(FormatError, match="expected a number, got '0,5'"):
            read_matrix(write("K.csv", text))
    four = read_matrix(write("K.csv", "1,5,2,5\n1,5,2,5\n1,5,2,5\n1,5,2,5\n"))
    assert four.data[0].tolist() == [1, 5, 2, 5]
    assert "decimal" not in four.notes[0]
    for mark in "; \t":
        text = f"1,5{mark}2\n2{mark}1,5\n"
        read = read_matrix(write("K.csv", text))
        assert read.data.tolist() == [[1.5, 2], [2, 1.5]]
        assert "decimal commas" in read.notes[0]


def test_decimal_commas_beside_a_column_of_labels(write):
    path = write("t.csv", "x;y;kind\n1,5;2;a\n2;2,25;b\n")
    assert read_items(path, label_column="kind").data.tolist() == [[1.5, 2], [2, 2.25]]
    with pytest.raises(FormatError, match=r"got '1,5' \(column 'x'\)"):
        read_items(write("t.csv", 'x,kind\n"1,5",a\n2,b\n'), label_column="kind")


def test_comments_are_left_out_and_a_header_behind_one_is_not(write):
    read = read_matrix(write("K.csv", "# made by x\n# and, y\n1,2\n2,1\n"))
    np.testing.assert_array_equal(read.data, [[1, 2], [2, 1]])
    qiime = read_matrix(write("K.tsv", "#Sample ID\tA\tB\nA\t1\t2\nB\t2\t1\n"))
    assert qiime.names == ["A", "B"]


# ------------------------------------------------------------------- missing entries


def test_missing_entries_are_taken_across_the_diagonal(write):
    expected = [[1, 0.5, 0.2], [0.5, 1, 0.3], [0.2, 0.3, 1]]
    for text in [
        "a,b,c\n1,,0.2\n0.5,1,\n0.2,0.3,1\n",
        ",a,b,c\na,1,NA,0.2\nb,0.5,1,nan\nc,0.2,0.3,1\n",
        "a;b;c\n1;n/a;0,2\n0,5;1;?\n0,2;0,3;1\n",
    ]:
        read = read_matrix(write("K.csv", text))
        assert read.data.tolist() == expected
        assert read.notes[1] == "2 missing entries taken from across the diagonal"


def test_missing_entries_without_a_mirror_are_named(write, tmp_path):
    text = ",a,b,c\na,1,NA,0.2\nb,NA,1,\nc,0.2,0.3,1\n"
    with pytest.raises(
        FormatError,
        match=r"2 entries are missing, the first in row 1 \('a'\) and column 2 \('b'\)",
    ):
        read_matrix(write("K.csv", text))
    # New items against training items have no mirror.
    square = write("new.csv", "1,\n2,3\n")
    with pytest.raises(FormatError, match="1 entries are missing"):
        read_matrix(square, mirror=False)
    np.save(tmp_path / "K.npy", [[1.0, np.nan], [0.5, 1.0]])
    np.testing.assert_array_equal(
        read_matrix(tmp_path / "K.npy").data, [[1, 0.5], [0.5, 1]]
    )
    with pytest.raises(FormatError, match="row 2 has no number in column 1"):
        read_items(write("X.csv", "1,2\n,3\n"))


# ------------------------------------------------------------------------ other kinds


def test_fasta_and_blast_are_known_by_content(write):
    fasta = write("proteins.csv", ">a\nACGT\n>b\nACG\n")
    with pytest.raises(
        FormatError, match=r"strings \(fasta\), not similarities.*smith_waterman"
    ):
        read_matrix(fasta)
    assert read_items(fasta).names == ["a", "b"]
    line = "{}\t{}\t80.0\t50\t10\t0\t1\t50\t1\t50\t1e-10\t{}\n"
    hits = write("hits.csv", line.format("a", "b", 60.5) + line.format("a", "a", 99))
    read = read_matrix(hits)
    np.testing.assert_array_equal(read.data, [[99, 60.5], [60.5, 0]])
    assert "scored pairs of 2 items" in read.notes[0]
    named = write("named.tsv", "\t".join(["a", *"12345678901"]) + "\n")
    assert read_matrix(named).data.shape == (1, 11)
    packed = write("two.dat", gzip.compress(b">a\nAC\n"))
    assert read_items(packed).data == ["AC"]
    with pytest.raises(FormatError, match=r"is a matrix \(mtx\), not items"):
        read_items(write("K.csv", "%%MatrixMarket matrix array real general\n1 1\n1\n"))


PRODUCTS = 'name,kind,price\n"Tea, green",drink,1.5\n"12"" pan",tool,9\n Cup ,tool,2\n'


def test_items_and_labels_of_one_table(write):
    path = write("products.csv", PRODUCTS)
    read = read_items(path, column="name", label_column="kind")
    assert read.data == ["Tea, green", '12" pan', "Cup"]
    assert read.target.tolist() == ["drink", "tool", "tool"]
    assert read.notes == ["read 3 items from column 'name', labels from 'kind'"]
    with pytest.raises(FormatError, match=r"'nme' is not there; .*'name', 'kind'"):
        read_items(path, column="nme")
    with pytest.raises(FormatError, match=r"--kernel NAME\), one of name, kind"):
        read_items(path)
    assert read_items(path, label_column="kind").names == [
        "Tea, green",
        '12" pan',
        "Cup",
    ]
    path = write("products.csv", PRODUCTS.replace("name", "title"))
    with pytest.raises(FormatError, match=r"a number, got .* \(column 'title'\)"):
        read_items(path, label_column="kind")
    with pytest.raises(FormatError, match="line 3: has 2 fields, the first row has 1"):
        read_items(write("p.csv", "name\nTea\nTea, green\n"), column="name")
    numbers = write("v.csv", "id;f;class\na;1;x\nb;2;y\n".replace("id", ""))
    read = read_items(numbers, label_column="class")
    assert (read.names, read.columns) == (["a", "b"], ["f"])
    np.testing.assert_array_equal(read.data, [[1], [2]])


def test_as_many_items_as_features_get_no_names_of_features(write):
    read = read_items(write("X.csv", "f1,f2\n1,2\n3,4\n"))
    assert (read.names, read.columns) == (None, ["f1", "f2"])


def test_columns_of_new_items_in_the_order_of_training(write):
    read = read_matrix(write("new.csv", ",b,x,a\nn1,2,9,1\nn2,4,9,3\n"))
    aligned = align_columns(read, ["a", "b"])
    np.testing.assert_array_equal(aligned.data, [[1, 2], [3, 4]])
    assert aligned.names == ["n1", "n2"]
    assert "by name; 1 of other items left out" in aligned.notes[-1]
    with pytest.raises(ValueError, match=r"missing 'c'; unknown 'x'"):
        align_columns(read, ["a", "b", "c"])
    assert align_columns(aligned, ["a", "b"]) is aligned


# ------------------------------------------------------------------------ round trips

ANY_NAME = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1
).filter(lambda name: name.strip())
ODD = ["0", "1", "007", "-1", "1e5", "nan", "NA", "-", "#a", "# b", "=1+1", "+x", "@x",
       "-x", "'=x", "''@", "'a", "a\nb", "a\tb", 'q"u', '"', " lead", "trail ", "a,b",
       "a;b", ";", "\x1b[3m", "\\x1b", "\\x5c", "V1", "\ufeff", "a\x85"]  # fmt: skip


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".npy", ".npz"])
@settings(deadline=None, max_examples=60)
@given(
    names=st.lists(
        st.sampled_from(ODD) | ANY_NAME, min_size=1, max_size=4, unique=True
    ),
    columns=st.none()
    | st.lists(st.sampled_from(ODD), min_size=2, max_size=3, unique=True),
    seed=st.integers(0, 99),
)
def test_any_names_come_back(tmp_path_factory, suffix, names, columns, seed):
    path = tmp_path_factory.mktemp("names") / f"K{suffix}"
    matrix = np.random.default_rng(seed).standard_normal(
        (len(names), len(columns or names))
    )
    assume(columns is None or set(columns) != set(names))
    write_matrix(path, matrix, names=names, columns=columns)
    read = read_matrix(path)
    np.testing.assert_array_equal(read.data, matrix)
    assert read.names == names
    assert (read.columns or names) == (columns or names)


@pytest.mark.parametrize("suffix", [".csv", ".tsv"])
@pytest.mark.parametrize("value", [1.5, 1e22, 0.0])
@pytest.mark.parametrize("name", ["0 1", "0 0", "a 1", "1 2 3"])
def test_a_name_with_blanks_is_not_cut(tmp_path, suffix, value, name):
    path = tmp_path / f"K{suffix}"
    write_matrix(path, [[value]], names=[name])
    read = read_matrix(path)
    assert (read.names, read.data.tolist()) == ([name], [[value]])


def test_the_suffix_tsv_says_the_separator(write):
    read = read_matrix(write("K.tsv", "\t0 1\n0 1\t5\n"))  # not quoted by others
    assert (read.names, read.data.tolist()) == (["0 1"], [[5.0]])
    spaced = read_matrix(write("K.tsv", "1 2\n2 1\n"))  # wrongly called so
    assert spaced.data.tolist() == [[1, 2], [2, 1]]


@settings(deadline=None)
@given(name=st.sampled_from(ODD) | ANY_NAME)
def test_written_names_are_harmless_and_come_back(name):
    text = name_to_text(name)
    assert name_from_text(text) == name
    assert not any(ord(c) < 32 or 127 <= ord(c) < 160 for c in text)
    assert text[0] not in "=@"


def test_no_cell_is_a_formula():
    handle = io.StringIO()
    rows = [["item", "score"], ["=HYPERLINK(0)", 0.5], ["-1", -1], ["+a", 2], ["#c", 1]]
    write_rows(handle, rows)
    assert handle.getvalue() == (
        "item,score\n'=HYPERLINK(0),0.5\n-1,-1\n'+a,2\n\"#c\",1\n"
    )


def test_numpy_reads_a_named_npy_as_the_matrix(tmp_path):
    write_matrix(tmp_path / "K.npy", K, names=NAMES)
    np.testing.assert_array_equal(np.load(tmp_path / "K.npy"), K)
    np.testing.assert_array_equal(np.load(tmp_path / "K.npy", mmap_mode="r"), K)
    np.save(tmp_path / "K.npy", K[::-1])
    assert read_matrix(tmp_path / "K.npy").names is None  # not those of another matrix


@pytest.mark.parametrize("bad", ["", " ", "a\0b", "\ud800"])
def test_what_cannot_be_a_name_is_refused(tmp_path, bad):
    for suffix in (".npz", ".csv"):
        with pytest.raises(ValueError, match="cannot be a name"):
            write_matrix(tmp_path / f"K{suffix}", np.eye(1), names=[bad])


def test_complex_matrices_are_refused(tmp_path):
    with pytest.raises(TypeError, match="real numbers, got complex"):
        write_matrix(tmp_path / "K.npy", np.eye(2) + 0j)
    np.save(tmp_path / "K.npy", np.eye(2) + 0j)
    with pytest.raises(FormatError, match="dtype complex128"):
        read_matrix(tmp_path / "K.npy")


def test_truth_is_one_category_however_it_is_written(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b,c\n1,TRUE,Yes\n2,True,yes\n3,,No\n4,false,no\n")
    rows = read_items(path, format="table").data
    assert [row[1] for row in rows] == ["true", "true", None, "false"]
    assert [row[2] for row in rows] == ["Yes", "yes", "No", "no"]
