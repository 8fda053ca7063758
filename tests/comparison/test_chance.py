"""The simulation behind the page "what the numbers mean", in small."""

import numpy as np
import pytest

from benchmarks import chance
from krein.verdicts.reasons import Verdict


@pytest.fixture(autouse=True)
def few_fresh_items(monkeypatch):
    monkeypatch.setattr(chance, "FRESH", 600)


@pytest.fixture
def simulation():
    return chance.Simulation(np.random.default_rng(0), 60, [0.9, 0.9, 0.0])


def test_the_truth_of_equal_methods_is_equal(simulation):
    truth = [simulation.truth(m) for m in range(3)]
    assert truth[0] == pytest.approx(truth[1], abs=0.05)
    assert truth[2] == pytest.approx(0.5, abs=0.05)
    found = simulation.comparison()
    assert found.recommendation.useful
    low, high = found.interval(chance.NAMES[0])
    assert low < truth[0] < high


def test_the_highest_of_equal_methods_flatters_and_is_corrected():
    """Over data sets; the correction is nearer to the truth."""
    high, corrected = [], []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        made = chance.Simulation(rng, 40, [0.4] * 6)
        found = made.comparison()
        truth = made.truth(chance.NAMES.index(found.best))
        high.append(found.mean(found.best) - truth)
        corrected.append(found.corrected_best() - truth)
    assert np.mean(high) > 0.03
    assert abs(np.mean(corrected)) < np.mean(high)


def test_noise_is_not_said_to_be_learnt():
    said = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        made = chance.Simulation(rng, 40, [0.0] * 3)
        said.append(made.comparison().recommendation.verdict)
    silent = [v in (Verdict.NOT_SHOWN, Verdict.NOTHING_LEARNT) for v in said]
    assert np.mean(silent) >= 0.9


def test_a_table_replaces_the_one_of_the_page(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("a\n<!-- chance: X -->\nold\n<!-- end -->\nb\n")
    lines = chance.table([chance.Line({"n": 1, "share": "0.05"}, 3)])
    chance.write_page(page, "X", list(lines))
    text = page.read_text()
    assert "old" not in text
    assert "| n | share | runs |" in text
    assert "| 1 | 0.05 | 3 |" in text
    assert text.endswith("<!-- end -->\nb\n")
    with pytest.raises(SystemExit, match="no place for Y"):
        chance.write_page(page, "Y", [])
