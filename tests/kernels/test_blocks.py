"""Blocks: memory, cores, files, and a run that is killed in the middle."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from krein import Kernel, kernel_matrix, rbf_kernel, tl1_kernel
from krein.store.blocks import Tiling
from krein.store.files import StoreInUseError

ROOT = Path(__file__).parents[2]


@pytest.fixture
def X(rng):
    return rng.random((60, 4))


def scaled_dot(X, Y):
    """A kernel as a user writes it."""
    return 2.0 * np.asarray(X) @ np.asarray(Y).T


def test_tiles_cover_each_pair_once():
    for symmetric in (True, False):
        tiling = Tiling(11, 11, 4, symmetric)
        count = np.zeros((11, 11))
        for tile in tiling:
            block = np.ones((11, 11))[tile]
            tiling.place(count, tile, block)
        np.testing.assert_array_equal(count, 1)
        pairs = sum(tiling.pairs_of(tile) for tile in tiling)
        assert pairs == (16 + 16 + 9 + 16 + 12 + 12 if symmetric else 121)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_jobs_and_blocks_give_the_same_matrix(X, n_jobs, monkeypatch):
    monkeypatch.setattr("krein.kernels.blocks.LARGEST_BLOCK", 13)
    K = kernel_matrix("tl1", X, n_jobs=n_jobs)
    np.testing.assert_array_equal(K, tl1_kernel(X))
    rows = kernel_matrix("tl1", X, X[:7], n_jobs=n_jobs)
    np.testing.assert_array_equal(rows, tl1_kernel(X, X[:7]))
    own = kernel_matrix(scaled_dot, X, n_jobs=n_jobs)
    np.testing.assert_allclose(own, 2 * X @ X.T)


def test_half_of_a_symmetric_matrix_is_evaluated(X, monkeypatch):
    monkeypatch.setattr("krein.kernels.blocks.LARGEST_BLOCK", 10)
    seen = []

    def counting(A, B):
        seen.append(len(A) * len(B))
        return A @ B.T

    kernel_matrix(counting, X, progress=True)
    assert sum(seen) == 21 * 100


def test_too_little_memory_is_said_before_allocation(X):
    with pytest.raises(MemoryError, match=r"out='K\.npy'"):
        kernel_matrix("rbf", X, memory_limit="20KB")


def test_file_holds_the_matrix_and_nothing_else_is_left(X, tmp_path):
    out = tmp_path / "K.npy"
    K = kernel_matrix(Kernel("rbf", gamma=2.0), X, memory_limit="20KB", out=out)
    np.testing.assert_allclose(K, rbf_kernel(X, gamma=2.0), rtol=1e-14)
    assert os.listdir(tmp_path) == ["K.npy"]
    np.testing.assert_array_equal(np.load(out), K)
    with pytest.raises(
        FileExistsError, match=r"exists; remove it or choose another name$"
    ):
        kernel_matrix("rbf", X, out=out)


def test_failing_kernel_leaves_nothing(X, tmp_path):
    with pytest.raises(ValueError, match="tau must be positive"):
        kernel_matrix(Kernel("tl1", tau=-1), X, out=tmp_path / "K.npy")
    assert os.listdir(tmp_path) == []
    with pytest.raises(ValueError, match="must return a matrix of shape"):
        kernel_matrix(lambda A, B: A, X, out=tmp_path / "K.npy")
    with pytest.raises(ValueError, match=r"a \.npy file"):
        kernel_matrix("rbf", X, out=tmp_path / "K.csv")
    assert os.listdir(tmp_path) == []


class StopRunError(Exception):
    """Stands for what stops a run."""


def contents(folder):
    return {p.name: p.read_bytes() for p in folder.rglob("*") if p.is_file()}


class Stopping:
    """A kernel that fails at some call; what it counts does not make it another one."""

    def __init__(self, n_calls):
        self.n_calls, self.calls = n_calls, []

    def __call__(self, A, B):
        if len(self.calls) == self.n_calls:
            raise StopRunError
        self.calls.append((len(A), len(B)))
        return scaled_dot(A, B)

    def __getstate__(self):
        return {}


def stop_after(n_calls):
    kernel = Stopping(n_calls)
    return kernel, kernel.calls


def test_interrupted_run_goes_on(X, tmp_path):
    out = tmp_path / "K.npy"
    first, done = stop_after(3)
    with pytest.raises(StopRunError):
        kernel_matrix(first, X, out=out)
    assert not out.exists()
    second, rest = stop_after(100)
    # Another memory limit would mean other blocks; the begun ones are kept.
    K = kernel_matrix(second, X, out=out, memory_limit="1KB")
    np.testing.assert_allclose(K, 2 * X @ X.T)
    assert len(done) == 3
    fresh, all_blocks = stop_after(100)
    kernel_matrix(fresh, X, out=tmp_path / "again.npy")
    assert len(done) + len(rest) == len(all_blocks)
    assert (tmp_path / "again.npy").read_bytes() == out.read_bytes()


def test_partial_file_of_other_items_is_refused(X, tmp_path):
    out = tmp_path / "K.npy"
    kernel, _ = stop_after(2)
    with pytest.raises(StopRunError):
        kernel_matrix(kernel, X, out=out)
    left = contents(tmp_path)
    with pytest.raises(ValueError, match="other items"):
        kernel_matrix(kernel, X + 1, out=out)
    assert contents(tmp_path) == left


def flip(path):
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)


def cut(path):
    path.write_bytes(path.read_bytes()[:-8])


def tear(path):
    path.write_bytes(b"")


@pytest.mark.parametrize("damage", [flip, cut, tear, Path.unlink])
def test_damaged_blocks_are_evaluated_again(X, tmp_path, damage):
    out = tmp_path / "K.npy"
    kernel, _ = stop_after(5)
    with pytest.raises(StopRunError):
        kernel_matrix(kernel, X, out=out)
    damage(tmp_path / "K.npy.partial" / "blocks" / "00000001")
    kernel, again = stop_after(100)
    np.testing.assert_allclose(kernel_matrix(kernel, X, out=out), 2 * X @ X.T)
    fresh, all_blocks = stop_after(100)
    kernel_matrix(fresh, X, out=tmp_path / "fresh.npy")
    assert len(all_blocks) - 5 < len(again) <= len(all_blocks)
    assert (tmp_path / "fresh.npy").read_bytes() == out.read_bytes()


def test_second_run_at_the_same_time_is_refused(X, tmp_path):
    out = tmp_path / "K.npy"
    refused = []

    def impatient(A, B):
        if not refused:
            with pytest.raises(StoreInUseError, match="is working in") as found:
                kernel_matrix(scaled_dot, X + 1, out=out)
            refused.append(found)
        return scaled_dot(A, B)

    np.testing.assert_allclose(kernel_matrix(impatient, X, out=out), 2 * X @ X.T)
    assert os.listdir(tmp_path) == ["K.npy"]


def test_functions_with_other_code_are_told_apart(X, tmp_path):
    out = tmp_path / "K.npy"
    kernel, _ = stop_after(2)
    with pytest.raises(StopRunError):
        kernel_matrix(kernel, X, out=out)
    with pytest.raises(ValueError, match="another kernel"):
        kernel_matrix(lambda A, B: A @ B.T, X, out=out)


SCRIPT = """
import sys, time
import numpy as np
from krein import kernel_matrix

log = open(sys.argv[2], "a")

def slow(A, B):
    time.sleep(float(sys.argv[3]))
    log.write("block\\n")
    log.flush()
    return np.exp(-((A[:, None] - B[None]) ** 2).sum(axis=2))

X = np.random.default_rng(3).random((80, 4))
kernel_matrix(slow, X, out=sys.argv[1])
"""


def run_script(out, log, pause):
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(out), str(log), str(pause)], env=environment
    )


def n_lines(path):
    return len(path.read_text().splitlines()) if path.exists() else 0


def test_killed_run_continues_bit_for_bit(tmp_path):
    out, log = tmp_path / "K.npy", tmp_path / "log"
    process = run_script(out, log, 0.2)
    deadline = time.monotonic() + 600
    done = tmp_path / "K.npy.partial" / "blocks"
    while len(list(done.glob("0*"))) < 4 and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    finished = len(list(done.glob("0*")))
    assert finished >= 3
    assert not out.exists()
    log.unlink()
    assert run_script(out, log, 0).wait() == 0
    whole, whole_log = tmp_path / "whole.npy", tmp_path / "whole-log"
    assert run_script(whole, whole_log, 0).wait() == 0
    assert n_lines(log) == n_lines(whole_log) - finished
    assert out.read_bytes() == whole.read_bytes()
