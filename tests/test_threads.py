"""Landmarks are fitted with one thread of BLAS, everything else as the user has it."""

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from krein import KreinNystroem, KreinRidge, SpectrumSVC
from krein.selection.search import in_folds


def blas():
    return {
        lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"
    }


@pytest.fixture
def seen():
    """Threads that a kernel has been called with."""
    found = set()

    def kernel(X, Y):
        found.update(blas())
        return np.maximum(2.0 - np.abs(X[:, None] - Y[None]).sum(axis=2), 0.0)

    with threadpool_limits(2, user_api="blas"):
        if blas() != {2}:
            pytest.skip("this BLAS cannot be told how many threads to use")
        yield kernel, found
        assert blas() == {2}


def test_landmarks_take_one_thread(seen, rng):
    kernel, found = seen
    X = rng.random((60, 3))
    nystroem = KreinNystroem(10, random_state=0)
    SpectrumSVC("flip", kernel=kernel, approximation=nystroem).fit(X, X[:, 0] > 0.5)
    KreinNystroem(10, kernel, random_state=0).fit_transform(X)
    assert found == {1}


def test_other_fits_keep_theirs(seen, rng):
    kernel, found = seen
    X = rng.random((60, 3))
    KreinRidge(kernel=kernel).fit(X, X[:, 0])
    assert found == {2}


def test_searches_in_threads_take_one_each(seen):
    _, found = seen

    def ask(train, test):
        found.update(blas())

    folds = [(np.arange(30), np.arange(30, 60))] * 2
    list(in_folds(ask, folds, n_jobs=2, prefer="threads"))
    assert found == {1}
    found.clear()
    list(in_folds(ask, folds, n_jobs=1, prefer="threads"))
    assert found == {2}
