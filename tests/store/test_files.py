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
with atomic_write(sys.argv[1], overwrite=True) as handle:
    handle.write(b"half")
    handle.flush()
    os.kill(os.getpid(), 9)
"""


def test_a_killed_run_leaves_the_old_file(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"whole")
    environment = {**os.environ, "PYTHONPATH": ":".join(sys.path)}
    command = [sys.executable, "-c", KILLED, str(path)]
    assert subprocess.run(command, env=environment, check=False).returncode != 0
    assert path.read_bytes() == b"whole"
    assert len(os.listdir(tmp_path)) == 2


def test_a_name_may_be_as_long_as_the_system_allows(tmp_path):
    for length in (241, 255):
        path = tmp_path / ("x" * length)
        with atomic_write(path) as handle:
            handle.write(b"whole")
        assert path.read_bytes() == b"whole"


@pytest.mark.skipif(os.name == "nt", reason="permissions of POSIX")
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o444])
def test_a_replaced_file_keeps_its_permissions(tmp_path, mode):
    path = tmp_path / "secret"
    path.write_text("old")
    path.chmod(mode)
    with atomic_write(path, overwrite=True) as handle:
        handle.write(b"new")
        (temporary,) = set(os.listdir(tmp_path)) - {"secret"}
        assert (tmp_path / temporary).stat().st_mode & 0o777 == mode  # from the start
    assert path.stat().st_mode & 0o777 == mode
    assert path.read_text() == "new"


@pytest.mark.skipif(os.name == "nt", reason="symbolic links of POSIX")
def test_a_symbolic_link_is_followed(tmp_path):
    (tmp_path / "folder").mkdir()
    target, link = tmp_path / "folder" / "model", tmp_path / "link"
    link.symlink_to(target)
    for content in (b"new", b"newer"):  # a link to nothing, then to a file
        with atomic_write(link, overwrite=True) as handle:
            handle.write(content)
        assert link.is_symlink()
        assert target.read_bytes() == content
    assert sorted(os.listdir(tmp_path)) == ["folder", "link"]
    assert os.listdir(tmp_path / "folder") == ["model"]
    with pytest.raises(FileExistsError, match="exists"), atomic_write(link):
        pass


FULL = """
import resource, sys
import numpy as np
from krein.store.files import atomic_write
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    with atomic_write(sys.argv[1]) as handle:
        if sys.argv[2] == "bytes":
            handle.write(bytes(5000))
        else:
            np.save(handle, np.zeros(5000))
except OSError as error:
    print(error)
"""


@pytest.mark.skipif(os.name == "nt", reason="limits of POSIX")
@pytest.mark.parametrize("what", ["bytes", "array"])
def test_a_full_disk_is_told_with_the_name_of_the_file(tmp_path, what):
    path = tmp_path / "large.npy"
    environment = {**os.environ, "PYTHONPATH": ":".join(sys.path)}
    command = [sys.executable, "-c", FULL, str(path), what]
    ended = subprocess.run(
        command, env=environment, check=True, capture_output=True, text=True
    )
    assert "large.npy" in ended.stdout
    assert os.listdir(tmp_path) == []
