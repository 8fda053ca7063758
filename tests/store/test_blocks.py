"""The block store: complete blocks only, checked when read, of one key."""

import json
import shutil
import subprocess
import sys
from collections import namedtuple
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from krein.store.blocks import BlockStore, DamagedBlockError, Tiling


@pytest.fixture(params=["npy", "zarr"])
def backend(request):
    if request.param == "zarr":
        pytest.importorskip("zarr", reason="zarr (extra 'dask') is not installed")
    return request.param


def open_store(folder, backend="npy", rows=5, key="key", **options):
    tiling = Tiling(10, 3, rows, symmetric=False, width=3)
    return BlockStore(folder, tiling, key, backend=backend, **options)


@settings(max_examples=20, deadline=None)
@given(
    n=st.integers(1, 40),
    m=st.integers(1, 5),
    rows=st.integers(1, 50),
    symmetric=st.booleans(),
)
def test_blocks_come_back_as_written(tmp_path_factory, n, m, rows, symmetric):
    tiling = Tiling(n, n, rows, True) if symmetric else Tiling(n, m, rows, False)
    numbers = np.random.default_rng(n).standard_normal(tiling.shape)
    numbers = np.triu(numbers) + np.triu(numbers, 1).T if symmetric else numbers
    folder = tmp_path_factory.mktemp("store") / "block"
    store = BlockStore(folder, tiling, "key")
    for k in reversed(range(len(store.blocks))):
        store.write(k, numbers[store.blocks[k]])
    again = BlockStore(folder, tiling, "key")
    for k, block in enumerate(again.blocks):
        np.testing.assert_array_equal(again.read(k), numbers[block])
    np.testing.assert_array_equal(np.load(folder / "block.npy"), numbers)


def test_what_is_not_finished_is_missing(tmp_path, backend):
    store = open_store(tmp_path / "s", backend, rows=4)
    store.write(2, np.ones((2, 3)))
    assert [store.has(k) for k in range(3)] == [False, False, True]
    with pytest.raises(DamagedBlockError, match="no marker"):
        store.read(0)
    store.marker(2).write_text('{"key": "ke')  # a torn marker
    assert not store.has(2)


def written(folder, backend):
    store = open_store(folder, backend)
    for k in range(2):
        store.write(k, np.full((5, 3), k + 1.0))


def test_changed_numbers_are_noticed(tmp_path, backend):
    written(tmp_path / "s", backend)
    damaged = tmp_path / "s" / ("block.npy" if backend == "npy" else "block.zarr/c/1/0")
    content = bytearray(damaged.read_bytes())
    content[-1] ^= 1
    damaged.write_bytes(content)
    again = open_store(tmp_path / "s", backend)
    assert again.read(0).sum() == 15
    with pytest.raises(DamagedBlockError, match="changed after it was written"):
        again.read(1)
    damaged.write_bytes(content[: len(content) // 2])  # cut short
    assert not open_store(tmp_path / "s", backend).is_sound(1)


def test_changed_mirror_image_is_noticed(tmp_path):
    tiling = Tiling(4, 4, 2, True)
    BlockStore(tmp_path / "s", tiling, "key").write(1, np.ones((2, 2)))
    K = np.lib.format.open_memmap(tmp_path / "s" / "block.npy", mode="r+")
    K[3, 0] = 2.0
    K.flush()
    with pytest.raises(DamagedBlockError, match="changed after it was written"):
        BlockStore(tmp_path / "s", tiling, "key").read(1)


def flip(path):
    content = bytearray(path.read_bytes())
    content[20] ^= 255
    path.write_bytes(content)


@pytest.mark.parametrize("damage", [flip, Path.unlink, lambda p: p.write_bytes(b"")])
def test_broken_description_of_the_numbers_is_mended(tmp_path, backend, damage):
    """The header of .npy, or zarr.json: afterwards a store that can be used."""
    written(tmp_path / "s", backend)
    described = {"npy": "block.npy", "zarr": "block.zarr/zarr.json"}[backend]
    damage(tmp_path / "s" / described)
    again = open_store(tmp_path / "s", backend)
    for k in range(2):
        if not again.is_sound(k):
            again.write(k, np.full((5, 3), k + 1.0))
        np.testing.assert_array_equal(again.read(k), np.full((5, 3), k + 1.0))
    if backend == "npy":
        assert np.load(tmp_path / "s" / "block.npy").shape == (10, 3)


def test_a_store_belongs_to_one_key(tmp_path, backend):
    written(tmp_path / "s", backend)
    with pytest.raises(ValueError, match="belongs to other work"):
        open_store(tmp_path / "s", backend, key="other")
    assert open_store(tmp_path / "s", backend).read(0).sum() == 15
    taken = open_store(tmp_path / "s", backend, key="other", replace=True)
    assert not taken.has(0)


def test_other_blocks_of_the_same_work_replace_it(tmp_path, backend):
    written(tmp_path / "s", backend)
    other = open_store(tmp_path / "s", backend, rows=4)
    assert not other.has(0)
    other.write(0, np.ones((4, 3)))
    assert other.read(0).shape == (4, 3)


def test_helpers_make_nothing(tmp_path):
    open_store(tmp_path / "s")
    open_store(tmp_path / "s", prepare=False).write(0, np.ones((5, 3)))
    with pytest.raises(ValueError, match="changed while a run was at work"):
        open_store(tmp_path / "s", prepare=False, rows=4)
    with pytest.raises(ValueError, match="changed while a run was at work"):
        open_store(tmp_path / "other", prepare=False)
    assert not (tmp_path / "other").exists()


def test_bad_use_is_refused(tmp_path):
    (tmp_path / "thesis.txt").write_text("precious")
    with pytest.raises(ValueError, match="folder with other files"):
        open_store(tmp_path)
    assert (tmp_path / "thesis.txt").read_text() == "precious"
    store = open_store(tmp_path / "s")
    with pytest.raises(ValueError, match=r"shape \(5, 3\), got .* \(4, 3\)"):
        store.write(0, np.ones((4, 3)))
    (tmp_path / "s" / "store.json").write_text('{"key": "key"')
    with pytest.raises(ValueError, match=r"store\.json is damaged .* remove"):
        open_store(tmp_path / "s")


def test_run_killed_while_the_store_was_made_leaves_no_obstacle(tmp_path):
    (tmp_path / "s" / "markers").mkdir(parents=True)
    (tmp_path / "s" / "block.npy").write_bytes(b"half")
    (tmp_path / "s" / ".store.json.00000000-1-1-00000000.tmp").write_bytes(b"half")
    open_store(tmp_path / "s").write(0, np.ones((5, 3)))


def test_full_disk_is_noticed_before_work_starts(tmp_path, monkeypatch):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(100, 99, 1))
    with pytest.raises(OSError, match="GB free: choose another disk"):
        open_store(tmp_path / "s")
    assert not (tmp_path / "s").exists()


FULL = """
import json, resource, sys
import numpy as np
from krein.store.blocks import BlockStore, Tiling
store = BlockStore(sys.argv[1], Tiling(4000, 8, 1000, False, 8), "key")
store.write(0, np.ones((1000, 8)))
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    store.write(2, np.ones((1000, 8)))
except OSError as error:
    facts = [str(error), store.has(0), store.has(2)]
    print(json.dumps([*facts, float(store.read(0).sum())]))
"""


def test_disk_that_fills_up_leaves_complete_blocks_only(tmp_path):
    pytest.importorskip("resource", reason="limits on file size need POSIX")
    command = [sys.executable, "-c", FULL, str(tmp_path / "s")]
    environment = {"PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, env=environment
    )
    message, first, third, total = json.loads(done.stdout)
    assert "block 2 (rows 2000 to 2999) could not be written" in message
    assert (first, third, total) == (True, False, 8000.0)
