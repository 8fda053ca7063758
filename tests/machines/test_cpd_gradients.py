"""Conjugate gradients for many violators: the optimum of the factor, certified."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.exceptions import ConvergenceWarning

from krein import CPDSVC, Kernel, check_certificate
from krein.kernels.splines import monomials, thin_plate_kernel
from krein.machines import cpd_columns
from krein.machines.cpd import CPDProblem, cpd_newton
from krein.machines.cpd_space import Polynomials, free_space
from krein.machines.losses import LOSSES
from krein.similarity.matrix import Similarities

N = 1000
solve = cpd_newton


@pytest.fixture
def data(rng):
    X = rng.standard_normal((N, 2))
    y = np.where(X[:, 0] ** 2 + 2 * rng.standard_normal(N) > 1, 1.0, -1.0)
    return X, y, rng.uniform(0.5, 2.0, N)


@pytest.fixture
def large_factors(monkeypatch):
    """Sizes of the factors of at least 700 violators."""
    sizes, original = [], cpd_columns.cho_factor

    def counting(A, **options):
        if A.shape[0] >= 700:
            sizes.append(A.shape[0])
        return original(A, **options)

    monkeypatch.setattr(cpd_columns, "cho_factor", counting)
    return sizes


def make(data, loss, lam, definite, scale=1.0):
    X, y, weight = data
    Phi = scale * thin_plate_kernel(X)
    space = free_space(
        Similarities(Phi), Polynomials.fit(monomials(X, 1)), definite=definite
    )
    return CPDProblem(space.K, space.null, LOSSES[loss](y, weight), scale * lam)


@pytest.mark.parametrize("loss", sorted(LOSSES))
@pytest.mark.parametrize("lam", [1.0, 100.0])
def test_the_point_is_that_of_the_factor(data, large_factors, loss, lam):
    found = solve(make(data, loss, lam, True))
    assert not large_factors
    wanted = solve(make(data, loss, lam, False))
    assert large_factors
    assert found.status == wanted.status == "converged"
    assert found.value == pytest.approx(wanted.value, rel=1e-12)
    scale = np.abs(wanted.x).max()
    np.testing.assert_allclose(found.x, wanted.x, rtol=0, atol=1e-6 * scale)
    # The bound lies below the value of any point.
    bound = found.value - found.certificate.value
    assert bound <= wanted.value * (1 + 1e-13)


def test_scales_of_kernel_and_alpha_do_not_matter(data, large_factors):
    plain = solve(make(data, "squared_hinge", 1.0, True))
    for scale in (1e-100, 1e100):
        result = solve(make(data, "squared_hinge", 1.0, True, scale))
        assert result.value == pytest.approx(plain.value, rel=1e-11)
    assert not large_factors


def test_a_small_alpha_goes_to_the_factor(data, large_factors):
    """There the preconditioner leaves too much; the optimum is the same."""
    found = solve(make(data, "squared", 1e-5, True))
    assert large_factors
    wanted = solve(make(data, "squared", 1e-5, False))
    assert found.status == "converged"
    assert found.value == pytest.approx(wanted.value, rel=1e-9)


def test_the_referee_agrees(data, monkeypatch):
    monkeypatch.setattr(cpd_columns, "_MANY", 100)
    monkeypatch.setattr(cpd_columns, "_WORTH", 4)
    monkeypatch.setattr(cpd_columns, "_by_factor", None)
    X, y, weight = (part[:250] for part in data)
    for loss in ("squared_hinge", "logistic"):
        model = CPDSVC(alpha=10.0, loss=loss).fit(X, y, sample_weight=weight)
        assert check_certificate(model, X, y, sample_weight=weight).holds


def test_kernels_of_unknown_definiteness_are_left_to_the_factor(data):
    """It refuses an indefinite matrix, which conjugate gradients might not see."""
    X, y, _ = data
    K = thin_plate_kernel(X, exponent=1)
    with pytest.raises(ValueError, match="not conditionally positive definite"):
        CPDSVC(alpha=1.0, kernel="precomputed").fit(-K, y)
    for kernel, known in (
        ("thin_plate", True),
        (Kernel("multiquadric"), True),
        (Kernel("tl1", tau=1.0), False),
        (lambda A, B: A @ B.T, False),
    ):
        model = CPDSVC(kernel=kernel)
        training, _ = model._start(X, y, None)
        assert model._space(training, "free").K.definite is known


def test_damped_steps_never_climb(data):
    """With a factor or with conjugate gradients."""
    for definite in (True, False):
        for lam in (0.01, 1.0):
            history = solve(make(data, "squared_hinge", lam, definite)).history
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
