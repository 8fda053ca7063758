"""Claims: well-formed, judged from results alone; the page is what they give."""

import csv
import dataclasses
import tempfile
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from papers import LEDGER, PAPERS, complete, states, tables
from papers.claims import (
    IMPOSSIBLE,
    VERDICTS,
    Claim,
    Measured,
    by_reading,
    compare,
    means,
    printed,
)
from papers.page import REASONS, write_page
from papers.picture import numbers
from papers.power import AT_RISK, CANNOT_FAIL, FOLLOWS, kind_of, reason_of
from papers.runs import DivergedError, Run, Runner, Store, Table, Task
from papers.sentences import sentences
from papers.tally import (
    Ledger,
    compared,
    other_seeds,
    read_ledger,
    since_second_reading,
)

DOCS = LEDGER.parents[1] / "docs"
CLAIM = Claim("t", "d", "m", "accuracy", "0.80", "0.02", "", "argued")


def table(**settings):
    return Table("t", "p", "a table", lambda quick: [], lambda *a: {}, **settings)


PLAIN = table()


def judge(claim, measured, table):
    """Return the claim under the reading that decides."""
    return next(iter(by_reading(claim, measured, table).values()))


@pytest.fixture(scope="module")
def ledger():
    return read_ledger(LEDGER)


@pytest.mark.parametrize("paper", PAPERS)
def test_printed_claims_are_well_formed(paper):
    claims = printed(paper)
    names = {name for name, table in tables().items() if table.paper == paper}
    assert {claim.table for claim in claims} == (names if claims else set())
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
def test_every_paper_has_its_protocol(paper):
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
    """The first that was run is the verdict."""
    read = table(readings={"new": "new one", "": "old one", "odd": "odd one"})
    found = {
        ("d", "m", "accuracy"): Measured(0.9, 0.01, 10),
        ("d", "m, odd", "accuracy"): Measured(0.85, 0.01, 10),
    }
    verdicts = by_reading(CLAIM, found, read)
    assert list(verdicts) == ["old one", "odd one"]
    assert {claim.verdict for claim in verdicts.values()} == {"differs"}
    found["d", "m, new", "accuracy"] = Measured(0.8, 0.01, 10)
    first = judge(CLAIM, found, read)
    assert (first.reading, first.verdict, first.method) == ("new one", "holds", "m")


def test_where_the_first_reading_binds_another_one_decides_nothing():
    read = table(
        readings={"new": "new one", "": "old one"},
        binding=lambda claim: claim.quantity == "accuracy",
    )
    found = {("d", "m", "accuracy"): Measured(0.9, 0.01, 10)}
    verdicts = by_reading(CLAIM, found, read)
    assert [claim.verdict for claim in verdicts.values()] == ["not run", "differs"]
    free = dataclasses.replace(CLAIM, quantity="error")
    assert judge(free, {free.key: Measured(0.9, 0.01, 10)}, read).verdict == "differs"


def test_a_method_that_no_reading_concerns_has_one_verdict():
    read = table(readings={"new": "new one", "": "old one"}, under=lambda m, r: m)
    found = {("d", "m", "accuracy"): Measured(0.8, 0.01, 10)}
    assert list(by_reading(CLAIM, found, read)) == [""]


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
    table = tables()["liu-table2"]
    runs = [Run(Task("sonar", "half", i), {"mu_max": 1.0}, 0.0) for i in range(10)]
    assert complete(table, runs[:9]) == []
    assert complete(table, runs) == runs
    broken = Run(Task("sonar", "half", 9), {"failed": "why"}, 0.0)
    assert complete(table, [*runs[:9], broken]) == []


def test_states_count_every_claim(tmp_path):
    listed = states(tmp_path)
    assert {state.table.name for state in listed} == set(tables())
    assert all(state.word == "not run" for state in listed)
    total = sum(len(printed(paper)) for paper in PAPERS)
    assert sum(sum(state.verdicts.values()) for state in listed) == total
    assert {v for state in listed for v in state.verdicts} <= set(VERDICTS)
    assert "holds" not in {v for state in listed for v in state.verdicts}
    assert listed[0].runs.startswith("0 of ")


def test_rows_that_cannot_hold_are_found_from_what_is_printed(ledger):
    """Chen and Ye: two decimals in a mean of ten whole numbers, and sums above n."""
    rows = [c for c in ledger.of("chen") if c.verdict == "cannot hold"]
    assert [row.quantity for row in rows] == 6 * ["both counts as printed"]
    counts = [c for c in printed("chen") if c.quantity.endswith("tive eigenvalues")]
    assert len(counts) == 12
    assert not any(count.known for count in counts)  # each has its own verdict
    assert all(abs(float(c.paper) * 10 % 1 - 0.5) < 0.5 for c in counts)


def test_rows_of_one_classifier_cannot_print_four_numbers(ledger):
    """Unless fixes were applied to the matrix of all points, and it is indefinite."""
    rows = [c for c in ledger.of("liu") if c.quantity == "four accuracies as printed"]
    assert {row.dataset: row.verdict for row in rows} == {
        "sonar": "cannot hold",
        "climate": "cannot hold",
        "ionosphere": "differs",
        "parkinsons": "differs",
    }
    below = [c for c in ledger.of("liu") if c.verdict == "cannot hold"]
    assert {"EEG", "ijcnn1-tr", "madelon"} <= {row.dataset for row in below}


def test_ten_lines_whose_numbers_are_counted(ledger):
    said = sentences(ledger, other_seeds())
    assert len(said) == 10
    words = [claim.verdict for claim in ledger.claims]
    assert f"{len(words)} numbers and sentences" in said[0]
    assert f" {words.count('holds')} hold, {words.count('differs')} differ" in said[0]
    risk = [c.verdict for c in ledger.claims if kind_of(c) == AT_RISK]
    decided = sum(risk.count(word) for word in ("holds", "differs", "diverged"))
    assert f"**At risk** were {decided} " in said[1]
    assert f": {risk.count('holds')} of them hold." in said[1]
    errors = [c for c in ledger.of("walder") if c.quantity == "error"]
    good = sum(claim.verdict == "holds" for claim in errors)
    assert f"{good} of {len(errors)} error rates" in said[9]


def test_claims_that_were_not_at_risk_are_counted_apart(ledger):
    """By what they are, whatever their verdict: near-automatic ones hold."""
    kinds = Counter(kind_of(claim) for claim in ledger.claims)
    assert kinds.keys() == {AT_RISK, FOLLOWS, CANNOT_FAIL}
    assert kinds.total() == len(ledger.claims)
    sure = [c for c in ledger.claims if kind_of(c) == CANNOT_FAIL]
    assert {claim.verdict for claim in sure} == {"holds"}
    assert sum(claim.quantity == "standard error" for claim in sure) == 24
    counts = [c for c in ledger.claims if c.quantity == "positive eigenvalues"]
    assert {kind_of(claim) for claim in counts} == {FOLLOWS}
    for claim in ledger.claims:
        assert bool(reason_of(claim)) == (kind_of(claim) != AT_RISK)
    assert kind_of(CLAIM) == AT_RISK


def test_what_the_paper_states_decides(ledger):
    """Chen and Ye: a width by cross-validation, also where another one fits better."""
    rows = [c for c in ledger.claims if c.table == "chen-table1"]
    assert {c.reading for c in rows if c.quantity == "accuracy"} == {
        "width tuned, whole matrix"
    }
    signatures = {c.reading for c in rows if c.method == "signature"}
    assert signatures == {"width tuned, rows mapped"}
    usps = [c for c in rows if c.dataset == "USPS-35" and c.quantity == "accuracy"]
    assert all(float(claim.ours) > 90.0 for claim in usps)


def test_the_order_of_figure_3_is_a_claim(ledger):
    quantity = "fewer iterations than CCCP-GD"
    (claim,) = [c for c in ledger.claims if c.quantity == quantity]
    steps = {
        name: ledger.find("liu-figure3", "monks1", name, "iterations to converge")
        for name in ("CCICP-GD", "CCCP-GD")
    }
    fewer = float(steps["CCICP-GD"].ours) < float(steps["CCCP-GD"].ours)
    assert claim.verdict == ("holds" if fewer else "differs")
    assert claim.ours == ("yes" if fewer else "no")


def test_the_page_and_its_rows_are_those_of_the_ledger(tmp_path):
    """docs/papers.md and docs/papers.csv are what the results give, line by line."""
    count = write_page(tmp_path / "papers.md", LEDGER)
    for name in ("papers.md", "papers.csv"):
        stored = (DOCS / name).read_text("utf-8")
        assert stored == (tmp_path / name).read_text("utf-8"), name
    assert (tmp_path / "papers_claims.png").stat().st_size > 10_000
    with open(DOCS / "papers.csv", encoding="utf-8", newline="") as handle:
        rows = list(csv.DictReader(handle))
    assert len(rows) == count
    assert {row["verdict"] for row in rows} <= set(VERDICTS)


def test_the_pages_on_the_papers_stay_short():
    pages = (DOCS / "papers.md", DOCS / "guide" / "papers.md")
    assert sum(len(page.read_text("utf-8").split()) for page in pages) < 6500


def test_verdicts_that_change_with_the_splits_are_found(ledger):
    """Of the same results none; after one number was spoiled, that one."""
    pairs = list(compared(ledger, ledger))
    assert len(pairs) > 300
    assert all(a.verdict == b.verdict for a, b in pairs)
    spoilt = [
        {
            label: dataclasses.replace(claim, verdict="differs")
            if claim.key == ("banana", "Gaussian", "error")
            else claim
            for label, claim in by.items()
        }
        for by in ledger.readings
    ]
    changed = [a for a, b in compared(ledger, Ledger(spoilt)) if a.verdict != b.verdict]
    assert [claim.key for claim in changed] == [("banana", "Gaussian", "error")]


def test_verdicts_of_the_second_reading_are_carried_forward(ledger):
    """What was, less what left, plus what came, is what is; for a reason."""
    before, changed = since_second_reading(ledger)
    assert before.total() == 496
    assert (before["holds"], before["not run"]) == (266, 0)
    now = before.copy()
    for (name, then, verdict), n in changed.items():
        assert REASONS[name, then, verdict]
        now[then] -= n
        now[verdict] += n
    assert now.pop("no claim") == before.total() - len(ledger.claims)
    assert {v: n for v, n in now.items() if n} == {
        v: sum(c.verdict == v for c in ledger.claims)
        for v in VERDICTS
        if any(c.verdict == v for c in ledger.claims)
    }


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
    ledger = Ledger(readings)
    always = ledger.deviations("table", lambda claim: True, ("a", "b"))
    assert always == pytest.approx([0.02, 0.05])
    assert ledger.deviations("other", lambda claim: True, ("a", "b")) == []
