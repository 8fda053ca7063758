"""The block store: complete blocks only, checked when read, of one key."""

import errno
import json
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from krein.store.blocks import BlockStore, Tiling
from krein.store.files import require_disk


def open_store(folder, rows=5, key="key", **options):
    tiling = Tiling(10, 3, rows, symmetric=False, width=3)
    return BlockStore(folder, tiling, key, **options)


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
    again.assemble(folder / "whole.npy")
    np.testing.assert_array_equal(np.load(folder / "whole.npy"), numbers)


def test_what_is_not_finished_is_missing(tmp_path):
    store = open_store(tmp_path / "s", rows=4)
    store.write(2, np.ones((2, 3)))
    assert store.missing() == [0, 1]
    assert store.read(0) is None
    store.file(2).write_bytes(store.file(2).read_bytes()[:-1])  # torn
    assert store.missing() == [0, 1, 2]


def written(folder):
    store = open_store(folder)
    for k in range(2):
        store.write(k, np.full((5, 3), k + 1.0))


def test_changed_numbers_are_noticed(tmp_path):
    written(tmp_path / "s")
    damaged = tmp_path / "s" / "blocks" / "00000001"
    content = bytearray(damaged.read_bytes())
    content[-1] ^= 1
    damaged.write_bytes(content)
    again = open_store(tmp_path / "s")
    assert again.read(0).sum() == 15
    assert again.read(1) is None
    with pytest.raises(OSError, match="was changed: run the call again"):
        again.assemble(tmp_path / "whole.npy")
    damaged.write_bytes(content[: len(content) // 2])  # cut short
    assert open_store(tmp_path / "s").missing() == [1]


def test_a_block_of_other_work_is_not_read(tmp_path):
    """Numbers and digest of another key, e.g. of a worker that outlived its run."""
    other = open_store(tmp_path / "other", key="other")
    other.write(0, np.ones((5, 3)))
    store = open_store(tmp_path / "s")
    store.file(0).write_bytes(other.file(0).read_bytes())
    assert store.read(0) is None


def test_a_store_belongs_to_one_key(tmp_path):
    written(tmp_path / "s")
    with pytest.raises(ValueError, match="belongs to other work"):
        open_store(tmp_path / "s", key="other")
    assert open_store(tmp_path / "s").read(0).sum() == 15
    taken = open_store(tmp_path / "s", key="other", take_over=True)
    assert taken.missing() == [0, 1]


def test_work_that_is_continued_keeps_its_blocks(tmp_path):
    written(tmp_path / "s")
    other = open_store(tmp_path / "s", rows=4)
    assert other.missing() == []
    assert other.read(0).shape == (5, 3)


def test_bad_use_is_refused(tmp_path):
    (tmp_path / "thesis.txt").write_text("precious")
    with pytest.raises(ValueError, match="folder with other files"):
        open_store(tmp_path)
    assert (tmp_path / "thesis.txt").read_text() == "precious"
    open_store(tmp_path / "s")
    (tmp_path / "s" / "store.json").write_text('{"key": "key"')
    with pytest.raises(ValueError, match=r"store\.json is damaged.* remove"):
        open_store(tmp_path / "s")


def test_run_killed_while_the_store_was_made_leaves_no_obstacle(tmp_path):
    (tmp_path / "s" / "blocks").mkdir(parents=True)
    (tmp_path / "s" / "blocks" / "00000000").write_bytes(b"half")
    (tmp_path / "s" / ".store.json.00000000-1-1-00000000.tmp").write_bytes(b"half")
    open_store(tmp_path / "s").write(0, np.ones((5, 3)))


FULL = """
import json, resource, sys
import numpy as np
from krein.store.blocks import BlockStore, Tiling
store = BlockStore(sys.argv[1], Tiling(4000, 8, 1000, False, 8), "key")
store.write(0, np.ones((1000, 8)))
resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
try:
    store.write(2, np.ones((1000, 8)))
except OSError as error:
    print(json.dumps([str(error), store.missing(), float(store.read(0).sum())]))
"""


def test_disk_that_fills_up_leaves_complete_blocks_only(tmp_path):
    pytest.importorskip("resource", reason="limits on file size need POSIX")
    command = [sys.executable, "-c", FULL, str(tmp_path / "s")]
    environment = {"PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, env=environment
    )
    message, missing, total = json.loads(done.stdout)
    assert "File too large" in message
    assert (missing, total) == ([1, 2, 3], 8000.0)


def test_a_sound_block_in_anothers_place_is_not_read(tmp_path):
    written(tmp_path / "s")
    store = open_store(tmp_path / "s")
    store.file(1).write_bytes(store.file(0).read_bytes())
    again = open_store(tmp_path / "s")
    assert again.missing() == [1]
    assert again.read(0).sum() == 15


def test_a_full_disk_is_named_with_the_file(tmp_path, monkeypatch):
    store = open_store(tmp_path / "s")

    def full(*names):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match=r"No space left on device; .* free") as told:
        store.write(1, np.ones((5, 3)))
    assert told.value.filename == str(store.file(1))
    assert told.value.errno == errno.ENOSPC
    assert list((tmp_path / "s" / "blocks").iterdir()) == []


def test_disk_is_looked_at_beforehand(tmp_path):
    free = shutil.disk_usage(tmp_path).free
    require_disk(tmp_path, 0.5 * free, "the matrix")
    with pytest.raises(OSError, match=r"the matrix needs up to .* are free") as told:
        require_disk(tmp_path, 2.0 * free, "the matrix")
    assert told.value.filename == str(tmp_path)
