"""Gaps count the rounding of the eigendecomposition: judged in 60 digits."""

import warnings

import numpy as np
import pytest

from krein import KreinRidge, SpectrumOneClassSVM, SpectrumSVC, SpectrumSVR
from krein.similarity.sparse import as_matrix
from tests.reference import digits

N = 12
MODELS = {
    "classifier": SpectrumSVC("clip", C=10.0),
    "regression": SpectrumSVR("clip", C=10.0),
    "one class": SpectrumOneClassSVM("clip", nu=0.5),
    "ridge": KreinRidge(0.1, method="clip"),
}


def dominated(offset, seed):
    """A similarity less a large constant: one negative eigenvalue of -12 offset."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N, 3))
    K = np.tanh(X @ X.T) - offset
    signs = np.where(rng.random(N) < 0.5, 1.0, -1.0)
    signs[:2] = 1.0, -1.0
    return 0.5 * (K + K.T), signs, rng.standard_normal(N)


def fitted(name, K, signs, targets):
    model = MODELS[name]
    y = {"classifier": signs, "one class": None}.get(name, targets)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(K, y)


def true_gap(name, model, kernel, signs, targets):
    """In 60 digits, at the variables of the fit."""
    x = model.result_.x
    if name == "classifier":
        return digits.svc_gap(kernel, signs, np.full(N, 10.0), x)
    if name == "regression":
        return digits.svr_gap(kernel, targets, np.full(N, 10.0), model.epsilon, x)
    if name == "one class":
        return digits.one_class_gap(kernel, np.ones(N), model.nu, x)
    return digits.ridge_gap(kernel, targets, model.alpha, x, model.intercept_[0])


@pytest.mark.parametrize("name", sorted(MODELS))
@pytest.mark.parametrize("offset", [0.0, 1e6, 1e10, 1e12])
def test_the_claimed_gap_is_no_smaller_than_the_true_one(name, offset):
    for seed in range(3):
        K, signs, targets = dominated(offset, seed)
        kernel = digits.clipped(K)
        model = fitted(name, K, signs, targets)
        claimed = model.result_.certificate.value
        assert true_gap(name, model, kernel, signs, targets) <= claimed
        if offset == 0.0:  # ordinary fits claim what they did
            assert claimed <= 1e-10
        if offset >= 1e10 and name != "ridge":
            assert model.result_.status == "stalled"
            assert model.result_.is_solved_to_rounding(model.tol)


def test_a_positive_kernel_is_trained_on_as_it_is(rng):
    """Nothing is decomposed in effect, and nothing is counted for it."""
    F = rng.standard_normal((40, 40))
    K = F @ F.T + np.eye(40)
    assert as_matrix(K).fixed_kernel("clip").noise() is None
    assert as_matrix(K - 100.0).fixed_kernel("clip").noise() is not None


def adjacency(seed, n=30):
    """Of a random graph of many pairs: 0 and 1, with integer eigenvalues, -1 too."""
    rng = np.random.default_rng(seed)
    K = np.kron(np.eye(n // 3), np.ones((3, 3))) - np.eye(n)
    order = rng.permutation(n)
    return K[np.ix_(order, order)], rng.standard_normal(n)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_ridge_at_an_eigenvalue_of_minus_alpha(seed, fit_intercept):
    """The coefficients along resonant eigenvectors are zero; the others solve."""
    K, y = adjacency(seed)
    model = KreinRidge(1.0, fit_intercept=fit_intercept).fit(K, y)
    assert model.result_.status == "converged"
    assert model.residual_[0] < 1e-12
    a, rest = model.dual_coef_[0], y - model.intercept_[0]
    # 1 of three eigenvalues is 2, two are -1: cliques of three items.
    values, U = np.linalg.eigh(K)
    kept = U[:, values > 0.0]
    np.testing.assert_allclose(a, kept @ (kept.T @ rest) / 3.0, atol=1e-12)
    # There f is the target; else a is t / 3, and (t - 2 t / 3)^2 + 2 (t / 3)^2 is left.
    wanted = float(np.sum((rest @ kept) ** 2)) / 3.0
    assert model.objective_[0] == pytest.approx(wanted)


def test_a_singular_raw_system_names_an_alpha_that_helps():
    K, y = adjacency(0)
    with pytest.raises(ValueError, match=r"alpha=(1\.1|2\.2)\d* or more makes") as said:
        KreinRidge(1.0, method="none").fit(K, y)
    enough = float(str(said.value).split("alpha=")[2].split()[0])
    model = KreinRidge(enough, method="none").fit(K, y)
    assert model.result_.status == "converged"


@pytest.mark.parametrize("distance", [1e-3, 1e-7, 1e-11])
def test_the_residual_of_a_nearly_singular_system_is_not_below_the_truth(distance):
    """Computed from the matrix itself, not from its decomposition."""
    K, y = adjacency(1)
    model = KreinRidge(1.0 + distance, method="none", tol=1e-3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(K, y)
    a, b = model.dual_coef_[0], model.intercept_[0]
    exact = digits.matrix(K) * digits.matrix(a)
    missed = [float(exact[i]) + model.alpha * a[i] + b - y[i] for i in range(y.size)]
    assert np.abs(missed).max() / np.abs(y).max() <= model.residual_[0]
    assert abs(a.sum()) * model.alpha / y.size <= model.residual_[0] * np.abs(y).max()
