"""One command runs every speed benchmark, and says when one fails."""

import importlib.util
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture
def speed(monkeypatch):
    path = BENCHMARKS / "speed" / "__main__.py"
    if not path.is_file():
        pytest.skip("this copy of krein has no benchmarks")
    monkeypatch.syspath_prepend(str(path.parent))
    spec = importlib.util.spec_from_file_location("speed_figures", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_script_is_run(speed):
    listed = {script for _, script, _, _ in speed.FIGURES}
    # These measure errors, or are run for one question.
    errors = {
        "algorithm_1.py",
        "clusters.py",
        "prediction_sets.py",
        "hits.py",
        "readers.py",
    }
    errors |= {"raw_distances.py", "regret.py", "regret_matrices.py", "repair.py"}
    errors |= {"results_page.py", "screen.py", "tables.py", "ties.py", "verdicts.py"}
    errors |= {"many_classes.py", "steps.py", "walks.py"}
    errors |= {"conversions.py", "similarity_model.py"}
    assert listed | errors == {path.name for path in BENCHMARKS.glob("*.py")}
    assert sum(quick is not None for *_, quick in speed.FIGURES) >= 3


def test_a_failure_stays_in_the_table(speed):
    text, seconds = speed.run("nosuch.py", [])
    assert "failed with code 2" in text
    assert "nosuch.py" in text
    assert seconds > 0


def test_one_figure_is_measured_again_and_the_others_stay(speed, tmp_path, monkeypatch):
    out = tmp_path / "results.txt"
    monkeypatch.setattr(
        speed, "run", lambda script, arguments, **_: (f"old {script}", 1.0)
    )
    monkeypatch.setattr("sys.argv", ["speed", "--out", str(out)])
    speed.main()
    before = speed.sections(out)
    assert [what for what in before if "one thread" not in what] == [
        what for what, *_ in speed.FIGURES
    ]
    monkeypatch.setattr(speed, "run", lambda script, arguments, **_: ("new", 2.0))
    monkeypatch.setattr("sys.argv", ["speed", "--out", str(out), "--only", "TL1"])
    speed.main()
    after = speed.sections(out)
    changed = [what for what in before if before[what] != after[what]]
    what = "TL1 kernel over scipy's distances"
    assert [name.removeprefix(what) for name in changed] == [
        "",
        ", one thread",
        ", default over one thread",
    ]
    assert after[what].endswith("new")


def test_every_line_with_a_time_has_its_ratio_to_one_thread(speed, tmp_path):
    import ratios

    default = "TL1, n = 10: 0.30 s = 1.5 x\nno time 3\nTL1, n = 20: 80 ms, ratio 0.4"
    one = "TL1, n = 10: 0.20 s = 1.2 x\nno time 4\nTL1, n = 20: 100 ms, ratio 0.5"
    text = ratios.thread_ratios(default, one)
    assert text == "1.50 x: TL1, n = 10\n0.80 x: TL1, n = 20"
    figure = ratios.Ratio("TL1", "kernels", r"^TL1.* ratio #$", 0.45)
    measured = {"kernels": default, "kernels" + ratios.ONE_THREAD: one}
    assert figure.read(measured) == 0.4
    assert figure.read(measured, ratios.ONE_THREAD) == 0.5
    assert figure.over_one(measured) == pytest.approx(0.8)
    assert figure.over_one({"kernels": default}) is None


def test_one_thread_and_the_threads_of_users(speed, monkeypatch):
    seen = []

    def ran(command, env, **_):
        seen.append({name: env.get(name) for name in speed.THREADS})
        return type("Ended", (), {"stdout": "fit: 1.0 s", "returncode": 0})

    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")
    monkeypatch.setattr(speed.subprocess, "run", ran)
    parts = speed.measure("TL1", "tl1.py", [])
    assert list(parts) == ["TL1", "TL1, one thread", "TL1, default over one thread"]
    assert [set(env.values()) for env in seen] == [{None}, {"1"}]
    assert parts["TL1, default over one thread"].endswith("1.00 x: fit")
    assert list(speed.measure("threads", "threads.py", ["fits"])) == ["threads"]


STORED = BENCHMARKS / "speed" / "results.txt"


def test_the_table_of_the_guide_is_that_of_the_stored_run(speed):
    table = STORED.with_suffix(".md").read_text(encoding="utf-8")
    assert table == speed.table(speed.sections(STORED))
    assert "failed with code" not in STORED.read_text(encoding="utf-8")


def test_a_ratio_that_got_worse_is_found(speed, tmp_path, monkeypatch, capsys):
    what = "TL1 kernel over scipy's distances"
    stored = tmp_path / "stored.txt"
    stored.write_text(f"head\n\n== {what} (tl1.py, 4 s)\nratio 0.40\nratio 0.50\n")
    for printed, code, word in (
        ("0.56", 0, ""),
        ("0.60", 1, "WORSE"),
        ("0.3", 0, "bet"),
    ):
        monkeypatch.setattr(
            speed, "run", lambda script, arguments, p=printed, **_: (f"ratio {p}", 1.0)
        )
        monkeypatch.setattr(
            "sys.argv", ["speed", "--only", "TL1", "--against", str(stored)]
        )
        with pytest.raises(SystemExit) as ended:
            speed.main()
        assert ended.value.code == code
        assert word in capsys.readouterr().out


def test_what_should_be_large_is_worse_when_small(speed):
    import ratios

    cores = next(r for r in ratios.RATIOS if r.at_least)
    assert cores.worse(1.8, 1.2, 0.15)
    assert not cores.worse(1.2, 1.8, 0.15)
    assert cores.reached(cores.goal)
    assert not cores.reached(cores.goal - 0.1)


def test_a_file_without_a_run_is_refused(speed, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["speed", "--against", str(tmp_path / "none")])
    with pytest.raises(SystemExit):
        speed.main()
    assert "no file written by --out" in capsys.readouterr().err
