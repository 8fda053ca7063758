"""The one loop: history, stop, divergence, interruption, the best point."""

import numpy as np
import pytest

from krein.machines._loop import Iterate, run
from krein.result import Certificate, History


def halving(start=1.0, stop_at=None, value=lambda x: x):
    """A solver whose residual halves each step."""
    x, step = start, 0
    while True:
        yield Iterate(
            x=np.array([x]),
            value=value(x),
            certificate=Certificate("stationarity", x, x),
            bound=0.0,
            stop="converged" if step == stop_at else None,
            facts={"size": step},
        )
        x, step = x / 2, step + 1


def test_stops_at_the_tolerance_and_records_every_step():
    result = run(halving(), tol=0.1, max_iter=50)
    assert result.status == "converged"
    assert result.converged
    assert result.n_iter == 4
    np.testing.assert_array_equal(
        result.history["residual"], [1, 0.5, 0.25, 0.125, 0.0625]
    )
    np.testing.assert_array_equal(result.history["size"], np.arange(5))
    assert np.all(np.diff(result.history["seconds"]) >= 0)


def test_a_starting_point_that_is_good_enough_takes_no_step():
    assert run(halving(start=0.01), tol=0.1, max_iter=5).n_iter == 0


def test_max_iter_counts_steps_after_the_start():
    result = run(halving(), tol=1e-9, max_iter=3)
    assert (result.status, result.n_iter, result.x[0]) == ("max_iter", 3, 0.125)


def test_a_published_rule_can_stop_before_the_certificate():
    result = run(halving(stop_at=2), tol=1e-9, max_iter=50, stop="change")
    assert (result.status, result.n_iter) == ("converged", 2)


def test_the_best_point_by_certificate_is_returned():
    residuals = [1.0, 0.1, 0.7, 0.5]
    iterates = (
        Iterate(np.array([r]), r, Certificate("stationarity", r, r)) for r in residuals
    )
    assert run(iterates, tol=0.0, max_iter=10).x[0] == 0.1


def test_the_point_at_which_a_rule_held_is_returned():
    """Also where an earlier point had the better certificate."""
    pairs = [(5.0, 0.1), (7.0, 0.5), (7.0, 0.4)]
    iterates = (
        Iterate(np.array([float(i)]), value, Certificate("gap", r, r))
        for i, (value, r) in enumerate(pairs)
    )
    result = run(iterates, tol=1e-6, max_iter=10, stop="change")
    assert (result.status, result.x[0]) == ("converged", 2.0)


def test_what_is_not_finite_is_divergence_and_is_not_returned():
    def diverging():
        for x in (1.0, 2.0, np.inf):
            yield Iterate(np.array([x]), x, Certificate("stationarity", x, x))

    result = run(diverging(), tol=0.0, max_iter=10)
    assert result.status == "diverged"
    assert np.isfinite(result.x).all()


def test_a_start_that_is_not_finite_is_an_error():
    bad = iter([Iterate(np.array([np.nan]), np.nan, Certificate("gap", 1.0, 1.0))])
    with pytest.raises(ValueError, match="starting point"):
        run(bad, tol=0.0, max_iter=1)


def test_a_callback_stops_the_run_and_is_not_timed(monkeypatch):
    clock = iter(range(1000))
    monkeypatch.setattr("krein.machines._loop.time.perf_counter", lambda: next(clock))
    seen = []

    def callback(iterate):
        for _ in range(10):
            next(clock)
        seen.append(iterate.value)
        return len(seen) == 3

    result = run(halving(), tol=0.0, max_iter=50, callback=callback)
    assert (result.status, seen) == ("interrupted", [1.0, 0.5, 0.25])
    np.testing.assert_array_equal(result.history["seconds"], [1, 2, 3])


def test_history_reads_by_column_with_gaps_as_nan():
    history = History()
    history.record(value=1, size=3)
    history.record(value=2)
    assert list(history) == ["value", "size"]
    assert (len(history), history.n_rows) == (2, 2)
    np.testing.assert_array_equal(history["size"], [3, np.nan])
    with pytest.raises(KeyError, match="'gap' was not recorded; recorded: value, size"):
        history["gap"]


def test_result_shows_itself():
    result = run(halving(), tol=0.1, max_iter=50)
    assert repr(result).startswith("Result(converged after 4 iterations")
