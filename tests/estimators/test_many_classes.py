"""Many classes: one against one, and a thousand against the rest."""

import numpy as np
import pytest
import scipy.sparse
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.multiclass import OneVsOneClassifier
from sklearn.svm import SVC

from krein import DCSVC, KreinSVC, ProxySVC, SpectrumSVC, check_certificate, rbf_kernel


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((90, 3))
    y = np.array(list("abcde"))[rng.integers(0, 5, 90)]
    return rbf_kernel(X), y


def test_one_against_one_as_in_scikit_learn(data):
    K, y = data
    theirs = SVC(kernel="precomputed", decision_function_shape="ovo", tol=1e-9)
    theirs.fit(K, y)
    ours = SpectrumSVC("none", multi_class="ovo", tol=1e-9).fit(K, y)
    assert ours.dual_coef_.shape == (10, 90)
    # Scikit-learn's columns are positive for the first class of a pair.
    assert_allclose(ours.decision_function(K), -theirs.decision_function(K), atol=1e-6)
    assert_allclose(
        ours.decision_function(K), K @ ours.dual_coef_.T + ours.intercept_, atol=1e-12
    )
    assert np.mean(ours.predict(K) == theirs.predict(K)) > 0.97
    assert len(ours.result_) == 10


@pytest.mark.parametrize("model", [SpectrumSVC("flip"), KreinSVC()])
def test_rows_are_those_of_two_classes(model, data):
    K, y = data
    K = K - 0.3
    model.set_params(multi_class="ovo").fit(K, y)
    kernel = SpectrumSVC("flip").fit(K, y)
    assert_array_equal(kernel.classes_, model.classes_)
    assert (model.duality_gap_ <= 1e-6 * np.abs(model.objective_)).all()
    assert (model.alpha_[0][(y != "a") & (y != "b")] == 0).all()
    assert set(model.predict(K)) <= set("abcde")


def test_two_classes_have_one_row(data):
    K, y = data
    y = y < "c"
    one = SpectrumSVC(multi_class="ovo").fit(K, y)
    rest = SpectrumSVC().fit(K, y)
    assert_allclose(one.dual_coef_, rest.dual_coef_)
    assert one.decision_function(K).ndim == 1


def test_no_probabilities_of_pairs(data):
    K, y = data
    with pytest.raises(ValueError, match="multi_class='ovo' has no probabilities"):
        SpectrumSVC(multi_class="ovo", probability=True).fit(K, y)


def test_sparse_pairs_equal_dense_ones(data):
    K, y = data
    K = np.where(K > 0.5, K, 0.0)
    dense = SpectrumSVC(multi_class="ovo").fit(K, y)
    sparse = SpectrumSVC(multi_class="ovo").fit(scipy.sparse.csr_array(K), y)
    assert_allclose(sparse.dual_coef_, dense.dual_coef_, atol=1e-8)


@pytest.mark.parametrize("model", [SpectrumSVC("clip"), KreinSVC(lam_neg=2.0)])
def test_the_referee_agrees_on_pairs(model, data):
    K, y = data
    model.set_params(multi_class="ovo").fit(K - 0.3, y)
    assert check_certificate(model, K - 0.3, y).holds
    model.alpha_[0, np.flatnonzero(y == "c")[0]] = 0.5  # an item of another class
    assert not check_certificate(model, K - 0.3, y).holds


@pytest.mark.slow
@pytest.mark.parametrize("model", [ProxySVC(C=1.0), DCSVC(C=1.0)])
def test_pairs_of_other_machines_by_scikit_learn(model, data):
    """The guide says so: its wrapper cuts rows and columns."""
    K, y = data
    K = K - 0.3
    found = OneVsOneClassifier(model).fit(K, y)
    assert len(found.estimators_) == 10
    items = np.flatnonzero((y == "a") | (y == "b"))
    alone = clone(model).fit(K[np.ix_(items, items)], y[items] == "b")
    assert_allclose(found.estimators_[0].dual_coef_, alone.dual_coef_)
    # Labels are random, a fifth each: a plain SVC has 0.41 of those trained on.
    assert np.mean(found.predict(K) == y) > 0.35


def test_a_thousand_classes():
    """Above 2000 items, by products alone."""
    n, k = 4000, 1000
    y = np.arange(n) % k
    rows = np.arange(n)
    family = scipy.sparse.coo_array((np.full(n, 0.3), (rows, (rows + k) % n)), (n, n))
    K = scipy.sparse.csr_array(family + family.T + scipy.sparse.eye_array(n))
    model = SpectrumSVC("clip", tol=1e-3).fit(K, y)
    assert model.dual_coef_.shape == (k, n)
    assert model.score(K, y) == 1.0
