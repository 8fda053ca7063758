"""ProxySVC: limits, weights, classes, rules for new points, bad input."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVC

from krein import ProxySVC, ProxySVCCV, Spectrum, SpectrumSVC

N, NEW = 60, 25


@pytest.fixture
def data(rng):
    """Noisy Gaussian similarities of two classes: K, y, K_new, K_new_new."""
    X = rng.standard_normal((N + NEW, 4))
    y = np.where(X[:, 0] + 0.3 * rng.standard_normal(N + NEW) > 0, "yes", "no")
    distance = np.sum((X[:, None] - X) ** 2, axis=2)
    E = rng.standard_normal(distance.shape)
    K = np.exp(-distance / 4) - 0.1 * (E + E.T) / 2
    return K[:N, :N], y[:N], K[N:, :N], K[N:, N:]


@pytest.fixture
def three(rng):
    X = rng.standard_normal((N, 3))
    y = np.argmax(X, axis=1)
    E = rng.standard_normal((N, N))
    distance = np.sum((X[:, None] - X) ** 2, axis=2)
    return np.exp(-distance) - 0.05 * (E + E.T), y


def signs_of(model, y):
    return np.where(y == model.classes_[1], 1.0, -1.0)


def test_certificate_is_reported_and_true(data):
    K, y, _, _ = data
    model = ProxySVC(C=2.0, rho=0.5).fit(K, y)
    signs, alpha = signs_of(model, y), model.alpha_[0]
    assert np.all((alpha >= 0) & (alpha <= 2.0))
    assert abs(signs @ alpha) < 1e-12
    values, U = np.linalg.eigh(K + np.outer(signs * alpha, signs * alpha) / 2.0)
    proxy = (U * np.maximum(values, 0)) @ U.T
    np.testing.assert_allclose(model.proxy_kernel(), proxy, atol=1e-9)
    v = signs * alpha
    objective = alpha.sum() - 0.5 * v @ proxy @ v + 0.5 * np.sum((proxy - K) ** 2)
    assert model.objective_[0] == pytest.approx(objective, rel=1e-10)
    # The dual of the SVM on the proxy, at the best intercept, bounds the optimum.
    outputs = proxy @ v
    hinge = min(
        2.0 * np.sum(np.maximum(0, 1 - signs * (outputs + b))) for b in signs - outputs
    )
    gap = hinge + 0.5 * v @ proxy @ v - (alpha.sum() - 0.5 * v @ proxy @ v)
    assert gap == pytest.approx(model.duality_gap_[0], abs=1e-8)
    assert model.result_.converged
    assert model.result_.history["relative"][-1] <= 1e-6


def test_large_rho_is_clip(data):
    K, y, K_new, _ = data
    proxy = ProxySVC(C=2.0, rho=1e8, tol=1e-9).fit(K, y)
    clip = SpectrumSVC("clip", C=2.0).fit(K, y)
    np.testing.assert_allclose(proxy.alpha_, clip.alpha_, atol=1e-4)
    np.testing.assert_allclose(
        proxy.decision_function(K_new), clip.decision_function(K_new), atol=1e-4
    )
    np.testing.assert_allclose(
        proxy.proxy_kernel(),
        Spectrum.exact(K).map(lambda d: np.maximum(d, 0)).matrix(),
        atol=1e-5,
    )


def test_psd_kernel_equals_svc_as_rho_grows(rng):
    X = rng.standard_normal((N, 5))
    K, y = X @ X.T + np.eye(N), np.where(X[:, 0] > 0, 1, -1)
    svc = SVC(C=0.5, kernel="precomputed", tol=1e-9).fit(K, y)
    distance = [
        np.abs(
            ProxySVC(C=0.5, rho=rho, tol=1e-9).fit(K, y).decision_function(K)
            - svc.decision_function(K)
        ).max()
        for rho in (1.0, 1e3, 1e6)
    ]
    assert distance[0] > distance[1] > distance[2]
    assert distance[2] < 1e-4


@pytest.mark.parametrize("rule", ["clip", "raw", "project"])
def test_sample_weights_equal_repetition(rule, data, rng):
    K, y, K_new, _ = data
    weight = rng.integers(0, 4, N)
    index = np.repeat(np.arange(N), weight)
    model = ProxySVC(C=1.5, rho=0.3, new_points=rule, tol=1e-10)
    weighted = clone(model).fit(K, y, sample_weight=weight)
    repeated = clone(model).fit(K[np.ix_(index, index)], y[index])
    np.testing.assert_allclose(
        weighted.decision_function(K_new),
        repeated.decision_function(K_new[:, index]),
        atol=1e-9,
    )
    assert weighted.objective_[0] == pytest.approx(repeated.objective_[0], rel=1e-10)
    assert np.all(weighted.alpha_[:, weight == 0] == 0)


def test_class_weight_equals_sample_weight(data):
    K, y, K_new, _ = data
    by_class = ProxySVC(class_weight={"yes": 3.0}, tol=1e-9).fit(K, y)
    by_sample = ProxySVC(tol=1e-9).fit(K, y, np.where(y == "yes", 3.0, 1.0))
    np.testing.assert_allclose(
        by_class.decision_function(K_new), by_sample.decision_function(K_new)
    )


def test_three_classes_share_one_eigendecomposition(three, monkeypatch):
    K, y = three
    calls = []
    exact = Spectrum.exact

    def counted(*args, **kwargs):
        calls.append(1)
        return exact(*args, **kwargs)

    monkeypatch.setattr(Spectrum, "exact", counted)
    model = ProxySVC(C=3.0).fit(K, y)
    for row in range(3):
        model.proxy_kernel(row)
    assert len(calls) == 1
    assert model.decision_function(K).shape == (N, 3)
    assert len(model.result_) == 3
    for k in range(3):
        alone = ProxySVC(C=3.0).fit(K, y == k)
        np.testing.assert_allclose(model.alpha_[k], alone.alpha_[0])


def test_three_classes_against_one_vs_rest(rng):
    X = rng.standard_normal((N, 3))
    K, y = X @ X.T, np.argmax(X, axis=1)
    ours = ProxySVC(C=1.0, rho=1e8, tol=1e-9).fit(K, y).decision_function(K)
    theirs = OneVsRestClassifier(SVC(C=1.0, kernel="linear", tol=1e-9)).fit(X, y)
    np.testing.assert_allclose(ours, theirs.decision_function(X), atol=1e-3)


@pytest.mark.parametrize("model", [ProxySVC(), ProxySVCCV(Cs=[1.0], rhos=[1.0])])
def test_a_class_of_zero_weight_is_an_error_that_names_it(model, three):
    K, y = three
    names = np.array(["one", "two", "three"])[y]
    with pytest.raises(ValueError, match="zero for all of class 'three'"):
        model.fit(K, names, sample_weight=np.where(y == 2, 0.0, 1.0))


@pytest.mark.parametrize("rule", ["clip", "raw", "project", "luss"])
def test_intercept_comes_from_the_function_that_predicts(rule, data):
    K, y, _, _ = data
    model = ProxySVC(C=2.0, rho=0.1, new_points=rule).fit(K, y)
    if rule == "luss":
        outputs = model.proxy_kernel() @ (signs_of(model, y) * model.alpha_[0])
    else:
        outputs = K @ model.dual_coef_[0]
    alpha = model.alpha_[0]
    free = (alpha > 1e-6) & (alpha < 2.0 - 1e-6)
    assert free.any()
    expected = np.mean((signs_of(model, y) - outputs)[free])
    assert model.intercept_[0] == pytest.approx(expected, abs=1e-9)


def test_rules_against_their_definitions(data):
    K, y, K_new, K_new_new = data
    fitted = {
        rule: ProxySVC(C=2.0, rho=0.1, new_points=rule).fit(K, y)
        for rule in ("clip", "raw", "project", "luss")
    }
    alpha = fitted["clip"].alpha_[0]
    v = signs_of(fitted["clip"], y) * alpha
    A = K + np.outer(v, v) / 0.4
    for rule, matrix in {"clip": K, "project": A}.items():
        values, U = np.linalg.eigh(matrix)
        coef = U @ ((values > 0) * (U.T @ v))
        np.testing.assert_allclose(fitted[rule].dual_coef_[0], coef, atol=1e-9)
    np.testing.assert_allclose(fitted["raw"].dual_coef_[0], v)
    luss = fitted["luss"]
    together = np.block([[A, K_new.T], [K_new, K_new_new]])
    values, U = np.linalg.eigh(together)
    expected = ((U * np.maximum(values, 0)) @ U.T)[N:, :N] @ v + luss.intercept_
    found = luss.decision_function(K_new, K_new_new=K_new_new)
    np.testing.assert_allclose(found, expected, atol=1e-9)
    diagonal = np.diagonal(K_new_new)
    one_by_one = [
        luss.decision_function(K_new[[i]], K_new_new=[[diagonal[i]]])[0]
        for i in range(NEW)
    ]
    at_once = luss.decision_function(K_new, k_diag=diagonal)
    np.testing.assert_allclose(at_once, one_by_one, atol=1e-9)
    agreement = np.mean(np.sign(at_once) == np.sign(found))
    assert agreement > 0.8
    labels = luss.predict(K_new, k_diag=diagonal)
    assert np.array_equal(labels == luss.classes_[1], at_once > 0)


def test_luss_with_weights_equals_repetition(data, rng):
    K, y, K_new, K_new_new = data
    weight = rng.integers(0, 4, N)
    index = np.repeat(np.arange(N), weight)
    model = ProxySVC(C=1.5, rho=0.3, new_points="luss", tol=1e-10)
    weighted = clone(model).fit(K, y, sample_weight=weight)
    repeated = clone(model).fit(K[np.ix_(index, index)], y[index])
    for extra in ({"K_new_new": K_new_new}, {"k_diag": np.diagonal(K_new_new)}):
        np.testing.assert_allclose(
            weighted.decision_function(K_new, **extra),
            repeated.decision_function(K_new[:, index], **extra),
            atol=1e-9,
        )


def test_luss_with_a_named_kernel_needs_no_matrices(rng):
    X = rng.standard_normal((40, 3))
    y = X[:, 0] > 0
    model = ProxySVC(kernel="tl1", new_points="luss").fit(X, y)
    assert model.score(X, y) > 0.9


def test_scaling_the_similarity(data):
    """K t, C / t and rho / t^3 leave the predictions unchanged."""
    K, y, K_new, _ = data
    t = 7.0
    one = ProxySVC(C=2.0, rho=0.3, tol=1e-9).fit(K, y)
    other = ProxySVC(C=2.0 / t, rho=0.3 / t**3, tol=1e-9).fit(t * K, y)
    np.testing.assert_allclose(
        other.decision_function(t * K_new), one.decision_function(K_new), atol=1e-6
    )


def test_permuting_the_samples_permutes_the_solution(data, rng):
    K, y, K_new, _ = data
    order = rng.permutation(N)
    one = ProxySVC(tol=1e-9).fit(K, y)
    other = ProxySVC(tol=1e-9).fit(K[np.ix_(order, order)], y[order])
    np.testing.assert_allclose(
        other.decision_function(K_new[:, order]),
        one.decision_function(K_new),
        atol=1e-6,
    )


def test_cross_validation_probability_and_pickle(data):
    K, y, K_new, _ = data
    assert cross_val_score(ProxySVC(), K, y, cv=3).mean() > 0.6
    model = ProxySVC(probability=True, random_state=0).fit(K, y)
    p = model.predict_proba(K_new)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(K_new), p)
    np.testing.assert_array_equal(again.proxy_kernel(), model.proxy_kernel())


def test_init_warm_starts(data):
    K, y, _, _ = data
    first = ProxySVC().fit(K, y)
    again = ProxySVC(solver_options={"init": first.alpha_}).fit(K, y)
    assert again.n_iter_[0] == 0


def test_the_tolerance_not_reached_is_said(data):
    K, y, _, _ = data
    with pytest.warns(ConvergenceWarning, match="did not reach tol"):
        ProxySVC(max_iter=1, tol=1e-14).fit(K, y)


def test_verbose_reports(data, capsys):
    K, y, _, _ = data
    ProxySVC(verbose=1).fit(K, y)
    assert "relative gap" in capsys.readouterr().err


class TestErrors:
    def test_unknown_option(self, data):
        with pytest.raises(ValueError, match="solver_options has 'speed'"):
            ProxySVC(solver_options={"speed": 1}).fit(*data[:2])

    def test_init_of_the_wrong_shape(self, data):
        with pytest.raises(ValueError, match=r"\['init'\] has shape"):
            ProxySVC(solver_options={"init": np.zeros(3)}).fit(*data[:2])

    @pytest.mark.parametrize("name", ["C", "rho"])
    def test_parameters_must_be_positive(self, name, data):
        with pytest.raises(ValueError, match=f"'{name}' parameter"):
            ProxySVC(**{name: 0.0}).fit(*data[:2])

    def test_asymmetric(self, data, rng):
        K = data[0] + 0.1 * rng.standard_normal((N, N))
        with pytest.raises(ValueError, match="symmetrize=True"):
            ProxySVC().fit(K, data[1])
        assert ProxySVC(symmetrize=True).fit(K, data[1]).result_.converged

    def test_not_a_number(self, data):
        K = data[0].copy()
        K[3, 4] = K[4, 3] = np.nan
        with pytest.raises(ValueError, match="NaN"):
            ProxySVC().fit(K, data[1])

    def test_luss_without_what_it_needs(self, data):
        K, y, K_new, K_new_new = data
        model = ProxySVC(new_points="luss").fit(K, y)
        with pytest.raises(ValueError, match="needs K_new_new"):
            model.predict(K_new)
        with pytest.raises(ValueError, match="K_new_new must have shape"):
            model.predict(K_new, K_new_new=K_new_new[:3, :3])
        with pytest.raises(ValueError, match="k_diag must have shape"):
            model.predict(K_new, k_diag=np.ones(3))

    def test_extra_matrices_for_another_rule(self, data):
        K, y, K_new, K_new_new = data
        with pytest.raises(ValueError, match="are for new_points='luss'"):
            ProxySVC().fit(K, y).predict(K_new, K_new_new=K_new_new)

    def test_row_out_of_range(self, data):
        model = ProxySVC().fit(*data[:2])
        with pytest.raises(ValueError, match="row must be between 0 and 0"):
            model.proxy_kernel(1)
