"""A file is written completely or not at all."""

import os
import subprocess
import sys

import pytest

from krein.store.files import atomic_write, check_writable


def test_content_appears_when_the_block_ends(tmp_path):
    path = tmp_path / "a.bin"
    with atomic_write(path) as handle:
        handle.write(b"abc")
        assert not path.exists()
    assert path.read_bytes() == b"abc"
    assert os.listdir(tmp_path) == ["a.bin"]


def test_a_reader_of_the_old_file_never_sees_a_part_of_the_new_one(tmp_path):
    path = tmp_path / "names.txt"
    path.write_text("old " * 5000)
    with path.open() as reader:
        begun = reader.read(4)
        with atomic_write(path, overwrite=True, text=True) as handle:
            handle.write("new " * 5000)
        assert begun + reader.read() == "old " * 5000
    assert path.read_text() == "new " * 5000


def test_failure_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")

    def write_half():
        with atomic_write(path, overwrite=True, text=True) as handle:
            handle.write("half")
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        write_half()
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_existing_file_is_kept_unless_asked(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    with (
        pytest.raises(FileExistsError, match="overwrite=True"),
        atomic_write(path) as handle,
    ):
        handle.write(b"new")
    with atomic_write(path, overwrite=True, text=True) as handle:
        handle.write("new")
    assert path.read_text() == "new"


def test_bad_destinations_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="does not exist"):
        check_writable(tmp_path / "no" / "a.txt")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        check_writable(tmp_path)


def test_new_file_has_ordinary_permissions(tmp_path):
    plain = tmp_path / "plain"
    plain.write_text("")
    with atomic_write(tmp_path / "atomic") as handle:
        handle.write(b"x")
    assert (tmp_path / "atomic").stat().st_mode == plain.stat().st_mode


KILLED = """
import os, sys
from krein.store.files import atomic_write
with atomic_write(sys.argv[1]) as handle:
    handle.write(b"half")
    handle.flush()
    os.kill(os.getpid(), 9)
"""


def test_what_a_killed_run_left_is_removed_by_the_next(tmp_path):
    path = tmp_path / "a.txt"
    environment = {**os.environ, "PYTHONPATH": ":".join(sys.path)}
    command = [sys.executable, "-c", KILLED, str(path)]
    assert subprocess.run(command, env=environment, check=False).returncode != 0
    assert len(os.listdir(tmp_path)) == 1
    with atomic_write(path) as handle:
        handle.write(b"whole")
    assert os.listdir(tmp_path) == ["a.txt"]
