"""Labels from stages: which items are left early, and whether that was stated."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from krein import (
    CPDSVC,
    MKLSVC,
    Kernel,
    KreinLogisticRegression,
    KreinNystroem,
    KreinSVC,
    SimilarityNeighborsClassifier,
    SpectrumSVC,
    check_certificate,
    load_model,
    save_model,
    sigmoid_kernel,
)
from krein.estimators._stages import calibrated, deciding
from krein.estimators._training import as_labels, voted_labels
from krein.solvers.prototypes import as_new_items

MODELS = [
    KreinSVC(C=10.0),
    SpectrumSVC("flip", multi_class="ovo"),
    KreinLogisticRegression(alpha=0.1),
]


def vectors(n, seed=0):
    """Three classes that overlap."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    noise = 0.2 * rng.standard_normal(n)
    return X, np.digitize(X[:, 0] + 0.3 * X[:, 1] ** 2 + noise, [-0.4, 0.6])


def one_item(quick, row):
    """Label and count of one item, stage by stage; None where no stage is clear."""
    seen = set()
    for coef, intercept, least in zip(
        quick.stage_coef_, quick.stage_intercept_, quick.stage_threshold_, strict=True
    ):
        seen |= set(np.flatnonzero(coef.any(axis=0)))
        values = (coef @ row + intercept)[None]
        signs = deciding(values, quick._pairs_vote(quick.classes_.size))
        if np.sum(signs * values) > least:
            return quick._labels(values)[0], len(seen)
    return None, quick.support_.size


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_items_are_left_when_they_are_clear(model, n_classes):
    X, y = vectors(100)
    new, _ = vectors(80, seed=1)
    model = clone(model).set_params(kernel="rbf").fit(X, np.minimum(y, n_classes - 1))
    quick = model.calibrate_early(share=0.6)
    labels, counts = quick.predict_early(new, return_counts=True)
    rows = np.zeros((80, 100))
    rows[:, model.support_] = model._similarities(new)
    expected = [one_item(quick, row) for row in rows]
    whole = [label is None for label, _ in expected]
    dense = model.predict(new)
    np.testing.assert_array_equal(counts, [count for _, count in expected])
    np.testing.assert_array_equal(labels[whole], dense[whole])
    np.testing.assert_array_equal(
        labels,
        [d if e is None else e for (e, _), d in zip(expected, dense, strict=True)],
    )
    assert 0 < sum(whole) < 80
    assert not hasattr(model, "stage_coef_")
    np.testing.assert_array_equal(quick.predict(new), dense)


@pytest.mark.parametrize("asked", [{"share": 0.15}, {"change": 0.02}])
@pytest.mark.parametrize("seed", range(3))
def test_new_items_cost_what_is_stated(asked, seed):
    X, y = vectors(300, seed)
    new, _ = vectors(3000, seed + 10)
    model = SpectrumSVC("clip", kernel="laplacian", C=10.0).fit(X, y)
    quick = model.calibrate_early(**asked)
    labels, counts = quick.predict_early(new, return_counts=True)
    used = counts.mean() / model.support_.size
    changed = np.mean(labels != model.predict(new))
    assert quick.expected_share_ <= asked.get("share", 1.0)
    assert quick.expected_change_ <= asked.get("change", 1.0)
    assert used == pytest.approx(quick.expected_share_, abs=0.05)
    assert changed == pytest.approx(quick.expected_change_, abs=0.015)
    assert 0 < changed
    assert used < 0.6


def test_fewer_changes_cost_more_similarities():
    X, y = vectors(150)
    model = KreinSVC(kernel="rbf").fit(X, y)
    found = [model.calibrate_early(change=c) for c in (0.2, 0.05, 0.01, 1e-9)]
    shares = [quick.expected_share_ for quick in found]
    changes = [quick.expected_change_ for quick in found]
    assert shares == sorted(shares)
    assert changes == sorted(changes, reverse=True)
    assert shares[0] < 0.1 < shares[2]
    assert changes[-1] <= 1e-9


def test_a_given_matrix_is_read_where_it_is_needed():
    X, y = vectors(120)
    new, _ = vectors(30, seed=1)
    K, rows = sigmoid_kernel(X), sigmoid_kernel(new, X)
    quick = KreinSVC().fit(K, y).calibrate_early(K, share=0.2)
    labels, counts = quick.predict_early(rows, return_counts=True)
    by_items = KreinSVC(kernel=sigmoid_kernel).fit(X, y).calibrate_early(share=0.2)
    other, same = by_items.predict_early(new, return_counts=True)
    np.testing.assert_array_equal(labels, other)
    np.testing.assert_array_equal(counts, same)
    clear = counts < 120
    unread = ~quick.stage_coef_.any(axis=(0, 1))
    rows[np.ix_(clear, unread)] = 99.0
    np.testing.assert_array_equal(quick.predict_early(rows)[clear], labels[clear])
    assert clear.any()
    assert unread.any()


def test_what_is_computed_is_what_is_counted(monkeypatch):
    X, y = vectors(80)
    new, _ = vectors(40, seed=1)
    quick = SpectrumSVC(kernel="rbf").fit(X, y).calibrate_early(share=0.3)
    computed = []
    evaluate = Kernel.__call__
    monkeypatch.setattr(
        Kernel,
        "__call__",
        lambda self, X, Y=None: (
            computed.append(len(X) * len(Y)) or evaluate(self, X, Y)
        ),
    )
    _, counts = quick.predict_early(new, return_counts=True)
    assert counts.sum() == sum(computed) < 40 * 80


def test_polynomials_of_the_model_count():
    X, y = vectors(80)
    new, _ = vectors(200, seed=1)
    model = CPDSVC(kernel="thin_plate", alpha=0.1, loss="logistic").fit(X, y > 0)
    quick = model.calibrate_early(change=0.02)
    labels, counts = quick.predict_early(new, return_counts=True)
    assert np.mean(labels != model.predict(new)) < 0.05
    assert counts.mean() < 0.7 * model.support_.size


def test_the_certificate_is_that_of_the_model():
    X, y = vectors(60)
    K = sigmoid_kernel(X)
    model = SpectrumSVC("clip").fit(K, y)
    before = check_certificate(model, K, y)
    after = check_certificate(model.calibrate_early(K, share=0.3), K, y)
    assert after.holds
    assert after.text == before.text


def test_files_keep_it_and_other_coefficients_drop_it(tmp_path):
    X, y = vectors(80)
    new, _ = vectors(40, seed=1)
    quick = SpectrumSVC("clip", kernel="rbf").fit(X, y).calibrate_early(share=0.3)
    save_model(quick, tmp_path / "model.krein")
    loaded = load_model(tmp_path / "model.krein")
    for mine, stored in zip(
        quick.predict_early(new, return_counts=True),
        loaded.predict_early(new, return_counts=True),
        strict=True,
    ):
        np.testing.assert_array_equal(mine, stored)
    assert loaded.expected_change_ == quick.expected_change_
    sparse = quick.sparsify(n_prototypes=20)
    assert not hasattr(sparse, "stage_coef_")
    again = sparse.calibrate_early(share=0.1)
    _, counts = again.predict_early(new, return_counts=True)
    assert counts.max() <= 20
    assert not hasattr(clone(quick).fit(X, y), "stage_coef_")
    assert not hasattr(again.fit(X, y), "expected_share_")


def test_bad_requests_are_named():
    X, y = vectors(60)
    K = sigmoid_kernel(X)
    model = SpectrumSVC().fit(K, y)
    assert not hasattr(SpectrumSVC(), "calibrate_early")
    for arguments, message in (
        ({}, "one of them"),
        ({"share": 0.1, "change": 0.1}, "one of them"),
        ({"share": 1.0}, "share must be between 0 and 1"),
        ({"change": np.nan}, "change must be between 0 and 1"),
        ({"change": "1%"}, "change must be between 0 and 1"),
        ({"share": 0.2}, "pass the training similarities"),
        ({"X": K, "share": 0.001}, "the first stage takes"),
    ):
        with pytest.raises(ValueError, match=message):
            model.calibrate_early(**arguments)
    for other, data, message in (
        (MKLSVC(), np.stack([K @ K, X @ X.T], axis=2), "several kernels"),
        (SpectrumSVC(approximation=KreinNystroem(20)), K, "lower n_components"),
        (SimilarityNeighborsClassifier(3), K, "cannot leave items early: "),
    ):
        with pytest.raises(ValueError, match=message):
            other.fit(data, y > 0).calibrate_early(data, share=0.2)
    D = -np.linalg.norm(X[:, None] - X, axis=2)
    given_matrix = CPDSVC(kernel="precomputed").fit(D, y > 0)
    with pytest.raises(ValueError, match="polynomials of new items"):
        given_matrix.calibrate_early(D, share=0.2)


@pytest.mark.parametrize("n", [2, 3, 5])
def test_few_items_are_few_stages(n):
    X = np.arange(n)[:, None] * 1.0
    model = SpectrumSVC(kernel="rbf").fit(X, np.arange(n) > 0)
    quick = model.calibrate_early(change=0.01)
    new = np.linspace(-1, n, 20)[:, None]
    _, counts = quick.predict_early(new, return_counts=True)
    assert counts.max() <= n


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(["sign", "rest", "one"]))
def test_what_decides_keeps_the_label(seed, kind):
    """No change of the values below it, or half of it for a difference, matters."""
    rng = np.random.default_rng(seed)
    rows, n_classes = {"sign": (1, 2), "rest": (4, 4), "one": (6, 4)}[kind]
    values = rng.standard_normal((5, rows))
    clear = np.sum(deciding(values, kind == "one") * values, axis=1, keepdims=True)
    moved = values + rng.uniform(-1, 1, values.shape) * np.maximum(clear, 0) / (
        2 if kind == "rest" else 1
    )
    labels = voted_labels if kind == "one" else as_labels
    keep = clear[:, 0] > 0
    if kind == "one":  # a class that lost no pair
        assert np.all(np.abs(clear) <= np.abs(values).max(axis=1, keepdims=True))
    np.testing.assert_array_equal(
        labels(moved, np.arange(n_classes))[keep],
        labels(values, np.arange(n_classes))[keep],
    )


@pytest.mark.parametrize("scale", [1e-200, 1e-8, 1e100])
@pytest.mark.parametrize("height", [1e-100, 1.0, 1e100])
def test_stages_at_every_scale(scale, height):
    X, _ = vectors(60)
    columns = as_new_items(sigmoid_kernel(X), np.arange(60))
    outputs = columns @ np.random.default_rng(0).standard_normal((60, 2))
    plain, scaled = (
        calibrated(s * columns, h * outputs, 0 * outputs, one_vs_one=False, share=0.3)
        for s, h in ((1.0, 1.0), (scale, height))
    )
    assert plain.share == scaled.share
    np.testing.assert_allclose(scaled.thresholds, height * plain.thresholds)
