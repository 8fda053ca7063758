"""LIBSVM with the polish, against another solver and the KKT conditions."""

from fractions import Fraction

import clarabel
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from krein import SpectrumSVC
from krein.machines import libsvm
from krein.machines.box import BalancedBox
from krein.machines.svm_dual import SVMDual, box_gap
from tests.machines import one_class_dual, svm_dual, svr_dual
from tests.reference.boxes import contains
from tests.reference.rational import dual_value, exact, exact_optimum


def by_clarabel(K, domain):
    """The same dual by an interior-point method: the optimal value."""
    n = domain.n
    Q = K * np.outer(domain.y, domain.y)
    A = sp.csc_matrix(np.vstack([domain.y, -np.eye(n), np.eye(n)]))
    b = np.concatenate([[0.0], np.zeros(n), domain.upper])
    settings_ = clarabel.DefaultSettings()
    settings_.verbose = False
    settings_.tol_gap_rel = settings_.tol_gap_abs = 1e-11
    solver = clarabel.DefaultSolver(
        sp.csc_matrix(np.triu(Q)), -np.ones(n), A, b,
        [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(2 * n)], settings_,
    )  # fmt: skip
    return -solver.solve().obj_val


def random_problem(seed, n, rank, C):
    rng = np.random.default_rng(seed)
    F = rng.standard_normal((n, rank))
    y = np.where(rng.uniform(size=n) < 0.5, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    return F @ F.T, BalancedBox(C * rng.uniform(0.5, 2.0, n), y)


@given(
    st.integers(0, 10**6), st.integers(4, 25), st.integers(1, 25), st.floats(0.01, 10)
)
@settings(max_examples=60, deadline=None)
def test_value_and_certificate_against_clarabel(seed, n, rank, C):
    K, domain = random_problem(seed, n, rank, C)
    result, intercept = svm_dual(K, domain)
    best = by_clarabel(K, domain)
    assert contains(domain, result.x, tol=1e-8)
    assert result.value == pytest.approx(best, rel=1e-6, abs=1e-8)
    # The certificate is a true bound, and tight.
    assert result.value + result.certificate.value >= best * (1 - 1e-7) - 1e-9
    assert result.certificate.relative <= 1e-4
    assert np.isfinite(intercept)


@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_a_solution_off_its_bounds_serves_every_larger_C(kind, monkeypatch):
    K, domain = random_problem(3, 40, 40, 1.0)
    K = K + 20.0 * np.eye(40)

    def solve(C, start=None):
        if kind == "classes":
            return svm_dual(K, BalancedBox(np.full(40, C), domain.y), start=start)
        return svr_dual(K, domain.y, np.full(40, C), epsilon=0.1, start=start)

    (free, _), (more, b_more) = solve(10.0), solve(100.0)
    assert np.abs(free.x).max() < 10.0
    bound, _ = solve(0.01)
    assert np.abs(bound.x).max() == pytest.approx(0.01)
    again, _ = solve(100.0, start=bound.x)
    np.testing.assert_array_equal(again.x, more.x)
    with monkeypatch.context() as patch:
        patch.setattr(libsvm, "_loosely", None)
        found, b_found = solve(100.0, start=free.x)
    np.testing.assert_allclose(found.x, more.x, rtol=1e-10, atol=1e-14)
    assert b_found == pytest.approx(b_more, rel=1e-10, abs=1e-13)
    # The gap is that of the larger C.
    assert found.certificate.value == pytest.approx(more.certificate.value, rel=0.5)
    assert found.certificate.value >= free.certificate.value


def test_polished_points_meet_the_kkt_conditions_to_rounding():
    K, domain = random_problem(3, 60, 60, 1.0)
    result, intercept = svm_dual(K, domain)
    margins = domain.y * (K @ (domain.y * result.x) + intercept)
    free = (result.x > 0) & (result.x < domain.upper)
    assert free.sum() >= 3
    np.testing.assert_allclose(margins[free], 1.0, atol=1e-10)
    assert np.all(margins[result.x == 0] >= 1 - 1e-9)
    assert np.all(margins[result.x == domain.upper] <= 1 + 1e-9)
    assert result.certificate.relative <= 1e-10


def test_an_indefinite_kernel_gets_a_stationarity_certificate(with_spectrum):
    K = with_spectrum([-2.0, -1.0, 0.5, 1.0, 2.0, 3.0])
    domain = BalancedBox(np.ones(6), np.array([1.0, -1, 1, -1, 1, -1]))
    result, _ = svm_dual(K, domain, psd=False)
    assert result.certificate.kind == "stationarity"
    gradient = 1.0 - domain.y * (K @ (domain.y * result.x))
    assert domain.violation(result.x, gradient) <= 1e-6


def test_regression_meets_its_kkt_conditions(rng):
    F = rng.standard_normal((40, 8))
    K, y = F @ F.T, rng.standard_normal(40)
    upper = rng.uniform(0.1, 0.3, 40)
    result, intercept = svr_dual(K, y, upper, epsilon=0.1)
    residual = y - K @ result.x - intercept
    size = np.abs(result.x)
    free = (size > 0) & (size < upper)
    assert abs(result.x.sum()) <= 1e-10
    assert free.any()
    np.testing.assert_allclose(residual[free], 0.1 * np.sign(result.x[free]), atol=1e-8)
    assert np.all(np.abs(residual[result.x == 0]) <= 0.1 + 1e-8)
    assert np.all(np.abs(residual[size == upper]) >= 0.1 - 1e-8)


def test_one_class_meets_its_kkt_conditions(rng):
    F = rng.standard_normal((30, 30))
    K, weight = F @ F.T / 30, rng.uniform(0.5, 2.0, 30)
    result, intercept = one_class_dual(K, weight, nu=0.4)
    v = result.x
    f = K @ v + intercept
    free = (v > 0) & (v < weight)
    assert v.sum() == pytest.approx(0.4 * weight.sum())
    np.testing.assert_allclose(f[free], 0.0, atol=1e-9)
    assert np.all(f[v == 0] >= -1e-9)
    assert np.all(f[v == weight] <= 1e-9)


def test_too_few_iterations_are_reported():
    K, domain = random_problem(5, 80, 80, 100.0)
    result, _ = svm_dual(K, domain, max_iter=3)
    assert result.status == "max_iter"
    assert result.certificate.relative > 1e-6


# ------------------------------------------------------------------ any scale, any kind


def dual_by_clarabel(problem):
    """Optimal value of a problem in the form of `krein.machines.svm_dual`."""
    y, n = problem.domain.y, problem.domain.n
    item = np.arange(n) % problem.K.shape[0]
    Q = problem.K[np.ix_(item, item)] * np.outer(y, y)
    A = sp.csc_matrix(np.vstack([y, -np.eye(n), np.eye(n)]))
    b = np.concatenate([[problem.domain.balance], np.zeros(n), problem.domain.upper])
    options = clarabel.DefaultSettings()
    options.verbose = False
    options.tol_gap_rel = options.tol_gap_abs = options.tol_feas = 1e-11
    solver = clarabel.DefaultSolver(
        sp.csc_matrix(np.triu(Q)), -problem.margin, A, b,
        [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(2 * n)], options,
    )  # fmt: skip
    solution = solver.solve()
    # Clarabel stops short of these tolerances now and then, and says so.
    assume(solution.status == clarabel.SolverStatus.Solved)
    return -solution.obj_val


def draw_machine(seed, kind, scale=1.0):
    """Return a solver call and its problem; K times `scale`, C by it."""
    rng = np.random.default_rng(seed)
    n, rank = int(rng.integers(3, 30)), int(rng.integers(1, 30))
    F = rng.standard_normal((n, rank)) * 10.0 ** rng.uniform(-0.5, 0.5, rank)
    K, C = scale * (F @ F.T), 10.0 ** rng.uniform(-2, 2) / scale
    w = rng.choice([np.ones(n), rng.integers(1, 4, n), rng.uniform(0.1, 2, n)])
    if kind == "classification":
        y = np.where(np.arange(n) % 2, 1.0, -1.0)
        box = BalancedBox(C * w, y)
        return svm_dual(K, box), SVMDual.classification(K, box)
    if kind == "regression":
        t, epsilon = 5.0 + rng.standard_normal(n), 10.0 ** rng.uniform(-3, 0)
        found = svr_dual(K, t, C * w, epsilon=epsilon)
        return found, SVMDual.regression(K, t, C * w, epsilon=epsilon)
    nu = rng.choice([1.0, rng.uniform(0.01, 1.0)])
    return one_class_dual(K, w, nu=nu), SVMDual.one_class(K, w, nu=nu)


KINDS = pytest.mark.parametrize("kind", ["classification", "regression", "one_class"])


@KINDS
@given(seed=st.integers(0, 10**6))
@settings(max_examples=60, deadline=None)
def test_every_machine_against_clarabel(kind, seed):
    (result, intercept), problem = draw_machine(seed, kind)
    best = dual_by_clarabel(problem)
    size = abs(best) + 1e-6 * problem.domain.upper @ np.abs(problem.margin)
    size += 1e-6 * problem.domain.balance**2 * np.trace(problem.K)
    assert np.isfinite(intercept)
    assert result.status == "converged"
    assert result.value == pytest.approx(best, abs=2e-6 * size + 1e-10)
    assert result.value + result.certificate.value >= best - 1e-7 * size - 1e-10


@KINDS
@given(seed=st.integers(0, 10**6), power=st.integers(20, 330))
@settings(max_examples=40, deadline=None)
def test_the_unit_of_the_kernel_does_not_matter(kind, seed, power):
    """K times 2^p with C by it is the same machine, to the last bit."""
    (plain, _), _ = draw_machine(seed, kind)
    (large, b), _ = draw_machine(seed, kind, 2.0**power)
    (small, c), _ = draw_machine(seed, kind, 0.5**power)
    factor = 1.0 if kind == "one_class" else 0.5 ** (2 * power)
    np.testing.assert_array_equal(large.x, small.x * factor)
    assert b == (c * 2.0 ** (2 * power) if kind == "one_class" else c)
    back = 0.5**power if kind == "one_class" else 2.0**power
    assert plain.status == large.status == small.status == "converged"
    slack = 2.0 * plain.certificate.value
    assert large.value * back == pytest.approx(plain.value, abs=slack, rel=1e-6)


@pytest.mark.parametrize("nu", [1.0, 1 - 1e-12, 0.3, 1e-9])
@pytest.mark.parametrize("weight", ["fractions", "huge", "far apart"])
def test_one_class_survives_what_breaks_libsvm(nu, weight, rng):
    """LIBSVM writes past its arrays when rounding leaves a rest of nu sum(w)."""
    n = 50
    F = rng.standard_normal((n, 3))
    K = np.exp(-((F[:, None] - F) ** 2).sum(2))
    w = {
        "fractions": rng.uniform(0, 1, n) / 3,
        "huge": np.full(n, 1e100),
        "far apart": 10.0 ** rng.uniform(-6, 6, n),
    }[weight]
    result, intercept = one_class_dual(K, w, nu=nu)
    assert result.status == "converged"
    assert np.isfinite(intercept)
    assert result.x / w.max() @ np.ones(n) == pytest.approx(
        nu * (w / w.max()).sum(), rel=1e-9
    )


@KINDS
def test_a_small_budget_is_reported(kind):
    rng = np.random.default_rng(0)
    F = rng.standard_normal((60, 5))
    K = 100 * F @ F.T
    if kind == "classification":
        box = BalancedBox(np.full(60, 10.0), np.where(np.arange(60) % 2, 1.0, -1.0))
        result, _ = svm_dual(K, box, max_iter=1)
    elif kind == "regression":
        result, _ = svr_dual(
            K, rng.standard_normal(60), np.full(60, 10.0), epsilon=0.1, max_iter=1
        )
    else:
        result, _ = one_class_dual(K, None, nu=0.3, max_iter=1)
    assert result.certificate.relative > 1e-6
    assert result.status == "max_iter"
    assert result.n_iter == 1


def test_a_claimed_gap_holds_in_rational_arithmetic():
    """Bounds large beside the kernel: the claim counts rounding, and it has to."""
    checked = counted = 0
    for seed in range(16):
        K, domain = random_problem(seed, 10, 12, 10.0 ** (seed % 8))
        result, _ = svm_dual(K, domain)
        kernel, y, upper, a = map(exact, (K, domain.y, domain.upper, result.x))
        best = exact_optimum(kernel, y, upper, a)
        if best is None:
            continue
        checked += 1
        claim = Fraction(result.certificate.value)
        assert best - dual_value(kernel, y, a) <= claim
        assert best - Fraction(result.value) <= claim
        gradient = 1.0 - domain.y * (K @ (domain.y * result.x))
        counted += best - Fraction(result.value) > domain.gap(result.x, gradient)
    assert checked >= 10
    assert counted >= 1  # without the rounding term some claims would be false


def test_rounding_of_the_objective_counts():
    """All variables on their bounds: no error moves them, but the value is rounded."""
    y = np.tile([1.0, -1.0], 5)
    error = np.linspace(1e-3, 1e-2, 10)
    gap = box_gap(BalancedBox(np.ones(10), y), np.ones(10), np.zeros(10), error)
    assert error.sum() <= gap <= 2.1 * error.sum()


def test_a_raw_matrix_without_a_diagonal():
    """Curvatures of zero leave the ridge to the other entries."""
    K = np.zeros((4, 4))
    K[0, 2:] = K[2:, 0] = 2e99
    weight, y = [1, 1, 2, 2], [0, 0, 0, 1]
    model = SpectrumSVC("none", C=10.0, max_iter=1000)
    with pytest.warns(ConvergenceWarning, match="did not reach tol"):
        model.fit(K, y, sample_weight=weight)
    assert model.result_.certificate.kind == "stationarity"
    assert np.isfinite(model.dual_coef_).all()


# ---------------------------------------------------------------------- many rows


def hinges(share, n=300, n_classes=30):
    """Hats whose radius leaves this share of the pairs, and classes of ten items."""
    rng = np.random.default_rng(0)
    y = np.arange(n) % n_classes
    X = rng.standard_normal((n_classes, 8))[y] + 0.9 * rng.standard_normal((n, 8))
    D = np.abs(X[:, None] - X[None]).sum(axis=2)
    return np.maximum(np.quantile(D[np.triu_indices(n, 1)], share) - D, 0.0), y


def test_rows_after_the_first_need_no_factor_where_libsvm_reaches_the_tolerance(
    monkeypatch,
):
    K, y = hinges(0.03)
    polished = []
    original = libsvm._maximised

    def counting(problem, point, loose):
        polished.append(loose.size)
        return original(problem, point, loose)

    monkeypatch.setattr(libsvm, "_maximised", counting)
    model = SpectrumSVC("clip", C=10.0, tol=1e-3).fit(K, y)
    few = len(polished)
    assert few < len(model.result_) / 3
    assert max(result.certificate.relative for result in model.result_) <= 1e-3
    polished.clear()
    monkeypatch.setattr("krein.estimators.spectral.loosely_after", lambda *_: None)
    wanted = SpectrumSVC("clip", C=10.0, tol=1e-3).fit(K, y)
    assert len(polished) >= len(model.result_)
    for one, other in zip(model.result_, wanted.result_, strict=True):
        assert one.value == pytest.approx(other.value, rel=2e-3)


def test_libsvm_is_run_tighter_only_where_that_saves_factors():
    K, y = hinges(0.05)
    n, upper = len(y), np.full(len(y), 10.0)
    signs = np.where(y == 0, 1.0, -1.0)
    problem = SVMDual.classification(K + 3.0 * np.eye(n), BalancedBox(upper, signs))
    first, _ = libsvm.solve_dual(problem, tol=1e-3, n_rows=30)
    gap = first.history["relative"][0]
    assert gap > 1e-3
    run = libsvm.loosely_after(first, upper, 1e-3, 30)
    assert run.tol == pytest.approx(0.5e-3 * 1e-3 / gap)
    assert run.steps > first.n_iter
    assert libsvm.loosely_after(first, upper, 2.0 * gap, 30) is None  # it was enough
    assert libsvm.loosely_after(first, upper, 1e-9, 30) is None  # to rounding
    # Beyond single precision LIBSVM would not reach it: both sides of the limit.
    edge = libsvm._TIGHTEST * gap / 0.5e-3
    assert libsvm.loosely_after(first, upper, 1.1 * edge, 30) is not None
    assert libsvm.loosely_after(first, upper, 0.9 * edge, 30) is None
    # One row of few free variables is solved to rounding for less.
    assert libsvm.loosely_after(first, upper, 1e-3, 1) is None
