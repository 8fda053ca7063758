"""Tables of items: which columns are names, labels, items, or left out."""

import pytest

from krein import FormatError, read_items, read_labels

TABLE = "pid,weight,size,kind,remark\np1,.1,2,a,hello\np2,.3,1,b,you there\n"


def test_blanks_inside_the_only_column_do_not_cut_it(write):
    text = "name\nJurgen Muller\nAnna Schmidt\nBo Li\n"
    for name in ("a.csv", "a.txt"):
        read = read_items(write(name, text), column="name")
        assert read.data == ["Jurgen Muller", "Anna Schmidt", "Bo Li"]
    text = "first last\nJurgen Muller\nAnna Schmidt\n"
    assert read_items(write("b.csv", text), column="first last").data[0] == (
        "Jurgen Muller"
    )
    assert read_items(write("b.txt", text), column="last").data == ["Muller", "Schmidt"]


def test_names_and_columns_to_leave_out_are_told(write):
    path = write("table.csv", TABLE)
    how = {"label_column": "kind", "id_column": "pid", "drop": ["remark"]}
    read = read_items(path, **how)
    assert (read.names, read.columns) == (["p1", "p2"], ["weight", "size"])
    assert read.data.tolist() == [[0.1, 2], [0.3, 1]]
    assert list(read.target) == ["a", "b"]
    assert "names from 'pid'" in read.notes[0]
    mixed = read_items(path, format="table", id_column="pid", drop=["remark", "size"])
    assert mixed.columns == ["weight", "kind"]


def test_columns_that_are_not_there_are_named(write):
    path = write("table.csv", TABLE)
    with pytest.raises(FormatError, match=r"'pod' is not there.*did you mean 'pid'"):
        read_items(path, id_column="pod")
    with pytest.raises(FormatError, match=r"'remarks' is not there.*did you mean"):
        read_items(path, label_column="kind", drop=["remarks"])
    with pytest.raises(TypeError, match="drop must be a list of titles"):
        read_items(path, drop="remark")
    with pytest.raises(FormatError, match="the name 'x' is duplicated"):
        read_items(write("b.csv", "pid,a\nx,1\nx,2\n"), id_column="pid")


@pytest.mark.parametrize(
    ("title", "first", "named"),
    [
        ("bird", ("wren", "owl"), True),  # words, each another one
        ("sample", ("1", "2"), True),  # counted, below a usual title
        ("Subject", ("17", "4"), True),
        ("plot_id", ("17", "4"), True),  # a word id at the end
        ("Plot ID", ("17", "4"), True),
        ("plotId", ("17", "4"), True),
        ("acid", ("17", "4"), False),
        ("plot_id", ("17.5", "4"), False),
        ("bird", ("1", "2"), False),
        ("sample", ("1.5", "2.5"), False),
        ("sample", ("1", "1"), False),
    ],
)
def test_a_first_column_of_names_needs_no_option(write, title, first, named):
    a, b = first
    path = write("t.csv", f"{title},size,age,kind\n{a},.1,2,u\n{b},.3,1,v\n")
    read = read_items(path, label_column="kind")
    assert read.names == (list(first) if named else None)
    assert read.columns == ["size", "age"] if named else [title, "size", "age"]
    assert (f"names from {title!r}" in read.notes[0]) == named


@pytest.mark.parametrize(
    ("title", "values", "warned"),
    [
        ("plot", "11 12 13 14 15", "counts the rows"),
        ("plot", "11 12 13 14", None),  # as measurements may by chance
        ("plot", "11 12 13 14 16", None),
        ("plot", "1.5 2.5 3.5 4.5 5.5", None),
        ("plot_id", "19 12 4 77 15", "has another number in each row"),
        ("plot_id", "19 12 4 77 77", None),
    ],
)
@pytest.mark.parametrize("how", [{}, {"label_column": "kind"}, {"format": "table"}])
def test_numbers_that_count_the_rows_are_warned_of(
    write, recwarn, title, values, warned, how
):
    rows = [f".{i},{v}" for i, v in enumerate(values.split())]
    if how:
        rows = [f"{row},{'uv'[i % 2]}" for i, row in enumerate(rows)]
    text = "\n".join([f"size,{title}{',kind' if how else ''}", *rows])
    assert title in read_items(write("t.csv", text), **how).columns
    said = [str(warning.message) for warning in recwarn]
    assert len(said) == (warned is not None)
    if warned:
        assert f"{title!r} {warned}" in said[0]
        assert f"--id {title} (id_column={title!r})" in said[0]


def test_words_that_repeat_are_no_names(write):
    path = write("t.csv", "bird,size,kind\nowl,.1,u\nowl,.3,v\n")
    with pytest.raises(FormatError, match=r"'owl'.*--drop bird.*--items bird.*gower"):
        read_items(path, label_column="kind")
    path = write("t.csv", "title,price,kind\npan,.1,u\ntea,.3,v\n")
    with pytest.raises(FormatError, match=r"'pan' \(column 'title'\)"):
        read_items(path, label_column="kind")  # the titles may be what is compared


@pytest.mark.parametrize("title", ["", "Unnamed: 0"])
def test_the_numbering_of_pandas_is_left_out_beside_a_column_of_names(write, title):
    text = f"{title},size,pid,kind\n0,.1,p1,u\n1,.3,p2,v\n"
    read = read_items(write("t.csv", text), label_column="kind", id_column="pid")
    assert (read.names, read.columns) == (["p1", "p2"], ["size"])
    assert "the numbering of rows left out" in read.notes[0]
    counted = text.replace("\n1,", "\n5,")  # no numbering
    read = read_items(write("u.csv", counted), label_column="kind", id_column="pid")
    assert len(read.columns) == 2


def heights(numbers, words):
    rows = [f"{k},{1.5 + k % 5 / 10}" for k in range(numbers)]
    rows += [f"{numbers + k},tall" for k in range(words)]
    return "id,height\n" + "\n".join(rows) + "\n"


def test_a_word_among_numbers_is_named(write):
    path = write("people.csv", heights(20, 1))
    with pytest.warns(UserWarning, match="'height' has 20 numbers and also 'tall'"):
        read = read_items(path, format="table")
    assert read.data[0] == ("1.5",)
    read = read_items(path, format="table", numbers=["height"])
    assert (read.data[0], read.data[20]) == ((1.5,), (None,))
    assert "1 column of numbers" in read.notes[0]


@pytest.mark.parametrize("words", [2, 3])
def test_many_words_among_numbers_are_categories(write, words, recwarn):
    """Four numbers for each word are the border."""
    read_items(write("people.csv", heights(8, words)), format="table")
    assert len(recwarn) == (words == 2)


def test_insisting_on_numbers_needs_a_table_and_its_column(write):
    path = write("people.csv", heights(20, 1))
    with pytest.raises(FormatError, match="no column 'weight' to be read as numbers"):
        read_items(path, format="table", numbers=["weight"])
    with pytest.raises(ValueError, match="format='table'"):
        read_items(path, numbers=["height"])


def test_bits_in_one_word_are_no_number(write):
    words = ["01" * 8, "0" * 16, "1" * 16]
    rows = [f"{k},{word},{'ab'[k % 2]}" for k, word in enumerate(words)]
    path = write("bits.csv", "\n".join(["id,fp,kind", *rows]) + "\n")
    with pytest.raises(FormatError, match=r"line 2, column 2: .*'fp' .* 16 bits"):
        read_items(path, label_column="kind")
    assert read_items(path, column="fp").data == words
    short = write("numbers.csv", "id,x,kind\n1,1010,a\n2,1,b\n")
    assert read_items(short, label_column="kind").data.tolist() == [[1010], [1]]


def test_empty_columns_beside_a_table_are_left_out(write):
    text = "name,a,kind,,\np,1,u,,\nq,2,v,,\n"
    read = read_items(write("t.csv", text), label_column="kind")
    assert (read.columns, read.data.tolist()) == (["a"], [[1], [2]])
    filled = text.replace("q,2,v,,", "q,2,v,,3")
    with pytest.raises(FormatError, match="got nothing"):
        read_items(write("u.csv", filled), label_column="kind")


def test_labels_with_decimal_commas_are_numbers(write):
    path = write("de.csv", "Probe;x;Fett\na;0,5;20,5\nb;1,5;19\n")
    read = read_items(path, label_column="Fett", id_column="Probe")
    assert read.target.tolist() == ["20.5", "19"]
    labels = read_labels(path, names=["b", "a"], column="Fett")
    assert labels.data.tolist() == ["19", "20.5"]
    pairs = write("pairs.csv", 'name,kind\na,"1,2"\nb,"1,3"\n')
    assert read_labels(pairs, names=["a", "b"]).data.tolist() == ["1,2", "1,3"]
    words = write("words.csv", "name;kind\na;1,2\nb;big\n")
    assert read_labels(words, names=["a", "b"]).data.tolist() == ["1,2", "big"]


def test_molecules_have_their_names_behind_them(write):
    read = read_items(write("m.smi", "CCO ethanol\nCC(C)O isopropyl alcohol\n\n"))
    assert read.data == ["CCO", "CC(C)O"]
    assert read.names == ["ethanol", "isopropyl alcohol"]
    assert read_items(write("n.smi", "CCO\nCO\tmethanol\n")).names is None
    with pytest.raises(FormatError, match="no molecules"):
        read_items(write("o.smi", "\n"))


def test_words_among_vectors_are_left_out_by_an_option(write):
    path = write("t.csv", "size,age,kind\n.1,2,u\n.3,1,v\n")
    with pytest.raises(FormatError, match=r"got 'u'.*left out by --drop COLUMN"):
        read_items(path)
    assert read_items(path, drop=["kind"]).data.shape == (2, 2)
