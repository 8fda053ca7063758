"""How long a comparison takes: said before a long one, and after its first split."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter

import joblib
import numpy as np
import scipy.linalg

from krein.words import is_watched, progress_bar, seconds_in_words, warn_user

Progress = Callable[[int, int, str], None]

_TOLD = 30.0  # seconds from which on an estimate is worth a line
_LONG = 3600.0  # seconds from which on there is a warning
_MANY = 2000  # items from which on there is an estimate before the first split
_SAMPLE = 500  # items of the decomposition that is timed
# Eigendecompositions of a split, in units of one of all items: that of its training
# part (4/5 of the items) and those of its five inner ones (16/25).
_DECOMPOSITIONS = 0.8**3 + 5 * 0.64**3


def least_seconds(n: int, n_splits: int, n_jobs: int | None = None) -> float:
    """Seconds that the eigendecompositions of a comparison take, and more it will.

    Parameters
    ----------
    n, n_splits : int
        Items and splits.
    n_jobs : int, optional
        Splits that run at the same time.

    Returns
    -------
    float
    """
    A = np.random.default_rng(0).standard_normal((_SAMPLE, _SAMPLE))
    start = perf_counter()
    scipy.linalg.eigh(A + A.T, driver="evd", check_finite=False)
    one = (perf_counter() - start) * (n / _SAMPLE) ** 3
    jobs = min(joblib.effective_n_jobs(n_jobs), n_splits)
    return one * _DECOMPOSITIONS * n_splits / jobs


@contextmanager
def watched(
    progress: Progress | bool | None,
    *,
    n: int,
    n_splits: int,
    n_contenders: int,
    n_jobs: int | None,
    dense: bool,
) -> Iterator[Progress | None]:
    """Yield what is to be called with the progress of a comparison.

    Parameters
    ----------
    progress : callable, bool or None
        A callable is yielded as it is. None and True draw a line on a terminal and in
        notebooks and say, wherever it is, in one line how long it will take. False is
        silent but for the warning.
    n, n_splits, n_contenders : int
        Items, splits and contenders.
    n_jobs : int or None
        Splits that run at the same time.
    dense : bool
        The similarity is decomposed.
    """
    warned = False
    if dense and n > _MANY:
        seconds = least_seconds(n, n_splits, n_jobs)
        warned = _warn_if_long(f"at least {seconds_in_words(seconds)}", seconds, n)
    if callable(progress):
        yield progress
        return
    told = False
    start = perf_counter()
    show = progress is not False and is_watched()
    jobs = min(joblib.effective_n_jobs(n_jobs), n_splits)
    with progress_bar(f"comparing {n} items", show=show) as line:

        def tell(done: int, total: int, what: str) -> None:
            nonlocal told
            line.to(done, total, what)
            if told:
                return
            told = True
            spent = perf_counter() - start
            # One split was done, and as many more as there are jobs are nearly so.
            left = spent * max(0.0, (total - done) / n_contenders - jobs + 1) / jobs
            about = f"about {seconds_in_words(spent + left)}"
            if not warned:
                _warn_if_long(about, spent + left, n)
            if progress is not False and spent + left > _TOLD:
                clear = "\r\x1b[K" if show else ""  # what the line has drawn
                words = f"comparing {n} items takes {about}, by its first split"
                sys.stderr.write(f"{clear}{words}\n")
                sys.stderr.flush()

        yield tell


def _warn_if_long(about: str, seconds: float, n: int) -> bool:
    """Warn of hours, with what takes less; whether there was a warning."""
    if seconds <= _LONG:
        return False
    warn_user(
        f"comparing {n} items takes {about}. Quicker: methods=['landmarks', 'sample'] "
        "with cv=3, or all methods on a sample of the items (2000 items rank most of "
        "them); then train on all items by landmarks, e.g. SpectrumSVC('flip', "
        "approximation=KreinNystroem(n_components=500)), or on the sample"
    )
    return True
