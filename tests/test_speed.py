"""One command runs every speed benchmark, and says when one fails."""

import importlib.util
import sys
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
    monkeypatch.setitem(sys.modules, "speed_figures", module)
    spec.loader.exec_module(module)
    return module


def test_every_script_is_run(speed):
    listed = {figure.script for figure in speed.FIGURES}
    # These measure errors, are run for one question, or are imported by others.
    errors = {
        "algorithm_1.py",
        "chance.py",
        "clusters.py",
        "conversions.py",
        "digits.py",
        "hits.py",
        "many_classes.py",
        "members.py",
        "prediction_sets.py",
        "probabilities.py",
        "rates.py",
        "raw_distances.py",
        "readers.py",
        "regret.py",
        "repair.py",
        "results_page.py",
        "screen.py",
        "several_kernels.py",
        "similarity_model.py",
        "similarity_regression.py",
        "steps.py",
        "tables.py",
        "ties.py",
        "verdicts.py",
        "walks.py",
        "yardsticks.py",
    }
    errors |= {
        "chance_cells.py",
        "chance_simulation.py",
        "record.py",
        "regret_matrices.py",
    }
    assert listed | errors == {path.name for path in BENCHMARKS.glob("*.py")}
    assert sum(figure.quick is not None for figure in speed.FIGURES) >= 3


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
        figure.title for figure in speed.FIGURES
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
    parts = speed.measure(speed.Figure("TL1", "tl1.py"), "")
    assert list(parts) == ["TL1", "TL1, one thread", "TL1, default over one thread"]
    assert [set(env.values()) for env in seen] == [{None}, {"1"}]
    assert parts["TL1, default over one thread"].endswith("1.00 x: fit")
    itself = speed.Figure("threads", "threads.py", "fits", one_thread=None)
    assert list(speed.measure(itself, "fits")) == ["threads"]


def test_the_run_with_one_thread_can_be_shorter(speed, monkeypatch):
    seen = []

    def ran(script, arguments, one=False):
        seen.append((arguments, one))
        return "1.0 s", 1.0

    monkeypatch.setattr(speed, "run", ran)
    figure = speed.Figure("a", "a.py", "million", quick="tiny", one_thread="million 9")
    speed.measure(figure, "million")
    speed.measure(figure, "tiny")
    assert seen == [
        (["million"], False),
        (["million", "9"], True),
        (["tiny"], False),
        (["tiny"], True),
    ]


def test_an_interrupted_run_goes_on_where_it_was(speed, tmp_path, monkeypatch):
    out = tmp_path / "results.txt"
    ran = []

    def run(script, arguments, **_):
        ran.append(script)
        if len(ran) == 4:
            raise KeyboardInterrupt
        text = "failed with code 1" if script == "b.py" else "1.0 s"
        return text, 1.0

    figures = [
        speed.Figure(name, f"{name}.py", one_thread=None) for name in ("a", "b", "c")
    ]
    figures.append(speed.Figure("d", "d.py"))
    monkeypatch.setattr(speed, "FIGURES", figures)
    monkeypatch.setattr(speed, "run", run)
    monkeypatch.setattr("sys.argv", ["speed", "--out", str(out)])
    with pytest.raises(KeyboardInterrupt):
        speed.main()
    assert ran == ["a.py", "b.py", "c.py", "d.py"]
    ran[:] = [""] * 5
    monkeypatch.setattr("sys.argv", ["speed", "--out", str(out), "--resume"])
    speed.main()
    assert ran[5:] == ["b.py", "d.py", "d.py"]  # what failed, what is missing
    assert "1.0 s" in speed.sections(out)["a"]
    other = out.read_text("utf-8").replace("numpy: ", "numpy: 0")
    out.write_text(other, encoding="utf-8")
    ran[:] = [""] * 5
    speed.main()  # a run by other versions is not continued
    assert ran[5:] == ["a.py", "b.py", "c.py", "d.py", "d.py"]


def test_resuming_needs_a_file(speed, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["speed", "--resume"])
    with pytest.raises(SystemExit):
        speed.main()
    assert "name it by --out" in capsys.readouterr().err


def test_missed_goals_are_listed_with_their_reasons(speed, monkeypatch):
    import ratios

    rows = [
        ratios.Ratio("fast", "a", "^fast #", 1.0, reason="not shown"),
        ratios.Ratio("slow", "a", "^slow #", 1.0, reason="it waits for a disk"),
        ratios.Ratio("few", "a", "^few #", 3.0, at_least=True),
        ratios.Ratio("absent", "b", "^absent #", 1.0),
    ]
    monkeypatch.setattr(ratios, "RATIOS", rows)
    text = ratios.table({"a": "fast 1.0\nslow 1.1\nfew 2"})
    assert "| fast | 1 | ≤ 1 | reached |" in text
    assert "| slow | 1.1 | ≤ 1 | missed |" in text
    assert "| absent | - | ≤ 1 | not measured |" in text
    assert "- slow: it waits for a disk.\n" in text
    assert "- few: the reason has not been looked for.\n" in text
    assert "not shown" not in text
    assert "No goal is missed." in ratios.table({"a": "fast 1\nslow 1\nfew 3"})


def test_every_row_of_the_table_is_about_a_figure_that_is_run(speed):
    import ratios

    titles = {figure.title for figure in speed.FIGURES}
    assert {row.section for row in ratios.RATIOS} <= titles


STORED = BENCHMARKS / "speed" / "results.txt"


def test_the_table_of_the_guide_is_that_of_the_stored_run(speed):
    table = STORED.with_suffix(".md").read_text(encoding="utf-8")
    assert table == speed.table(speed.sections(STORED))
    assert "failed with code" not in STORED.read_text(encoding="utf-8")


def test_the_pages_show_the_figures_of_the_stored_run(speed):
    import pages

    for path, fill in pages.PAGES.items():
        text = path.read_text(encoding="utf-8")
        assert fill(text, speed.sections(STORED)) == text, path.name


def test_figures_go_from_the_results_into_the_pages(speed):
    import pages
    import ratios

    waits = "what people wait for"
    measured = {
        waits: "krein demo: 9.0 processor s, 10.2 s",
        waits + ratios.ONE_THREAD: "krein demo: 9.0 processor s, 6.83 s",
        "threads": "compare, n = 400: one thread 3800 ms, default 4015 ms = 1.06 x",
    }
    page = "a\n<!-- seconds -->\nold\n<!-- end of seconds -->\nb"
    text = pages.guide(page, measured)
    assert "| `krein demo` | 10 s | 6.8 s |" in text
    assert "| `compare` of 400 items, all methods | 4.0 s | 3.8 s |" in text
    assert "| the same beside one other busy program | not measured |" in text
    assert "old" not in text
    readme = "make demo   # 99 seconds: all"
    assert pages.readme(readme, measured) == "make demo   # 15 seconds: all"
    assert pages.readme(readme, {}) == readme
    with pytest.raises(SystemExit, match="needs one"):
        pages.guide("no marks", measured)
    with pytest.raises(SystemExit, match="needs one"):
        pages.readme("no demo", measured)


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
