"""C.p.d. machines with many violators: features, far scales, refusals."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.exceptions import ConvergenceWarning

from krein import CPDSVC, check_certificate
from krein.kernels.splines import monomials, thin_plate_kernel
from krein.machines.cpd import CPDProblem, cpd_newton
from krein.machines.cpd_columns import DenseColumns
from krein.machines.cpd_space import Polynomials, basis_space, centred_space
from krein.machines.losses import LOSSES

N = 800


@pytest.fixture
def data(rng):
    X = rng.standard_normal((N, 2))
    y = np.where(X[:, 0] ** 2 + 2 * rng.standard_normal(N) > 1, 1.0, -1.0)
    return X, y, rng.uniform(0.5, 2.0, N)


def problems(data, loss, lam):
    """The same problem by 60 features, and by the matrix that they make."""
    X, y, weight = data
    Phi = thin_plate_kernel(X)
    space = basis_space(
        lambda rows, columns: Phi[np.ix_(rows, columns)],
        Polynomials.fit(monomials(X, 1)),
        np.arange(60),
        free=True,
    )
    F, losses = space.columns.F, LOSSES[loss](y, weight)
    for columns in (space.columns, DenseColumns(F @ F.T)):
        yield CPDProblem(columns, space.null, losses, lam)


@pytest.mark.parametrize("loss", sorted(LOSSES))
@pytest.mark.parametrize("lam", [1e-3, 1.0, 100.0])
def test_features_have_the_solution_of_their_matrix(data, loss, lam):
    found, wanted = map(cpd_newton, problems(data, loss, lam))
    assert found.status == wanted.status == "converged"
    assert found.value == pytest.approx(wanted.value, rel=1e-9)
    scale = np.abs(wanted.info["f"]).max()
    np.testing.assert_allclose(found.info["f"], wanted.info["f"], atol=1e-5 * scale)
    # The bound lies below the value of any point.
    assert found.value - found.certificate.value <= wanted.value * (1 + 1e-8)


def test_the_referee_agrees_on_features(data):
    X, y, weight = (part[:250] for part in data)
    for loss in ("squared_hinge", "logistic"):
        model = CPDSVC(alpha=10.0, loss=loss, n_basis=40, random_state=0)
        model.fit(X, y, sample_weight=weight)
        assert check_certificate(model, X, y, sample_weight=weight).holds


def test_an_indefinite_matrix_is_refused(data):
    X, y, _ = data
    K = thin_plate_kernel(X, exponent=1)
    with pytest.raises(ValueError, match="not conditionally positive definite"):
        CPDSVC(alpha=1.0, kernel="precomputed").fit(-K, y)


def test_damped_steps_never_climb(data):
    X, y, weight = data
    Phi = thin_plate_kernel(X)
    space = centred_space(
        lambda rows, columns: Phi[np.ix_(rows, columns)],
        Polynomials.fit(monomials(X, 1)),
    )
    for lam in (0.01, 1.0):
        loss = LOSSES["squared_hinge"](y, weight)
        problem = CPDProblem(space.columns, space.null, loss, lam)
        history = cpd_newton(problem).history
        assert np.all(np.diff(history["value"]) <= 1e-12 * history["value"][0])


@pytest.mark.parametrize(
    ("alpha", "weight"), [(1e150, 1.0), (1e150, 1e150), (1e-12, 1e150), (1.0, 1e-150)]
)
def test_far_alphas_and_weights_stay_in_range(alpha, weight):
    X, y = make_moons(900, noise=0.3, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = CPDSVC(alpha, max_iter=20).fit(X, y, np.full(900, weight))
    assert np.isfinite(model.dual_coef_).all()
    assert np.isfinite(model.objective_[0])
    assert model.duality_gap_[0] >= 0.0


@pytest.mark.parametrize(("alpha", "weight"), [(1e-150, 1e200), (1e150, 1e-200)])
def test_an_alpha_out_of_reach_of_the_weights_is_refused(alpha, weight):
    X, y = make_moons(40, random_state=0)
    with pytest.raises(ValueError, match=r"over sample weights .* divide the"):
        CPDSVC(alpha).fit(X, y, np.full(40, weight))
