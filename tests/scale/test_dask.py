"""Dask collections in and out: blocks stay on the workers, answers are lazy."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

import krein.scale.client as client_module
from krein import KreinNystroem, SpectrumSVC
from krein.items import LazyRows, take
from krein.scale import decision_function, fit, predict, predict_proba
from tests.scale import kernels

da = pytest.importorskip("dask.array", reason="dask (extra 'dask') is not installed")
distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture
def problem(rng):
    X = rng.random((2100, 3))
    return X, X[:, 0] + 0.1 * rng.standard_normal(2100) > 0.5


def model(kernel="tl1", m=20, **params):
    nystroem = KreinNystroem(m, random_state=0)
    return SpectrumSVC("flip", kernel=kernel, approximation=nystroem, **params)


@pytest.fixture
def gathered(monkeypatch):
    """Bytes of X that came to this process."""
    found = []
    original = LazyRows.__getitem__

    def counted(self, rows):
        part = original(self, rows)
        found.append(part.nbytes)
        return part

    monkeypatch.setattr(LazyRows, "__getitem__", counted)
    return found


@pytest.mark.parametrize("chunks", [(500, 3), (37, 2), (2100, 1)])
def test_blocks_stay_where_they_are(client, problem, tmp_path, gathered, chunks):
    X, y = problem
    lazy = da.from_array(X, chunks=chunks)
    alone = fit(model(), X, y, store=tmp_path / "alone")
    found = fit(model(), lazy, y, store=tmp_path / "s", client=client)
    np.testing.assert_array_equal(found.dual_coef_, alone.dual_coef_)
    # A sample for the kernel's parameter, landmarks, rows of the core and of the error
    # estimate; never the array.
    assert sum(gathered) == 8 * 3 * (300 + 2 * 20 + 2 * 20 + 256)
    # The same contents in the memory of one process take the store up.
    before = (tmp_path / "s" / "block" / "blocks" / "00000000").stat().st_mtime_ns
    fit(model(), X, y, store=tmp_path / "s")
    after = (tmp_path / "s" / "block" / "blocks" / "00000000").stat().st_mtime_ns
    assert before == after


def test_similarities_are_evaluated_once(problem, tmp_path, monkeypatch):
    X, y = problem
    monkeypatch.setenv("KREIN_TEST_CALLS", str(tmp_path / "calls"))
    counted = {}
    for name, items in (("plain", X), ("lazy", da.from_array(X, chunks=(700, 3)))):
        (tmp_path / "calls").unlink(missing_ok=True)
        fit(model(kernels.counted_tl1), items, y)
        lines = (tmp_path / "calls").read_text().splitlines()
        counted[name] = sum(int(a) * int(b) for a, b in map(str.split, lines))
    assert counted["lazy"] == counted["plain"]


def test_each_block_is_computed_once(client, problem, tmp_path):
    """Tiles are smaller than blocks here."""
    X, y = problem
    log = tmp_path / "blocks"

    def logged(block, block_info=None):
        with log.open("a") as file:
            file.write("block\n")
        return block

    lazy = da.from_array(X, chunks=(700, 3)).map_blocks(logged, meta=X[:0])
    small = fit(model(), lazy, y, client=client)
    rows = len(log.read_text().splitlines())
    assert small.dual_coef_.shape == (1, 2100)
    # Three blocks for the tiles; the rest are looked into for single rows.
    assert rows <= 3 + 5 * 3


def test_answers_are_lazy(client, problem):
    X, y = problem
    three = np.digitize(X[:, 0], [0.3, 0.6])
    lazy = da.from_array(X, chunks=(500, 2))
    for labels in (y, three):
        found = model().fit(X, labels)
        scores, answers = decision_function(found, lazy), predict(found, lazy)
        assert isinstance(scores, da.Array)
        assert answers.chunks == ((500, 500, 500, 500, 100),)
        assert answers.dtype == found.classes_.dtype
        expected = found.decision_function(X)
        assert scores.shape == expected.shape
        with client.as_current():
            np.testing.assert_allclose(scores.compute(), expected, atol=1e-10)
            np.testing.assert_array_equal(answers.compute(), found.predict(X))
    sure = SpectrumSVC("flip", kernel="tl1", probability=True).fit(X[:200], y[:200])
    chances = predict_proba(sure, lazy)
    assert chances.shape == (2100, 2)
    np.testing.assert_allclose(chances.compute(), sure.predict_proba(X), atol=1e-10)


def test_rows_of_unknown_number(problem):
    """What is left by a filter; its sizes are found out for a fit, not for answers."""
    X, y = problem
    lazy = da.from_array(X, chunks=(500, 3))
    kept = X[:, 1] > 0.2
    filtered = lazy[da.from_array(kept, chunks=500)]
    found = fit(model(), filtered, y[kept])
    np.testing.assert_array_equal(
        predict(found, filtered).compute(), found.predict(X[kept])
    )


def test_frames_keep_their_names(problem):
    dd = pytest.importorskip("dask.dataframe", reason="dask.dataframe needs pyarrow")
    pd = pytest.importorskip("pandas")
    X, y = problem
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    lazy = dd.from_pandas(frame, npartitions=4)
    found = fit(model(), lazy, da.from_array(y, chunks=300))
    assert list(found.feature_names_in_) == ["a", "b", "c"]
    np.testing.assert_array_equal(predict(found, lazy).compute(), found.predict(frame))
    with pytest.raises(ValueError, match="feature names"):
        predict(found, lazy[["c", "b", "a"]]).compute()


def test_current_client_is_taken(client, problem, monkeypatch):
    X, y = problem
    asked = []
    submit = client.submit
    monkeypatch.setattr(
        client,
        "submit",
        lambda *given, **more: asked.append(1) or submit(*given, **more),
    )
    fit(model(), X, y)
    assert not asked
    with client.as_current():
        found = fit(model(), X, y)
        assert asked
        np.testing.assert_array_equal(predict(found, X), found.predict(X))


@pytest.mark.parametrize(
    ("params", "lazy", "weight", "message"),
    [
        ({"kernel": "precomputed"}, lambda X: X, None, "checked for symmetry"),
        (
            {"kernel_params": {"gamma": "scale"}},
            lambda X: X,
            None,
            "all rows of a dask",
        ),
        ({}, lambda X: X, np.zeros(2100), "sample_weight has zeros"),
        ({}, lambda X: X[:, 0], None, "not 2-dimensional"),
        ({}, lambda X: da.where(X > 0.99, np.nan, X), None, "contains NaN"),
        (
            {},
            lambda X: da.where(X == X[1234, 1], np.inf, X),
            None,
            r"X\[1234, 1\] is inf",
        ),
    ],
)
def test_bad_use_is_refused(problem, params, lazy, weight, message):
    X, y = problem
    rows = lazy(da.from_array(X, chunks=(500, 3)))
    estimator = model(**{"kernel": "rbf", **params})
    with pytest.raises((TypeError, ValueError), match=message):
        fit(estimator, rows, y, sample_weight=weight)


@pytest.mark.parametrize(
    "kind", ["numpy", "list", "tuple", "dask", "polars", "pandas", "pyarrow"]
)
def test_rows_of_everything_are_taken(kind):
    package = (
        pytest.importorskip(kind) if kind in ("polars", "pandas", "pyarrow") else None
    )
    X = np.arange(12.0).reshape(6, 2)
    columns = {"a": X[:, 0], "b": X[:, 1]}
    items = {
        "numpy": lambda: X,
        "list": lambda: X.tolist(),
        "tuple": lambda: tuple(map(tuple, X)),
        "dask": lambda: da.from_array(X, chunks=2),
        "polars": lambda: package.DataFrame(columns),
        "pandas": lambda: package.DataFrame(columns, index=list("uvwxyz")),
        "pyarrow": lambda: package.table(columns),
    }[kind]()
    for rows in (slice(1, 4), slice(2, 2), np.array([4, 0]), [3, 3, 1]):
        np.testing.assert_array_equal(
            np.asarray(take(items, rows)).reshape(-1, 2), X[rows]
        )


@pytest.mark.parametrize("kind", ["polars", "pandas", "pyarrow"])
def test_tables_are_answered_in_parts(kind, problem, monkeypatch):
    package = pytest.importorskip(kind)
    monkeypatch.setattr("krein.scale._PREDICT_ROWS", 500)
    X, y = problem
    columns = {name: X[:, i] for i, name in enumerate("abc")}
    table = package.table(columns) if kind == "pyarrow" else package.DataFrame(columns)
    found = fit(model(), table, y)
    np.testing.assert_array_equal(predict(found, table), found.predict(table))


def run(code, tmp_path, *arguments):
    script = tmp_path / "script.py"
    script.write_text(code)
    environment = {**os.environ, "PYTHONPATH": ":".join(sys.path)}
    return subprocess.run(
        [sys.executable, str(script), *arguments], env=environment,
        capture_output=True, text=True, check=False,
    )  # fmt: skip


LARGE = """
import json, resource, sys
import dask.array as da
import numpy as np
from distributed import Client, LocalCluster
from krein import Kernel, KreinNystroem, SpectrumSVC
from krein.items import LazyRows
from krein.scale import fit, predict

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000

gathered = []
original = LazyRows.__getitem__
LazyRows.__getitem__ = lambda self, rows: counted(original(self, rows))

def counted(part):
    gathered.append(part.nbytes / 1e6)
    return part

def fitted(n):
    scale = np.where(np.arange(100) < 10, 1.0, 0.01)  # ten features that count
    X = da.random.default_rng(0).random((n, 100), chunks=(n // 50, 100)) * scale
    y = (X[:, 0] > 0.5).compute()
    nystroem = KreinNystroem(20, random_state=0)
    kernel = Kernel("tl1", tau=7.0)
    model = SpectrumSVC("flip", kernel=kernel, approximation=nystroem)
    before = peak()
    gathered.clear()
    fit(model, X, y, memory="400MB")
    answers = predict(model, X)
    right = float((answers == da.from_array(y, chunks=answers.chunks)).mean().compute())
    return {"right": right, "array": X.nbytes / 1e6, "grown": peak() - before,
            "gathered": sum(gathered)}

if __name__ == "__main__":
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0",
                      memory_limit=0) as cluster, Client(cluster) as client:
        fitted(1000)
        print(json.dumps(fitted(int(sys.argv[1]))))
"""


@pytest.mark.slow
def test_array_larger_than_the_memory_of_the_driver(tmp_path):
    """A million rows, 800 MB that the driver never has; 0.3 MB are gathered."""
    pytest.importorskip("resource", reason="peak memory needs POSIX")
    done = run(LARGE, tmp_path, "1000000")
    assert done.returncode == 0, done.stderr
    megabytes = json.loads(done.stdout.splitlines()[-1])
    assert megabytes["array"] == 800
    assert megabytes["gathered"] < 0.4
    assert megabytes["grown"] < 480  # what memory= allows, and labels and answers
    assert megabytes["right"] > 0.9


def test_a_dask_array_does_not_wait_for_workers_that_are_not_there(problem, tmp_path):
    X, y = problem
    lazy = da.from_array(X, chunks=(500, 3))
    with (
        distributed.LocalCluster(
            n_workers=0, processes=False, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
        pytest.raises(ValueError, match="client has no workers"),
    ):
        fit(model(), lazy, y, store=tmp_path / "s", client=client)


def test_rows_are_not_waited_for_when_workers_leave(problem, monkeypatch):
    monkeypatch.setattr(client_module, "NO_WORKER_SECONDS", 0.5)
    lazy = da.from_array(problem[0], chunks=(500, 3))
    with (
        distributed.LocalCluster(
            n_workers=0, processes=False, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        rows = LazyRows(lazy, client_module.computed_by(client))
        for ask in (
            lambda: rows[:10],
            lambda: rows[[5, 1]],
            lambda: rows.each(len, 50),
        ):
            with pytest.raises(RuntimeError, match="no workers for"):
                ask()


def test_rows_come_in_the_order_asked_for(client, problem):
    X = problem[0]
    lazy = da.from_array(X, chunks=(500, 3))
    with client_module.as_client(client):
        rows = LazyRows(lazy, client_module.computed_by(client))
        np.testing.assert_array_equal(rows[[1700, 3, 3, 900]], X[[1700, 3, 3, 900]])
        assert rows.each(len, 500) == [500, 500, 500, 500, 100]
