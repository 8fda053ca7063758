"""Every table runs in its tiny version, and the command line drives it."""

import dataclasses
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from papers import find_table, measure, reproduce, tables
from papers.__main__ import main
from papers.experiments import folds_of, split_of, tune, unit_range
from papers.liu_data import under
from papers.runs import DivergedError, Store, Task
from tests.cli.terminal import terminal


@pytest.mark.parametrize("name", tables())
def test_quick_version_of_every_table(name, tmp_path):
    table = find_table(name)
    seen = []
    runs = reproduce(
        name, tmp_path, quick=True, progress=lambda *state: seen.append(state[:2])
    )
    wanted = len(table.tasks(True))
    assert [run for run in runs if run.failed] == []
    assert len(runs) == wanted
    assert seen[0] == (0, wanted)
    assert seen[-1] == (wanted, wanted)
    numbers = [m.value for m in measure(table, runs, quick=True).values()]
    assert numbers
    assert all(isinstance(v, str) or np.isfinite(v) for v in numbers)
    assert (tmp_path / table.paper / "quick" / "results" / f"{name}.jsonl").is_file()


def test_the_same_seeds_give_the_same_numbers(tmp_path):
    first = reproduce("chen-table1", tmp_path / "a", quick=True)
    second = reproduce("chen-table1", tmp_path / "b", quick=True)
    assert [run.values for run in first] == [run.values for run in second]


def test_flip_clip_shift_and_ksvm_are_one_on_a_positive_definite_kernel(tmp_path):
    """Liu et al., Table III prints four different numbers there."""
    runs = reproduce("liu-table3", tmp_path, quick=True)
    values = {run.task.method: run.values for run in runs}
    assert values["Flip"]["mu_min"] > 0
    four = {values[m]["accuracy"] for m in ("Flip", "Clip", "Shift", "KSVM")}
    assert len(four) == 1


def test_command_line(tmp_path, capsys):
    assert main(["liu-table2", "--quick", "--out", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert "2 of 2 runs" in shown
    assert "mu_min" in shown
    assert "mu_max" in shown


def test_command_line_lists_all(tmp_path, capsys):
    assert main(["--out", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    for name in tables():
        assert name in shown
    assert "not run" in shown
    assert list(tmp_path.iterdir()) == []


def test_tasks_can_be_picked_by_a_pattern(tmp_path):
    runs = reproduce("liu-table3", tmp_path, quick=True, only="Flip|Clip")
    assert {run.task.method for run in runs} == {"Flip", "Clip"}


def test_a_run_that_was_stopped_too_early_is_made_again(tmp_path):
    first = reproduce("liu-table2", tmp_path, quick=True)
    stopped = dataclasses.replace(first[0], values={"status": "unfinished"})
    store = Store(find_table("liu-table2"), tmp_path, quick=True)
    store.save(stopped)
    assert store.merge()[0].unfinished
    again = reproduce("liu-table2", tmp_path, quick=True)
    assert [run.values for run in again] == [run.values for run in first]


def test_a_wrong_name_is_bad_input(tmp_path, capsys):
    assert main(["nosuch", "--out", str(tmp_path)]) == 2
    assert "no table named 'nosuch'" in capsys.readouterr().err
    assert main(["similarity", "--jobs", "0"]) == 2


def test_a_page_of_nothing(tmp_path):
    """Without results nothing holds, and the page says so."""
    page = tmp_path / "new folder" / "papers.md"
    assert main(["--page", str(page), "--out", str(tmp_path / "nothing")]) == 0
    assert " 0 hold, 0 differ" in page.read_text("utf-8")


def test_splits_and_folds_are_those_of_every_method():
    y = np.repeat([0, 1], 20)
    one, two = Task("sonar", "flip", 3), Task("sonar", "clip", 3)
    for a, b in zip(split_of(one, y, 0.2), split_of(two, y, 0.2), strict=True):
        np.testing.assert_array_equal(a, b)
    for a, b in zip(folds_of(one, y, 5), folds_of(two, y, 5), strict=True):
        np.testing.assert_array_equal(a[1], b[1])
    other = split_of(Task("sonar", "flip", 4), y, 0.2)
    assert not np.array_equal(split_of(one, y, 0.2)[1], other[1])


class _Guess:
    """Predicts one label, whatever it sees."""

    def __init__(self, label, note):
        self.label = label

    def fit(self, K, y):
        return self

    def predict(self, K):
        return np.full(len(K), self.label)


def test_tune_takes_the_best_and_the_first_of_equals():
    y = np.repeat(["a", "b"], [12, 8])
    grid = [dict(label=label, note=i) for i, label in enumerate(["b", "a", "a"])]
    folds = folds_of(Task("toy", "m"), y, 4)
    assert tune(_Guess, grid, np.eye(20), y, folds) == {"label": "a", "note": 1}


def test_unit_range_keeps_constant_columns_finite():
    X = unit_range(np.array([[1.0, 5.0], [3.0, 5.0]]))
    np.testing.assert_array_equal(X, [[0.0, 0.0], [1.0, 0.0]])


def test_command_line_runs_all_until_the_time_is_over(tmp_path, capsys):
    arguments = ["all", "--quick", "--out", str(tmp_path)]
    assert main([*arguments, "--seconds", "1e-3"]) == 0
    listed = capsys.readouterr().out
    assert all(name in listed for name in tables())
    started = sorted(tmp_path.rglob("*.jsonl"))
    assert [path.stem for path in started] == [next(iter(tables()))]


def test_on_a_terminal_it_shows_where_it_is(tmp_path):
    words = ("liu-table2", "--quick", "--out", tmp_path)
    ended = terminal(*words, program=[sys.executable, "-m", "papers"])
    assert ended.code == 0
    assert "\r\x1b[K2/2 sonar, half, split 1" in ended.out
    assert "2 of 2 runs" in ended.out


def test_the_command_line_runs_other_splits(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("KREIN_PAPERS_SEED", "0")  # so that it is put back afterwards
    words = ["liu-table2", "--quick"]
    largest = []
    for name, more in (("usual", []), ("other", ["--seed", "3"])):
        assert main([*words, *more, "--out", str(tmp_path / name)]) == 0
        rows = capsys.readouterr().out.splitlines()
        largest.append([row.split()[-1] for row in rows if " mu_max " in row])
    assert largest[0] != largest[1]


def test_a_fit_that_diverged_is_not_chosen_and_not_scored():
    y = np.repeat(["a", "b"], [12, 8])
    folds = folds_of(Task("toy", "m"), y, 4)
    grid = [dict(label="b", away=True), dict(label="a", away=False)]
    assert tune(_Away, grid, np.eye(20), y, folds) == grid[1]
    with pytest.raises(DivergedError, match="every value of the grid diverged"):
        tune(_Away, [grid[0], grid[0]], np.eye(20), y, folds)


class _Away(_Guess):
    """Says that it diverged, if it is told to."""

    def __init__(self, label, away):
        self.label = label
        self.result_ = SimpleNamespace(status="diverged" if away else "converged")


def test_methods_under_a_reading_have_names():
    assert under("CCICP-GD, zeros", "steps 1/L") == "CCICP-GD, steps 1/L, zeros"
    assert under("CCICP-SGD-I", "printed equations") == "CCICP-SGD-I, printed equations"
    assert under("Flip", "printed equations") == "Flip"
    assert under("CCICP-GD", "") == "CCICP-GD"


def test_condition_15_asks_for_a_lambda_far_above_zero():
    """From the printed eigenvalues: ||K||^2 / (4 n) over their sum."""
    from papers.liu import _least_lambda

    assert _least_lambda("sonar") == pytest.approx(3024.6 / (4 * 104))
    indefinite = 94.077**2 / (4 * 62 * (94.077 - 2.094))
    assert _least_lambda("monks1") == pytest.approx(indefinite)


@pytest.mark.parametrize(
    ("curve", "steps"),
    [
        ([1.0, 0.6, 0.5, 0.499, 0.498], 2.0),
        ([1.0, 1.0], 0.0),
        ([1.0, 0.6, 0.2], "more than 2"),
    ],
)
def test_a_curve_has_converged_when_it_moves_no_more(curve, steps):
    from papers.liu_figures import _settled

    assert _settled(curve) == steps


def test_distances_are_in_the_unit_of_the_tolerance():
    from papers.claims import Claim
    from papers.page import _distance

    def claims(tolerance, *pairs):
        return [
            Claim(*"tdmq", paper, tolerance, "", ours=ours, verdict="holds")
            for paper, ours in pairs
        ]

    assert _distance(claims("x3", ("2", "4"), ("8", "4"))) == "a factor of 2 (median)"
    assert _distance(claims("5%", ("100", "103"), ("10", "9.7"))) == "3 % (median)"
    assert _distance(claims("0.1", ("1", "1.25"), ("2", "1.75"))) == "0.25 (median)"
    assert _distance(claims("0.1", ("1", "1.25"))) == "1.25 against 1"
    assert _distance(claims("=", ("yes", "no"))) == ""
