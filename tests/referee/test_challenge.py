"""No other feasible point beats an optimum that was certified with a gap."""

import warnings

import numpy as np
import pytest

from krein import (
    CPDSVC,
    MKLSVC,
    CPDRegressor,
    KreinSVC,
    ProxySVC,
    SpectrumOneClassSVM,
    SpectrumSVC,
    SpectrumSVR,
)

from . import challenge
from .registry import indefinite, labels, weights

STARTS = 2
METHODS = ["clip", "flip", "square", "shift", "diffusion"]


def fitted(model, X, y, w):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y, sample_weight=w)


def ordinary(rng):
    """n, C, weights (or None) and the samples that count."""
    n = int(rng.integers(5, 12))
    w = weights(rng, n, bool(rng.integers(2)))
    full = np.ones(n) if w is None else w
    return n, float(10.0 ** rng.uniform(-2, 2)), w, np.flatnonzero(full > 0), full


def unbeaten(rng, problem, size, objective, gap, own=()):
    """Ascend from random points, and from the model's own."""
    value_grad, nearest = problem
    starts = [*own, *(rng.standard_normal((STARTS, size)) * abs(gap + 1.0))]
    best = max(challenge.ascend(value_grad, nearest, start) for start in starts)
    slack = 1e-9 * max(abs(objective), abs(best))
    assert best <= objective + gap + slack, f"{best} beats {objective} + {gap}"


def beat_spectral(rng):
    n, C, w, kept, full = ordinary(rng)
    K, y = indefinite(rng, n), labels(rng, n, 2)
    method = str(rng.choice(METHODS))
    model = KreinSVC(C) if rng.integers(2) else SpectrumSVC(method, C=C)
    method = "flip" if isinstance(model, KreinSVC) else method
    fitted(model, K, y, w)
    fixed = challenge.fixed_kernel(K[np.ix_(kept, kept)], full[kept], method)
    signs = np.where(y[kept] == 1, 1.0, -1.0)
    problem = challenge.svm(fixed, signs, C * full[kept])
    own = [model.alpha_[0, kept]]
    unbeaten(rng, problem, kept.size, model.objective_[0], model.duality_gap_[0], own)


def beat_proxy(rng):
    n, C, w, kept, full = ordinary(rng)
    K, y, rho = indefinite(rng, n), labels(rng, n, 2), 10.0 ** rng.uniform(-2, 2)
    model = fitted(ProxySVC(C, rho=rho), K, y, w)
    signs = np.where(y[kept] == 1, 1.0, -1.0)
    problem = challenge.proxy(
        K[np.ix_(kept, kept)], signs, full[kept], C * full[kept], rho
    )
    own = [model.alpha_[0, kept]]
    unbeaten(rng, problem, kept.size, model.objective_[0], model.duality_gap_[0], own)


def beat_regression(rng):
    n, C, w, kept, full = ordinary(rng)
    K, t = indefinite(rng, n), rng.standard_normal(n)
    method = str(rng.choice(METHODS))
    model = fitted(SpectrumSVR(method, C=C, epsilon=0.1), K, t, w)
    fixed = challenge.fixed_kernel(K[np.ix_(kept, kept)], full[kept], method)
    problem = challenge.regression(fixed, t[kept], C * full[kept], 0.1)
    unbeaten(rng, problem, 2 * kept.size, model.objective_[0], model.duality_gap_[0])


def beat_one_class(rng):
    n, _, w, kept, full = ordinary(rng)
    K, nu = indefinite(rng, n), float(rng.uniform(0.1, 1.0))
    model = fitted(SpectrumOneClassSVM("flip", nu=nu), K, None, w)
    fixed = challenge.fixed_kernel(K[np.ix_(kept, kept)], full[kept], "flip")
    problem = challenge.one_class(fixed, full[kept], nu)
    unbeaten(rng, problem, kept.size, model.objective_[0], model.duality_gap_[0])


def beat_spline(rng):
    n, alpha, w, kept, full = ordinary(rng)
    X, y = rng.standard_normal((n, 2)), labels(rng, n, 2)
    polynomial = str(rng.choice(["free", "zero"]))
    loss = str(rng.choice(["squared_hinge", "logistic", "squared"]))
    t = np.where(y == 1, 1.0, -1.0)
    if rng.integers(3) == 0:
        loss, t = "squared", rng.standard_normal(n)
        model = CPDRegressor(alpha, exponent=1, polynomial=polynomial)
        fitted(model, X, t, w)
    else:
        model = CPDSVC(alpha, exponent=1, polynomial=polynomial, loss=loss)
        fitted(model, X, y, w)
    placed = (X[kept] - model.kernel_.center) / model.kernel_.scale
    phi = -np.sqrt(((placed[:, None] - placed) ** 2).sum(2))
    *problem, size = challenge.spline(
        phi, np.ones((kept.size, 1)), t[kept], full[kept], alpha, loss,
        polynomial == "free",
    )  # fmt: skip
    unbeaten(rng, problem, size, -model.objective_[0], model.duality_gap_[0])


def beat_mkl(rng):
    """Weights that would do better: their best alpha must show it."""
    n = int(rng.integers(5, 9))
    y, C = labels(rng, n, 2), float(10.0 ** rng.uniform(-2, 1))
    stack = [np.cov(rng.standard_normal((n, 2 * n))) for _ in range(2)]
    model = fitted(MKLSVC(C), stack, y, None)
    signs = np.where(y == 1, 1.0, -1.0)
    for share in (0.0, 0.3, 0.7, 1.0):
        K = share * stack[0] + (1 - share) * stack[1]
        found = challenge.ascend(
            *challenge.svm(K, signs, np.full(n, C)), rng.uniform(size=n), steps=400
        )
        least = model.objective_[0] - model.duality_gap_[0]
        assert found >= least * (1 - 1e-6), f"weights {share}: {found} < {least}"


TRIES = [
    beat_spectral,
    beat_proxy,
    beat_regression,
    beat_one_class,
    beat_spline,
    beat_mkl,
]
by_name = pytest.mark.parametrize("beat", TRIES, ids=lambda beat: beat.__name__)


@by_name
def test_certified_optima_are_not_beaten(beat):
    for seed in range(6 if beat is not beat_mkl else 2):
        beat(np.random.default_rng(seed))


@pytest.mark.slow
@by_name
def test_certified_optima_are_not_beaten_often(beat):
    for seed in range(100, 300 if beat is not beat_mkl else 120):
        beat(np.random.default_rng(seed))


def test_a_false_optimum_is_beaten():
    """The challenge itself can fail: a point short of the optimum is overtaken."""
    rng = np.random.default_rng(0)
    K, y = indefinite(rng, 8), labels(rng, 8, 2)
    model = SpectrumSVC("flip", C=1.0).fit(K, y)
    signs = np.where(y == 1, 1.0, -1.0)
    fixed = challenge.fixed_kernel(K, np.ones(8), "flip")
    problem = challenge.svm(fixed, signs, np.ones(8))
    with pytest.raises(AssertionError, match="beats"):
        unbeaten(rng, problem, 8, 0.99 * model.objective_[0], 0.0)
