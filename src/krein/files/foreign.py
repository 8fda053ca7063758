"""Files of other programs, written anew as plain files that the readers take.

Parquet, Feather and Excel workbooks through pandas, where it is installed; JSON lines,
zip archives of one file and UTF-16 text by the standard library. A fault is a
ValueError, to which `sources.readable` adds the name of the file.
"""

from __future__ import annotations

import csv
import json
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, NamedTuple

from krein.memory import require_memory
from krein.words import import_optional

_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_ZIP = b"PK\x03\x04"
_OLD_EXCEL = b"\xd0\xcf\x11\xe0"
_BY_START = {
    b"PAR1": "parquet",
    b"ARROW1": "feather",
    b"FEA1": "feather",
    b"$FL2": "spss",
    b"RDX": "r",
    b"RDA": "r",
    **{b"\x80" + bytes([protocol]): "pickle" for protocol in (2, 3, 4, 5)},
}
_BY_SUFFIX = {
    ".jsonl": "json",
    ".ndjson": "json",
    ".json": "json",
    ".rds": "r",
    ".rda": "r",
    ".rdata": "r",
    ".pkl": "pickle",
    ".pickle": "pickle",
    ".joblib": "pickle",
    ".sav": "spss",
    ".dta": "stata",
    ".ods": "ods",
    ".h5": "hdf5",
    ".hdf5": "hdf5",
    ".h5ad": "hdf5",
}
# What pandas and the packages below it raise on damaged files.
_DAMAGED = (
    ValueError,
    OSError,
    KeyError,
    TypeError,
    RuntimeError,
    IndexError,
    EOFError,
)


class Foreign(NamedTuple):
    """How files of one kind are written anew.

    Attributes
    ----------
    name : str
        For messages, as in "is an Excel workbook".
    rewrite : callable
        ``rewrite(path, folder)`` returns the file it wrote in the folder.
    """

    name: str
    rewrite: Callable[[Path, Path], Path]


def foreign_kind(path: Path, head: bytes) -> Foreign | None:
    """How a file has to be written anew before it can be read; None if it is plain.

    Parameters
    ----------
    path : Path
        The file; its suffix tells what its first bytes do not.
    head : bytes
        Its first bytes, as they are on the disk.
    """
    if head.startswith(_UTF16):
        return _KINDS["utf-16"]
    if head.startswith(_ZIP):
        return _kind_of_zip(path)
    if head.startswith(_OLD_EXCEL):
        return _KINDS["xls"]
    for start, kind in _BY_START.items():
        if head.startswith(start):
            return _KINDS[kind]
    kind = _BY_SUFFIX.get(path.suffix.lower(), "")
    return _KINDS.get(kind)


def _kind_of_zip(path: Path) -> Foreign | None:
    """An Excel workbook, an archive, or arrays of NumPy, which are read as they are."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = [name for name in archive.namelist() if _is_content(name)]
    except (zipfile.BadZipFile, *_DAMAGED):
        return None  # the reader of arrays says that it is damaged
    if any(name.startswith("xl/") for name in names):
        return _KINDS["xlsx"]
    if "content.xml" in names:
        return _KINDS["ods"]
    if path.suffix.lower() == ".npz" or any(name.endswith(".npy") for name in names):
        return None
    return _KINDS["zip"]


def _is_content(name: str) -> bool:
    return not name.endswith("/") and not name.startswith("__MACOSX/")


# ------------------------------------------------------------------- standard library


def _recode(path: Path, folder: Path) -> Path:
    out = folder / path.name
    with open(path, encoding="utf-16", newline="") as text:
        with open(out, "x", encoding="utf-8", newline="") as handle:
            shutil.copyfileobj(text, handle)
    return out


def _unzip(path: Path, folder: Path) -> Path:
    with zipfile.ZipFile(path) as archive:
        members = [m for m in archive.infolist() if _is_content(m.filename)]
        if len(members) != 1:
            raise ValueError(
                f"is a zip archive of {len(members)} files; unpack it and name one"
            )
        require_memory(members[0].file_size, "what it holds", "Split the file.")
        out = folder / Path(members[0].filename).name
        with archive.open(members[0]) as packed, open(out, "xb") as handle:
            shutil.copyfileobj(packed, handle)
    return out


def _json_rows(path: Path, folder: Path) -> Path:
    """Write objects, one per line or in one list, as the rows of a table."""
    text = path.read_text("utf-8-sig")
    try:
        items = _json_items(text)
    except json.JSONDecodeError as error:
        raise ValueError(
            f"is not JSON, line {error.lineno}: {error.msg}; expected an object per "
            "line, or one list of them"
        ) from None
    out = folder / f"{path.stem}.csv"
    with open(out, "x", encoding="utf-8", newline="") as handle:
        _write_json_rows(items, handle)
    return out


def _json_items(text: str) -> list[Any]:
    """Objects of a list, or one per line, or the rows of a frame of pandas."""
    try:
        whole = json.loads(text)
    except json.JSONDecodeError:
        return [json.loads(line) for line in text.splitlines() if line.strip()]
    if isinstance(whole, list):
        return whole
    return _json_frame(whole) or [whole]


def _json_frame(whole: Any) -> list[list[Any]]:
    """Rows of what ``DataFrame.to_json()`` writes, or with ``orient="split"``."""
    if not isinstance(whole, dict) or not whole:
        return []
    if {"columns", "index", "data"} <= set(whole):
        table = zip(whole["index"], whole["data"], strict=True)
        rows = [[name, *values] for name, values in table]
        return [["", *whole["columns"]], *rows]
    columns = list(whole.values())
    first = columns[0]
    if all(isinstance(c, list) and len(c) == len(first) for c in columns):
        return [list(whole), *map(list, zip(*columns, strict=True))]
    if all(isinstance(c, dict) and c.keys() == first.keys() for c in columns):
        rows = [[name, *(c[name] for c in columns)] for name in first]
        return [["", *whole], *rows] if len(first) > 1 else []
    return []


def _write_json_rows(items: list[Any], handle: IO[str]) -> None:
    writer = csv.writer(handle, lineterminator="\n")
    if items and all(isinstance(item, list) for item in items):
        writer.writerows([_json_cell(value) for value in item] for item in items)
        return
    if not items or not all(isinstance(item, dict) for item in items):
        raise ValueError(
            "holds JSON that is no table; expected an object per line, such as "
            '{"name": "ann", "size": 1.5}, or one list of objects or of lists'
        )
    titles = list(dict.fromkeys(title for item in items for title in item))
    writer.writerow(titles)
    for item in items:
        writer.writerow([_json_cell(item.get(title)) for title in titles])


def _json_cell(value: Any) -> str:
    if isinstance(value, dict | list):
        raise ValueError(
            f"holds an entry with parts of its own, {json.dumps(value)[:60]}; expected "
            "numbers and text"
        )
    return "" if value is None else str(value)


# ---------------------------------------------------------------------------- pandas


def _parquet(path: Path, folder: Path) -> Path:
    return _through_pandas("Parquet", "pyarrow", "read_parquet", path, folder)


def _feather(path: Path, folder: Path) -> Path:
    return _through_pandas("Feather", "pyarrow", "read_feather", path, folder)


def _excel(path: Path, folder: Path) -> Path:
    # Without a header, so that the cells come as they stand in the sheet.
    return _through_pandas(
        "Excel", "openpyxl", "read_excel", path, folder, header=None, dtype=object
    )


def _through_pandas(
    name: str, package: str, reader: str, path: Path, folder: Path, **options: Any
) -> Path:
    pandas: Any = import_optional("pandas", extra=None, needed_for=f"{name} files")
    try:
        frame = getattr(pandas, reader)(path, **options)
    except ImportError:
        raise ImportError(
            f"{path} is a file of {name}, for which pandas needs the package "
            f"{package!r}: pip install {package}. Or save it as .csv"
        ) from None
    except _DAMAGED as error:
        raise ValueError(f"is no {name} file that can be read: {error}") from None
    out = folder / f"{path.stem}.csv"
    titled = options.get("header", "") is not None
    numbered = isinstance(frame.index, pandas.RangeIndex)
    frame.to_csv(out, header=titled, index=titled and not numbered)
    return out


def _refused(why: str) -> Callable[[Path, Path], Path]:
    def refuse(path: Path, folder: Path) -> Path:
        raise ValueError(why)

    return refuse


def _by_pandas(program: str, reader: str) -> str:
    return (
        f"is a file of {program}; save it as .csv there, or in Python: "
        f"pandas.{reader}(path).to_csv('table.csv')"
    )


_KINDS = {
    "utf-16": Foreign("UTF-16 text", _recode),
    "zip": Foreign("a zip archive", _unzip),
    "json": Foreign("JSON", _json_rows),
    "parquet": Foreign("Parquet", _parquet),
    "feather": Foreign("Feather", _feather),
    "xlsx": Foreign("an Excel workbook", _excel),
    "xls": Foreign(
        "an old Excel workbook",
        _refused("is an Excel workbook of the old format; save it as .xlsx or .csv"),
    ),
    "r": Foreign(
        "a file of R",
        _refused('is a file of R; in R: write.csv(as.matrix(x), "matrix.csv")'),
    ),
    "pickle": Foreign(
        "a pickle",
        _refused(
            "is a pickle, which may run code when it is read; write a frame by "
            "to_csv or to_parquet, an array by numpy.save"
        ),
    ),
    "spss": Foreign("a file of SPSS", _refused(_by_pandas("SPSS", "read_spss"))),
    "stata": Foreign("a file of Stata", _refused(_by_pandas("Stata", "read_stata"))),
    "ods": Foreign(
        "an OpenDocument spreadsheet",
        _refused("is an OpenDocument spreadsheet; save it as .xlsx or .csv"),
    ),
    "hdf5": Foreign(
        "an HDF5 file",
        _refused(
            "is an HDF5 file; write the array of it by numpy.save, or a frame by to_csv"
        ),
    ),
}
