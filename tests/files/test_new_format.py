"""The page about new formats, followed to the letter in a copy of the package."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import krein

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "format.md"
USE = """
import sys
from krein import FormatError, read_matrix
read = read_matrix("K.sim")
print(read.names, read.data.tolist(), read.notes)
for name in ("bad.sim", "names.sim"):
    try:
        read_matrix(name)
    except FormatError as error:
        print(error)
"""


def test_a_reader_and_a_line_are_a_format(tmp_path):
    if not PAGE.exists():
        pytest.skip("this copy of krein has no docs")
    blocks = re.findall(r"```(?:python|text)\n(.*?)```", PAGE.read_text(), re.DOTALL)
    reader, line = blocks
    shutil.copytree(Path(krein.__file__).parent, tmp_path / "krein")
    files = tmp_path / "krein" / "files"
    with (files / "square.py").open("a") as file:
        file.write(f"\n\n{reader}")
    table = (files / "readers.py").read_text()
    start = "FORMATS = (\n"
    (files / "readers.py").write_text(table.replace(start, start + line, 1))
    whole = '{"names": ["a", "b"],\n "matrix": [[1, 2], [2, 1]]}'
    (tmp_path / "K.sim").write_text(whole)
    (tmp_path / "bad.sim").write_text('{"names": ["a", "b"]}')
    (tmp_path / "names.sim").write_text('{"names": ["a"], "matrix": [[1, 2], [2, 1]]}')
    ended = subprocess.run(
        [sys.executable, "-c", USE],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        cwd=tmp_path,
        check=True,
        capture_output=True,
        text=True,
    )
    assert ended.stdout.splitlines() == [
        "['a', 'b'] [[1.0, 2.0], [2.0, 1.0]] ['read 2 x 2 numbers, with names']",
        "bad.sim: expected names and a matrix: 'matrix'",
        "names.sim: has 1 names for 2 rows",
    ]
