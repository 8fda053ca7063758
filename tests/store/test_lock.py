"""One writer at a time, and the dead hold nothing."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest

from krein.store import lock as lock_module
from krein.store.lock import LOCK, StoreInUseError, locked
from krein.store.owner import Owner

HOLD = """
import sys, time
from krein.store.lock import locked
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
        message = f"process {os.getpid()} on .* is working in"
        with pytest.raises(StoreInUseError, match=message), locked(tmp_path):
            pass
    assert os.listdir(tmp_path) == []
    with locked(tmp_path):
        pass


def test_a_folder_made_for_nothing_is_removed(tmp_path):
    with locked(tmp_path / "new"):
        pass
    (tmp_path / "given").mkdir()
    with locked(tmp_path / "given"):
        pass
    assert os.listdir(tmp_path) == ["given"]


def test_a_living_process_is_named_and_a_killed_one_forgotten(tmp_path, holder):
    with (
        pytest.raises(StoreInUseError, match=f"process {holder.pid} on"),
        locked(tmp_path),
    ):
        pass
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    assert (tmp_path / LOCK).exists()
    with locked(tmp_path):
        assert json.loads((tmp_path / LOCK).read_text())["pid"] == os.getpid()


@pytest.fixture
def without_system_locks(monkeypatch):
    monkeypatch.setattr(lock_module, "_system_lock", lambda handle: None)


@pytest.mark.usefixtures("without_system_locks")
def test_without_locks_of_the_system_the_name_decides(tmp_path, holder):
    with pytest.raises(StoreInUseError, match="is working in"), locked(tmp_path):
        pass
    holder.kill()
    holder.wait()
    with locked(tmp_path):
        pass


def written_by(tmp_path, **changes):
    owner = replace(Owner.this_process(), **changes)
    (tmp_path / LOCK).write_text(json.dumps(owner.facts()))


def test_another_machine_is_not_guessed_about(tmp_path):
    written_by(tmp_path, host="elsewhere", boot="other", pid=7)
    message = f"process 7 on elsewhere .* remove .*{LOCK}"
    with pytest.raises(StoreInUseError, match=message), locked(tmp_path):
        pass


@pytest.mark.usefixtures("without_system_locks")
@pytest.mark.parametrize("changes", [{"boot": "earlier"}, {"started": "1"}])
def test_restarted_system_and_reused_number(tmp_path, changes):
    if not Owner.this_process().started:
        pytest.skip("this system does not tell when a process was started")
    written_by(tmp_path, **changes)
    with locked(tmp_path):
        pass


def test_torn_lock_file_is_taken(tmp_path):
    (tmp_path / LOCK).write_text('{"host": "el')
    with locked(tmp_path):
        pass


def test_many_at_once_one_at_a_time(tmp_path):
    code = """
import sys, time
from krein.store.lock import StoreInUseError, locked
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
