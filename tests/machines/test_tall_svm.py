"""The linear SVM on many items by those near the margin, against the whole problem."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from krein.machines import tall_svm
from krein.machines.box import BalancedBox
from krein.machines.tall_svm import TallSVM, linear_svm
from krein.similarity.tiles import DenseTiles
from tests.machines import svm_dual
from tests.reference.boxes import contains


def machine(n, rng, C=1.0):
    F = rng.standard_normal((n, 6)) * np.geomspace(2, 0.05, 6)
    y = np.where(F[:, 0] + 0.7 * rng.standard_normal(n) > 0, 1.0, -1.0)
    return DenseTiles(F), BalancedBox(C * rng.uniform(0.5, 2.0, n), y)


@pytest.mark.parametrize("C", [1e-6, 0.01, 1.0, 100.0, 1e6])
def test_items_near_the_margin_are_enough(C, rng, monkeypatch):
    F, domain = machine(1500, rng, C)
    tol = 1e-9 if C < 1e4 else 1e-5  # the gap counts rounding, which costs C a sample
    best, _ = linear_svm(F, domain, tol=tol)
    sizes, solve = [], TallSVM.solve
    monkeypatch.setattr(tall_svm, "_MANY", 1000)
    monkeypatch.setattr(
        TallSVM, "solve", lambda p, *g: sizes.append(p.domain.n) or solve(p, *g)
    )
    found, b = linear_svm(F, domain, tol=tol)
    assert sizes[0] == 1500 // 8
    assert found.status == best.status == "converged"
    assert found.value == pytest.approx(best.value, rel=2 * tol)
    assert contains(domain, found.x, tol=1e-9 * C)
    w = found.info["w"]
    hinge = domain.upper @ np.maximum(0.0, 1.0 - domain.y * (F.A @ w + b))
    assert 0.5 * w @ w + hinge - best.value <= 3 * tol * best.value
    if C == 1.0:
        assert max(sizes) == 1500 // 5  # the whole problem was not needed


def test_a_class_that_no_part_has_needs_the_whole_problem(rng, monkeypatch):
    F, domain = machine(1200, rng)
    some = np.random.default_rng(0).choice(1200, 150, replace=False)
    y = np.full(1200, -1.0)
    y[np.setdiff1d(np.arange(1200), some)[:2]] = 1.0
    domain = BalancedBox(domain.upper, y)
    best, _ = linear_svm(F, domain, tol=1e-9)
    monkeypatch.setattr(tall_svm, "_MANY", 1000)
    found, _ = linear_svm(F, domain, tol=1e-9)
    np.testing.assert_array_equal(found.x, best.x)


@given(seed=st.integers(0, 10_000), exponent=st.integers(-4, 4), r=st.integers(1, 5))
@settings(max_examples=25)
def test_parts_never_claim_too_much(seed, exponent, r):
    """A wrong guess of what is near the margin is found out by the gap."""
    rng = np.random.default_rng(seed)
    F = rng.standard_normal((160, r)) * 10.0 ** rng.uniform(-2, 2, r)
    y = np.where(rng.random(160) < 0.5, 1.0, -1.0)
    domain = BalancedBox(10.0**exponent * rng.uniform(0.1, 10.0, 160), y)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tall_svm, "_MANY", 100)
        found, _ = linear_svm(DenseTiles(F), domain, tol=1e-6)
    best, _ = svm_dual(F @ F.T, domain, tol=1e-9)
    # In float64 rounding would be more than the gaps here.
    w, w_best = (F.astype(np.longdouble).T @ (y * a) for a in (found.x, best.x))
    better = best.x.sum() - found.x.sum() - (w_best @ w_best - w @ w) / 2
    slack = 1e-12 * float(domain.upper.sum())
    assert better <= found.certificate.value + slack


def test_many_items_far_from_the_origin_converge(rng, monkeypatch):
    """The rounding of 3e5 terms of one sign was counted as more than the tolerance."""
    n = 300_000
    F = rng.standard_normal((n, 20)) + 3.0
    y = np.where(F[:, 0] - 3.0 + 0.5 * rng.standard_normal(n) > 0, 1.0, -1.0)
    sizes, solve = [], TallSVM.solve
    monkeypatch.setattr(
        TallSVM, "solve", lambda p, *g: sizes.append(p.domain.n) or solve(p, *g)
    )
    found, _ = linear_svm(DenseTiles(F), BalancedBox(np.ones(n), y))
    assert found.status == "converged"
    assert found.certificate.relative < 1e-9
    # The answer of the second round was taken at once.
    assert sizes == [n // 8, n // 5, n // 10]


def test_rounding_above_the_tolerance_is_a_status_of_its_own(rng, monkeypatch):
    F, domain = machine(1500, rng, 1e4)
    monkeypatch.setattr(tall_svm, "_MANY", 1000)
    sizes, solve = [], TallSVM.solve
    monkeypatch.setattr(
        TallSVM, "solve", lambda p, *g: sizes.append(p.domain.n) or solve(p, *g)
    )
    found, _ = linear_svm(F, domain, tol=1e-16, max_iter=1000)
    assert found.status == "stalled"
    assert found.n_iter < 1000
    assert found.certificate.relative > 1e-16
    short, _ = linear_svm(F, domain, tol=1e-16, max_iter=2)
    assert (short.status, short.n_iter) == ("max_iter", 2)


def test_rounding_of_passes_is_bounded(rng):
    """Sums over tiles and blocks of rows, against the same in long double."""
    A = rng.random((20_000, 7)) * 10.0 ** rng.uniform(-3, 3, 7)
    v, w = rng.standard_normal(20_000), rng.standard_normal(7)
    tiles = DenseTiles(A)
    sums, products = tiles.errors(v, w)
    exact = A.astype(np.longdouble)
    assert np.all(np.abs(tiles.transpose_dot(v) - exact.T @ v) <= sums)
    assert np.all(np.abs(tiles @ w - exact @ w) <= products)
    assert np.all(sums <= 70 * np.finfo(float).eps * (np.abs(A).T @ np.abs(v)))
