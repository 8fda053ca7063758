"""One table of what the functions of `krein.published` refuse, over all of them."""

import inspect
import re

import numpy as np
import pytest

from krein import published

N = 8
FUNCTIONS = [name for name in published.__all__ if name != "convergence_condition"]
RUNS = [name for name in FUNCTIONS if name != "walder_algorithm_1"]

# Parameter -> values that no function may take, and words of the message.
REFUSED = {
    "C": ([0.0, -1.0, np.nan, np.inf, "1", True], "C must be a positive number"),
    "rho": ([0.0, -1.0, np.nan], "rho must be a positive number"),
    "alpha": ([0.0, -0.1, np.nan], "alpha must be a positive number"),
    "lam": ([0.0, -0.1, np.inf], "lam must be a positive number"),
    "smoothing": ([-0.1, np.nan], "smoothing must be a number of 0 or more"),
    "gamma": ([-1.0, np.nan, "L"], "gamma must be a positive number, or None"),
    "normalize": (["sum", 1], "normalize must be one of 'trace', None"),
    "line_search": (["yes", 1], "line_search must be True or False"),
    "monotone": ([None], "monotone must be True or False"),
    "prune": (["no"], "prune must be True or False"),
    "fit_intercept": ([2], "fit_intercept must be True or False"),
    "reset_eta": ([0], "reset_eta must be True or False"),
    "b_beta": (["separable"], "b_beta must be True or False"),
    "domain": (["whole", None], "domain must be one of 'cut', 'paper'"),
    "master": (["mosek"], "master must be 'mkl', 'exact' or a function"),
    "block": ([1, 2.5], "block must be an integer of 2 or more"),
    "mu": ([0.0, -1.0], "mu must be a positive number"),
    "epsilon": ([-1.0, np.nan], "epsilon must be a number of 0 or more"),
    "batch": ([0, 1.5], "batch must be an integer of 1 or more"),
    "eta": ([0.0, -0.02, np.nan], "eta must be a positive number"),
    "decay": ([2, 0.0, -0.5, np.nan], "decay must be a number above 0 and at most 1"),
    "step": (["lips", None], "step must be one of 'printed', 'lipschitz'"),
    "tau": ([0.0, -1.0], "tau must be a positive number, or None"),
    "max_inner": ([0, -3], "max_inner must be an integer of 1 or more"),
    "equations": (["corrrected"], "equations must be one of 'corrected', 'printed'"),
    "random_state": ([-1, "0"], "random_state must be None, an integer"),
    "factor": (["old"], "factor must be one of 'fresh', 'updated'"),
    "stop": (["never"], "stop must be one of 'gap', 'change'"),
    "tol": ([np.nan, -1e-3, None, "small"], "tol must be a number of 0 or more"),
    "max_iter": ([-1, 2.5, None, True], "max_iter must be an integer of 0 or more"),
    "callback": ([3, "print"], "callback must be None, or a function"),
}


@pytest.fixture
def K(rng):
    X, E = rng.standard_normal((N, 2)), rng.standard_normal((N, N))
    return np.exp(-np.sum((X[:, None] - X) ** 2, axis=2)) + 0.1 * (E + E.T)


@pytest.fixture
def y():
    return np.where(np.arange(N) % 3, 1.0, -1.0)


def call(name, K, y, **options):
    """Call a function on one matrix; `mkl` gets its positive part, as a list."""
    if name == "mkl":
        K = np.asarray(K)
        if K.shape == (N, N) and np.isfinite(K).all() and (K == K.T).all():
            values, U = np.linalg.eigh(K)
            K = (U * np.maximum(values, 0)) @ U.T
            K = (K + K.T) / 2
        return published.mkl([K, np.eye(N)], y, **options)
    return getattr(published, name)(K, y, **options)


def parameters(name):
    return inspect.signature(getattr(published, name)).parameters


@pytest.mark.parametrize("name", published.__all__)
def test_every_argument_is_in_the_signature(name):
    kinds = {parameter.kind for parameter in parameters(name).values()}
    assert inspect.Parameter.VAR_KEYWORD not in kinds
    assert inspect.Parameter.VAR_POSITIONAL not in kinds


@pytest.mark.parametrize("name", published.__all__)
def test_every_argument_has_a_rule(name):
    checked_elsewhere = {"K", "Phi", "kernels", "y", "P", "target", "x0"}
    assert set(parameters(name)) - checked_elsewhere <= set(REFUSED)


@pytest.mark.parametrize(
    ("name", "parameter"),
    [(n, p) for n in FUNCTIONS for p in parameters(n) if p in REFUSED],
)
def test_numbers_and_names(name, parameter, K, y):
    values, message = REFUSED[parameter]
    for value in values:
        with pytest.raises((ValueError, TypeError), match=message) as caught:
            call(name, K, y, **{parameter: value})
        assert repr(value) in str(caught.value)


def test_a_condition_has_the_same_rules(K):
    for parameter in ("alpha", "tau"):
        values, message = REFUSED[parameter]
        for value in values:
            with pytest.raises(ValueError, match=message):
                published.convergence_condition(K, **{parameter: value})


@pytest.mark.parametrize("name", FUNCTIONS)
def test_matrices(name, K, y):
    shown = {"mkl": "kernels[0]", "walder_algorithm_1": "Phi"}.get(name, "K")
    given = re.escape(shown)
    with pytest.raises(ValueError, match=f"{given} must be a square matrix"):
        call(name, K[:, :3], y)
    with pytest.raises(ValueError, match="NaN"):
        call(name, np.where(K == K[0, 1], np.nan, K), y)
    with pytest.raises(ValueError, match="infinity"):
        call(name, np.where(K == K[0, 1], np.inf, K), y)
    with pytest.raises(ValueError, match=f"{given} is not symmetric") as caught:
        call(name, np.triu(K), y)
    assert "symmetrize" not in str(caught.value)
    assert f"({shown} + {shown}.T) / 2" in str(caught.value)


@pytest.mark.parametrize("name", published.__all__)
@pytest.mark.parametrize(
    "other",
    [None, 3.0, "K", np.zeros((0, 0)), np.eye(N) * 1j, [["a"] * N] * N, np.ones(N)],
    ids=["none", "number", "word", "empty", "complex", "words", "vector"],
)
def test_what_is_no_matrix_is_named(name, other, y):
    shown = {"mkl": "kernels[0]", "walder_algorithm_1": "Phi"}.get(name, "K")
    arguments = ([other] if name == "mkl" else other, y)
    if name == "convergence_condition":
        arguments = arguments[:1]
    with pytest.raises(ValueError, match=f"{re.escape(shown)} must be a square matrix"):
        getattr(published, name)(*arguments)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize(
    "labels",
    [
        lambda y: y[:-1],
        lambda y: np.ones(N),
        lambda y: y + 1,
        lambda y: np.where(y > 0, "yes", "no"),
        lambda y: y > 0,
        lambda y: y[:, None],
        lambda y: np.where(np.arange(N) == 2, np.nan, y),
        lambda y: np.where(np.arange(N) == 2, 0.5, y),
    ],
    ids=["short", "one", "shifted", "words", "bool", "column", "nan", "third"],
)
def test_labels(name, labels, K, y):
    with pytest.raises(ValueError, match=r"y must hold -1 and \+1.*np\.where\(y == "):
        call(name, K, labels(y))


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.filterwarnings("ignore")
def test_labels_of_other_types(name, K, y):
    expected = call(name, K, y, max_iter=3).x
    for labels in (y.astype(int).tolist(), y.astype("int8"), y.astype(object)):
        np.testing.assert_array_equal(call(name, K, labels, max_iter=3).x, expected)


# ------------------------------------------------- x0, tol, max_iter, callback


def start(name, rng):
    """A point of the right length."""
    size = {"mkl": 2, "dc_primal": N + 1}.get(name, N)
    return rng.uniform(0.1, 0.9, size)


def test_all_have_the_same_words():
    for name in FUNCTIONS:
        common = {"max_iter", "callback"}
        assert common <= set(parameters(name))
        for word in ("x0", "tol"):
            assert (word in parameters(name)) == (name != "walder_algorithm_1")
    assert "start" not in {word for name in FUNCTIONS for word in parameters(name)}


@pytest.mark.parametrize("name", RUNS)
def test_a_start_of_wrong_shape_or_not_finite(name, K, y, rng):
    x0 = start(name, rng)
    bads = (x0[:-1], x0[:, None], 5, np.where(x0 == x0[0], np.nan, x0), "zero", 1j * x0)
    for bad in bads:
        with pytest.raises(ValueError, match=f"x0 must hold {x0.size}"):
            call(name, K, y, x0=bad)


@pytest.mark.parametrize("name", RUNS)
@pytest.mark.parametrize("outside", [False, True])
def test_the_run_starts_from_x0_inside_of_the_feasible_set(name, outside, K, y, rng):
    x0, seen = start(name, rng), []
    if outside and name != "mkl":
        x0 = 5.0 + x0
    before = x0.copy()
    call(name, K, y, x0=x0, max_iter=0, callback=lambda one: seen.append(one) and None)
    np.testing.assert_array_equal(x0, before)
    x = seen[0].x
    assert len(seen) == 1
    assert x.shape == x0.shape
    if name == "mkl":
        assert x.sum() == pytest.approx(1.0)
        return
    if name in ("dc_primal", "krein_gd") or name.startswith("cc"):
        np.testing.assert_allclose(x, x0, atol=1e-12)  # every point is feasible
        return
    assert x.min() >= 0.0
    assert x.max() <= 1.0
    assert abs(x @ y) <= 1e-12
    if name != "accpm":  # which needs the inside
        nearest = [projected(x0, y), x][name not in ("spgm", "smm", "siqclp", "tdca")]
        np.testing.assert_allclose(x, nearest, atol=1e-9)


def projected(a, y):
    """Nearest point of Q1 for C = 1, by bisection on the multiplier."""
    low, high = -100.0, 100.0
    for _ in range(200):
        tau = (low + high) / 2
        if y @ np.clip(a - tau * y, 0, 1) > 0:
            low = tau
        else:
            high = tau
    return np.clip(a - tau * y, 0, 1)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_callback_sees_every_iterate_in_the_form_of_the_result(name, K, y):
    seen = []
    result = call(
        name, K, y, max_iter=4, callback=lambda one: seen.append(one) and None
    )
    assert len(seen) == result.n_iter + 1
    for one in seen:
        assert one.x.shape == result.x.shape
        assert np.isfinite(one.value)
        assert one.certificate.value >= 0.0
    assert any(np.allclose(one.x, result.x, atol=1e-12) for one in seen)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_true_answer_stops_the_run(name, K, y):
    result = call(name, K, y, callback=lambda one: True)
    assert (result.status, result.n_iter) == ("interrupted", 0)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_max_iter_is_the_largest_number_of_steps(name, K, y):
    for most in (0, 1):
        assert call(name, K, y, max_iter=most).n_iter <= most


def test_tdca_no_longer_converges_outside_of_the_box(K, y):
    outside = np.full(N, 5.0)
    result = published.tdca(K, y, C=1.0, x0=outside)
    assert result.x.max() <= 1.0
    assert result.certificate.value <= 1e-4


def test_certificates_count_what_is_missing_to_the_feasible_set(K, y):
    """A point outside is no solution, whatever its gradient says."""
    from krein.machines.box import BalancedBox
    from krein.machines.proxy import ProxySVM
    from krein.published.algorithm_1 import CPDMatrices
    from krein.published.difference_of_convex import IndefiniteDual
    from krein.published.solver import Oracle, infeasibility
    from krein.spectrum.decomposition import Spectrum

    box = BalancedBox(np.full(N, 2.0), y)
    inside = box.middle()
    assert infeasibility(box, inside) == 0.0
    for outside in (inside - 3.0, inside + 3.0, inside + 0.5 * (y > 0)):
        expected = np.maximum(-outside, 0).sum() + np.maximum(outside - 2.0, 0).sum()
        expected += abs(outside @ y)
        assert infeasibility(box, outside) == pytest.approx(expected)
    f = Oracle(ProxySVM(Spectrum.exact(K), box, 1.0))
    a = inside + 3.0
    rise, gradient = f(a)
    plain = f.problem.iterate(a, rise, gradient).certificate.value
    assert f.iterate(a, rise, gradient).certificate.value > plain + 1.0
    dual = IndefiniteDual(K, box)
    everything = np.full(N, 5.0)
    assert dual.certificate(everything, dual.gradient(everything)).value >= 1.5
    problem = CPDMatrices(K, np.ones((N, 1)) / np.sqrt(N), y, 0.5, np.ones(N))
    assert problem.slip(inside, np.array([2.0])) > 0.1
    assert problem.slip(inside - inside.mean(), np.array([2.0])) < 1e-12


# -------------------------------------------------------------- single functions


def test_mkl_refuses_an_indefinite_kernel_and_a_target_of_another_shape(K, y):
    with pytest.raises(ValueError, match=r"kernels\[1\] is not positive semidefinite"):
        published.mkl([np.eye(N), K - 2 * np.eye(N)], y)
    with pytest.raises(ValueError, match=r"target must have shape \(8, 8\)"):
        published.mkl([np.eye(N)], y, target=np.eye(3))
    with pytest.raises(ValueError, match=r"kernels\[1\] has trace 0"):
        published.mkl([np.eye(N), np.zeros((N, N))], y, normalize="trace")
    for bad in ([-1.0, 2.0], [0.0, 0.0]):
        with pytest.raises(ValueError, match="x0 must hold weights of 0 or more"):
            published.mkl([np.eye(N), 2 * np.eye(N)], y, x0=bad)


def test_gamma_is_at_least_the_constant_of_theorem_2(K, y):
    L = np.linalg.eigvalsh(K)[-1] + N * 1.0 / 0.5
    with pytest.raises(ValueError, match=r"gamma must be at least L = .*line_search"):
        published.spgm(K, y, rho=0.5, gamma=0.99 * L)
    published.spgm(K, y, rho=0.5, gamma=L * (1 + 1e-12), max_iter=2)
    with pytest.raises(ValueError, match="exclude each other"):
        published.spgm(K, y, gamma=100.0, line_search=True)


def test_polynomials(y):
    Phi = -np.abs(np.subtract.outer(np.arange(8.0), np.arange(8.0)))
    for P, message in (
        (np.ones(N), "P must have shape"),
        (np.ones((3, 1)), "P must have shape"),
        (np.full((N, 1), "a"), "P must hold numbers"),
        (np.full((N, 1), np.nan), "P must hold finite numbers"),
    ):
        with pytest.raises(ValueError, match=message):
            published.walder_algorithm_1(Phi, y, P)
    with pytest.raises(ValueError, match="factor='updated' is for b_beta=True"):
        published.walder_algorithm_1(Phi, y, factor="updated")
    with pytest.raises(ValueError, match="leaves only f = 0"):
        published.walder_algorithm_1(Phi, y, np.eye(N), b_beta=True)
