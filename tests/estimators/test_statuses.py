"""How a fit that missed its tolerance ended, and what users are told to do."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from krein import (
    CPDSVC,
    KreinLogisticRegression,
    KreinRidge,
    SpectrumSVC,
    load_model,
    save_model,
)
from krein.machines._loop import Iterate, run
from krein.result import Certificate, Result


def far_outlier():
    """Spline kernel of an item 1e10 away: its rounding is beyond any tolerance."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 2))
    X[0] *= 1e10
    return X, rng.random(40) < 0.5


def fit_warned(model, *data):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(*data)
    return [(w.category, str(w.message)) for w in caught]


def steps(relative):
    for value in relative:
        yield Iterate(np.zeros(1), 1.0, Certificate("gap", value, value))


@pytest.mark.parametrize(
    ("relative", "status"),
    [
        ((1.0, 0.5), "stalled"),
        ((1.0, 0.5, 0.4, 0.3), "max_iter"),
        ((1.0, 0.5, 0.4), "stalled"),  # the solver ended one step before the limit
        ((1.0, 0.01), "converged"),
    ],
)
def test_only_a_run_of_max_iter_steps_says_so(relative, status):
    result = run(steps(relative), tol=0.1, max_iter=3)
    assert result.status == status
    assert result.n_iter == len(relative) - 1


@pytest.mark.parametrize("tol", [1e-3, 1e-9])
def test_counted_rounding_is_told_from_the_gap_of_the_solver(tol):
    own = Certificate("gap", 1e-10, 1e-10)
    result = Result(np.zeros(1), 1.0, own, "converged", 3)
    counted = result.certified(Certificate("gap", 1e-6, 1e-6), tol)
    assert counted.status == ("converged" if tol == 1e-3 else "stalled")
    assert counted.is_solved_to_rounding(tol) == (tol == 1e-9)
    assert not counted.is_solved_to_rounding(1e-11)  # neither did the solver
    if tol == 1e-9:
        assert counted.certificate.rounding == pytest.approx(1e-6 - 1e-10)


def test_a_fit_at_its_rounding_is_no_failure_and_says_what_limits_it():
    """The solver's own gap is within tol: nothing is wrong but the size of the data."""
    X, y = far_outlier()
    model = CPDSVC(loss="squared", exponent=1, scale=False, alpha=1e-4, tol=1e-10)
    ((category, text),) = fit_warned(model, X, y)
    assert category is UserWarning
    assert "solved to rounding" in text
    assert "raise alpha" in text
    assert "raise tol" in text
    assert "max_iter" not in text
    assert model.result_.status == "stalled"
    assert model.result_.is_solved_to_rounding(model.tol)
    # Following the advice helps.
    assert not fit_warned(model.set_params(tol=1e-3), X, y)
    assert model.result_.status == "converged"


def test_a_stall_is_not_told_to_iterate(rng):
    A = rng.standard_normal((40, 40))
    K, y = A @ A.T, rng.random(40) < 0.5
    model = KreinLogisticRegression(tol=1e-18)
    ((category, text),) = fit_warned(model, K, y)
    assert category is ConvergenceWarning
    assert "More iterations do not help" in text
    assert "raise alpha" in text
    assert "Raise max_iter" not in text
    assert model.result_.status == "stalled"
    ((category, text),) = fit_warned(model.set_params(max_iter=1, tol=1e-8), K, y)
    assert category is ConvergenceWarning
    assert text.endswith("Raise max_iter or tol")
    assert model.result_.status == "max_iter"


def test_machines_with_C_are_told_to_lower_it(rng):
    F = rng.standard_normal((30, 30))
    model = SpectrumSVC(C=1e3, tol=1e-300)
    messages = fit_warned(model, F @ F.T, rng.random(30) < 0.5)
    ((_, text),) = messages
    assert "lower C" in text
    assert model.result_.status == "stalled"


def test_a_direct_solution_never_runs_out_of_steps(rng):
    F = rng.standard_normal((30, 30))
    model = KreinRidge(alpha=1e-3, tol=1e-300)
    fit_warned(model, F @ F.T, rng.standard_normal(30))
    assert model.result_.status == "stalled"


def test_a_file_keeps_status_and_rounding(tmp_path):
    X, y = far_outlier()
    model = CPDSVC(loss="squared", exponent=1, scale=False, alpha=1e-4, tol=1e-10)
    fit_warned(model, X, y)
    save_model(model, tmp_path / "model.krein")
    again = load_model(tmp_path / "model.krein").result_
    assert again.status == "stalled"
    assert again.certificate == model.result_.certificate
