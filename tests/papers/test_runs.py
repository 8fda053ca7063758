"""Runs: resumable, written completely or not at all, merged into one file."""

import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest

from papers import tables
from papers.page import _versions
from papers.runs import Run, Runner, Store, Table, Task, seed_of
from papers.sentences import _listed
from papers.tally import runs_by_version

CALLS = []


def _tasks(quick):
    return [Task(name, "m", split) for name in ("a", "b") for split in range(3)]


def _compute(task, quick, earlier):
    CALLS.append(task)
    return {"value": float(task.split)}


TABLE = Table("toy-table1", "toy", "a toy", _tasks, _compute)


@pytest.fixture(autouse=True)
def _forget_calls():
    CALLS.clear()


def test_only_what_is_missing_is_run(tmp_path):
    store = Store(TABLE, tmp_path)
    first = _tasks(False)[:2]
    list(Runner(store).run_all(first))
    assert set(store.load()) == set(first)
    rest = [task for task in _tasks(False) if task not in store.load()]
    list(Runner(store).run_all(rest))
    assert len(CALLS) == 6
    runs = store.merge()
    assert [run.task for run in runs] == sorted(_tasks(False))
    assert not store.runs_folder.exists()
    assert store.header()["finished"] == store.header()["wanted"] == 6
    assert store.load()[Task("b", "m", 2)].values == {"value": 2.0}


def test_a_partial_merge_keeps_the_small_files(tmp_path):
    store = Store(TABLE, tmp_path)
    list(Runner(store).run_all(_tasks(False)[:4]))
    assert len(store.merge()) == 4
    assert store.header()["finished"] == 4
    assert len(store.load()) == 4


def test_no_time_left_means_no_further_task(tmp_path):
    assert list(Runner(Store(TABLE, tmp_path)).run_all(_tasks(False), seconds=0)) == []
    assert CALLS == []


def test_processes_give_the_same_results(tmp_path):
    apart = Store(TABLE, tmp_path / "two")
    list(Runner(apart).run_all(_tasks(False)[:3], n_jobs=2))
    assert {t: r.values for t, r in apart.load().items()} == {
        t: {"value": float(t.split)} for t in _tasks(False)[:3]
    }


def test_results_of_an_older_protocol_do_not_count(tmp_path):
    store = Store(TABLE, tmp_path)
    list(Runner(store).run_all(_tasks(False)))
    store.merge()
    newer = Store(Table("toy-table1", "toy", "", _tasks, _compute, version=2), tmp_path)
    assert newer.outdated
    assert newer.load() == {}
    assert not store.outdated


def test_quick_runs_are_kept_apart(tmp_path):
    list(Runner(Store(TABLE, tmp_path, quick=True)).run_all(_tasks(True)))
    assert Store(TABLE, tmp_path).load() == {}


def test_a_breakdown_is_recorded_and_other_errors_are_not_hidden(tmp_path):
    def breaks(task, quick, earlier):
        return {"value": 1 / 0} if task.dataset == "a" else [][0]

    store = Store(Table("toy-table1", "toy", "", _tasks, breaks), tmp_path)
    run = Runner(store).run(Task("a", "m"))
    assert run.failed
    assert run.values["failed"].startswith("ZeroDivisionError")
    with pytest.raises(IndexError):
        Runner(store).run(Task("b", "m"))
    assert set(store.load()) == {Task("a", "m")}


def test_a_task_may_ask_for_another_one(tmp_path):
    def compute(task, quick, earlier):
        CALLS.append(task)
        if task.method == "tuning":
            return {"C": 3.0}
        return {"twice": 2 * earlier(Task(task.dataset, "tuning", task.split))["C"]}

    store = Store(Table("toy-table1", "toy", "", _tasks, compute), tmp_path)
    assert Runner(store).run(Task("a", "m", 1)).values == {"twice": 6.0}
    assert Runner(store).run(Task("a", "n", 1)).values == {"twice": 6.0}
    assert CALLS.count(Task("a", "tuning", 1)) == 1


def test_a_run_survives_its_file():
    run = Run(Task("a", "m, with; odd/characters", 3), {"x": [1.0, None]}, 0.125)
    assert Run.from_record(json.loads(json.dumps(run.record()))) == run
    assert "/" not in run.task.name


def test_an_edited_run_is_run_again(tmp_path):
    store = Store(TABLE, tmp_path)
    task = _tasks(False)[1]
    Runner(store).run(task)
    path = store.runs_folder / f"{task.name}.json"
    path.write_text(path.read_text().replace('"value": 1.0', '"value": 9.0'))
    assert store.load() == {}
    assert store.find(task) is None


def test_methods_have_different_files_and_equal_seeds():
    one, two = Task("a", "x y", 1), Task("a", "x-y", 1)
    assert one.name != two.name
    assert seed_of(one) == seed_of(two)
    assert seed_of(one) != seed_of(Task("a", "x y", 2))


def test_another_seed_makes_other_splits(monkeypatch):
    usual = seed_of(Task("a", "m", 1))
    assert usual == seed_of(Task("a", "n", 1))
    monkeypatch.setenv("KREIN_PAPERS_SEED", "1")
    other = seed_of(Task("a", "m", 1))
    assert other == seed_of(Task("a", "n", 1))
    draws = [np.random.default_rng(s).integers(2**31) for s in (usual, other)]
    assert draws[0] != draws[1]


_SLOW = """
import sys, time
from pathlib import Path
from papers.runs import Runner, Store, Table, Task

def tasks(quick):
    return [Task("a", "m", split) for split in range(200)]

def compute(task, quick, earlier):
    time.sleep(0.02)
    return {"value": task.split}

store = Store(Table("toy-table1", "toy", "", tasks, compute), Path(sys.argv[1]))
todo = [task for task in tasks(False) if task not in store.load()]
for run in Runner(store).run_all(todo[: int(sys.argv[2])]):
    print(run.task.split, flush=True)
"""


def test_a_killed_run_goes_on(tmp_path):
    command = [sys.executable, "-c", _SLOW, str(tmp_path)]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen(
        [*command, "200"], stdout=subprocess.PIPE, text=True, env=env
    )
    for _ in range(3):
        assert process.stdout.readline()
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    folder = tmp_path / "toy" / "runs" / "toy-table1" / "v1"
    done = {json.loads(p.read_text())["record"]["split"] for p in folder.glob("*.json")}
    assert {0, 1, 2} <= done
    assert len(done) < 200
    again = subprocess.run(
        [*command, "2"], capture_output=True, text=True, env=env, check=True
    )
    first = max(done) + 1
    assert again.stdout.split() == [str(first), str(first + 1)]


def test_a_stamp_is_written_by_a_run_only(tmp_path, monkeypatch):
    """Merging again, with nothing run, leaves machine and versions as they were."""
    monkeypatch.setattr("papers.runs.machine", lambda: {"krein": "0.1.0"})
    store = Store(TABLE, tmp_path)
    list(Runner(store).run_all(_tasks(False)))
    store.merge()
    before = store.results.read_text("utf-8")
    assert store.header()["runs by version"] == {"0.1.0": 6}
    monkeypatch.setattr("papers.runs.machine", lambda: {"krein": "0.9.0"})
    store.merge()
    assert store.results.read_text("utf-8") == before
    # One run more has the new stamp, the others keep theirs.
    Runner(store).run(_tasks(False)[0])
    store.merge()
    assert store.header()["machine"]["krein"] == "0.9.0"
    assert store.header()["runs by version"] == {"0.1.0": 5, "0.9.0": 1}


def test_runs_of_older_files_have_the_stamp_of_their_file(tmp_path, monkeypatch):
    monkeypatch.setattr("papers.runs.machine", lambda: {"krein": "0.1.0"})
    store = Store(TABLE, tmp_path)
    list(Runner(store).run_all(_tasks(False)))
    store.merge()
    text = store.results.read_text("utf-8")
    store.results.write_text(text.replace('"krein": "0.1.0", "method"', '"method"'))
    assert {run.version for run in store.load().values()} == {"0.1.0"}


def test_runs_are_counted_by_the_version_that_made_them(tmp_path):
    table = tables()["similarity"]
    store = Store(table, tmp_path)
    first, second, *_ = table.tasks(False)
    store.save(Run(first, {}, 1.0, "0.1.0"))
    store.save(Run(second, {}, 1.0, "0.3.0"))
    found = runs_by_version({"": tmp_path, "seed 1": tmp_path})
    both = {"similarity": 1, "similarity (seed 1)": 1}
    assert found == {"0.1.0": both, "0.3.0": both}
    assert list(_versions(found))[2:] == [
        "| 0.1.0 | 2 | similarity, similarity (seed 1) |",
        "| 0.3.0 | 2 | similarity, similarity (seed 1) |",
    ]


def test_words_are_listed_as_in_a_sentence():
    assert _listed(["a", "b", "c"]) == "a, b and c"
    assert _listed(["a", "b"]) == "a and b"
    assert _listed(["a"]) == "a"
    assert _listed([]) == "none"
