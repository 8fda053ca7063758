"""KreinRidge as a Gaussian process: alpha by likelihood, standard deviations."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF

from krein import (
    KreinRidge,
    check_certificate,
    load_model,
    rbf_kernel,
    save_model,
    sigmoid_kernel,
    tl1_kernel,
)
from krein.machines.gaussian_process import GaussianProcess

METHODS = ("stabilised", "none", "clip", "flip", "shift")


def problem(seed=0, n=40, d=3):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, np.sin(X[:, 0]) + 0.2 * rng.standard_normal(n)


def indefinite(X):
    return tl1_kernel(X, tau=1.0) - 0.3 * np.exp(
        -(np.subtract.outer(X[:, 0], X[:, 0]) ** 2)
    )


# -------------------------------------------------------------- equal to scikit-learn's


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("alpha", [1e-3, 0.1, 3.0])
def test_equal_to_a_gaussian_process_on_a_positive_kernel(method, alpha):
    X, y = problem()
    new = problem(1, n=25)[0]
    theirs = GaussianProcessRegressor(RBF(1.0), alpha=alpha, optimizer=None).fit(X, y)
    mean, std = theirs.predict(new, return_std=True)
    gram, rows = rbf_kernel(X, gamma=0.5), rbf_kernel(new, X, gamma=0.5)
    ours = KreinRidge(alpha, method=method, fit_intercept=False).fit(gram, y)
    found, spread = ours.predict(rows, return_std=True, k_diag=np.ones(25))
    np.testing.assert_allclose(found, mean, atol=1e-8)
    np.testing.assert_allclose(spread, std, atol=1e-8)
    assert ours.noise_variance_ == alpha


def test_a_named_kernel_knows_its_diagonal():
    X, y = problem()
    new = problem(1, n=5)[0]
    params = {"kernel": "rbf", "kernel_params": {"gamma": 0.5}}
    mean, std = KreinRidge(0.1, **params).fit(X, y).predict(new, return_std=True)
    by_hand = KreinRidge(0.1).fit(rbf_kernel(X, gamma=0.5), y)
    expected = by_hand.predict(
        rbf_kernel(new, X, gamma=0.5), return_std=True, k_diag=np.ones(5)
    )
    np.testing.assert_allclose((mean, std), expected, atol=1e-10)


def test_an_intercept_widens_far_from_the_data():
    """As a constant with a wide prior does, added to the kernel."""
    X, y = problem()
    new = problem(1, n=10)[0] * 4
    gram, rows = rbf_kernel(X, gamma=0.5), rbf_kernel(new, X, gamma=0.5)
    ours = KreinRidge(0.1, method="clip").fit(gram, y)
    wide = 1e6
    theirs = KreinRidge(0.1, method="clip", fit_intercept=False).fit(gram + wide, y)
    np.testing.assert_allclose(
        ours.predict(rows, return_std=True, k_diag=np.ones(10)),
        theirs.predict(rows + wide, return_std=True, k_diag=np.full(10, 1.0 + wide)),
        atol=1e-4,
    )


# --------------------------------------------------------------------------------- auto


def likelihood(K, y, alpha, scale):
    covariance = scale * (K + alpha * np.eye(len(y)))
    return multivariate_normal.logpdf(y, np.zeros(len(y)), covariance)


def log_prior(K, alpha):
    """Of the share of noise in the variance; the diagonal is that of f."""
    return 0.5 * np.log(alpha / (alpha + np.diagonal(K).mean()))


def test_auto_has_the_largest_marginal_likelihood_times_prior():
    X, y = problem()
    K = rbf_kernel(X, gamma=0.5)
    model = KreinRidge("auto", method="clip", fit_intercept=False).fit(K, y)
    alphas = model.alpha_used_ * np.exp(np.linspace(-0.5, 0.5, 11))
    scales = np.geomspace(0.05, 5, 400)
    best = [
        max(likelihood(K, y, alpha, scale) for scale in scales) + log_prior(K, alpha)
        for alpha in alphas
    ]
    assert np.argmax(best) == 5


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("method", ["clip", "shift"])
def test_the_prior_is_that_of_the_share_of_noise(method, fit_intercept):
    """Against the trace of the matrix, centred where the mean is free."""
    X, y = problem(n=12)
    weight = np.arange(12) % 3 + 1
    copies = np.repeat(np.arange(12), weight)
    K = indefinite(X)
    model = KreinRidge(0.3, method=method, fit_intercept=fit_intercept)
    model.fit(K, y, sample_weight=weight)
    repeated = K[np.ix_(copies, copies)]
    values, vectors = np.linalg.eigh(repeated)
    lowest = min(values.min(), 0.0)
    values = np.maximum(values, 0.0) if method == "clip" else values - lowest
    fixed = (vectors * values) @ vectors.T
    if fit_intercept:
        fixed -= fixed.mean(axis=0)
    known = {k: model.variance_[k] for k in GaussianProcess.__dataclass_fields__}
    found = GaussianProcess(**known).log_prior(0.3)
    share = 0.3 / (0.3 + np.trace(fixed) / copies.size)
    assert found == pytest.approx(0.5 * np.log(share), rel=1e-6)


def test_the_prior_decides_for_few_targets_and_not_for_many(monkeypatch):
    def chosen(n):
        X, y = problem(3, n=n, d=5)
        return KreinRidge("auto", method="flip").fit(sigmoid_kernel(X), y).alpha_used_

    few, many = chosen(10), chosen(400)
    assert few > 1e-3
    monkeypatch.setattr(GaussianProcess, "log_prior", lambda self, alpha: 0.0)
    with pytest.warns(UserWarning, match="chose the least penalty"):
        assert chosen(10) < 1e-6 * few
    assert many == pytest.approx(chosen(400), rel=0.05)


@pytest.mark.parametrize(("factor", "sees"), [(1.9, True), (2.1, False)])
def test_a_penalty_at_the_end_of_the_search_is_said(factor, sees):
    X, y = problem(n=20)
    K = rbf_kernel(X)
    values, vectors = np.linalg.eigh(K)
    ones = vectors.T @ np.ones(20)
    process = GaussianProcess(values, vectors.T @ y, ones, 20.0, 0.0, True)
    assert process.sees_no_noise(factor * 1e-10 * values.max()) == sees


def test_noisy_targets_are_not_taken_for_exact_ones():
    """Intervals of few items: in none of the runs do they cover next to nothing."""
    covered = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((315, 5))
        y = np.sin(X[:, 0]) + 0.5 * X[:, 1] + 0.2 * rng.standard_normal(315)
        K = sigmoid_kernel(X)
        model = KreinRidge("auto", method="flip").fit(K[:15, :15], y[:15])
        mean, std = model.predict(
            K[15:, :15], return_std=True, k_diag=K.diagonal()[15:]
        )
        reach = 1.645 * np.sqrt(std**2 + model.noise_variance_)
        covered.append(np.mean(np.abs(y[15:] - mean) <= reach))
    assert np.mean(covered) > 0.8


def test_units_of_the_targets_do_not_matter():
    X, y = problem()
    K = indefinite(X)
    one, other = (KreinRidge("auto").fit(K, c * y) for c in (1.0, 1e6))
    np.testing.assert_allclose(one.alpha_used_, other.alpha_used_, rtol=1e-5)
    np.testing.assert_allclose(other.noise_variance_ / one.noise_variance_, 1e12)


@pytest.mark.filterwarnings("ignore:KreinRidge.alpha=.auto")
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_weights_are_repetition(method, fit_intercept):
    X, y = problem(n=20)
    weight = np.random.default_rng(0).integers(0, 4, 20)
    copies = np.repeat(np.arange(20), weight)
    K, settings = indefinite(X), {"method": method, "fit_intercept": fit_intercept}
    one = KreinRidge("auto", **settings).fit(K, y, sample_weight=weight)
    two = KreinRidge("auto", **settings).fit(K[np.ix_(copies, copies)], y[copies])
    np.testing.assert_allclose(one.alpha_used_, two.alpha_used_, rtol=1e-4)
    np.testing.assert_allclose(one.noise_variance_, two.noise_variance_, rtol=1e-4)
    k = K.diagonal()[:5] + 0.5
    np.testing.assert_allclose(
        one.predict(K[:5], return_std=True, k_diag=k),
        two.predict(K[:5][:, copies], return_std=True, k_diag=k),
        rtol=1e-3, atol=1e-6,
    )  # fmt: skip


def test_the_scale_is_that_of_leaving_one_out():
    X, y = problem(n=15)
    K = rbf_kernel(X, gamma=0.5)
    model = KreinRidge("auto", method="clip").fit(K, y)
    alpha, ratios = model.alpha_used_, []
    for i in range(15):
        rest = np.delete(np.arange(15), i)
        left = KreinRidge(alpha, method="clip").fit(K[np.ix_(rest, rest)], y[rest])
        mean, std = left.predict(K[i : i + 1, rest], return_std=True, k_diag=[1.0])
        ratios.append((y[i] - mean[0]) ** 2 / (std[0] ** 2 + alpha))
    np.testing.assert_allclose(
        model.noise_variance_, alpha * np.mean(ratios), rtol=1e-8
    )


def test_intervals_cover():
    rng = np.random.default_rng(0)
    hits = []
    for seed in range(5):
        X, _ = problem(seed, n=200, d=2)
        y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.3 * rng.standard_normal(200)
        K = tl1_kernel(X, tau=2.0)
        model = KreinRidge("auto", method="flip").fit(K[:120, :120], y[:120])
        mean, std = model.predict(
            K[120:, :120], return_std=True, k_diag=K.diagonal()[120:]
        )
        reach = 1.645 * np.sqrt(std**2 + model.noise_variance_)
        hits += list(np.abs(y[120:] - mean) <= reach)
    assert 0.86 <= np.mean(hits) <= 0.94


def test_the_certificate_is_that_of_the_chosen_alpha():
    X, y = problem()
    for method in METHODS:
        K = indefinite(X)
        model = KreinRidge("auto", method=method).fit(K, y)
        assert check_certificate(model, K, y).holds


def test_odd_targets():
    K = rbf_kernel(problem()[0])
    for y in (np.zeros(40), np.full(40, 3.0)):
        model = KreinRidge("auto").fit(K, y)
        mean, std = model.predict(K, return_std=True, k_diag=np.ones(40))
        np.testing.assert_allclose(mean, y, atol=1e-6)
        assert np.isfinite(std).all()
    model = KreinRidge("auto").fit(np.zeros((4, 4)), np.arange(4.0))
    np.testing.assert_allclose(model.predict(np.zeros((1, 4))), 1.5)


# ---------------------------------------------------------------------- files, refusals


def test_through_a_file(tmp_path):
    X, y = problem()
    K = indefinite(X)
    model = KreinRidge("auto", method="clip").fit(K, y, sample_weight=np.arange(40) % 3)
    save_model(model, tmp_path / "m.krein")
    again = load_model(tmp_path / "m.krein")
    for one, other in zip(
        again.predict(K[:5], return_std=True, k_diag=np.ones(5)),
        model.predict(K[:5], return_std=True, k_diag=np.ones(5)),
        strict=True,
    ):
        np.testing.assert_array_equal(one, other)


def test_refusals():
    X, y = problem()
    K = rbf_kernel(X)
    model = KreinRidge().fit(K, y)
    for k_diag in (None, np.ones(3), np.full(40, np.nan)):
        with pytest.raises(ValueError, match="needs k_diag"):
            model.predict(K, return_std=True, k_diag=k_diag)
    with pytest.raises(ValueError, match="alpha"):
        KreinRidge("best").fit(K, y)
    del model.variance_
    with pytest.raises(ValueError, match="fit it again"):
        model.predict(K, return_std=True, k_diag=np.ones(40))
