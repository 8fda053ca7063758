"""One command runs every speed benchmark, and says when one fails."""

import importlib.util
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture
def speed():
    path = BENCHMARKS / "speed" / "__main__.py"
    if not path.is_file():
        pytest.skip("this copy of krein has no benchmarks")
    spec = importlib.util.spec_from_file_location("speed_figures", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_script_is_run(speed):
    listed = {script for _, script, _, _ in speed.FIGURES}
    # These measure errors, not speed.
    errors = {"regret.py", "regret_matrices.py", "hits.py"}
    assert listed | errors == {path.name for path in BENCHMARKS.glob("*.py")}
    assert sum(quick is not None for *_, quick in speed.FIGURES) >= 3


def test_a_failure_stays_in_the_table(speed):
    text, seconds = speed.run("nosuch.py", [])
    assert "failed with code 2" in text
    assert "nosuch.py" in text
    assert seconds > 0


def test_one_figure_is_measured_again_and_the_others_stay(speed, tmp_path, monkeypatch):
    out = tmp_path / "results.txt"
    monkeypatch.setattr(speed, "run", lambda script, arguments: (f"old {script}", 1.0))
    monkeypatch.setattr("sys.argv", ["speed", "--out", str(out)])
    speed.main()
    before = speed.sections(out)
    assert list(before) == [what for what, *_ in speed.FIGURES]
    monkeypatch.setattr(speed, "run", lambda script, arguments: ("new", 2.0))
    monkeypatch.setattr("sys.argv", ["speed", "--out", str(out), "--only", "TL1"])
    speed.main()
    after = speed.sections(out)
    changed = [what for what in before if before[what] != after[what]]
    assert changed == ["TL1 kernel over scipy's distances"]
    assert after[changed[0]].endswith("new")
