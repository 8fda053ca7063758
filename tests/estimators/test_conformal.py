"""Prediction sets: thresholds by hand, exact coverage, wiring, files, refusals."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
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
from krein.selection.calibration import (
    conformity,
    fit_sigmoid,
    fit_sigmoids,
    sigmoid_probabilities,
    threshold,
    thresholds,
)


def problem(seed=0, n=150, classes=3):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % classes
    X = rng.standard_normal((n, 4)) + 1.2 * np.eye(4)[y]
    return sigmoid_kernel(X, gamma=0.2), np.array(["a", "b", "c", "d"])[y]


def test_thresholds_by_hand():
    proba = np.array([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.6, 0.4], [0.5, 0.5]])
    codes = np.array([0, 0, 0, 0, 1])
    table = conformity(proba, codes)
    # Class 0 has 0.9, 0.8, 0.6, 0.3; three fifths of 4 + 1 are the third place.
    np.testing.assert_allclose(thresholds(table, 2, 0.6), [0.6, -np.inf])
    np.testing.assert_allclose(thresholds(table, 2, 0.5), [0.7, 0.5])
    np.testing.assert_allclose(thresholds(table, 2, 0.7), [0.45, -np.inf])
    np.testing.assert_allclose(thresholds(table, 2, 0.81), [-np.inf, -np.inf])
    assert threshold(table, 0.5) == pytest.approx(0.6)  # of five items the third


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
    """As often as asked for, also with few items."""
    rng = np.random.default_rng(0)
    n, hits = 9, 0
    for _ in range(4000):
        own = rng.random(n + 1)
        proba = np.column_stack([own, 1.0 - own])
        least = thresholds(conformity(proba[:n], np.zeros(n, int)), 2, 0.8)
        hits += own[n] >= least[0]
    assert abs(hits / 4000 - 0.8) < 0.02


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


@pytest.mark.parametrize(
    "model",
    [SpectrumSVC("clip", probability=True, random_state=0), SpectrumSVCCV()],
    ids=lambda model: type(model).__name__,
)
def test_covers_new_items_where_items_are_few_and_hard(model):
    """Those that chose the settings do not set the thresholds."""
    hits = []
    for seed in range(25):
        rng = np.random.default_rng(seed)
        y = np.arange(440) % 2
        X = rng.standard_normal((440, 5))
        X[:, 0] += 0.7 * y
        K = np.tanh(X @ X.T / 5 - 0.3)
        fitted = clone(model).fit(K[:40, :40], y[:40])
        sets = fitted.predict_set(K[40:, :40])
        hits.append(sets[np.arange(400), y[40:]].mean())
    assert 0.87 <= np.mean(hits) <= 0.94


def test_sets_of_rare_classes_and_empty_sets():
    rng = np.random.default_rng(0)
    y = np.where(np.arange(300) % 30 < 28, "common", "rare")
    X = rng.standard_normal((300, 3)) + np.where(y == "rare", 4.0, 0.0)[:, None]
    K = X @ X.T + 1.0
    model = SpectrumSVC(probability=True, random_state=0).fit(K[:90, :90], y[:90])
    new = K[90:, :90]
    rare = model.classes_ == "rare"
    assert model.predict_set(new)[:, rare].all()  # of 6 items nothing is known
    together = model.predict_set(new, by_class=False)
    assert not together[:, rare].all()
    assert 0.84 < together[np.arange(210), (y[90:] == "rare").astype(int)].mean() < 0.97
    empty = ~together.any(axis=1)
    assert empty.any()
    filled = model.predict_set(new, by_class=False, min_size=1)
    assert np.array_equal(filled[~empty], together[~empty])
    assert np.array_equal(
        model.classes_[filled[empty].argmax(axis=1)], model.predict(new[empty])
    )
    with pytest.raises(ValueError, match="min_size must be 0 or 1, got 2"):
        model.predict_set(new, min_size=2)


@pytest.mark.parametrize("classes", [2, 4])
def test_probabilities_never_contradict_predictions(classes):
    """Nothing to learn: the best sigmoids fall, and are as good as constant."""
    contradicted, slopes = 0, []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X, y = rng.standard_normal((240, 3)), rng.integers(0, classes, 240)
        K = np.tanh(X @ X.T)
        model = SpectrumSVC("flip", probability=True, random_state=0)
        model.fit(K[:40, :40], y[:40])
        proba = model.predict_proba(K[40:, :40])
        np.testing.assert_allclose(proba.sum(axis=1), 1.0)
        assert proba.min() >= 0.0
        named = model.classes_[proba.argmax(axis=1)]
        contradicted += np.sum(named != model.predict(K[40:, :40]))
        slopes.append(model.calibration_[0])
    assert contradicted == 0
    slopes = np.concatenate(slopes)
    assert slopes.min() == 0.0
    assert slopes.max() > 0.0


def test_the_nearest_probabilities_that_agree():
    """Of two classes they are equal; of three those above the predicted one share."""
    (row,) = sigmoid_probabilities(np.array([[0.1]]), np.ones(1), np.array([-2.0]))
    np.testing.assert_allclose(row, [0.5, 0.5])
    assert row[1] > row[0]
    scores = np.array([[2.0, 1.0, 0.0]])
    slope, offset = np.ones(3), np.array([-2.0, 0.0, 0.5])
    raw = 1.0 / (1.0 + np.exp(-(scores + offset)))[0]
    raw /= raw.sum()  # 0.27, 0.39, 0.33
    (row,) = sigmoid_probabilities(scores, slope, offset)
    np.testing.assert_allclose(row, [1 / 3, 1 / 3, 1 / 3], atol=1e-8)
    assert row.argmax() == 0
    agreeing = sigmoid_probabilities(scores, slope, np.zeros(3))
    plain = 1.0 / (1.0 + np.exp(-scores))
    np.testing.assert_allclose(agreeing, plain / plain.sum(), rtol=1e-12)


def ten_classes(seed):
    """Scores of 400 items out of fold, and of as many new ones."""
    rng = np.random.default_rng(seed)
    y = np.arange(800) % 10
    X = rng.standard_normal((800, 10)) + 2.5 * np.eye(10)[y]
    K = np.tanh(X @ X.T / 10 - 0.3)
    model = SpectrumSVC("clip", probability=True, random_state=0)
    return model.fit(K[:400, :400], y[:400]), K[400:, :400], y[400:]


def test_ten_classes_are_not_said_to_be_less_sure_than_they_are():
    """Without the temperature the probabilities are too low."""
    model, new, y = ten_classes(0)
    proba = model.predict_proba(new)
    right = np.mean(proba.argmax(axis=1) == y)
    slope, offset, temperature = model.calibration_
    assert temperature < 1.0
    plain = sigmoid_probabilities(model.decision_function(new), slope, offset)
    assert plain.max(axis=1).mean() < right - 0.06
    assert abs(proba.max(axis=1).mean() - right) < 0.04
    rows = np.arange(400)
    assert -np.log(proba[rows, y]).mean() < -np.log(plain[rows, y]).mean()


def test_the_temperature_is_the_best_one():
    """Of the smoothed log-loss, by another method."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 4, 200)
    scores = rng.standard_normal((200, 4)) + 1.5 * np.eye(4)[codes]
    slope, offset, found = fit_sigmoids(scores, codes, None, 4)
    one = 1.0 / (1.0 + np.exp(-(slope * scores + offset)))
    one /= one.sum(axis=1, keepdims=True)
    target = np.full((200, 4), 1.0 / 202 / 3)
    target[np.arange(200), codes] = 201 / 202

    def loss(T):
        p = one ** (1.0 / T)
        return -np.sum(target * np.log(p / p.sum(axis=1, keepdims=True)))

    best = minimize_scalar(loss, bounds=(0.1, 10.0), method="bounded")
    assert found.shape == (1,)
    assert found[0] == pytest.approx(best.x, rel=1e-4)


def test_two_classes_have_no_temperature():
    codes = np.arange(20) % 2
    assert len(fit_sigmoids(np.linspace(-1, 1, 20)[:, None], codes, None, 2)) == 2


def test_a_sigmoid_never_falls():
    scores = np.linspace(-1.0, 1.0, 20)
    slope, offset = fit_sigmoid(scores, scores < 0.0)
    assert (slope, offset) == (0.0, pytest.approx(0.0))
    slope, offset = fit_sigmoid(scores, scores < -0.5)
    assert slope == 0.0
    assert 0.2 < 1.0 / (1.0 + np.exp(-offset)) < 0.35  # five of twenty, smoothed
    assert fit_sigmoid(scores, scores > 0.0)[0] > 0.0


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
