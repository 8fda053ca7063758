"""Files that newcomers brought: several score columns, QIIME 2, R, missing labels."""

import json

import numpy as np
import pytest

from krein import FormatError, read_hits, read_items, read_labels, read_matrix

NAMES = [f"p{k}" for k in range(12)]
PLACES = np.concatenate([np.arange(6.0), 40 + np.arange(6.0)])
DISTANCES = np.abs(np.subtract.outer(PLACES, PLACES))
BITS = 300.0 - 5.0 * DISTANCES


def hit_lines(form, separator="\t"):
    """A line per pair that a search would find, as `form` says it."""
    for i, query in enumerate(NAMES):
        for j, target in enumerate(NAMES):
            if DISTANCES[i, j] < 20:
                facts = {
                    "query": query, "target": target, "bits": f"{BITS[i, j]:g}",
                    "evalue": f"{10.0 ** (DISTANCES[i, j] - 80) * (i != j):.3E}",
                    "fident": f"{1 - DISTANCES[i, j] / 50:g}", "alnlen": "70",
                    "mismatch": "4", "gapopen": "0", "qstart": "1", "qend": "70",
                    "tstart": "1", "tend": "70", "qlen": "70", "tlen": "71",
                    "lddt": f"{1 - DISTANCES[i, j] / 60:g}",
                }  # fmt: skip
                yield separator.join(facts[word] for word in form.split(","))


TWELVE = (
    "query,target,fident,alnlen,mismatch,gapopen,qstart,qend,tstart,tend,evalue,bits"
)
HEAD_7 = (
    "# BLASTP 2.15.0+\n# Fields: query acc.ver, subject acc.ver, evalue, bit score\n"
)
FOUND = np.where(DISTANCES < 20, BITS, 0.0)


@pytest.mark.parametrize(
    ("form", "head", "said"),
    [
        (TWELVE, "", "column 12"),
        (TWELVE + ",qlen,tlen", "", "column 12"),
        ("query,target,evalue,bits", HEAD_7, "column 'bit score'"),
        ("query,target,evalue,bits", "query\ttarget\tevalue\tbits\n", "column 'bits'"),
        ("query,target,bits,evalue", "query\ttarget\tbits\tevalue\n", "column 'bits'"),
        ("query,target,bits", "", "column 3"),
    ],
)
def test_bit_scores_are_read_and_the_column_is_told(tmp_path, form, head, said):
    path = tmp_path / "hits.m8"
    path.write_text(head + "\n".join(hit_lines(form)) + "\n")
    hits = read_hits(path)
    np.testing.assert_array_equal(hits.data.toarray(), FOUND)
    assert said in hits.notes[0]
    matrix = read_matrix(path)
    np.testing.assert_array_equal(matrix.data, FOUND)
    assert said in matrix.notes[0]


@pytest.mark.parametrize(
    ("form", "head", "options", "said"),
    [
        ("query,target,evalue", "", {}, "column 3 is no score"),
        ("query,target,evalue", "query\ttarget\tevalue\n", {}, "'evalue' is no score"),
        ("query,target,evalue,bits", "", {"score": 3}, "column 3 is no score"),
        ("query,target,evalue,bits", "", {}, "Name the score by a title line"),
        (TWELVE, "", {"score": 11}, "Take column 12 .*: score=12"),
    ],
)
def test_a_column_that_falls_with_likeness_is_refused(
    tmp_path, form, head, options, said
):
    path = tmp_path / "hits.m8"
    path.write_text(head + "\n".join(hit_lines(form)) + "\n")
    with pytest.raises(FormatError, match=said):
        read_hits(path, **options)


def test_the_command_line_refuses_e_values_and_reads_bit_scores(tmp_path, krein):
    path = tmp_path / "hits.m8"
    path.write_text("\n".join(hit_lines("query,target,evalue")) + "\n")
    ended = krein("inspect", path, code=2)
    assert "column 3 is no score" in ended.err
    path.write_text("\n".join(hit_lines(TWELVE)) + "\n")
    ended = krein("inspect", path, "--json")
    assert json.loads(ended.out)["n"] == 12
    assert "column 12 (bit scores)" in ended.err


# --------------------------------------------------------------------- missing labels


@pytest.mark.parametrize(
    "word", ["", "NA", "N/A", "n/a", "na", "NaN", "nan", "NULL", "null", "<NA>", "?"]
)
def test_words_for_a_missing_label(tmp_path, word):
    path = tmp_path / "labels.csv"
    path.write_text(f"name,label\na,x\nb,{word}\nc,y\n")
    with pytest.raises(
        FormatError, match=r"line 3, column 2: the label is missing .*--skip-unlabelled"
    ):
        read_labels(path, names=["a", "b", "c"])
    labels = read_labels(path, names=["a", "b", "c"], skip_unlabelled=True)
    assert labels.data.tolist() == ["x", "y"]
    assert (labels.names, labels.labelled.tolist()) == (["a", "c"], [0, 2])
    assert "1 of 3 items without a label left out" in labels.notes[0]
    # A label that nobody asked for may be missing.
    assert read_labels(path, names=["c", "a"]).data.tolist() == ["y", "x"]


@pytest.mark.parametrize("word", ['"NA"', "None", "none", "-", "Na", "0"])
def test_words_that_are_classes(tmp_path, word):
    path = tmp_path / "labels.csv"
    path.write_text(f"name,label\na,x\nb,{word}\nc,y\n")
    labels = read_labels(path, names=["a", "b", "c"])
    assert labels.data.tolist() == ["x", word.strip('"'), "y"]


def test_whole_numbers_stay_numbers_beside_missing_ones(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text("1\nNA\n0\n")
    labels = read_labels(path, n_items=3, skip_unlabelled=True)
    assert labels.data.tolist() == [1, 0]
    np.save(tmp_path / "y.npy", [1.0, np.nan, 0.0])
    labels = read_labels(tmp_path / "y.npy", n_items=3, skip_unlabelled=True)
    assert labels.labelled.tolist() == [0, 2]
    with pytest.raises(FormatError, match="the label is missing"):
        read_labels(tmp_path / "y.npy", n_items=3)


def test_items_that_have_no_label_are_left_out(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text("name,label\na,x\nc,y\n")
    matrix = read_matrix(_written(tmp_path / "K.csv", DISTANCES[:3, :3], list("abc")))
    with pytest.raises(FormatError, match=r"no label for 'b' .*--skip-unlabelled"):
        read_labels(path, names=matrix.names)
    labels = read_labels(path, names=matrix.names, skip_unlabelled=True)
    assert (labels.names, labels.data.tolist()) == (["a", "c"], ["x", "y"])
    assert labels.labelled.tolist() == [0, 2]
    with pytest.raises(FormatError, match="no label for 'q'"):
        read_labels(path, names=["q", "r"], skip_unlabelled=True)


def _written(path, matrix, names):
    lines = [",".join(["", *names])]
    rows = zip(names, matrix.tolist(), strict=True)
    lines += [",".join([name, *map(repr, row)]) for name, row in rows]
    path.write_text("\n".join(lines) + "\n")
    return path


def test_missing_labels_in_a_table_of_items(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("word,kind\ntea,drink\npan,NA\ncup,\nice,food\n")
    with pytest.raises(FormatError, match=r"2 of 4 items have none.*--skip-unlabelled"):
        read_items(path, column="word", label_column="kind")
    options = {"column": "word", "label_column": "kind", "skip_unlabelled": True}
    items = read_items(path, **options)
    assert (items.data, items.target.tolist()) == (["tea", "ice"], ["drink", "food"])
    assert items.labelled.tolist() == [0, 3]


# ------------------------------------------------------------------------- QIIME 2


@pytest.mark.parametrize(
    "title", ["#SampleID", "#Sample ID", "sample-id", "id", "sample_name", "#OTU ID"]
)
def test_metadata_of_qiime(tmp_path, title):
    path = tmp_path / "metadata.tsv"
    path.write_text(
        f"{title}\tbarcode\tsite\tph\n#q2:types\tcategorical\tcategorical\tnumeric\n"
        "s2\tACGT\tgut\t7\n# a comment\ns1\tACGA\tskin\t\ns3\tACCC\t\t5.5\n"
    )
    labels = read_labels(path, names=["s1", "s2"], column="site")
    assert labels.data.tolist() == ["skin", "gut"]
    everything = read_labels(path, column="site", skip_unlabelled=True)
    assert everything.names == ["s2", "s1"]
    acidity = read_labels(path, names=["s2", "s3"], column="ph")
    assert acidity.data.tolist() == ["7", "5.5"]


def test_metadata_with_one_column(tmp_path):
    path = tmp_path / "metadata.tsv"
    path.write_text("#SampleID\tsite\n#q2:types\tcategorical\ns2\tgut\ns1\tskin\n")
    for options in ({}, {"column": "site"}, {"names": ["s2", "s1"]}):
        assert read_labels(path, **options).data.tolist() == ["gut", "skin"]


# ---------------------------------------------------------------------- dist of R

LETTERS = ["ann", "bob", "carl", "dora"]
D = DISTANCES[np.ix_([0, 1, 3, 6], [0, 1, 3, 6])]
BELOW = [(i, j) for j in range(4) for i in range(j + 1, 4)]


def long_form(head, pairs, *, count=False, names=LETTERS, quote='"'):
    lines = [head]
    for k, (i, j) in enumerate(pairs, start=1):
        start = [f'"{k}"'] if count else []
        words = [f"{quote}{names[i]}{quote}", f"{quote}{names[j]}{quote}"]
        lines.append(",".join([*start, *words, f"{D[i, j]:g}"]))
    return "\n".join(lines) + "\n"


EVERY = [(i, j) for i in range(4) for j in range(4)]
TIDY, MELT = '"item1","item2","distance"', '"","Var1","Var2","value"'


@pytest.mark.parametrize(
    "text",
    [
        long_form(TIDY, BELOW),
        long_form(f'"",{TIDY}', BELOW, count=True),
        long_form(MELT, EVERY, count=True),
        long_form(MELT.removeprefix('"",'), EVERY, quote=""),
        long_form('"Var1","Var2","Freq"', EVERY),
        long_form('"Var1";"Var2";"Freq"', EVERY).replace(",", ";"),
    ],
)
def test_a_dist_of_r_in_long_form(tmp_path, text):
    path = tmp_path / "D.csv"
    path.write_text(text)
    read = read_matrix(path)
    order = [read.names.index(name) for name in LETTERS]
    np.testing.assert_array_equal(read.data[np.ix_(order, order)], D)


def test_a_dist_without_names_is_in_the_order_of_its_numbers(tmp_path):
    path = tmp_path / "D.csv"
    path.write_text(long_form(TIDY, BELOW, names=list("1234")))
    read = read_matrix(path)
    assert read.names == list("1234")
    np.testing.assert_array_equal(read.data, D)


def test_distances_in_long_form_on_the_command_line(tmp_path, krein):
    path = tmp_path / "D.csv"
    path.write_text(long_form(TIDY, BELOW))
    ended = krein("inspect", path, code=2)
    assert "--kind distance" in ended.err
    ended = krein("inspect", path, "--kind", "distance", "--json")
    assert json.loads(ended.out)["n"] == 4
    assert "distances from column 'distance'" in ended.err


def test_a_distance_that_is_not_listed_is_not_zero(tmp_path):
    path = tmp_path / "D.csv"
    path.write_text(long_form(TIDY, BELOW[:-1]))
    with pytest.raises(FormatError, match=r"1 pairs are missing.*'carl', 'dora'"):
        read_matrix(path)


@pytest.mark.parametrize("fill", ["", "NA"])
@pytest.mark.parametrize("header", [True, False])
@pytest.mark.parametrize("names", [True, False])
def test_a_triangle_in_a_square(tmp_path, header, names, fill):
    lines = [",".join([""] * names + LETTERS)] if header else []
    for i, name in enumerate(LETTERS):
        row = [f"{value:g}" for value in D[i, : i + 1]] + [fill] * (3 - i)
        lines.append(",".join([name] * names + row))
    path = tmp_path / "D.csv"
    path.write_text("\n".join(lines) + "\n")
    read = read_matrix(path)
    np.testing.assert_array_equal(read.data, D)
    assert read.names == (LETTERS if names or header else None)
    assert read.columns is None


def test_a_whole_matrix_of_which_nothing_stands_on_and_above_the_diagonal(tmp_path):
    path = tmp_path / "D.csv"
    lower = np.where(np.tri(4, k=-1) > 0, D, np.nan)
    text = _written(path, lower, LETTERS).read_text()
    path.write_text(text.replace("nan", "NA"))
    read = read_matrix(path)
    np.testing.assert_array_equal(read.data, D)
    assert "0, as of distances" in read.alerts["diagonal-filled"]


def test_a_triangle_with_a_wrong_row_is_located(tmp_path):
    path = tmp_path / "D.csv"
    path.write_text("0\n1,0\n3,2,0\n4,5\n")
    with pytest.raises(FormatError, match=r"line \d: has \d fields"):
        read_matrix(path)


# ------------------------------------------------------------------------- terminal

EVIL = "a\x1b]0;owned\x07\x1b[31m\x9b2J\u202eb"


def assert_harmless(text):
    assert not any(c < " " and c not in "\n\t" for c in text), text
    assert not any("\x7f" <= c <= "\x9f" or c in "\u202e\u2066" for c in text), text


def test_no_control_character_reaches_the_terminal(tmp_path, krein):
    names = [f"{EVIL}{k}" for k in range(8)]
    K = np.exp(-DISTANCES[:8, :8] / 10)
    np.savez(tmp_path / "K.npz", K=K, names=names)
    rows = [f"{name},{EVIL if k < 4 else 'x'}\n" for k, name in enumerate(names)]
    (tmp_path / "labels.csv").write_text("".join(rows))
    evil = tmp_path / f"{EVIL}.csv"
    evil.write_text(f"1,2\n3,{EVIL}\n")
    fit = ("fit", "K.npz", "--labels", "labels.csv", "--set", "C=1", "--method", "flip")
    for words, code in [
        (("inspect", evil.name), 2),
        (("inspect", f"{EVIL}.npz"), 2),
        (("inspect", "K.npz", "--labels", "labels.csv"), 0),
        ((*fit, "-o", f"{EVIL}.krein"), 0),
        (("predict", f"{EVIL}.krein", "K.npz", "-o", f"{EVIL}-labels.csv"), 0),
        (("predict", f"{EVIL}.krein", "K.npz"), 0),
        (("fit", "K.npz", f"--{EVIL}"), 2),
        (("datasets", EVIL), 2),
    ]:
        ended = krein(*words, cwd=tmp_path, code=code)
        assert_harmless(ended.out)
        assert_harmless(ended.err)


@pytest.mark.parametrize("problem", [EVIL, f"got {EVIL!r}"])
def test_errors_about_files_are_harmless(tmp_path, problem):
    text = str(FormatError(tmp_path / EVIL, problem, line=1))
    assert_harmless(text)
    assert "\\x1b" in text
    assert "\\x5c" not in text  # escaped once
