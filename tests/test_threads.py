"""Small work runs on one thread of BLAS, large work on those that the user allows."""

import concurrent.futures
import contextlib
import os
import subprocess
import sys
import threading
from types import SimpleNamespace

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from krein import (
    CPDSVC,
    KreinNystroem,
    KreinRidge,
    PCoA,
    SpectrumSVC,
    SpectrumSVCCV,
    SpectrumTransformer,
    compare,
    diagnose,
    kernel_matrix,
    nearest_psd,
    published,
    rbf_kernel,
    threads,
)
from krein.estimators import nystroem, ordination, transformers
from krein.selection.search import in_folds
from krein.threads import at_most, in_job, threads_by_size, threads_for, threads_of_job

LARGE = threads.ONE_THREAD_BELOW
AGAIN = "KREIN_TESTS_OF_THREADS"


def blas():
    return {
        lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"
    }


@pytest.fixture(autouse=True)
def two_threads(request):
    """As a user with two cores has it; what a test changes is restored by it."""
    if request.function is test_these_tests_run_somewhere:
        yield
        return
    with threadpool_limits(2, user_api="blas"):
        if blas() != {2}:
            pytest.skip("this BLAS cannot be told how many threads to use")
        yield
        assert blas() == {2}
    assert not threads._LIMITS.limits
    assert not threads._LIMITS.changed


@pytest.fixture
def seen():
    """A kernel, and how many threads it has been called with."""
    found = set()

    def kernel(X, Y):
        found.update(blas())
        return np.maximum(2.0 - np.abs(X[:, None] - Y[None]).sum(axis=2), 0.0)

    return kernel, found


def test_these_tests_run_somewhere():
    """Where the environment allows one thread, they do in a process without it."""
    with threadpool_limits(2, user_api="blas"):
        if blas() == {2} or AGAIN in os.environ:
            return
    env = {k: v for k, v in os.environ.items() if not k.endswith("_NUM_THREADS")}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", __file__]
    ended = subprocess.run(
        command, env={**env, AGAIN: "1"}, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stdout


def test_the_size_decides():
    with threads_for(LARGE - 1):
        assert blas() == {1}
    with threads_for(LARGE):
        assert blas() == {2}
    with threads_for(LARGE // 2, 2 * LARGE):
        assert blas() == {2}
    with threads_for(LARGE // 2, 2 * LARGE - 10):
        assert blas() == {1}


def test_a_small_fit_and_its_predictions_take_one_thread(seen, rng):
    kernel, found = seen
    X = rng.random((60, 3))
    model = KreinRidge(kernel=kernel).fit(X, X[:, 0])
    model.predict(X)
    assert found == {1}


def test_a_large_fit_takes_all(seen, rng, monkeypatch):
    kernel, found = seen
    X = rng.random((60, 3))
    monkeypatch.setattr(threads, "ONE_THREAD_BELOW", 60)
    model = KreinRidge(kernel=kernel).fit(X, X[:, 0])
    assert found == {2}
    found.clear()
    model.predict(X)
    assert found == {2}
    found.clear()
    model.predict(X[:59])
    assert found == {1}
    found.clear()
    KreinRidge(kernel=kernel).fit(X=X[1:], y=X[1:, 0])
    assert found == {1}


def test_landmarks_take_one_thread_whatever_their_size(seen, rng, monkeypatch):
    kernel, found = seen
    monkeypatch.setattr(threads, "ONE_THREAD_BELOW", 60)
    X = rng.random((60, 3))
    nystroem = KreinNystroem(10, random_state=0)
    SpectrumSVC("flip", kernel=kernel, approximation=nystroem).fit(X, X[:, 0] > 0.5)
    KreinNystroem(10, kernel, random_state=0).fit_transform(X)
    assert found == {1}


@pytest.mark.parametrize(("loss", "expected"), [("squared_hinge", 1), ("logistic", 2)])
def test_conditionally_definite_machines_of_few_violators_take_one(
    seen, rng, monkeypatch, loss, expected
):
    kernel, found = seen
    monkeypatch.setattr(threads, "ONE_THREAD_BELOW", 60)
    X = rng.random((60, 3))

    def definite(X, Y):
        kernel(X, Y)  # only to look at the threads
        return rbf_kernel(X, Y)

    y = X[:, 0] > 0.5
    CPDSVC(kernel=definite, scale=False, loss=loss).fit(X, y)
    assert found == {expected}
    found.clear()
    CPDSVC.path(X, y, [1.0, 0.1], kernel=definite, scale=False, loss=loss)
    assert found == {expected}


@pytest.mark.parametrize("work", ["compare", "diagnose", "nearest_psd", "search"])
def test_entries_take_what_their_size_says(work, rng, monkeypatch):
    X = rng.standard_normal((40, 3))
    K, y = np.tanh(X @ X.T), X[:, 0] > 0.0
    found = set()

    def watched(function):
        def watching(*args, **kwargs):
            found.update(blas())
            return function(*args, **kwargs)

        return watching

    # Everybody decomposes; where is not the entry's business.
    monkeypatch.setattr("scipy.linalg.eigh", watched(__import__("scipy").linalg.eigh))
    monkeypatch.setattr("numpy.linalg.eigh", watched(np.linalg.eigh))
    entries = {
        "compare": lambda: compare(K, y, methods=["flip"], cv=2),
        "diagnose": lambda: diagnose(K, y),
        "nearest_psd": lambda: nearest_psd(K),
        "search": lambda: SpectrumSVCCV(cv=2).fit(K, y),
    }
    entries[work]()
    assert found == {1}
    found.clear()
    monkeypatch.setattr(threads, "ONE_THREAD_BELOW", 2)
    entries[work]()
    assert found == {2}


def test_transformers_and_kernels_too(seen, rng, monkeypatch):
    kernel, found = seen
    X = rng.random((30, 2))
    kernel_matrix(kernel, X)
    assert found == {1}
    entered = []
    for module in (transformers, ordination, nystroem):
        monkeypatch.setattr(
            module,
            "threads_for",
            lambda *shape: entered.append(shape) or contextlib.nullcontext(),
        )
    D = np.abs(X[:, :1] - X[:, 0])
    SpectrumTransformer().fit(1.0 - D).transform(1.0 - D[:4])
    PCoA().fit(D).transform(D[:5])
    KreinNystroem(7, "tl1", random_state=0).fit(X).transform(X[:6])
    assert entered == [(4, 30), (5, 30), (6, 7)]


@pytest.mark.parametrize(
    "name", sorted(set(published.__all__) - {"convergence_condition"})
)
def test_published_algorithms_take_what_their_size_says(name, rng, monkeypatch):
    X = rng.standard_normal((40, 3))
    K, y = X @ X.T, np.where(X[:, 0] > 0.0, 1.0, -1.0)
    found = set()

    def stop(iterate):
        found.update(blas())
        return True

    def run():
        first = [K, np.eye(40)] if name == "mkl" else K
        getattr(published, name)(first, y, callback=stop)

    run()
    assert found == {1}
    found.clear()
    monkeypatch.setattr(threads, "ONE_THREAD_BELOW", 40)
    run()
    assert found == {2}


# ------------------------------------------------------------------- the user's limits


def test_fewer_threads_of_the_user_hold():
    with threadpool_limits(1, user_api="blas"):
        with threads_for(LARGE):
            assert blas() == {1}
        with at_most(2):
            assert blas() == {1}
        assert blas() == {1}


def test_what_somebody_sets_inside_holds_afterwards():
    with at_most(1):
        limits = threadpool_limits(1, user_api="blas")  # as a caller without "with"
        threadpool_limits(2, user_api="blas")
    assert blas() == {2}
    limits.restore_original_limits()
    threadpool_limits(2, user_api="blas")


def test_an_exception_restores_them(seen):
    with pytest.raises(ValueError, match="X"):
        KreinRidge(kernel=seen[0]).fit(np.full((5, 2), np.nan), np.arange(5))
    assert blas() == {2}


# ------------------------------------------------------------ blocks in blocks, threads


def test_inner_blocks_ask_no_library(monkeypatch):
    asked = []
    monkeypatch.setattr(
        threads._Limits, "_apply", lambda self: asked.append(list(self.limits))
    )
    with threads_for(1), threads_for(1), at_most(2), threads_for(LARGE):
        pass
    assert asked == [[1], [1], [], []]  # of the process, of this thread; and back


def test_the_lowest_limit_of_all_threads_holds():
    inside, leave = threading.Event(), threading.Event()

    def other():
        with at_most(1):
            inside.set()
            leave.wait(10)

    thread = threading.Thread(target=other)
    with at_most(2):
        thread.start()
        assert inside.wait(10)
        assert blas() == {1}
        leave.set()
        thread.join()
        assert blas() == {2}


def test_blocks_that_overlap_restore_what_was_there_first():
    # The first one to begin is the first one to end: plain nesting would leave one.
    threads._LIMITS.begin(1)
    threads._LIMITS.begin(1)
    threads._LIMITS.end(1)
    assert blas() == {1}
    threads._LIMITS.end(1)
    assert blas() == {2}


def test_fits_in_many_threads_leave_the_process_as_it_was(rng):
    X = rng.standard_normal((30, 3))
    K, y = np.tanh(X @ X.T), X[:, 0] > 0.0
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        models = list(pool.map(lambda _: SpectrumSVC().fit(K, y), range(40)))
    assert blas() == {2}
    for model in models[1:]:
        np.testing.assert_array_equal(model.dual_coef_, models[0].dual_coef_)


class Library:
    """Looks to `krein.threads` like a library of threadpoolctl."""

    filepath = "libfake.so"

    def __init__(self, threading_layer="pthreads"):
        self.threading_layer = threading_layer
        self.num_threads = 8

    def set_num_threads(self, n_threads):
        self.num_threads = n_threads


@pytest.fixture
def found(monkeypatch):
    """Libraries that a look finds, and how often was looked."""
    libraries, looked = [], []

    class Controller:
        lib_controllers = libraries

        def __init__(self):
            looked.append(1)

        def select(self, **_):
            return self

    monkeypatch.setattr(threads, "ThreadpoolController", Controller)
    monkeypatch.setattr(threads, "_LIBRARIES", threads._Libraries())
    return libraries, looked


def test_libraries_are_looked_up_once_and_again_after_an_import(found, monkeypatch):
    libraries, looked = found
    for _ in range(3):
        with at_most(1):
            pass
    assert len(looked) == 1
    later = Library()
    libraries.append(later)
    monkeypatch.setitem(sys.modules, "a_library_that_came_later", threads)
    with at_most(3):
        assert later.num_threads == 3
    assert later.num_threads == 8
    assert len(looked) == 2


def test_a_library_that_counts_for_each_thread_is_limited_in_each(found):
    mine, inside, leave = Library("openmp"), threading.Event(), threading.Event()
    found[0].append(mine)

    def other():
        with at_most(1):
            inside.set()
            leave.wait(10)

    thread = threading.Thread(target=other)
    thread.start()
    assert inside.wait(10)
    mine.num_threads = 8  # what this thread sees: the other one has its own number
    with at_most(1):
        assert mine.num_threads == 1
    assert mine.num_threads == 8
    leave.set()
    thread.join()


def test_a_library_that_cannot_be_told_is_left_alone(found):
    silent = Library()
    silent.num_threads = None
    found[0].append(silent)
    with at_most(1):
        assert silent.num_threads is None


# -------------------------------------------------------------------- jobs side by side


@pytest.mark.parametrize(
    ("n_jobs", "rows", "limit"),
    [
        (1, 100, 1),
        (4, 100, 1),
        (1, LARGE, None),
        (2, LARGE, 4),
        (3, LARGE, 2),
        (16, LARGE, 1),
        (-1, LARGE, 1),
    ],
)
def test_jobs_times_threads_is_at_most_the_cores(monkeypatch, n_jobs, rows, limit):
    monkeypatch.setattr(threads, "cpu_count", lambda: 8)
    monkeypatch.setattr(
        threads, "effective_n_jobs", lambda n_jobs: 8 if n_jobs == -1 else n_jobs
    )
    assert threads_of_job(n_jobs, rows) == limit


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_searches_take_what_their_folds_need(seen, monkeypatch, n_jobs):
    _, found = seen

    def ask(train, test):
        found.update(blas())

    folds = [(np.arange(30), np.arange(30, 60))] * 2
    list(in_folds(ask, folds, n_jobs=n_jobs, prefer="threads"))
    assert found == {1}
    found.clear()
    monkeypatch.setattr(threads, "ONE_THREAD_BELOW", 30)
    monkeypatch.setattr(threads, "cpu_count", lambda: 2)
    list(in_folds(ask, folds, n_jobs=n_jobs, prefer="threads"))
    assert found == {2 if n_jobs == 1 else 1}


def test_a_job_restores_and_passes_on():
    assert in_job(1, lambda a, b: (a, b, blas()), 1, b=2) == (1, 2, {1})
    assert in_job(None, blas) == {2}


def test_what_has_no_length_is_small():
    assert threads_by_size(lambda X: blas())(None) == {1}
    assert threads_by_size(lambda X: blas())([0] * LARGE) == {2}
    for odd in (np.float64(3.0), np.array(3.0), SimpleNamespace(shape=(np.nan, 3))):
        assert threads_by_size(lambda X: blas())(odd) == {1}
    assert threads_by_size(lambda X: blas())(X=[0] * LARGE) == {2}
