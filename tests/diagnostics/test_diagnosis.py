"""diagnose: the facts against plain linear algebra, the verdicts on known cases."""

import json

import matplotlib as mpl
import numpy as np
import pytest
from scipy.spatial.distance import cdist

from krein import diagnose, load_dataset, rbf_kernel, sigmoid_kernel
from krein.diagnostics.facts import (
    _permutation_p_value,
    estimated_facts,
    exact_facts,
    label_relation,
    triangle_violations,
)

mpl.use("Agg")


def noisy_gaussian(rng, n=300, noise=0.05):
    X = rng.standard_normal((n, 5))
    E = rng.standard_normal((n, n))
    return X, rbf_kernel(X) - noise * (E + E.T)


def test_facts_are_those_of_the_spectrum(with_spectrum):
    found = diagnose(with_spectrum([-2.0, -1.0, 0.0, 3.0, 4.0]))
    assert found.signature == (2, 2, 1)
    assert found.negative_mass == pytest.approx(0.3)
    assert found.eigenvalues[[0, -1]] == pytest.approx([-2.0, 4.0])
    assert found.symmetric
    assert found.exact


def test_psd_to_rounding_needs_no_fix(rng):
    X = rng.standard_normal((40, 3))
    found = diagnose(X @ X.T)  # rank 3: 37 eigenvalues are rounding errors
    assert found.verdict == "psd"
    assert found.signature == (3, 0, 37)
    assert found.negative_part.verdict == "none"
    assert "plain SVC" in found.advice[0]


def test_symmetric_noise_is_called_noise(rng):
    X, K = noisy_gaussian(rng)
    found = diagnose(K, X[:, 0] > 0)
    assert found.negative_part.verdict == "noise"
    # Wigner: the edge of 0.05 (E + E') is 2 sqrt(2) 0.05 sqrt(n).
    expected = 2 * np.sqrt(2) * 0.05 * np.sqrt(300)
    assert found.negative_part.noise_edge == pytest.approx(expected, rel=0.12)
    assert "clip" in found.advice[0]


def test_a_planted_negative_direction_is_called_structure(rng):
    X, K = noisy_gaussian(rng, noise=0.01)
    y = X[:, 1] > 0
    z = np.where(y, 1.0, -1.0)
    found = diagnose(K - 0.05 * np.outer(z, z), y)
    assert found.negative_part.verdict == "structure"
    assert found.negative_part.agreement > 0.9
    assert found.negative_part.label_p_value <= 0.01
    assert "flip" in found.advice[0]


def test_labels_unrelated_to_the_negative_part_do_not_align(rng):
    X, K = noisy_gaussian(rng)
    p_values = [
        diagnose(K, rng.permutation(X[:, 0] > 0)).negative_part.label_p_value
        for _ in range(5)
    ]
    assert np.median(p_values) > 0.05


@pytest.mark.parametrize(
    ("power", "sign", "order"), [(1, -1, 1), (3, 1, 2), (5, -1, 3)]
)
def test_order_of_conditional_definiteness(power, sign, order, rng):
    X = rng.standard_normal((60, 2))
    found = diagnose(sign * cdist(X, X) ** power, X=X)
    assert found.cpd_order == order
    assert "CPDSVC" in found.advice[0]
    assert diagnose(-sign * cdist(X, X) ** power, X=X).cpd_order is None


def test_triangle_violations_against_a_triple_loop(rng):
    D = cdist(*[rng.standard_normal((12, 2))] * 2) ** 2
    broken = sum(
        D[i, j] > D[i, k] + D[k, j] + 1e-12
        for i in range(12)
        for j in range(12)
        for k in range(12)
        if len({i, j, k}) == 3
    )
    assert triangle_violations(D) == pytest.approx(broken / (12 * 11 * 10))
    assert triangle_violations(np.sqrt(D)) == 0.0


def test_a_euclidean_distance_has_a_psd_laplacian_form(rng):
    X = rng.standard_normal((50, 3))
    found = diagnose(cdist(X, X), kind="distance")
    assert found.verdict == "psd"
    assert found.triangle_violations == 0.0


def test_estimates_agree_with_the_exact_facts(rng):
    _, K = noisy_gaussian(rng, n=500)
    exact, estimate = exact_facts(K), estimated_facts(K)
    assert not estimate.exact
    assert estimate.negative_mass == pytest.approx(exact.negative_mass, rel=0.05)
    assert estimate.signature[1] == pytest.approx(exact.signature[1], rel=0.05)
    np.testing.assert_allclose(estimate.eigenvalues[0], exact.eigenvalues[0])
    np.testing.assert_allclose(estimate.eigenvalues[-1], exact.eigenvalues[-1])


def test_large_matrices_are_examined_by_lanczos(rng, monkeypatch):
    monkeypatch.setattr("krein.diagnostics.facts.EXACT_UP_TO", 200)
    X, K = noisy_gaussian(rng)
    found = diagnose(K, X[:, 0] > 0)
    assert not found.exact
    assert found.verdict == "indefinite"
    assert "about" in str(found)


def test_asymmetry_is_measured_and_named(rng):
    K = rng.standard_normal((20, 20))
    found = diagnose(K)
    assert not found.symmetric
    assert found.asymmetry == pytest.approx(np.abs(K - K.T).max() / np.abs(K).max())
    assert "symmetrize=True" in found.findings[0].python


def test_sonar_and_promoter_facts_of_the_readme():
    sonar = load_dataset("sonar")
    X = (sonar.data - sonar.data.mean(0)) / sonar.data.std(0)
    found = diagnose(sigmoid_kernel(X), sonar.target)
    assert found.negative_mass == pytest.approx(0.15, abs=0.01)
    assert found.verdict == "indefinite"


def test_text_html_json_and_picture(rng):
    X, K = noisy_gaussian(rng, n=100)
    found = diagnose(K, X[:, 0] > 0)
    assert "negative mass" in str(found)
    assert "negative mass" in found._repr_html_()
    assert json.loads(json.dumps(found.to_dict()))["n"] == 100
    ax = found.plot()
    assert ax.get_ylabel() == "eigenvalue"
    drawn = np.concatenate([line.get_ydata() for line in ax.lines[:2]])
    np.testing.assert_allclose(np.sort(drawn), found.eigenvalues)


def test_the_smaller_of_two_p_values_is_small_as_seldom_as_one(rng):
    """Two statistics that know nothing of each other, in 100 orders."""
    p = [_permutation_p_value(rng.standard_normal((100, 2))) for _ in range(1000)]
    assert np.mean(np.array(p) <= 0.1) == pytest.approx(0.1, abs=0.03)


def test_a_permutation_p_value_counts_the_labels_as_given(rng):
    """The order given is one of those counted: no p-value is zero."""
    X = rng.standard_normal((30, 2)) + np.repeat([[4.0], [-4.0]], 15, axis=0)
    y = np.repeat([0, 1], 15)
    assert label_relation(X @ X.T, y).p_value == pytest.approx(1 / 100)
    K = -X @ X.T
    aligned = diagnose(K, y).negative_part.label_p_value
    assert aligned == pytest.approx(1 / 201)
