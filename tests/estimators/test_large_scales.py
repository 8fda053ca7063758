"""Similarities of any size: counts and bit scores have numbers of 1e4 to 1e8."""

import tracemalloc
import warnings

import mpmath as mp
import numpy as np
import pytest
from sklearn.base import clone

from krein import (
    DCSVC,
    KreinLogisticRegression,
    KreinRidge,
    KreinSVC,
    ProxySVC,
    SpectrumOneClassSVM,
    SpectrumSVC,
    SpectrumSVR,
    check_certificate,
)
from krein.arrays import extended_square
from krein.store.shared_work import shared_work
from tests.fuzz.regimes import trial
from tests.reference import digits


def similarity(seed, n=60):
    """Definite for even seeds, tanh with a large negative part for odd ones."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 4))
    if seed % 2:
        K = np.tanh(X @ X.T - 0.5)
    else:
        K = np.exp(-0.3 * np.abs(X[:, None] - X).sum(axis=2))
    y = np.where(X[:, 0] + rng.standard_normal(n) > 0, 1, -1)
    return K, y, X[:, 1] + 0.3 * rng.standard_normal(n)


@pytest.mark.parametrize("scale", [1e-8, 1e-4, 1e4, 1e6, 1e8])
@pytest.mark.parametrize(
    "model",
    [
        SpectrumSVC("clip"),
        SpectrumSVC("flip"),
        SpectrumSVC("shift"),
        KreinSVC(),
        ProxySVC(),
        SpectrumSVR("clip", C=1e-3),
        SpectrumOneClassSVM("flip"),
    ],
    ids=repr,
)
def test_machines_converge_at_any_scale(model, scale):
    """C = 1 is far beyond all coefficients, or far below; the gap says what is true."""
    for seed in range(2):
        K, y, t = similarity(seed)
        one_class = isinstance(model, SpectrumOneClassSVM)
        y = t if isinstance(model, SpectrumSVR) else y
        fitted = clone(model).fit(scale * K, None if one_class else y)
        assert fitted.result_.status == "converged"
        assert fitted.result_.certificate.relative <= fitted.tol


@pytest.mark.parametrize("scale", [1e2, 1e4, 1e6])
def test_the_square_of_large_numbers(scale):
    for seed in range(2):
        K, y, _ = similarity(seed)
        model = SpectrumSVC("square").fit(scale * K, y)
        assert model.result_.status == "converged"


@pytest.mark.parametrize(
    ("seed", "name"),
    [
        (5, "SpectrumSVR"),
        (39, "SpectrumSVR"),
        (49, "SpectrumSVR"),
        (14, "SpectrumSVC"),
        (19, "SpectrumSVC"),
    ],
)
def test_ordinary_squares_converge(seed, name):
    """K K is known to more digits than eigenvectors are: claims went up to 4e-3."""
    drawn = trial(seed, name)
    assert drawn.model.method == "square"
    model, warned = drawn.fit()
    assert not warned
    results = model.result_ if isinstance(model.result_, list) else [model.result_]
    assert all(result.status == "converged" for result in results)
    assert check_certificate(model, drawn.X, drawn.y, drawn.weight).holds


@pytest.mark.parametrize("weighted", [False, True])
def test_products_with_the_square_have_more_digits(weighted, rng):
    """And a bound that holds: judged in 50 digits, where the product cancels."""
    K = rng.standard_normal((12, 12)) * 10.0 ** rng.uniform(-2, 2, 12)
    K = K + K.T
    weight = 10.0 ** rng.uniform(-2, 2, 12) if weighted else None
    W = np.diag(np.ones(12) if weight is None else weight)
    values, vectors = np.linalg.eigh(K @ W @ K)
    v = vectors[:, 0]
    outputs, error = extended_square(K, weight, v)
    with mp.workdps(digits.DIGITS):
        A, B = digits.matrix(K), digits.matrix(W)
        exact = A * (B * (A * digits.matrix(v)))
        off = [abs(exact[i] - mp.mpf(float(outputs[i]))) for i in range(12)]
    assert all(off[i] <= error[i] for i in range(12))
    # In doubles an output would be off by about eps times the largest eigenvalue.
    least = float(np.finfo(np.longdouble).eps)
    eps = float(np.finfo(float).eps)
    assert error.max() < 1e3 * least * values[-1] + eps * np.abs(outputs).max()


def test_the_square_is_that_of_the_symmetric_part(rng):
    """Products of two orders of a sum differ in their last digits, which K K sees."""
    K = rng.standard_normal((20, 20))
    K = K + K.T
    uneven = K * (1.0 + 1e-15 * rng.standard_normal((20, 20)))
    v = rng.standard_normal(20)
    outputs, error = extended_square(uneven, None, v)
    with mp.workdps(digits.DIGITS):
        A = digits.matrix(uneven)
        A = (A + A.T) / 2
        exact = A * (A * digits.matrix(v))
        off = [float(abs(exact[i] - mp.mpf(float(outputs[i])))) for i in range(20)]
    assert np.all(off <= error)


@pytest.mark.parametrize("scale", [1.0, 1e2, 1e4, 1e6])
def test_indefinite_machines_solve_the_conditions_of_their_free_variables(scale):
    K, y, _ = similarity(1)
    for model in (SpectrumSVC("none"), DCSVC()):
        model.fit(scale * K, y)
        assert model.result_.status == "converged"
        assert model.result_.certificate.relative <= 1e-12 * max(scale, 1.0) * 10.0


@pytest.mark.parametrize("scale", [1e4, 1e6, 1e8])
def test_a_gap_at_its_rounding_is_within_a_thousand_of_the_true_one(scale):
    """Where C holds coefficients, so that errors of outputs count with it."""
    n = 16
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((n, 4))
        K = scale * np.tanh(X @ X.T)
        t = X[:, 1] + rng.standard_normal(n)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = SpectrumSVR("clip").fit(K, t)
        claimed, x = model.result_.certificate.value, model.result_.x
        true = digits.svr_gap(digits.clipped(K), t, np.ones(n), 0.1, x)
        assert true <= claimed <= 1000.0 * true
        # At the least it is what 16 digits allow.
        assert claimed <= 1e-13 * scale * n


def test_a_proxy_that_hardly_moves_is_solved_as_an_svm():
    """K 1e11, rho 1e5: curvatures differ by more orders than a model can hold."""
    for seed in (1, 5):
        K, y, _ = similarity(seed)
        model = ProxySVC(rho=1e5).fit(1e11 * K, y)
        assert model.result_.status == "converged"
        assert model.n_iter_[0] < 60
        assert check_certificate(model, 1e11 * K, y).holds


@pytest.mark.parametrize("seed", [0, 2, 3, 7])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("scale", [1e4, 1e6, 1e8])
def test_logistic_regression_ends_where_rounding_does(scale, n_classes, seed):
    """A kernel of rank three: outputs are rounded in their tenth or eighth digit.

    The merit function is rounded more than it falls in the last steps.
    """
    rng = np.random.default_rng(seed)
    F = rng.standard_normal((60, 3))
    y = rng.integers(0, n_classes, 60)
    model = KreinLogisticRegression()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(scale * F @ F.T, y)
    assert model.n_iter_[0] < 100
    assert model.residual_[0] < 1e-12 * scale + 1e-8
    if scale <= 1e4:
        assert model.n_iter_[0] <= 10
        assert model.residual_[0] <= model.tol


def test_the_default_tolerance_of_logistic_regression_is_that_of_smooth_models():
    assert KreinLogisticRegression().tol == 1e-8


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "model",
    [
        SpectrumSVC("square", C=100.0),
        SpectrumSVR("square", C=100.0),
        SpectrumSVR("flip", C=100.0),
    ],
    ids=repr,
)
def test_weights_of_many_sizes_do_not_make_rounding_dear(model, seed):
    """What is missing to the margin cost a whole bound: 7e-3 was claimed."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((60, 3))
    K = 1e3 * np.exp(-np.sqrt(((X[:, None] - X) ** 2).sum(axis=2)))
    z = X[:, 0] + rng.standard_normal(60)
    weight = 10.0 ** rng.uniform(-3, 3, 60)
    y = z if isinstance(model, SpectrumSVR) else z > 0
    fitted = clone(model).fit(K, y, sample_weight=weight)
    assert fitted.result_.converged
    report = check_certificate(fitted, K, y, weight)
    assert report.holds, report


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("alpha", [0.01, 1.0])
def test_ridge_on_the_square_is_refined_with_more_digits(alpha, fit_intercept):
    """By outputs of the square itself: eigenvectors gave gaps of up to 4."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((40, 3))
        K = 1e3 * np.tanh(X @ X.T - 0.5)
        y = X[:, 0] + 0.3 * rng.standard_normal(40)
        weight = 10.0 ** rng.uniform(-3, 3, 40)
        model = KreinRidge(alpha, method="square", fit_intercept=fit_intercept)
        model.fit(K, y, sample_weight=weight)
        assert model.result_.converged
        report = check_certificate(model, K, y, weight)
        assert report.holds, report
        if not fit_intercept:  # the dual point is the coefficients themselves
            with mp.workdps(digits.DIGITS):
                A, v = digits.matrix(K), digits.matrix(model.result_.x)
                f = A * (digits.matrix(np.diag(weight)) * (A * v))
                gap = mp.fsum(
                    mp.mpf(w) * (mp.mpf(t) - f[i] - alpha * v[i] / mp.mpf(w)) ** 2
                    for i, (w, t) in enumerate(zip(weight, y, strict=True))
                )
            assert gap <= model.result_.certificate.value


@pytest.mark.parametrize("seed", [1, 2, 3, 7])
def test_proxies_are_certified_at_other_primal_points_too(seed):
    """An SVM on the learned kernel: claims of 1.2e-6 to 3.9e-6 were rounding alone."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((40, 3))
    weight = 10.0 ** rng.uniform(-3, 3, 40)
    y = X[:, 0] + rng.standard_normal(40) > 0
    K = 30 * np.tanh(X @ X.T - 0.5)
    model = ProxySVC(1e3, rho=100.0).fit(K, y, sample_weight=weight)
    assert model.result_.converged
    report = check_certificate(model, K, y, weight)
    assert report.holds, report


@pytest.mark.parametrize("n", [12, 60])
def test_a_one_class_machine_on_a_kernel_that_is_zero_has_converged(n):
    """The clipped square of distances turned negative: nothing is above zero."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 3))
    K = -X @ X.T
    model = SpectrumOneClassSVM("clip").fit(K)
    assert model.result_.converged
    assert check_certificate(model, K).holds


SCALED = [
    SpectrumSVC("clip", C=0.1),
    SpectrumSVC("flip", C=0.1, multi_class="ovo"),
    KreinSVC(C=0.1),
    SpectrumSVR("clip", C=0.1),
    SpectrumOneClassSVM("flip", nu=0.3),
]


def results_of(model):
    return model.result_ if isinstance(model.result_, list) else [model.result_]


@pytest.mark.parametrize("model", SCALED, ids=repr)
def test_a_kernel_is_brought_to_unit_scale_in_place_with_the_same_result(model):
    """Where it is shared with other fits it is copied; powers of two do not round."""
    K, y, t = similarity(1, n=90)
    K = 300.0 * K
    before = K.copy()
    y = t if isinstance(model, SpectrumSVR) else np.digitize(t, [-0.5, 0.5])
    given = [K] if isinstance(model, SpectrumOneClassSVM) else [K, y]
    alone = clone(model).fit(*given)
    np.testing.assert_array_equal(K, before)
    with shared_work():
        beside = clone(model).fit(*given)
    np.testing.assert_array_equal(alone.dual_coef_, beside.dual_coef_)
    for one, other in zip(results_of(alone), results_of(beside), strict=True):
        assert one.certificate == other.certificate
        assert one.value == other.value


@pytest.mark.parametrize("scale", [1.0, 100.0])
@pytest.mark.parametrize("method", ["clip", "flip", "shift"])
def test_a_fit_holds_three_matrices_beside_the_similarity(method, scale):
    """Also where most items are free: the polish copies no second kernel."""
    n = 1100
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 8))
    K = np.exp(-0.5 * np.square(X[:, None] - X).sum(axis=2))
    noise = 0.02 * rng.standard_normal((n, n))
    K = scale * (K + 0.5 * (noise + noise.T))
    model = SpectrumSVC(method, C=100.0 / scale)
    tracemalloc.start()
    try:
        model.fit(K, rng.integers(0, 2, n))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    free = (model.alpha_ > 0.0) & (model.alpha_ < model.C)
    assert np.mean(free) > 0.5
    assert peak <= 3.05 * K.nbytes


@pytest.mark.parametrize(
    ("model", "seed"),
    [
        (SpectrumSVC("none", C=500.0), 1),
        (SpectrumSVC("none", C=500.0), 7),
        (DCSVC(500.0), 1),
        (DCSVC(500.0), 3),
        (SpectrumSVR("none", C=500.0), 21),
    ],
    ids=repr,
)
def test_indefinite_machines_of_low_rank_arrive(model, seed):
    """Squared distances: LIBSVM spent all of its steps, at residuals of about 1."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((100, 1))
    t = X[:, 0] + rng.standard_normal(100)
    K = -((X - X.T) ** 2)
    target = t if isinstance(model, SpectrumSVR) else t > 0
    fitted = clone(model).fit(K, target)
    assert fitted.result_.converged
    assert check_certificate(fitted, K, target).holds


@pytest.mark.parametrize("seed", range(4))
def test_bounds_far_beyond_a_kernel_of_low_rank(seed):
    """The systems of all items are singular there: gaps were as large as the value.

    Judged in 60 digits; the referee's eigenpairs are not enough for such a square.
    """
    rng = np.random.default_rng(seed)
    F = rng.standard_normal((60, 4))
    weight = 10.0 ** rng.uniform(-3, 3, 60)
    t = F[:, 0] + rng.standard_normal(60)
    K = 100.0 * (F * [1.0, 1.0, -1.0, -1.0]) @ F.T
    y = np.where(t > 0, 1.0, -1.0)
    found = []
    for model, target in (
        (SpectrumSVC("square", C=100.0), y),
        (SpectrumSVR("square", C=100.0), t),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found.append(model.fit(K, target, sample_weight=weight).result_)
        assert found[-1].certificate.relative <= 1e-2
    with mp.workdps(digits.DIGITS):
        A = digits.matrix(K)
        A = (A + A.T) / 2
        square = A * digits.matrix(np.diag(weight)) * A
    truths = (
        digits.svc_gap(square, y, 100.0 * weight, found[0].x),
        digits.svr_gap(square, t, 100.0 * weight, 0.1, found[1].x),
    )
    for result, truth in zip(found, truths, strict=True):
        assert result.certificate.value >= truth


@pytest.mark.parametrize("seed", [1, 2])
def test_ridge_on_the_similarity_itself_is_refined_with_more_digits(seed):
    """Where no eigenvalue is bounded: 3e-6 was claimed."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((80, 3))
    weight = 10.0 ** rng.uniform(-3, 3, 80)
    y = X[:, 0] + rng.standard_normal(80)
    K = 1e4 * np.tanh(X @ X.T - 0.5)
    model = KreinRidge(0.01).fit(K, y, sample_weight=weight)
    assert model.result_.certificate.relative <= 1e-9
    report = check_certificate(model, K, y, weight)
    assert report.holds, report
