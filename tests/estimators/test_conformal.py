"""Prediction sets: thresholds by hand, exact coverage, wiring, files, refusals."""

import numpy as np
import pytest
from sklearn.base import clone

from krein import (
    CPDSVC,
    DCSVC,
    KreinLogisticRegression,
    KreinSVC,
    ProxySVC,
    SpectrumSVC,
    SpectrumSVCCV,
    load_model,
    save_model,
    sigmoid_kernel,
)
from krein.selection.calibration import conformity, thresholds


def problem(seed=0, n=150, classes=3):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % classes
    X = rng.standard_normal((n, 4)) + 1.2 * np.eye(4)[y]
    return sigmoid_kernel(X, gamma=0.2), np.array(["a", "b", "c", "d"])[y]


def test_thresholds_by_hand():
    proba = np.array([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.6, 0.4], [0.5, 0.5]])
    codes = np.array([0, 0, 0, 0, 1])
    table = conformity(proba, codes)
    # Class 0 has 0.9, 0.8, 0.6, 0.3; three quarters of 4 are the third place.
    np.testing.assert_allclose(thresholds(table, 2, 0.75), [0.6, -np.inf])
    np.testing.assert_allclose(thresholds(table, 2, 0.5), [0.8, 0.5])
    np.testing.assert_allclose(thresholds(table, 2, 0.625), [0.7, -np.inf])
    np.testing.assert_allclose(thresholds(table, 2, 0.81), [-np.inf, -np.inf])


def test_integer_weights_equal_repetition():
    rng = np.random.default_rng(0)
    proba = rng.dirichlet(np.ones(3), 40)
    codes, weight = rng.integers(0, 3, 40), rng.integers(1, 4, 40)
    repeated = np.repeat(np.arange(40), weight)
    for coverage in (0.5, 0.8, 0.9):
        np.testing.assert_allclose(
            thresholds(conformity(proba, codes, weight.astype(float)), 3, coverage),
            thresholds(conformity(proba[repeated], codes[repeated]), 3, coverage),
        )


def test_items_that_no_fold_tested_do_not_count():
    proba = np.array([[0.9, 0.1], [np.nan, np.nan], [0.3, 0.7]])
    assert conformity(proba, np.array([0, 0, 1])).shape == (2, 3)


def test_coverage_of_exchangeable_scores():
    """The share of places above the threshold among n + 1 items, one of them new."""
    rng = np.random.default_rng(0)
    n, hits = 22, 0
    for _ in range(4000):
        own = rng.random(n + 1)
        proba = np.column_stack([own, 1.0 - own])
        least = thresholds(conformity(proba[:n], np.zeros(n, int)), 2, 0.8)
        hits += own[n] >= least[0]
    assert abs(hits / 4000 - 0.8 * n / (n + 1)) < 0.02


@pytest.mark.parametrize(
    "model",
    [
        SpectrumSVC("clip", probability=True),
        KreinSVC(probability=True),
        ProxySVC(probability=True),
        DCSVC(probability=True),
        CPDSVC(kernel="rbf", probability=True),
        SpectrumSVCCV(Cs=[1.0], fixes=["clip", "flip"]),
    ],
    ids=lambda model: type(model).__name__,
)
def test_on_every_kind_of_classifier(model):
    K, y = problem(n=90)
    X = K
    train, test = np.arange(0, 60), np.arange(60, 90)
    if model.kernel == "precomputed":
        X, new = K[np.ix_(train, train)], K[np.ix_(test, train)]
    else:
        X, new = K[train, :5], K[test, :5]
    model = clone(model).fit(X, y[train])
    small, large = model.predict_set(new, coverage=0.6), model.predict_set(new)
    assert small.shape == (30, 3)
    assert small.dtype == bool
    assert np.all(small <= large)  # a higher coverage only adds classes
    assert small.sum() < large.sum()


def test_covers_new_items():
    hits = []
    for seed in range(6):
        K, y = problem(seed, n=500)
        model = SpectrumSVC("clip", probability=True).fit(K[:250, :250], y[:250])
        sets = model.predict_set(K[250:, :250], coverage=0.9)
        hits += list(sets[np.arange(250), np.searchsorted(model.classes_, y[250:])])
    assert 0.88 <= np.mean(hits) <= 0.92


def test_through_a_file(tmp_path):
    K, y = problem(n=60)
    for model in (SpectrumSVC(probability=True), SpectrumSVCCV(Cs=[1.0])):
        model.fit(K, y)
        path = tmp_path / f"{type(model).__name__}.krein"
        save_model(model, path)
        again = load_model(path)
        np.testing.assert_array_equal(again.predict_set(K), model.predict_set(K))


def test_refusals():
    K, y = problem(n=60)
    assert not hasattr(SpectrumSVC(), "predict_set")
    assert not hasattr(KreinLogisticRegression(), "predict_set")
    model = SpectrumSVC(probability=True).fit(K, y)
    for coverage in (0.0, 1.0, 90):
        with pytest.raises(ValueError, match="between 0 and 1"):
            model.predict_set(K, coverage=coverage)
    del model.conformity_
    with pytest.raises(ValueError, match="fit it again"):
        model.predict_set(K)
