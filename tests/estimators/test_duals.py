"""The primal and dual that docstrings state agree at the fitted coefficients."""

import numpy as np
import pytest

from krein import (
    CPDSVC,
    MKLSVC,
    CPDRegressor,
    KreinLogisticRegression,
    KreinRidge,
    ProxySVC,
    laplacian_kernel,
    rbf_kernel,
    sigmoid_kernel,
)


@pytest.fixture
def problem(rng):
    X = rng.standard_normal((30, 3))
    signs = np.where(X[:, 0] + 0.3 * rng.standard_normal(30) > 0, 1.0, -1.0)
    return X, signs, rng.standard_normal(30), rng.uniform(0.5, 2.0, 30)


def best_hinge(f, signs, C):
    """C times the sum of the hinge at the best intercept, which is one of a few."""
    b = (signs - f)[:, None]
    return C * np.maximum(0.0, 1.0 - signs * (f + b)).sum(axis=1).min()


def test_logistic(problem):
    X, signs, _, w = problem
    K, alpha, n = rbf_kernel(X), 0.05, w.sum()
    model = KreinLogisticRegression(alpha=alpha).fit(K, signs, sample_weight=w)
    a = model.dual_coef_[0]
    f = K @ a + model.intercept_[0]
    p = 1.0 / (1.0 + np.exp(-f))
    entropy = -p * np.log(p) - (1.0 - p) * np.log1p(-p)
    penalty = 0.5 * alpha * a @ K @ a
    primal = w @ np.log1p(np.exp(-signs * f)) / n + penalty
    assert primal == pytest.approx(w @ entropy / n - penalty, abs=1e-9)
    link = alpha * n * a - w * (0.5 * (signs + 1.0) - p)
    np.testing.assert_allclose(link, 0.0, atol=1e-8)


def test_ridge(problem):
    X, _, y, w = problem
    K, alpha = rbf_kernel(X), 0.3
    model = KreinRidge(alpha=alpha).fit(K, y, sample_weight=w)
    a = model.dual_coef_[0]
    primal = w @ (y - model.predict(K)) ** 2 + alpha * a @ K @ a
    dual = alpha * (2.0 * a @ y - a @ (K + alpha * np.diag(1.0 / w)) @ a)
    assert primal == pytest.approx(dual, rel=1e-9)


def test_smoothing_spline(problem):
    X, _, y, w = problem
    alpha = 0.3
    model = CPDRegressor(alpha, scale=False).fit(X, y, sample_weight=w)
    Phi, c = np.asarray(model.kernel_(X, X)), model.dual_coef_[0]
    primal = w @ (y - model.predict(X)) ** 2 + alpha * c @ Phi @ c
    dual = alpha * (2.0 * c @ y - c @ (Phi + alpha * np.diag(1.0 / w)) @ c)
    assert primal == pytest.approx(dual, rel=1e-9)


def test_thin_plate_svm(problem):
    X, signs, _, w = problem
    alpha = 0.3
    model = CPDSVC(alpha, scale=False).fit(X, signs, sample_weight=w)
    Phi, c = np.asarray(model.kernel_(X, X)), model.dual_coef_[0]
    hinge = np.maximum(0.0, 1.0 - signs * model.decision_function(X))
    u = -2.0 * alpha * c / w
    penalty = alpha * c @ Phi @ c
    dual = -w @ (signs * u + u * u / 4.0) - penalty
    assert w @ hinge**2 + penalty == pytest.approx(dual, abs=1e-9)


def test_kernel_weights(problem):
    X, signs, *_ = problem
    Ks, C, rho = [rbf_kernel(X), laplacian_kernel(X), np.eye(30)], 2.0, 0.1
    model = MKLSVC(C=C, rho=rho, target=0, tol=1e-9).fit(Ks, signs)
    a, weights = model.alpha_[0], model.weights_[0]
    v, prices = signs * a, [rho * np.sum((K - Ks[0]) ** 2) for K in Ks]
    f = sum(weight * (K @ v) for weight, K in zip(weights, Ks, strict=True))
    primal = 0.5 * v @ f + best_hinge(f, signs, C) + weights @ prices
    inner = [0.5 * v @ K @ v - price for K, price in zip(Ks, prices, strict=True)]
    assert primal == pytest.approx(a.sum() - max(inner), rel=1e-8)


def test_proxy(problem):
    X, signs, *_ = problem
    K0, C, rho = sigmoid_kernel(X, gamma=1.0), 2.0, 0.5
    model = ProxySVC(C=C, rho=rho, tol=1e-10).fit(K0, signs)
    v = signs * model.alpha_[0]
    values, U = np.linalg.eigh(K0 + np.outer(v, v) / (4.0 * rho))
    K = (U * np.maximum(values, 0.0)) @ U.T
    np.testing.assert_allclose(model.proxy_kernel(), K, atol=1e-9)
    primal = 0.5 * v @ K @ v + best_hinge(K @ v, signs, C)
    primal += rho * np.sum((K - K0) ** 2)
    assert primal == pytest.approx(model.objective_[0], rel=1e-8)
