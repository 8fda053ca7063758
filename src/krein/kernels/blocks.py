"""Any kernel, block by block: memory limit, cores, progress, and resuming.

One machine, one matrix. A square matrix is evaluated on and above the diagonal only
and mirrored. With `out` the blocks go to a file as they come; a run that was killed
continues where it stopped.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from math import ceil, isqrt
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

import krein
from krein.items import take
from krein.kernels.distances import check_items, same_items
from krein.kernels.registry import Kernel, as_kernel, items_for
from krein.memory import available_memory, parse_bytes
from krein.similarity.matrix import evaluate
from krein.store.blocks import LARGEST_BLOCK, BlockStore, Tiling
from krein.store.files import check_writable, locked
from krein.store.fingerprint import fingerprint
from krein.threads import in_job, threads_for, threads_of_job
from krein.words import progress_bar

# Per job: one block in work with temporaries of the kernel, two waiting to be written.
_BLOCKS_PER_JOB = 6
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
    """Evaluate a kernel on all pairs (the precomputed Gram matrix), in blocks.

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
    X = items_for(kernel, X)
    Y = items_for(kernel, Y)
    X = np.asarray(X) if hasattr(X, "columns") else X
    Y = np.asarray(Y) if hasattr(Y, "columns") else Y
    n_rows = check_items(X, "X")
    symmetric = same_items(X, Y)
    Y = X if symmetric else Y
    n_columns = check_items(Y, "Y")
    n_jobs = effective_n_jobs(n_jobs)
    budget = _block_budget(n_rows, n_columns, memory_limit, to_file=out is not None)
    size = max(1, isqrt(budget // (8 * _BLOCKS_PER_JOB * n_jobs)))
    if out is None and n_jobs == 1 and not progress and size >= max(n_rows, n_columns):
        with threads_for(n_rows, n_columns):
            return evaluate(kernel, X, Y)
    pieces = ceil(max(n_rows, n_columns) / isqrt(2 * _TILES_PER_JOB * n_jobs))
    tiling = Tiling(n_rows, n_columns, min(size, pieces, LARGEST_BLOCK), symmetric)
    results = partial(_results, kernel, (X, Y), n_jobs, progress)
    if out is not None:
        key = (krein.__version__, np.__version__, kernel, X, None if Y is X else Y)
        return _write_file(results, out, tiling, key)
    K = np.empty(tiling.shape)
    blocks = list(tiling)
    for block, numbers in zip(blocks, results(tiling, blocks), strict=True):
        tiling.place(K, block, numbers)
    return K


def _results(
    kernel: Any, items: tuple, n_jobs: int, progress: bool, tiling: Tiling, blocks: list
) -> Iterator[np.ndarray]:
    """Evaluate blocks of a tiling, in order."""
    threads = isinstance(kernel, Kernel) and kernel.facts.parallel == "threads"
    backend = "threading" if threads else "loky"
    parallel = Parallel(n_jobs=n_jobs, backend=backend, return_as="generator")
    label = kernel.name if isinstance(kernel, Kernel) else "kernel"
    total = sum(map(tiling.pairs_of, tiling))
    done = total - sum(map(tiling.pairs_of, blocks))
    limit = threads_of_job(n_jobs, tiling.size)
    bar = progress_bar(label, total, done=done, show=progress)
    parts = (map(take, items, block) for block in blocks)
    jobs = (delayed(in_job)(limit, evaluate, kernel, *part) for part in parts)
    with bar as advance:
        for block, numbers in zip(blocks, parallel(jobs), strict=True):
            yield numbers
            advance(tiling.pairs_of(block))


def _write_file(
    results: Callable, out: str | os.PathLike, tiling: Tiling, key: Sequence[Any]
) -> np.ndarray:
    """Evaluate into a store, ``<out>.partial``, whose numbers become the file `out`.

    A run killed at any moment loses the blocks in work and nothing else; blocks that
    were damaged since are recognised and evaluated again.
    """
    if os.path.isfile(out):
        raise FileExistsError(f"out={out} exists; remove it or choose another name")
    path = check_writable(out)
    if path.suffix != ".npy":
        raise ValueError(f"out must be a .npy file, got {path.name!r}")
    folder = path.with_name(path.name + ".partial")
    with locked(folder):
        store = BlockStore(folder, tiling, fingerprint(*key))
        try:
            missing = store.missing()
            blocks = [store.blocks[number] for number in missing]
            found = results(store.tiling, blocks)
            for number, numbers in zip(missing, found, strict=True):
                store.write(number, numbers)
            store.assemble(path)
        finally:
            if path.exists() or len(store.missing()) == len(store.blocks):
                shutil.rmtree(folder, ignore_errors=True)
    return np.load(path, mmap_mode="r")


def _block_budget(
    n_rows: int, n_columns: int, limit: int | str | None, *, to_file: bool
) -> int:
    """Bytes for blocks: the limit, less the matrix unless it goes to a file."""
    given = available_memory() if limit is None else parse_bytes(str(limit))
    allowed = 1 << 62 if given is None else given
    matrix = 0 if to_file else 8 * n_rows * n_columns
    if matrix >= allowed:
        raise MemoryError(
            f"a kernel matrix of shape ({n_rows}, {n_columns}) needs "
            f"{matrix / 1e9:.3g} GB, {allowed / 1e9:.3g} GB are allowed. Write it to a "
            "file (out='K.npy'), raise memory_limit, or use krein.KreinNystroem"
        )
    return allowed - matrix
