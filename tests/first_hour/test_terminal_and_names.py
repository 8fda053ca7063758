# ruff: noqa: F811  (fixtures of another module)
"""What a terminal may not be sent, closed streams, help, names of the package."""

import os
import shlex
import subprocess
import sys

import numpy as np
import pytest

import krein
from krein.cli import main
from tests.first_hour.conftest import write_table
from tests.first_hour.folder import NAMES, N, here, points, run, similarity, square  # noqa: F401


def test_help_lists_the_methods(run):
    words = set(run("compare", "--help").out.replace(",", " ").split())
    assert words >= set(krein.list_methods())


def test_no_name_twice_in_dir():
    krein.compare  # noqa: B018
    assert len(dir(krein)) == len(set(dir(krein)))


def test_no_escape_is_printed(run, here, similarity, capsys):
    evil = "\x1b[31mred"
    pairs = zip(NAMES, np.repeat([evil, "b"], N // 2), strict=True)
    write_table(here / "evil_y.csv", ["name", "label"], pairs)
    for words in (
        ("fit", "K.csv", "--labels", "evil_y.csv", "--method", "clip", "-o", "m.krein"),
        ("inspect", f"{evil}.csv"),
        ("compare", "K.csv", "--labels", evil),
        ("fit", "K.csv", "--method", evil, "-o", "x"),
        (evil,),
    ):
        main([*words])
        printed = capsys.readouterr()
        assert "\x1b" not in printed.out + printed.err
        assert "\\x1b[31mred" in printed.out + printed.err


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_are_no_traceback(here, closed):
    for words, code in (("datasets", 0), ("inspect nothing.csv", 2)):
        line = f"exec {shlex.quote(sys.executable)} -m krein {words} {closed}"
        ended = subprocess.run(line, shell=True, capture_output=True, text=True)
        assert ended.returncode == code
        assert "Traceback" not in ended.stderr


def test_letters_that_a_terminal_lacks_are_written_out(here):
    """Not half of the answer and an error."""
    lines = [",a,b,\u00fc", "a,1,.5,.2", "b,.5,1,.3", "\u00fc,.2,.3,1"]
    (here / "names.csv").write_text("\n".join(lines), "utf-8")
    ended = subprocess.run(
        [sys.executable, "-m", "krein", "embed", "names.csv", "-o", "-"],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
    )
    assert ended.returncode == 0, ended.stderr
    assert len(ended.stdout.splitlines()) == 4
    assert "\n\\xfc," in ended.stdout
