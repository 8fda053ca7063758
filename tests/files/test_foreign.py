"""Files of other programs: Parquet, Feather, Excel, JSON lines, zip, UTF-16."""

import json
import lzma
import sys
import zipfile

import numpy as np
import pandas as pd
import pytest

from krein import FormatError, read_hits, read_items, read_labels, read_matrix

NAMES = ["ann", "bob", "carl"]
K = pd.DataFrame(np.eye(3) + 0.1 / 3, index=NAMES, columns=NAMES)


def zipped(path, **members):
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name.replace("__", "."), content)
    return path


@pytest.mark.parametrize("kind", ["parquet", "feather"])
def test_a_frame_written_by_pandas_is_read_with_its_names(tmp_path, kind):
    path = tmp_path / f"K.{kind}"
    frame = K if kind == "parquet" else K.rename_axis("sample").reset_index()
    getattr(frame, f"to_{kind}")(path)
    read = read_matrix(path)
    assert read.names == NAMES
    np.testing.assert_array_equal(read.data, K.to_numpy())


def test_a_frame_without_names_has_its_numbering_left_out(tmp_path):
    path = tmp_path / "K.parquet"
    pd.DataFrame(K.to_numpy(), columns=["0", "1", "2"]).to_parquet(path)
    assert read_matrix(path).names is None
    np.testing.assert_array_equal(read_matrix(path).data, K.to_numpy())


def test_labels_and_items_of_a_frame(tmp_path):
    path = tmp_path / "table.parquet"
    table = {"id": ["a", "b"], "size": [1.5, 2.0], "kind": pd.Categorical(["u", "v"])}
    pd.DataFrame(table).to_parquet(path)
    read = read_items(path, label_column="kind")
    assert (read.names, read.columns, list(read.target)) == (
        ["a", "b"],
        ["size"],
        ["u", "v"],
    )
    assert list(read_labels(path, names=["b", "a"], column="kind").data) == ["v", "u"]


def test_a_workbook_is_read_as_its_cells_stand(tmp_path, monkeypatch):
    # pandas needs a package for workbooks that is not everywhere: its part is played.
    path = zipped(tmp_path / "K.xlsx", **{"xl/workbook__xml": "<x/>"})
    cells = [["", "ann", "bob"], ["ann", 1, 0.5], ["bob", 0.5, 1]]

    def read_excel(given, header, dtype):
        assert (given, header, dtype) == (path, None, object)
        return pd.DataFrame(cells, dtype=object)

    monkeypatch.setattr(pd, "read_excel", read_excel)
    read = read_matrix(path)
    assert (read.names, read.data.tolist()) == (["ann", "bob"], [[1, 0.5], [0.5, 1]])


def test_what_is_missing_for_a_format_is_named(tmp_path, monkeypatch):
    path = zipped(tmp_path / "K.xlsx", **{"xl/workbook__xml": "<x/>"})

    def missing(*args, **kwargs):
        raise ImportError("openpyxl")

    monkeypatch.setattr(pd, "read_excel", missing)
    with pytest.raises(ImportError, match=r"Excel.*'openpyxl'.*Or save it as .csv"):
        read_matrix(path)
    K.to_parquet(tmp_path / "K.parquet")
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="Parquet files needs the package 'pandas'"):
        read_matrix(tmp_path / "K.parquet")


def test_lines_of_json_are_rows_of_a_table(tmp_path):
    rows = [{"id": "a", "x": 1.5, "kind": "u"}, {"kind": None, "id": "b", "x": 2}]
    path = tmp_path / "items.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)) + "\n")
    read = read_items(path, label_column="kind", skip_unlabelled=True)
    assert (read.names, read.data.tolist(), list(read.target)) == (
        ["a"],
        [[1.5]],
        ["u"],
    )
    listed = tmp_path / "items.json"
    listed.write_text(json.dumps([[1, 0.5], [0.5, 1]]))
    assert read_matrix(listed).data.tolist() == [[1, 0.5], [0.5, 1]]


@pytest.mark.parametrize("orient", ["columns", "split", "records", "list"])
def test_json_of_pandas_is_a_table(tmp_path, orient):
    frame = pd.DataFrame({"x": [1.5, 2.0], "z": [3, 4], "kind": ["u", "v"]})
    path = tmp_path / "items.json"
    if orient == "list":
        path.write_text(json.dumps(frame.to_dict(orient="list")))
    else:
        frame.to_json(path, orient=orient)
    read = read_items(path, label_column="kind")
    assert (read.columns, read.data.tolist()) == (["x", "z"], [[1.5, 3], [2, 4]])
    assert list(read.target) == ["u", "v"]
    square = tmp_path / "K.json"
    if orient in ("columns", "split"):
        K.to_json(square, orient=orient, double_precision=15)
        read = read_matrix(square)
        assert read.names == NAMES
        np.testing.assert_allclose(read.data, K, rtol=1e-14)


@pytest.mark.parametrize("suffix", ["gz", "bz2", "xz"])
def test_packed_text_is_known_by_its_first_bytes(tmp_path, suffix):
    K.to_csv(tmp_path / f"K.csv.{suffix}")
    (tmp_path / f"K.csv.{suffix}").rename(tmp_path / "K.csv")
    assert read_matrix(tmp_path / "K.csv").names == NAMES
    K.to_csv(tmp_path / f"K.tsv.{suffix}", sep="\t")
    assert read_matrix(tmp_path / f"K.tsv.{suffix}").names == NAMES
    content = (tmp_path / f"K.tsv.{suffix}").read_bytes()
    (tmp_path / "cut.csv").write_bytes(content[:-9])
    with pytest.raises(FormatError, match="cannot be unpacked"):
        read_matrix(tmp_path / "cut.csv")


def test_text_in_utf_16_is_known_by_its_mark(tmp_path):
    path = tmp_path / "K.csv"
    for code in ("utf-16", "utf-16-be"):
        mark = "\ufeff" if code == "utf-16-be" else ""
        path.write_bytes((mark + ",ann,bjørn\nann,1,2\nbjørn,2,1\n").encode(code))
        assert read_matrix(path).names == ["ann", "bjørn"]


def test_one_file_in_an_archive_is_read(tmp_path):
    K.to_parquet(tmp_path / "K.parquet")
    content = (tmp_path / "K.parquet").read_bytes()
    path = zipped(tmp_path / "K.zip", K__parquet=content, **{"__MACOSX/._K": b"x"})
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("__MACOSX/._K", b"x")
        archive.writestr("K.parquet", content)
    assert read_matrix(path).names == NAMES
    hits = zipped(tmp_path / "hits.zip", hits__m8="a\tb\t5\nb\tc\t4\n")
    assert read_hits(hits).names == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("K.parquet", b"PAR1 and no more", "is no Parquet file that can be read"),
        ("K.xls", b"\xd0\xcf\x11\xe0", "Excel workbook of the old format; save it as"),
        ("K.rds", b"\x1f\x8b", r"file of R; in R: write.csv"),
        ("K.jsonl", b'{"a": 1}\n{"a"', "is not JSON"),
        ("K.json", b'{"a": {"b": 1}}', "an entry with parts of its own"),
        ("K.json", b"[1, 2]", "JSON that is no table"),
        ("K.csv", b"\xff\xfea", "truncated data"),
        ("K.pkl", b"\x80\x04", "is a pickle, which may run code"),
        ("K.csv", b"\x80\x05K", "is a pickle, which may run code"),
        ("K.sav", b"$FL2", r"file of SPSS.*pandas.read_spss\(path\).to_csv"),
        ("K.dta", b"<stata", r"file of Stata.*pandas.read_stata"),
        ("K.h5", b"\x89HDF", "is an HDF5 file; write the array"),
        ("K.csv", b"RDX3\nX\n", "is a file of R"),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(FormatError, match=message) as caught:
        read_matrix(tmp_path / name)
    assert str(caught.value).startswith(str(tmp_path / name))


def test_a_spreadsheet_of_open_document_is_named(tmp_path):
    path = zipped(tmp_path / "K.csv", content__xml="<x/>", mimetype="x")
    with pytest.raises(FormatError, match=r"OpenDocument spreadsheet; save it as .xl"):
        read_matrix(path)


def test_an_archive_of_several_files_is_refused(tmp_path):
    path = zipped(tmp_path / "all.zip", a__csv="1", b__csv="1")
    with pytest.raises(FormatError, match="zip archive of 2 files; unpack it and name"):
        read_matrix(path)


def test_a_python_without_a_packer_says_which(tmp_path, monkeypatch):
    path = tmp_path / "K.csv.xz"
    path.write_bytes(lzma.compress(b"1,0\n0,1\n"))
    monkeypatch.setitem(sys.modules, "lzma", None)
    with pytest.raises(FormatError, match="is packed by lzma, which this Python"):
        read_matrix(path)


@pytest.mark.parametrize("mark", [";", ",", "\t"])
def test_the_line_that_names_the_separator_for_excel(tmp_path, mark):
    path = tmp_path / "K.csv"
    rows = [["", "a", "b"], ["a", "1", "0.5"], ["b", "0.5", "1"]]
    text = "\r\n".join([f"sep={mark}", *map(mark.join, rows), ""])
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())
    for separator in (None, mark):
        read = read_matrix(path, separator=separator)
        assert (read.names, read.data.tolist()) == (["a", "b"], [[1, 0.5], [0.5, 1]])
    labels = tmp_path / "y.csv"
    labels.write_text(f"sep={mark}\nname{mark}kind\nb{mark}u\na{mark}v\n")
    assert read_labels(labels, names=["a", "b"]).data.tolist() == ["v", "u"]
    labels.write_text("sep=;x\nsep=;y\n")  # text that only begins so
    assert len(read_labels(labels, separator="tab").data) == 2
