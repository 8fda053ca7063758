"""Any kernel, block by block: memory limit, cores, progress, and resuming.

One machine, one matrix. A square matrix is evaluated on and above the diagonal only
and mirrored. With `out` the blocks go to a file as they come; a run that was killed
continues where it stopped.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, nullcontext
from dataclasses import replace
from math import ceil, isqrt
from typing import Any

import numpy as np
from joblib import Parallel, cpu_count, delayed, effective_n_jobs
from threadpoolctl import threadpool_limits

import krein
from krein.arrays import real_numbers
from krein.items import take
from krein.kernels.distances import check_items, same_items
from krein.kernels.registry import Kernel, as_kernel, items_for
from krein.matrices.memory import available_memory, parse_bytes
from krein.progress import progress_bar
from krein.store.blocks import Block, BlockStore, Tiling, described
from krein.store.files import check_writable
from krein.store.fingerprint import fingerprint
from krein.store.lock import locked

# Per job: one block in work with temporaries of the kernel, two waiting to be written.
_BLOCKS_PER_JOB = 6
# A block is what a killed run loses: 26 s at 100 microseconds a pair.
_LARGEST_BLOCK = 512
_TILES_PER_JOB = 8


def kernel_matrix(
    kernel: Any,
    X: Any,
    Y: Any = None,
    *,
    n_jobs: int | None = None,
    memory_limit: int | str | None = None,
    out: str | os.PathLike | None = None,
    progress: bool = False,
) -> np.ndarray:
    """Evaluate a kernel on all pairs, in blocks.

    Parameters
    ----------
    kernel : str, Kernel or callable
        A registered name, a `Kernel`, or ``k(X, Y) -> matrix``. A callable must be
        symmetric; data-dependent settings must have been fitted.
    X, Y : items
        Rows of a matrix, or a list of objects; Y defaults to X, and then only the
        upper half is evaluated.
    n_jobs : int, optional
        Blocks evaluated side by side, as in joblib (None: 1, or what
        ``joblib.parallel_config`` says): in threads where the kernel's library
        releases the interpreter lock, in processes otherwise.
    memory_limit : int or str, optional
        Bytes, or ``"2GB"``: for the matrix (without `out`) and all blocks held at
        one time. What is free, when not given. The items themselves do not count.
    out : path, optional
        Write the matrix to this .npy file. Finished blocks are kept in
        ``<out>.partial``; calling again with the same kernel, items and file goes on
        from there, and gives the same bits. An existing `out` is an error.
    progress : bool
        Show a bar with rate and time left, on a terminal.

    Returns
    -------
    ndarray of shape (n_X, n_Y)
        With `out`, a read-only memory map of the file.

    Examples
    --------
    >>> import numpy as np
    >>> from krein import kernel_matrix, tl1_kernel
    >>> X = np.random.default_rng(0).random((50, 3))
    >>> K = kernel_matrix("tl1", X, memory_limit="100KB")
    >>> bool(np.array_equal(K, tl1_kernel(X)))
    True
    """
    kernel = Kernel(kernel) if isinstance(kernel, str) else as_kernel(kernel, None)
    X, Y = items_for(kernel, X), items_for(kernel, Y)
    X = np.asarray(X) if hasattr(X, "columns") else X
    Y = np.asarray(Y) if hasattr(Y, "columns") else Y
    n_rows = check_items(X, "X")
    symmetric = same_items(X, Y)
    Y = X if symmetric else Y
    n_columns = check_items(Y, "Y")
    n_jobs = effective_n_jobs(n_jobs)
    budget = _block_budget(n_rows, n_columns, memory_limit, to_file=out is not None)
    size = isqrt(int(budget / (8 * _BLOCKS_PER_JOB * n_jobs)))
    if size < 1:
        raise MemoryError(
            f"memory_limit={memory_limit!r} does not hold one pair per job "
            f"({n_jobs} jobs): raise it"
        )
    if out is None and n_jobs == 1 and not progress and size >= max(n_rows, n_columns):
        return _one_block(kernel, X, Y)
    pieces = ceil(max(n_rows, n_columns) / isqrt(2 * _TILES_PER_JOB * n_jobs))
    tiling = Tiling(
        n_rows, n_columns, max(1, min(size, pieces, _LARGEST_BLOCK)), symmetric
    )
    if out is None:
        store: ArrayStore | FileStore = ArrayStore(tiling)
    else:
        store = FileStore(out, tiling, _key(kernel, X, None if symmetric else Y))
    with store:
        for tile, block in _evaluate(kernel, X, Y, store, n_jobs, progress):
            store.write(tile, block)
        return store.complete()


def _key(kernel: Any, X: Any, Y: Any) -> str:
    return fingerprint(krein.__version__, np.__version__, kernel, X, Y)


def _block_budget(
    n_rows: int, n_columns: int, limit: int | str | None, *, to_file: bool
) -> float:
    """Bytes for blocks: the limit, less the matrix unless it goes to a file."""
    allowed = parse_bytes(str(limit)) if limit is not None else available_memory()
    if allowed is None:
        return float(8 * _BLOCKS_PER_JOB * _LARGEST_BLOCK**2 * cpu_count())
    matrix = 0 if to_file else 8 * n_rows * n_columns
    if matrix >= allowed:
        raise MemoryError(
            f"a kernel matrix of shape ({n_rows}, {n_columns}) needs "
            f"{matrix / 1e9:.3g} GB, {allowed / 1e9:.3g} GB are allowed. Write it to a "
            "file (out='K.npy'), raise memory_limit, or use landmarks "
            "(krein.KreinNystroem)"
        )
    return allowed - matrix


def _one_block(kernel: Any, X: Any, Y: Any) -> np.ndarray:
    block = real_numbers(kernel(X, Y))
    expected = (check_items(X), check_items(Y))
    if block.shape != expected:
        raise ValueError(
            f"kernel must return a matrix of shape {expected} for {expected[0]} and "
            f"{expected[1]} items, got {block.shape}"
        )
    return block


def _evaluate(
    kernel: Any,
    X: Any,
    Y: Any,
    store: ArrayStore | FileStore,
    n_jobs: int,
    progress: bool,
) -> Iterator[tuple[Block, np.ndarray]]:
    """Evaluate the missing blocks, in order."""
    missing = store.missing()

    def jobs() -> Iterator[Any]:
        for rows, columns in missing:
            A = take(X, rows)
            # The same object tells the kernel that it may evaluate half the pairs.
            B = A if store.tiling.symmetric and rows == columns else take(Y, columns)
            yield delayed(_one_block)(kernel, A, B)

    threads = isinstance(kernel, Kernel) and kernel.facts.parallel == "threads"
    parallel = Parallel(
        n_jobs=n_jobs,
        backend="threading" if threads else "loky",
        return_as="generator",
    )
    label = kernel.name if isinstance(kernel, Kernel) else "kernel"
    total = store.tiling.n_pairs
    left = sum(store.tiling.pairs_of(tile) for tile in missing)
    # One thread of BLAS per job: jobs that each use all cores get in each other's way.
    # For processes joblib sees to it, and looking for the libraries here takes 15 ms.
    limit = threadpool_limits(1) if threads and n_jobs > 1 else nullcontext()
    bar = progress_bar(label, total, unit="pairs", done=total - left, show=progress)
    with limit, bar as advance:
        for tile, block in zip(missing, parallel(jobs()), strict=True):
            yield tile, block
            advance(store.tiling.pairs_of(tile))


class ArrayStore:
    """Blocks go into an array in memory."""

    def __init__(self, tiling: Tiling) -> None:
        self.tiling = tiling
        self._K = np.empty(tiling.shape)

    def __enter__(self) -> ArrayStore:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def missing(self) -> list[Block]:
        """Blocks still to be evaluated: all."""
        return list(self.tiling)

    def write(self, block: Block, numbers: np.ndarray) -> None:
        """Take a block."""
        self.tiling.place(self._K, block, numbers)

    def complete(self) -> np.ndarray:
        """Return the matrix."""
        return self._K


class FileStore:
    """Blocks go into a store, ``<path>.partial``, whose numbers become `path`.

    A run killed at any moment loses the blocks in work and nothing else; blocks that
    were damaged since are recognised and evaluated again.

    Parameters
    ----------
    path : path-like
        The .npy file to make; must not exist.
    tiling : Tiling
        Blocks of a new run; a run that is continued keeps its own block size.
    key : str
        Says what is being computed; a partial matrix with another key is refused.
    """

    def __init__(self, path: str | os.PathLike, tiling: Tiling, key: str) -> None:
        self.path = check_writable(path)
        if self.path.suffix != ".npy":
            raise ValueError(f"out must be a .npy file, got {self.path.name!r}")
        self.tiling = tiling
        self.key = key
        self.partial = self.path.with_name(self.path.name + ".partial")
        self._held = ExitStack()

    def __enter__(self) -> FileStore:
        if self.partial.is_file():
            raise ValueError(
                f"{self.partial} is a file of another version of krein; remove it to "
                "start anew"
            )
        self._held.enter_context(locked(self.partial))
        try:
            self._open()
        except BaseException:
            self._held.close()
            raise
        return self

    def _open(self) -> None:
        begun = described(self.partial)
        if begun is not None and begun["key"] == self.key:
            self.tiling = replace(self.tiling, size=begun["block"][0])
        self._store = BlockStore(self.partial, self.tiling, self.key)
        blocks = range(len(self._store.blocks))
        self._done = {block for block in blocks if self._store.is_sound(block)}
        self._number = {_corners(b): k for k, b in enumerate(self._store.blocks)}

    def __exit__(self, *error: object) -> None:
        if self.path.exists() or not self._done:
            shutil.rmtree(self.partial, ignore_errors=True)
        self._held.close()

    def missing(self) -> list[Block]:
        """Blocks that are not on disk yet."""
        return [b for k, b in enumerate(self._store.blocks) if k not in self._done]

    def write(self, block: Block, numbers: np.ndarray) -> None:
        """Write a block."""
        number = self._number[_corners(block)]
        self._store.write(number, numbers)
        self._done.add(number)

    def complete(self) -> np.ndarray:
        """Rename the file and return it as a memory map."""
        check_writable(self.path)
        self._store.numbers.finish()
        os.replace(self._store.numbers.path, self.path)
        return np.load(self.path, mmap_mode="r")


def _corners(block: Block) -> tuple[int, int, int, int]:
    """A block as a key (slices are hashable from Python 3.12 on)."""
    rows, columns = block
    return rows.start, rows.stop, columns.start, columns.stop
