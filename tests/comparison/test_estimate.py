"""A comparison says how long it takes: before a long one, after its first split."""

import itertools
import subprocess
import sys
import warnings

import pytest

from krein import compare, tl1_kernel
from krein.comparison import estimate
from tests.cli.terminal import ENVIRONMENT, terminal


@pytest.fixture
def problem(rng):
    X = rng.random((60, 3))
    return tl1_kernel(X), X[:, 0] > 0.5


def told(capsys, problem, **options):
    compare(*problem, methods=["svc"], cv=3, **options)
    return capsys.readouterr()


@pytest.mark.parametrize(("seconds", "lines"), [(29.0, 0), (31.0, 1)])
def test_half_a_minute_is_worth_one_line(seconds, lines, problem, capsys, monkeypatch):
    clock = iter([0.0, *[seconds / 3] * 20])
    monkeypatch.setattr(estimate, "perf_counter", lambda: next(clock))
    out, err = told(capsys, problem)
    assert out == ""
    assert err.count("\n") == lines
    if lines:
        assert err == "comparing 60 items takes about 31 s, by its first split\n"
    clock = iter([0.0, *[seconds / 3] * 20])
    assert told(capsys, problem, progress=False).err == ""


@pytest.mark.parametrize(("seconds", "warned"), [(3590.0, False), (3610.0, True)])
def test_more_than_an_hour_is_warned_of_before(seconds, warned, problem, monkeypatch):
    monkeypatch.setattr(estimate, "_MANY", 50)
    monkeypatch.setattr(estimate, "least_seconds", lambda *given: seconds)
    calls = []
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        compare(
            *problem,
            methods=["svc"],
            cv=3,
            progress=lambda *given: calls.append(len(found)),
        )
    texts = [str(w.message) for w in found if "takes at least" in str(w.message)]
    assert len(texts) == warned
    assert calls[0] >= warned  # before the first split
    if warned:
        assert "at least 1 h 0 min" in texts[0]
        assert "approximation=KreinNystroem" in texts[0]


def test_the_least_is_less_than_what_it_takes(monkeypatch):
    """Cubic in the items, and shared by the jobs."""
    seconds = itertools.count()  # an eigendecomposition takes one
    monkeypatch.setattr(estimate, "perf_counter", lambda: float(next(seconds)))
    one = estimate.least_seconds(4000, 10)
    assert estimate.least_seconds(8000, 10) == pytest.approx(8 * one)
    assert estimate.least_seconds(4000, 10, 2) == pytest.approx(one / 2)


def test_others_progress_is_called_as_before(problem):
    calls = []
    compare(
        *problem, methods=["svc"], cv=3, progress=lambda *given: calls.append(given)
    )
    assert [call[:2] for call in calls] == [(1, 3), (2, 3), (3, 3)]


SLOW = """
import time
import numpy as np
import krein.comparison.run as run
from krein import compare, tl1_kernel

def slowly(*given):
    time.sleep(1.3)
    return original(*given)

original, run.evaluate_split = run.evaluate_split, slowly
X = np.random.default_rng(0).random((40, 3))
compare(tl1_kernel(X), X[:, 0] > 0.5, methods=["svc"], cv=3)
"""


def test_a_terminal_shows_the_time_left_and_a_pipe_nothing():
    shown = terminal(program=[sys.executable, "-c", SLOW])
    assert shown.code == 0
    assert "comparing 40 items" in shown.out
    assert "left" in shown.out


# What a cell of a notebook runs in, as far as krein looks: ipykernel is not needed
# here. Its shell is a ZMQInteractiveShell with a kernel; that of ``ipython`` on a
# terminal is a TerminalInteractiveShell without one.
SHELL = """
import sys
import types

class Shell:
    kernel = {kernel}

shell = Shell() if {running} else None
sys.modules["ipykernel"] = types.ModuleType("ipykernel")
sys.modules["IPython"] = types.ModuleType("IPython")
sys.modules["IPython"].get_ipython = lambda: shell
"""


@pytest.mark.parametrize(
    ("kernel", "running", "drawn"),
    [("object()", True, True), ("None", True, False), ("object()", False, False)],
    ids=["a notebook", "ipython in a pipe", "a script that imports ipykernel"],
)
def test_a_notebook_shows_the_time_left(kernel, running, drawn):
    """Standard error is no terminal in any of these."""
    start = SHELL.format(kernel=kernel, running=running)
    program = [sys.executable, "-c", start + SLOW]
    ended = subprocess.run(
        program,
        capture_output=True,
        text=True,
        check=True,
        env=ENVIRONMENT,
        timeout=300,
    )
    assert ended.stdout == ""
    assert ("comparing 40 items" in ended.stderr) == drawn
    assert ("left" in ended.stderr) == drawn


def test_the_warning_names_what_takes_less(problem, monkeypatch):
    monkeypatch.setattr(estimate, "_MANY", 50)
    monkeypatch.setattr(estimate, "least_seconds", lambda *given: 1e5)
    with pytest.warns(UserWarning, match=r"methods=\['landmarks', 'sample'\]"):
        compare(*problem, methods=["svc"], cv=3, progress=False)
