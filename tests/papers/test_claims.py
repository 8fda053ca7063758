"""Claims: well-formed, judged from results alone, stored as computed."""

import csv
import dataclasses
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from papers import PAPERS, judge_paper, states, tables
from papers.claims import (
    IMPOSSIBLE,
    VERDICTS,
    Claim,
    Measured,
    compare,
    judge,
    means,
    printed,
    read_claims,
)
from papers.page import write_page
from papers.picture import numbers
from papers.runs import DivergedError, Run, Runner, Store, Table, Task
from papers.sentences import sentences
from papers.tally import Ledger, changes, read_ledger, since_first_reading

LEDGER = Path(__file__).parents[2] / "papers" / "ledger"
CLAIM = Claim("t", "d", "m", "accuracy", "0.80", "0.02", "", "argued")


def table(**settings):
    return Table("t", "p", "a table", lambda quick: [], lambda *a: {}, **settings)


PLAIN = table()


@pytest.mark.parametrize("paper", PAPERS)
def test_printed_claims_are_well_formed(paper):
    claims = printed(paper)
    names = {name for name, table in tables().items() if table.paper == paper}
    assert {claim.table for claim in claims} == names
    assert len({(c.table, *c.key) for c in claims}) == len(claims)
    for claim in claims:
        assert claim.known in ("", "tests nothing", "not to be had")
        if claim.known:
            assert claim.reason, claim
        elif claim.tolerance == "=":
            assert claim.paper in ("yes", "no")
        else:
            assert compare(claim.paper, 1.0, claim.tolerance)[0] in VERDICTS


@pytest.mark.parametrize("paper", PAPERS)
def test_stored_claims_are_what_the_results_give(paper):
    path = LEDGER / paper / "claims.csv"
    if not path.is_file():
        pytest.skip("this copy of krein has no ledger")
    assert read_claims(path) == judge_paper(paper, LEDGER)


@pytest.mark.parametrize("paper", PAPERS)
def test_every_paper_has_its_documents(paper):
    if not LEDGER.is_dir():
        pytest.skip("this copy of krein has no ledger")
    for name in ("protocol.md", "claims.csv"):
        assert (LEDGER / paper / name).stat().st_size > 0
    text = (LEDGER / paper / "protocol.md").read_text("utf-8")
    for name, table in tables().items():
        if table.paper == paper:
            assert name in text


def test_results_are_of_tasks_that_exist():
    for table in tables().values():
        store = Store(table, LEDGER)
        assert not store.outdated, table.name
        assert store.load().keys() <= set(table.tasks(False)), table.name


@pytest.mark.parametrize(
    ("ours", "verdict"), [(0.81, "holds"), (0.79, "holds"), (0.83, "differs")]
)
def test_a_number_holds_within_its_tolerance(ours, verdict):
    judged = judge(CLAIM, {CLAIM.key: Measured(ours, 0.01, 10)}, PLAIN)
    assert judged.verdict == verdict
    assert judged.ours == str(ours)
    assert judged.runs == "10"
    assert judged.reason.endswith("argued")


def test_the_runs_explain_what_differs_and_nothing_else():
    def explain(claim, measured):
        return f"{measured[claim.key].value} was seen"

    for ours, told in ((0.83, True), (0.80, False)):
        found = {CLAIM.key: Measured(ours, 0.01, 10)}
        judged = judge(CLAIM, found, table(explain=explain))
        assert judged.reason.endswith("was seen") == told


def test_a_number_that_was_not_reached_differs():
    judged = judge(CLAIM, {CLAIM.key: Measured("more than 200", None, 1)}, PLAIN)
    assert (judged.ours, judged.verdict) == ("more than 200", "differs")


@pytest.mark.parametrize(("steps", "verdict"), [(200, "not run"), (450, "differs")])
def test_a_run_cut_short_decides_nothing(steps, verdict):
    assert compare("150", f"more than {steps}", "x3")[0] == verdict


def test_nothing_measured_is_not_run():
    judged = judge(CLAIM, {}, PLAIN)
    assert judged.verdict == "not run"
    assert judged.ours == ""


def test_what_tests_nothing_is_counted_apart_whatever_was_measured():
    chosen = dataclasses.replace(CLAIM, known="tests nothing")
    assert judge(chosen, {}, PLAIN).verdict == "tests nothing"
    judged = judge(chosen, {CLAIM.key: Measured(0.80, None, 1)}, PLAIN)
    assert judged.verdict == "tests nothing"
    assert judged.ours == "0.8"


def test_a_row_that_contradicts_itself_cannot_hold():
    row = dataclasses.replace(CLAIM, paper="yes", tolerance="=")
    judged = judge(row, {CLAIM.key: Measured(IMPOSSIBLE, None, 1)}, PLAIN)
    assert judged.verdict == "cannot hold"
    assert compare("100", 99.0, ">=")[0] == "holds"
    assert compare("100", 101.0, ">=")[0] == "cannot hold"


def test_a_method_that_diverged_is_not_judged_by_the_runs_that_did_not():
    """Its mean is that of the others, but the verdict says so."""

    def compute(task, quick, earlier):
        if task.split == 1:
            raise DivergedError("away")
        return {"accuracy": 0.8, "status": "max_iter"}

    tasks = [Task("d", "m", split) for split in range(3)]
    run_by = Table("t", "p", "", lambda quick: tasks, compute)
    runs = [dataclasses.replace(r) for r in _run_here(run_by, tasks)]
    assert [run.diverged for run in runs] == [False, True, False]
    assert not any(run.failed for run in runs)
    judged = judge(CLAIM, means(runs), run_by)
    assert (judged.verdict, judged.runs) == ("diverged", "2")
    assert judged.reason == "1 of 3 runs diverged"


def _run_here(run_by, tasks):
    with tempfile.TemporaryDirectory() as folder:
        store = Store(run_by, Path(folder))
        list(Runner(store).run_all(tasks))
        again = [task for task in tasks if task not in store.load()]
        assert again == []  # divergence is a result: it is not run again
        return [store.load()[task] for task in tasks]


def test_every_reading_has_its_own_verdict():
    """The first that was run is the verdict; the others stand beside it."""
    read = table(readings={"new": "new one", "": "old one", "odd": "odd one"})
    found = {
        ("d", "m", "accuracy"): Measured(0.9, 0.01, 10),
        ("d", "m, odd", "accuracy"): Measured(0.85, 0.01, 10),
    }
    judged = judge(CLAIM, found, read)
    assert (judged.reading, judged.verdict) == ("old one", "differs")
    assert "new one: no number, not run" in judged.others
    found["d", "m, new", "accuracy"] = Measured(0.8, 0.01, 10)
    judged = judge(CLAIM, found, read)
    assert (judged.reading, judged.verdict) == ("new one", "holds")
    assert judged.others == "old one: 0.9, differs; odd one: 0.85, differs"
    assert judged.method == "m"


def test_a_sentence_holds_if_the_results_say_yes():
    sentence = dataclasses.replace(CLAIM, paper="yes", tolerance="=")
    for word, verdict in (("yes", "holds"), ("no", "differs")):
        found = {CLAIM.key: Measured(word, None, 3)}
        assert judge(sentence, found, PLAIN).verdict == verdict


@given(st.floats(0.01, 1e6), st.floats(1.0, 10.0))
def test_factors_count_in_both_directions(value, factor):
    paper = repr(value)
    wide, narrow = f"x{factor * 1.001}", f"x{factor}"
    assert compare(paper, value * factor, wide)[0] == "holds"
    assert compare(paper, value / factor, wide)[0] == "holds"
    assert compare(paper, value * factor * 1.01, narrow)[0] == "differs"


@given(st.floats(-1e6, 1e6), st.floats(0, 1e3))
def test_a_tolerance_is_symmetric(value, off):
    paper, tolerance = repr(value), repr(off + 1e-6)
    assert compare(paper, value + off, tolerance)[0] == "holds"
    assert compare(paper, value - off, tolerance)[0] == "holds"


def test_means_over_splits():
    runs = [
        Run(Task("d", "m", i), {"x": i, "curve": [1], "w": "yes"}, 0) for i in (1, 3)
    ]
    (item,) = means(runs).items()
    assert item == (("d", "m", "x"), Measured(2.0, 2**0.5, 2))


def test_half_a_mean_is_not_judged():
    from papers import complete

    table = tables()["liu-table2"]
    runs = [Run(Task("sonar", "half", i), {"mu_max": 1.0}, 0.0) for i in range(10)]
    assert complete(table, runs[:9]) == []
    assert complete(table, runs) == runs
    broken = Run(Task("sonar", "half", 9), {"failed": "why"}, 0.0)
    assert complete(table, [*runs[:9], broken]) == []


def test_states_count_every_claim(tmp_path):
    listed = states(tmp_path)
    assert {state.table for state in listed} == set(tables())
    assert all(state.word == "not run" for state in listed)
    total = sum(len(printed(paper)) for paper in PAPERS)
    assert sum(sum(state.verdicts.values()) for state in listed) == total
    assert {v for state in listed for v in state.verdicts} <= set(VERDICTS)
    assert "holds" not in {v for state in listed for v in state.verdicts}
    assert listed[0].runs.startswith("0 of ")


def test_rows_that_cannot_hold_are_found_from_what_is_printed():
    """Chen and Ye: two decimals in a mean of ten whole numbers, and sums above n."""
    rows = [c for c in judge_paper("chen", LEDGER) if c.verdict == "cannot hold"]
    assert [row.quantity for row in rows] == 6 * ["both counts as printed"]
    counts = [c for c in printed("chen") if c.quantity.endswith("tive eigenvalues")]
    assert len(counts) == 12
    assert not any(count.known for count in counts)  # each has its own verdict
    assert all(abs(float(c.paper) * 10 % 1 - 0.5) < 0.5 for c in counts)


def test_rows_of_one_classifier_cannot_print_four_numbers():
    rows = [c for c in judge_paper("liu", LEDGER) if c.verdict == "cannot hold"]
    found = {row.dataset for row in rows if row.table == "liu-table3"}
    assert found == {"sonar", "climate", "ionosphere", "parkinsons"}
    below = {row.dataset for row in rows if row.table == "liu-table2"}
    assert below == {"EEG", "ijcnn1-tr", "madelon"}


def test_claims_files_are_plain_csv(tmp_path):
    from papers.claims import write_claims

    odd = dataclasses.replace(CLAIM, reason='a, "quoted"; line')
    write_claims(tmp_path / "c.csv", [odd])
    assert read_claims(tmp_path / "c.csv") == [odd]
    with open(tmp_path / "c.csv", newline="") as handle:
        assert next(csv.reader(handle))[0] == "table"


def test_the_page_shows_what_was_measured(tmp_path):
    """Raw rows beside mapped rows, from the results and not from the claims."""
    shutil.copytree(LEDGER, tmp_path / "papers")
    write_page(tmp_path / "papers.md", tmp_path / "papers")
    text = (tmp_path / "papers.md").read_text("utf-8")
    assert (tmp_path / "papers_claims.png").stat().st_size > 10_000
    assert "(papers_claims.png)" in text
    assert "## Verdicts" in text
    rows = text.splitlines()
    by_method = {row.split(" | ")[0]: row for row in rows if "sim_" not in row}
    error = {
        fix: float(by_method[f"| flip, {fix} rows"].split(" | ")[2].split(" ")[0])
        for fix in ("mapped", "raw")
    }
    assert 0 < error["mapped"] < 5 < 20 < error["raw"]  # on protein


def test_ten_sentences_whose_numbers_are_counted():
    ledger = read_ledger_here()
    said = sentences(ledger)
    assert len(said) == 10
    count = ledger.count()
    assert f"Of {len(ledger.claims)} printed numbers" in said[0]
    assert f" {count['holds']} hold, {count['differs']} differ" in said[0]
    errors = [c for c in ledger.of("walder-table1") if c.quantity == "error"]
    good = sum(claim.verdict == "holds" for claim in errors)
    assert f"{good} of {len(errors)} error rates hold" in said[8]


def read_ledger_here():
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "ledger"
        shutil.copytree(LEDGER, copy)
        return read_ledger(copy)


def test_the_page_and_its_picture_are_those_of_the_ledger(tmp_path):
    """docs/papers.md is what the results give, line by line."""
    shutil.copytree(LEDGER, tmp_path / "ledger")
    write_page(tmp_path / "papers.md", tmp_path / "ledger")
    stored = LEDGER.parents[1] / "docs" / "papers.md"
    assert stored.read_text("utf-8") == (tmp_path / "papers.md").read_text("utf-8")


def test_verdicts_that_change_with_the_splits_are_named(tmp_path):
    """Of the same results none; after one number was spoiled, that one."""
    shutil.copytree(LEDGER, tmp_path / "ledger")
    ledger = read_ledger(tmp_path / "ledger")
    same = changes(ledger, tmp_path / "ledger")
    assert sum(count for count, _ in same.values()) > 300
    assert not any(changed for _, changed in same.values())
    path = tmp_path / "ledger" / "walder" / "results" / "walder-table1.jsonl"
    lines = path.read_text("utf-8").splitlines(keepends=True)
    spoilt = [
        line.replace('"error": ', '"error": 50')
        if '"banana"' in line and '"Gaussian"' in line
        else line
        for line in lines
    ]
    path.write_text("".join(spoilt), "utf-8")
    count, changed = changes(ledger, tmp_path / "ledger")["walder-table1"]
    assert count > 30
    assert "banana, Gaussian, error: holds, then differs" in changed


def test_verdicts_of_the_first_reading_are_carried_forward():
    """What was, less what left, plus what came, is what is."""
    ledger = read_ledger_here()
    before, changed = since_first_reading(ledger)
    assert before.total() == 486
    assert (before["holds"], before["cannot hold"]) == (273, 31)
    now = before.copy()
    for (then, verdict, why), n in changed.items():
        assert then != verdict
        assert why
        now[then] -= n
        now[verdict] += n
    assert now.pop("no claim") == before.total() - len(ledger.claims)
    assert +now == ledger.count()


def test_numbers_without_a_pair_are_not_in_the_picture():
    good = dataclasses.replace(CLAIM, ours="-0.79", verdict="holds")
    word = dataclasses.replace(CLAIM, paper="yes", ours="no")
    shares, others = numbers([good, word, CLAIM])
    assert [(v, round(x), round(y)) for v, x, y in shares] == [("holds", 80, 79)]
    assert others == []
    size = dataclasses.replace(good, quantity="n", paper="-3", ours="4")
    assert numbers([size]) == ([], [("holds", 3.0, 4.0)])


def test_deviations_are_means_over_what_all_readings_compare():
    def claim(ours, verdict, paper="0.50"):
        return Claim(
            *("table", "set", "method", "accuracy", paper, "0.02", ""),
            ours=ours,
            verdict=verdict,
        )

    readings = [
        {"a": claim("0.51", "holds"), "b": claim("0.60", "differs")},
        {"a": claim("0.53", "differs"), "b": claim("0.50", "holds")},
        {"a": claim("", "diverged"), "b": claim("0.90", "differs")},
        {"a": claim("0.10", "differs")},
    ]
    ledger = Ledger([], readings, {})
    always = ledger.deviations("table", lambda claim: True, ("a", "b"))
    assert always == ["0.020", "0.050"]
    never = ledger.deviations("other", lambda claim: True, ("a", "b"))
    assert never == ["(not run)"] * 2
