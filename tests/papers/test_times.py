"""Times of solvers: ratios, and lower bounds of runs that were cut short."""

import numpy as np
import pytest

from krein import ProxySVC
from papers import tables
from papers.claims import Measured, by_reading, printed
from papers.conic_master import OutOfTimeError, conic_master, conic_master_for
from papers.experiments import quiet_fit
from papers.noisy_kernels import SETS


@pytest.mark.parametrize(
    ("seconds", "ratio", "slower"),
    [
        (4.0, "not run", "not run"),  # SPGM takes 5 seconds
        (6.0, "not run", "holds"),
        (235.0, "not run", "holds"),  # 78.5 is printed, a factor of 3 would hold
        (236.0, "differs", "holds"),
    ],
)
def test_a_time_that_was_cut_short_is_a_lower_bound(seconds, ratio, slower):
    """Judged by it are the claims that no longer run could change."""
    found = _times_on_all_sets(cut_short=("Diabetes", seconds))
    ratios = _judged_times(found, "Diabetes", "seconds / seconds of SMM")
    assert (ratios.verdict, ratios.ours) == (ratio, f"more than {seconds:.4g}")
    assert _judged_times(found, "all", "slower than SPGM").verdict == slower


def test_a_time_that_ended_is_compared_as_it_is():
    found = _times_on_all_sets(cut_short=("Diabetes", 236.0))
    for name, verdict in (("Sonar", "holds"), ("Breast-cancer", "differs")):
        claim = _judged_times(found, name, "seconds / seconds of SMM")
        assert (claim.verdict, claim.ours) == (verdict, "250")


@pytest.mark.parametrize(
    ("kernels", "verdict", "words"),
    [(59, "holds", "250"), (60, "not run", "more than 250")],
)
def test_a_run_that_used_up_its_kernels_was_cut_short(kernels, verdict, words):
    """Sixty kernels are our choice; the paper stops by the change of the objective."""
    found = _times_on_all_sets(cut_short=("Diabetes", 236.0))
    run = ("Sonar", "time of SIQCLP, conic solver")
    found[*run, "iterations"] = Measured(float(kernels), None, 1)
    claim = _judged_times(found, "Sonar", "seconds / seconds of SMM")
    assert (claim.verdict, claim.ours) == (verdict, words)
    assert _judged_times(found, "all", "slower than SPGM").verdict == "holds"


def test_times_by_another_reading_decide_nothing():
    found = _times_on_all_sets(cut_short=("Diabetes", 236.0))
    conic = "time of SIQCLP, conic solver"
    found = {key: value for key, value in found.items() if key[1] != conic}
    found["Sonar", "time of SIQCLP", "seconds"] = Measured(330.0, None, 1)
    claim = _judged_times(found, "Sonar", "seconds / seconds of SMM")
    assert claim.verdict == "not run"


def _times_on_all_sets(cut_short):
    """SMM takes 1 second, SPGM 5, SIQCLP 250 on all sets but the one cut short."""
    found = {}
    for name in SETS:
        times = {"SMM": 1.0, "SPGM": 5.0, "SIQCLP, conic solver": 250.0}
        for method, seconds in times.items():
            found[name, f"time of {method}", "seconds"] = Measured(seconds, None, 1)
    name, least = cut_short
    run = (name, "time of SIQCLP, conic solver")
    del found[*run, "seconds"]
    # SMM is timed again there, in the same process.
    found[name, "time of SMM", "seconds"] = Measured(0.5, None, 1)
    found[*run, "seconds of SMM"] = Measured(1.0, None, 1)
    found[*run, "seconds at least"] = Measured(least, None, 1)
    return found


def _judged_times(found, name, quantity):
    table = tables()["ying-table3"]
    claims = [c for c in printed("ying") if c.key == (name, "SIQCLP", quantity)]
    measured = {**found, **table.derive(found, [])}
    return next(iter(by_reading(claims[0], measured, table).values()))


def test_the_general_solver_ends_when_its_time_is_over():
    X = np.random.default_rng(0).normal(size=(20, 2))
    K, y = X @ X.T - 0.5, np.where(X[:, 0] > 0, 1, -1)

    def fit(master):
        options = {"master": master, "domain": "paper"}
        model = ProxySVC(solver="siqclp", max_iter=5, solver_options=options)
        return quiet_fit(model, K, y).objective_[0]

    assert fit(conic_master_for(60.0)) == fit(conic_master)
    with pytest.raises(OutOfTimeError, match="after 0 steps"):
        fit(conic_master_for(-1.0))
