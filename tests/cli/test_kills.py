"""`krein fit` stopped inside, killed while it writes, and on a disk that is full."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from krein import load_model

pytestmark = pytest.mark.slow

PATIENCE = 300  # seconds that a command may take on a busy machine
ENVIRONMENT = {**os.environ, "PYTHONPATH": ":".join(sys.path)}

# Runs a command whose solver says when it is at work, and then never ends.
INSIDE = """
import sys, time
import krein.estimators.krein_svm as module

def endless(*args, **kwargs):
    print("inside", flush=True)
    while True:
        time.sleep(0.01)

module.KreinSVC.fit_rows = endless
from krein.cli import main
sys.exit(main(sys.argv[1:]))
"""
# Runs a command that dies in the middle of the model file.
WRITING = """
import os, signal, sys
import numpy as np

def part(member, array, **how):
    member.write(array.tobytes()[:8])
    member._fileobj.flush()
    os.kill(os.getpid(), signal.SIGKILL)

np.lib.format.write_array = part
from krein.cli import main
sys.exit(main(sys.argv[1:]))
"""
# Runs a command that may write files of so many bytes only.
LIMITED = """
import resource, sys
from krein.cli import main
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), int(sys.argv[1])))
sys.exit(main(sys.argv[2:]))
"""


@pytest.fixture
def data(tmp_path, rng):
    X = rng.standard_normal((40, 3))
    np.savetxt(tmp_path / "K.csv", np.tanh(X @ X.T), delimiter=",")
    labels = np.where(X[:, 0] > 0, "yes", "no")
    (tmp_path / "labels.txt").write_text("\n".join(labels) + "\n")
    return tmp_path


def fit(folder, out, *more):
    return ["fit", str(folder / "K.csv"), "--labels", str(folder / "labels.txt"),
            "--set", "C=1", "-o", str(out), *more]  # fmt: skip


def run(*command):
    return subprocess.run(
        [sys.executable, *command],
        env=ENVIRONMENT, capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip


def names_in(folder):
    return sorted(os.listdir(folder))


def test_interrupted_inside_of_the_solver(data):
    before = names_in(data)
    process = subprocess.Popen(
        [sys.executable, "-c", INSIDE, *fit(data, data / "m.krein")],
        env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout.readline() == "inside\n"
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1
    assert "krein fit: error: interrupted" in errors
    assert "Traceback" not in errors
    assert names_in(data) == before


def test_killed_while_the_model_is_written(data):
    model = data / "m.krein"
    assert run("-m", "krein", *fit(data, model)).returncode == 0
    whole, before = model.read_bytes(), names_in(data)
    killed = run("-c", WRITING, *fit(data, model, "--force"))
    assert killed.returncode == -signal.SIGKILL
    assert model.read_bytes() == whole
    left = [name for name in names_in(data) if name not in before]
    assert len(left) == 1
    assert left[0].endswith(".tmp")
    assert run("-m", "krein", *fit(data, model, "--force")).returncode == 0
    assert model.read_bytes() == whole


@pytest.mark.parametrize("room", [0, 1000, 3000])
def test_file_that_may_not_grow(data, room):
    pytest.importorskip("resource", reason="limits on file size need POSIX")
    model = data / "m.krein"
    assert run("-m", "krein", *fit(data, model)).returncode == 0
    assert model.stat().st_size > 3000
    whole, before = model.read_bytes(), names_in(data)
    ended = run("-c", LIMITED, str(room), *fit(data, model, "--force"))
    assert ended.returncode == 1
    assert "Traceback" not in ended.stderr
    assert "krein fit:" in ended.stderr
    assert "File too large" in ended.stderr
    assert model.read_bytes() == whole
    assert names_in(data) == before
    load_model(model)


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 16 KB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", str(folder)]
    try:
        subprocess.run(mount, check=True, capture_output=True, timeout=30)
    except (OSError, subprocess.SubprocessError) as error:
        pytest.skip(f"no file system can be mounted here: {error}")
    yield folder
    time.sleep(0.1)
    subprocess.run(["umount", str(folder)], check=True, timeout=30)


def test_disk_that_is_full(data, small_disk):
    (small_disk / "fill").write_bytes(bytes(12_000))
    ended = run("-m", "krein", *fit(data, small_disk / "m.krein"))
    assert ended.returncode == 1
    assert "Traceback" not in ended.stderr
    assert "No space left on device" in ended.stderr
    assert names_in(small_disk) == ["fill"]
