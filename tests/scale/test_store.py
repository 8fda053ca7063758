"""The tile store: complete tiles only, checked when read."""

import json
import shutil
import subprocess
import sys
from collections import namedtuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from krein.scale import DamagedTileError, TileStore


@pytest.fixture(params=["npy", "zarr"])
def backend(request):
    if request.param == "zarr":
        pytest.importorskip("zarr", reason="zarr (extra 'dask') is not installed")
    return request.param


@settings(max_examples=20, deadline=None)
@given(n=st.integers(1, 40), m=st.integers(1, 5), rows=st.integers(1, 50))
def test_tiles_come_back_as_written(tmp_path_factory, n, m, rows):
    numbers = np.random.default_rng(n).standard_normal((n, m))
    folder = tmp_path_factory.mktemp("store") / "block"
    store = TileStore(folder, (n, m), rows)
    for tile in reversed(range(len(store.slices))):
        store.write(tile, "key", numbers[store.slices[tile]])
    again = TileStore(folder, (n, m), rows)
    read = np.vstack([again.read(tile) for tile in range(len(again.slices))])
    np.testing.assert_array_equal(read, numbers)
    np.testing.assert_array_equal(np.load(folder / "block.npy"), numbers)


def test_only_the_same_work_counts_as_done(tmp_path, backend):
    store = TileStore(tmp_path / "s", (10, 3), 4, backend)
    store.write(2, "key", np.ones((2, 3)))
    assert store.has(2, "key")
    assert not store.has(2, "other key")
    assert not store.has(0, "key")
    with pytest.raises(DamagedTileError, match="no marker"):
        store.read(0)
    store.marker(2).write_text('{"key": "ke')  # a torn marker
    assert not store.has(2, "key")


def test_changed_numbers_are_noticed(tmp_path, backend):
    store = TileStore(tmp_path / "s", (10, 3), 5, backend)
    for tile in range(2):
        store.write(tile, "key", np.full((5, 3), tile + 1.0))
    damaged = tmp_path / "s" / ("block.npy" if backend == "npy" else "block.zarr/c/1/0")
    content = bytearray(damaged.read_bytes())
    content[-1] ^= 1
    damaged.write_bytes(content)
    again = TileStore(tmp_path / "s", (10, 3), 5, backend)
    assert again.read(0).sum() == 15
    with pytest.raises(DamagedTileError, match="changed after it was written"):
        again.read(1)
    damaged.write_bytes(content[: len(content) // 2])  # cut short
    with pytest.raises(DamagedTileError):
        TileStore(tmp_path / "s", (10, 3), 5, backend).read(1)


def test_store_of_another_shape_is_replaced(tmp_path, backend):
    TileStore(tmp_path / "s", (10, 3), 5, backend).write(0, "key", np.ones((5, 3)))
    other = TileStore(tmp_path / "s", (10, 4), 5, backend)
    assert not other.has(0, "key")
    other.write(0, "key", np.ones((5, 4)))
    assert other.read(0).shape == (5, 4)


def test_bad_use_is_refused(tmp_path):
    (tmp_path / "thesis.txt").write_text("precious")
    with pytest.raises(ValueError, match="folder with other files"):
        TileStore(tmp_path, (10, 3), 5)
    assert (tmp_path / "thesis.txt").read_text() == "precious"
    store = TileStore(tmp_path / "s", (10, 3), 5)
    with pytest.raises(ValueError, match=r"shape \(5, 3\), got .* \(4, 3\)"):
        store.write(0, "key", np.ones((4, 3)))


def test_full_disk_is_noticed_before_work_starts(tmp_path, monkeypatch):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(100, 99, 1))
    with pytest.raises(OSError, match="GB free: choose another disk"):
        TileStore(tmp_path / "s", (10, 3), 5)
    assert not (tmp_path / "s").exists()


FULL = """
import json, resource, sys
import numpy as np
from krein.scale import TileStore
store = TileStore(sys.argv[1], (4000, 8), 1000)
store.write(0, "key", np.ones((1000, 8)))
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    store.write(2, "key", np.ones((1000, 8)))
except OSError as error:
    facts = [str(error), store.has(0, "key"), store.has(2, "key")]
    print(json.dumps([*facts, float(store.read(0).sum())]))
"""


def test_disk_that_fills_up_leaves_complete_tiles_only(tmp_path):
    pytest.importorskip("resource", reason="limits on file size need POSIX")
    command = [sys.executable, "-c", FULL, str(tmp_path / "s")]
    environment = {"PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, env=environment
    )
    message, first, third, total = json.loads(done.stdout)
    assert "tile 2 (rows 2000 to 2999) could not be written" in message
    assert (first, third, total) == (True, False, 8000.0)
