"""One writer at a time, and the dead hold nothing."""

import os
import shutil
import signal
import subprocess
import sys
import time

import pytest

from krein.store.files import StoreInUseError, locked

HOLD = """
import sys, time
from krein.store.files import locked
with locked(sys.argv[1]):
    print("held", flush=True)
    time.sleep(600)
"""


@pytest.fixture
def holder(tmp_path):
    """A process that holds the lock of `tmp_path`."""
    environment = {**os.environ, "PYTHONPATH": ":".join(sys.path)}
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)],
        stdout=subprocess.PIPE, env=environment,
    )  # fmt: skip
    assert process.stdout.readline() == b"held\n"
    yield process
    process.kill()
    process.communicate()


def test_the_second_is_refused_until_the_first_ends(tmp_path):
    with locked(tmp_path):
        with pytest.raises(StoreInUseError, match="is working"), locked(tmp_path):
            pass
    with locked(tmp_path):
        pass


def test_a_living_process_holds_and_a_killed_one_is_forgotten(tmp_path, holder):
    with pytest.raises(StoreInUseError, match="another run"), locked(tmp_path):
        pass
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    with locked(tmp_path):
        pass


def test_a_lock_is_never_anothers(tmp_path):
    """The folder is removed while it is held, and taken by another run."""
    folder = tmp_path / "s"
    first, second = locked(folder), locked(folder)
    first.__enter__()
    shutil.rmtree(folder)
    second.__enter__()
    first.__exit__(None, None, None)
    with pytest.raises(StoreInUseError), locked(folder):
        pass
    second.__exit__(None, None, None)
    with locked(folder):
        pass


def test_many_at_once_one_at_a_time(tmp_path):
    code = """
import sys, time
from krein.store.files import StoreInUseError, locked
done = 0
while done < 20:
    try:
        with locked(sys.argv[1]):
            with open(sys.argv[2], "r+") as file:
                number = int(file.read())
                time.sleep(0.001)
                file.seek(0)
                file.write(str(number + 1))
            done += 1
    except StoreInUseError:
        time.sleep(0.001)
"""
    counter = tmp_path / "count"
    counter.write_text("0")
    environment = {**os.environ, "PYTHONPATH": ":".join(sys.path)}
    command = [sys.executable, "-c", code, str(tmp_path / "s"), str(counter)]
    together = [subprocess.Popen(command, env=environment) for _ in range(3)]
    deadline = time.monotonic() + 120
    assert [p.wait(max(1, deadline - time.monotonic())) for p in together] == [0, 0, 0]
    assert counter.read_text() == "60"


KILLED_WHILE_WRITING = """
import os, signal, sys
from pathlib import Path
from krein.store.files import locked, replace_file

with locked(sys.argv[1]):
    replace_file(Path(sys.argv[1]) / "blocks" / "tile", *[b"half"] * 1000)
    os.replace = lambda *names: os.kill(os.getpid(), signal.SIGKILL)
    replace_file(Path(sys.argv[1]) / "blocks" / "tile", b"other half")
"""


def test_what_a_killed_run_was_writing_is_swept_by_the_next(tmp_path):
    folder = tmp_path / "s"
    (folder / "blocks").mkdir(parents=True)
    (folder / "mine.tmp").write_text("kept")
    command = [sys.executable, "-c", KILLED_WHILE_WRITING, str(folder)]
    environment = {**os.environ, "PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run(command, env=environment, check=False)
    assert done.returncode == -signal.SIGKILL
    left = [path.name for path in (folder / "blocks").iterdir()]
    assert len(left) == 2
    with locked(folder):
        pass
    assert [path.name for path in (folder / "blocks").iterdir()] == ["tile"]
    assert (folder / "mine.tmp").exists()
