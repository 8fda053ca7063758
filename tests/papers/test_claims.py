"""Claims: well-formed, judged from results alone, stored as computed."""

import csv
import dataclasses
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from papers import PAPERS, judge_paper, states, tables
from papers.claims import (
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
from papers.runs import Run, Store, Task

LEDGER = Path(__file__).parents[2] / "papers" / "ledger"
CLAIM = Claim("t", "d", "m", "accuracy", "0.80", "0.02", "", "argued")


@pytest.mark.parametrize("paper", PAPERS)
def test_printed_claims_are_well_formed(paper):
    claims = printed(paper)
    names = {name for name, table in tables().items() if table.paper == paper}
    assert {claim.table for claim in claims} == names
    assert len({(c.table, *c.key) for c in claims}) == len(claims)
    for claim in claims:
        assert claim.known in ("", "cannot hold", "not to be had")
        if claim.known:
            assert claim.reason, claim
        elif claim.tolerance == "=":
            assert claim.paper in ("yes", "no")
        else:
            assert isinstance(compare(claim.paper, 1.0, claim.tolerance)[0], bool)


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
    judged = judge(CLAIM, {CLAIM.key: Measured(ours, 0.01, 10)})
    assert judged.verdict == verdict
    assert judged.ours == str(ours)
    assert judged.runs == "10"
    assert judged.reason.endswith("argued")


def test_the_runs_explain_what_differs_and_nothing_else():
    def explain(claim, measured):
        return f"{measured[claim.key].value} was seen"

    for ours, told in ((0.83, True), (0.80, False)):
        judged = judge(CLAIM, {CLAIM.key: Measured(ours, 0.01, 10)}, explain)
        assert judged.reason.endswith("was seen") == told


def test_a_number_that_was_not_reached_differs():
    judged = judge(CLAIM, {CLAIM.key: Measured("more than 200", None, 1)})
    assert (judged.ours, judged.verdict) == ("more than 200", "differs")


def test_nothing_measured_is_not_run():
    judged = judge(CLAIM, {})
    assert judged.verdict == "not run"
    assert judged.ours == ""


def test_a_proof_stands_whatever_was_measured():
    proven = dataclasses.replace(CLAIM, known="cannot hold")
    assert judge(proven, {}).verdict == "cannot hold"
    judged = judge(proven, {CLAIM.key: Measured(0.80, None, 1)})
    assert judged.verdict == "cannot hold"
    assert judged.ours == "0.8"


def test_a_sentence_holds_if_the_results_say_yes():
    sentence = dataclasses.replace(CLAIM, paper="yes", tolerance="=")
    for word, verdict in (("yes", "holds"), ("no", "differs")):
        assert judge(sentence, {CLAIM.key: Measured(word, None, 3)}).verdict == verdict


@given(st.floats(0.01, 1e6), st.floats(1.0, 10.0))
def test_factors_count_in_both_directions(value, factor):
    paper = repr(value)
    assert compare(paper, value * factor, f"x{factor * 1.001}")[0]
    assert compare(paper, value / factor, f"x{factor * 1.001}")[0]
    assert not compare(paper, value * factor * 1.01, f"x{factor}")[0]


@given(st.floats(-1e6, 1e6), st.floats(0, 1e3))
def test_a_tolerance_is_symmetric(value, off):
    paper, tolerance = repr(value), repr(off + 1e-6)
    assert compare(paper, value + off, tolerance)[0]
    assert compare(paper, value - off, tolerance)[0]


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


def test_counts_that_cannot_hold_really_cannot():
    """Chen and Ye: two decimals in a mean of ten whole numbers; sums above n."""
    rows = [c for c in printed("chen") if c.quantity.endswith("tive eigenvalues")]
    assert len(rows) == 12
    for row in rows:
        assert row.known == "cannot hold"
        assert abs(float(row.paper) * 10 - round(float(row.paper) * 10)) > 1e-6


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
    rows = (tmp_path / "papers.md").read_text("utf-8").splitlines()
    by_method = {row.split(" | ")[0]: row for row in rows if "sim_" not in row}
    error = {
        fix: float(by_method[f"| flip, {fix} rows"].split(" | ")[2].split(" ")[0])
        for fix in ("mapped", "raw")
    }
    assert 0 < error["mapped"] < 5 < 20 < error["raw"]  # on protein
