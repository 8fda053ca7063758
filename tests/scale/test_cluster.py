"""dask.distributed with real worker processes: the same result whoever dies."""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import joblib
import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV

import krein.scale.client as client_module
from krein import KreinNystroem, SpectrumSVC
from krein.scale import decision_function, fit, predict
from tests.scale import kernels

distributed = pytest.importorskip(
    "distributed", reason="dask.distributed (extra 'dask') is not installed"
)
dask_array = pytest.importorskip("dask.array")


def mark_as_worker():
    os.environ["KREIN_TEST_ON_WORKER"] = "1"


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        # Not the current client: what is fitted without one is fitted here.
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        client.run(mark_as_worker)
        yield client


@pytest.fixture
def problem(rng):
    X = rng.random((2100, 3))
    return X, X[:, 0] + 0.1 * rng.standard_normal(2100) > 0.5


def model(kernel, m=20):
    nystroem = KreinNystroem(m, random_state=0)
    return SpectrumSVC("flip", kernel=kernel, approximation=nystroem)


def test_waiting_asks_for_the_workers_once_a_second(client, monkeypatch):
    asked = []
    original = client.nthreads
    monkeypatch.setattr(client, "nthreads", lambda: asked.append(1) or original())
    future = client.submit(time.sleep, 1.3, pure=False)
    with client_module.as_client(client):
        assert list(client_module._completed(client, {future: "a nap"})) == [future]
    assert len(asked) <= 2


def test_workers_give_the_same_model_bit_by_bit(client, problem, tmp_path):
    X, y = problem
    alone = fit(model("tl1"), X, y, store=tmp_path / "alone")
    together = fit(model("tl1"), X, y, store=tmp_path / "together", client=client)
    np.testing.assert_array_equal(together.dual_coef_, alone.dual_coef_)
    np.testing.assert_array_equal(together.intercept_, alone.intercept_)
    scores = decision_function(together, X, client=client)
    np.testing.assert_allclose(scores, alone.decision_function(X), atol=1e-10)
    np.testing.assert_array_equal(predict(together, X, client=client), alone.predict(X))


def test_store_that_was_removed_is_made_again(client, problem, tmp_path):
    """What a worker keeps open is that of one run."""
    X, y = problem
    first = fit(model("tl1"), X, y, store=tmp_path / "s", client=client)
    shutil.rmtree(tmp_path / "s")
    second = fit(model("tl1"), X, y, store=tmp_path / "s", client=client)
    np.testing.assert_array_equal(first.dual_coef_, second.dual_coef_)


def test_strings_on_workers(client, tmp_path):
    words = [f"{'abcdefgh'[: 1 + i % 8]}{i % 13}" for i in range(300)]
    y = [len(word) > 6 for word in words]
    found = fit(
        model(kernels.shared_letters), words, y, store=tmp_path / "s", client=client
    )
    assert np.mean(predict(found, words, client=client) == y) > 0.9


def test_damaged_tile_is_computed_again(client, problem, tmp_path):
    X, y = problem
    first = fit(model("tl1"), X, y, store=tmp_path / "s", client=client)
    tile = tmp_path / "s" / "block" / "blocks" / "00000003"
    sound = tile.read_bytes()
    tile.write_bytes(bytes(len(sound)))
    second = fit(model("tl1"), X, y, store=tmp_path / "s", client=client)
    np.testing.assert_array_equal(first.dual_coef_, second.dual_coef_)
    assert tile.read_bytes() == sound


def test_nothing_in_a_store_is_run(client, tmp_path):
    """Items go to the workers in messages; on 0.2.0 the store held pickles."""
    items = [{"letter": letter} for letter in "abcdefgh" * 30]
    y = [item["letter"] < "c" for item in items]
    fit(model(kernels.same_letter, 5), items, y, store=tmp_path / "s", client=client)
    files = [path for path in (tmp_path / "s").rglob("*") if path.is_file()]
    assert {path.parent.name for path in files if path.suffix == ""} >= {"blocks"}
    assert not any(b"letter" in path.read_bytes() for path in files)


def test_missing_package_is_named(client, problem, tmp_path):
    X, y = problem
    with pytest.raises(ImportError, match="nosuchpackage"):
        fit(model(kernels.needs_a_package), X, y, store=tmp_path / "s", client=client)


def test_unusable_clients_are_refused(client, problem, tmp_path):
    X, y = problem
    with pytest.raises(TypeError, match="Client or 'local', got 3"):
        fit(model("tl1"), X, y, store=tmp_path / "s", client=3)
    with pytest.raises(TypeError, match="'local', got 'remote'"):
        fit(model("tl1"), X, y, store=tmp_path / "s", client="remote")
    closed = distributed.Client(client.scheduler.address)
    closed.close()
    with pytest.raises(ValueError, match="client is closed, not running"):
        fit(model("tl1"), X, y, store=tmp_path / "s", client=closed)


@pytest.mark.parametrize("lazy", [False, True])
def test_killed_worker_changes_nothing(client, problem, tmp_path, lazy):
    """The worker's process is killed by its id after some tiles, before the last."""
    X, y = problem
    reference = fit(model(kernels.slow_tl1), X, y, store=tmp_path / "reference")
    store = tmp_path / "s"
    victim = next(iter(client.run(os.getpid).values()))
    killed = []

    def kill_midway(dask_worker=None):
        tiles = store / "block" / "blocks"
        while len(list(tiles.glob("0*"))) < 5:
            time.sleep(0.02)
        os.kill(victim, signal.SIGKILL)
        killed.append(len(list(tiles.glob("0*"))))

    thread = threading.Thread(target=kill_midway)
    thread.start()
    items = dask_array.from_array(X, chunks=(300, 3)) if lazy else X
    found = fit(model(kernels.slow_tl1), items, y, store=store, client=client)
    thread.join()
    n_tiles = len(list((store / "block" / "blocks").glob("0*")))
    assert 5 <= killed[0] < n_tiles
    assert victim not in client.run(os.getpid).values()
    np.testing.assert_array_equal(found.dual_coef_, reference.dual_coef_)
    client.run(mark_as_worker)


@pytest.mark.slow
def test_tile_that_kills_workers_is_named(problem, tmp_path):
    X, y = problem
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        # New workers must know that they are workers: an environment they inherit.
        client.register_plugin(MarkWorkers())
        # On a busy machine dask may give up its workers before it gives up the tile.
        with pytest.raises(RuntimeError, match=r"tile \d+ \(rows .* stay in the store"):
            fit(
                model(kernels.kills_its_worker),
                X[:200],
                y[:200],
                store=tmp_path / "s",
                client=client,
            )


def test_cluster_without_workers_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(client_module, "NO_WORKER_SECONDS", 0.5)
    with (
        distributed.LocalCluster(
            n_workers=0, processes=False, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        future = client.submit(abs, -1)
        with pytest.raises(RuntimeError, match=r"no workers for 0\.5 sec.* tile 0"):
            list(client_module.gathered(client, {future: "tile 0"}))


class MarkWorkers(distributed.WorkerPlugin):
    def setup(self, worker):
        mark_as_worker()


DRIVER = """
import json, sys
import numpy as np
from distributed import Client, LocalCluster
from krein import KreinNystroem, SpectrumSVC
from krein.scale import fit
from tests.scale.kernels import slow_tl1

if __name__ == "__main__":
    rng = np.random.default_rng(0)
    X = rng.random((2100, 3))
    y = X[:, 0] > X[:, 1]
    model = SpectrumSVC("flip", kernel=slow_tl1,
                        approximation=KreinNystroem(20, random_state=0))
    with LocalCluster(n_workers=2, threads_per_worker=1,
                      dashboard_address=":0") as cluster, Client(cluster) as client:
        found = fit(model, X, y, store=sys.argv[1], client=client)
    print(json.dumps(found.dual_coef_[0].tolist()))
"""


PATIENCE = 240  # seconds that a driver may take on a busy machine; idle it takes 15


@pytest.mark.slow
def test_killed_driver_resumes(tmp_path):
    script = tmp_path / "driver.py"
    script.write_text(DRIVER)
    store = tmp_path / "s"
    command = [sys.executable, str(script), str(store)]
    environment = {**os.environ, "PYTHONPATH": ":".join(sys.path)}
    tiles = store / "block" / "blocks"
    driver = subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        wait_for_tiles(tiles, driver)
    finally:
        driver.kill()
        driver.wait()
    time.sleep(1.0)  # orphaned workers notice that their scheduler is gone
    old = {p.name: p.stat().st_mtime_ns for p in tiles.glob("0*")}
    done = subprocess.run(
        command,
        env=environment, capture_output=True, text=True, check=True, timeout=PATIENCE,
    )  # fmt: skip
    rng = np.random.default_rng(0)
    X = rng.random((2100, 3))
    # One process, never interrupted, gives the same numbers to the last bit.
    whole = fit(model(kernels.fast_tl1), X, X[:, 0] > X[:, 1], store=tmp_path / "whole")
    assert json.loads(done.stdout) == whole.dual_coef_[0].tolist()
    assert 5 <= len(old) < len(list(tiles.glob("0*")))
    assert all(Path(tiles / name).stat().st_mtime_ns == t for name, t in old.items())


def wait_for_tiles(tiles, driver):
    """Return when some tiles are there; fail if that never happens."""
    deadline = time.monotonic() + PATIENCE
    while len(list(tiles.glob("0*"))) < 5:
        assert driver.poll() is None, "the driver ended before it could be killed"
        assert time.monotonic() < deadline, "no tiles after a long time"
        time.sleep(0.02)


@pytest.mark.slow
@pytest.mark.parametrize("lazy", [False, True])
def test_lost_scheduler_is_explained(problem, tmp_path, lazy):
    """Scheduler and worker are processes of their own; the first one is killed."""
    X, y = problem
    address, store = tmp_path / "address.json", tmp_path / "s"
    environment = {**os.environ, "PYTHONPATH": ":".join(sys.path)}
    options = ["--no-dashboard", "--scheduler-file", str(address)]
    here = ["--host", "127.0.0.1", "--port", "0"]
    alone = ["--nthreads", "1", "--no-nanny", "--local-directory", str(tmp_path)]

    def start(program, *more):
        return subprocess.Popen(
            [sys.executable, "-m", f"distributed.cli.{program}", *options, *more],
            env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip

    processes = [start("dask_scheduler", *here)]
    try:
        wait_until(address.exists)
        processes.append(start("dask_worker", *alone))
        with distributed.Client(scheduler_file=str(address)) as client:
            client.wait_for_workers(1, timeout=PATIENCE)
            tiles = store / "block" / "blocks"
            killer = threading.Thread(
                target=lambda: (
                    wait_until(lambda: len(list(tiles.glob("0*"))) >= 5),
                    processes[0].kill(),
                )
            )
            killer.start()
            items = dask_array.from_array(X, chunks=(300, 3)) if lazy else X
            with pytest.raises(RuntimeError, match=r"was lost.* tiles stay in"):
                fit(model(kernels.slow_tl1), items, y, store=store, client=client)
            killer.join()
    finally:
        for process in processes:
            process.kill()
            process.wait()
    assert len(list(tiles.glob("0*"))) >= 5
    found = fit(model(kernels.slow_tl1), X, y, store=store)
    whole = fit(model(kernels.slow_tl1), X, y, store=tmp_path / "whole")
    np.testing.assert_array_equal(found.dual_coef_, whole.dual_coef_)


def wait_until(done):
    deadline = time.monotonic() + PATIENCE
    while not done():
        assert time.monotonic() < deadline, "it did not happen for a long time"
        time.sleep(0.02)


@pytest.mark.slow
def test_grid_search_through_joblib(client, problem):
    X, y = problem
    grid = GridSearchCV(
        model("tl1"), {"approximation__n_components": [5, 40]}, cv=3, n_jobs=2
    )
    with client.as_current(), joblib.parallel_config("dask"):
        grid.fit(X[:600], y[:600])
    assert grid.best_score_ > 0.85


@pytest.mark.slow
def test_local_cluster_on_request(problem, tmp_path):
    X, y = problem
    found = fit(model("tl1"), X, y, store=tmp_path / "s", client="local")
    alone = fit(model("tl1"), X, y, store=tmp_path / "alone")
    np.testing.assert_array_equal(found.dual_coef_, alone.dual_coef_)
