"""The simulation behind the page "what the numbers mean", in small."""

import sys
from pathlib import Path

import numpy as np
import pytest

from krein.verdicts.reasons import Verdict

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
if not BENCHMARKS.exists():
    pytest.skip("this copy of krein has no benchmarks", allow_module_level=True)
sys.path.insert(0, str(BENCHMARKS))

import chance  # noqa: E402
import chance_cells  # noqa: E402
import chance_simulation  # noqa: E402
from chance_simulation import NAMES, Simulation  # noqa: E402


@pytest.fixture(autouse=True)
def few_fresh_items(monkeypatch):
    monkeypatch.setattr(chance_simulation, "FRESH", 600)
    monkeypatch.setattr(chance_cells, "FRESH", 600)


@pytest.fixture
def simulation():
    return Simulation(np.random.default_rng(0), 60, [0.9, 0.9, 0.0])


def test_the_truth_of_equal_methods_is_equal(simulation):
    truth = [simulation.truth(m) for m in range(3)]
    assert truth[0] == pytest.approx(truth[1], abs=0.05)
    assert truth[2] == pytest.approx(0.5, abs=0.05)
    found = simulation.comparison()
    assert found.recommendation.useful
    low, high = found.interval(NAMES[0])
    assert low < truth[0] < high


def test_the_highest_of_equal_methods_flatters_and_is_corrected():
    """Over data sets; the correction is nearer to the truth."""
    high, corrected = [], []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        made = Simulation(rng, 40, [0.4] * 6)
        found = made.comparison()
        truth = made.truth(NAMES.index(found.best))
        high.append(found.mean(found.best) - truth)
        corrected.append(found.corrected_best() - truth)
    assert np.mean(high) > 0.03
    assert abs(np.mean(corrected)) < np.mean(high)


def test_noise_is_not_said_to_be_learnt():
    said = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        made = Simulation(rng, 40, [0.0] * 3)
        said.append(made.comparison().recommendation.verdict)
    silent = [v in (Verdict.NOT_SHOWN, Verdict.NOTHING_LEARNT) for v in said]
    assert np.mean(silent) >= 0.9


@pytest.mark.parametrize("name", list(chance_cells.TABLES))
def test_every_table_has_a_line_a_cell(name):
    """One run of its smallest cell, and the line that is made of it."""
    table = chance_cells.TABLES[name]
    cell = min(table.cells, key=lambda cell: cell["n"])
    values = {k: np.array([float(v)]) for k, v in table.run(cell, 0).items()}
    assert all(np.isfinite(v).all() for v in values.values())
    assert str(cell["n"]) in map(str, table.line(cell, values).values())


@pytest.fixture
def table():
    """Runs are numbered from 0; the "measured" mean tells which were computed."""
    cells = [{"n": 1}, {"n": 2}]
    computed = []

    def run(cell, number):
        computed.append((cell["n"], number))
        return {"x": number}

    def line(cell, values):
        return {"items": cell["n"], "mean": values["x"].mean()}

    return chance_cells.Table("", cells, run, line, "x"), computed


def test_runs_that_are_kept_are_not_computed_again(table, tmp_path):
    made, computed = table
    path = tmp_path / "x.jsonl"
    list(chance.markdown(made, chance.Runs(path), 2))
    assert len(computed) == 4
    lines = list(chance.markdown(made, chance.Runs(path), 3))
    assert computed[4:] == [(1, 2), (2, 2)]
    assert lines[0] == "| items | mean | runs |"
    assert lines[2:] == ["| 1 | 1.0 | 3 |", "| 2 | 1.0 | 3 |"]
    again = list(chance.markdown(made, chance.Runs(path), 0))  # nothing to compute
    assert again == lines
    assert len(computed) == 6


def test_a_table_replaces_the_one_of_the_page(table, tmp_path):
    page = tmp_path / "page.md"
    page.write_text("a\n<!-- chance: X -->\nold\n<!-- end -->\nb\n")
    lines = list(chance.markdown(table[0], chance.Runs(tmp_path / "x.jsonl"), 1))
    chance.write_page(page, "X", lines)
    text = page.read_text()
    assert "old" not in text
    assert "| items | mean | runs |" in text
    assert text.endswith("<!-- end -->\nb\n")
    with pytest.raises(SystemExit, match="no place for Y"):
        chance.write_page(page, "Y", [])
