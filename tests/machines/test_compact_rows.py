"""Rows kept by what is on no bound: the same array to the last bit, and small."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from krein import KreinNystroem, SpectrumSVC, load_model, save_model
from krein.machines.compact_rows import BoxRows, LandmarkRows


@given(st.integers(0, 10_000), st.integers(1, 40), st.booleans())
def test_variables_in_a_box_come_back(seed, n, equal_bounds):
    rng = np.random.default_rng(seed)
    upper = np.full(n, 0.3) if equal_bounds else rng.uniform(0.1, 1.0, n)
    choice = rng.integers(0, 3, (4, n))
    rows = np.choose(choice, [np.zeros((4, n)), upper * np.ones((4, n)), upper / 3.0])
    compact = BoxRows.stacked([BoxRows.of(row, upper) for row in rows])
    np.testing.assert_array_equal(compact.wide(), rows)
    assert compact.upper.size in ((1,) if equal_bounds else (1, n))
    positions = np.sort(rng.choice(2 * n, n, replace=False))
    expected = np.zeros((4, 2 * n))
    expected[:, positions] = rows
    np.testing.assert_array_equal(compact.placed(positions, 2 * n).wide(), expected)


def test_rows_that_do_not_fit_together_are_refused():
    with pytest.raises(ValueError, match="do not go with"):
        LandmarkRows(np.ones((1, 3)), np.array([0, 1]), 5)
    with pytest.raises(ValueError, match="do not go with"):
        LandmarkRows(np.ones((1, 2)), np.array([0, 5]), 5)
    sound = BoxRows.of(np.array([0.0, 0.5, 1.0]), np.ones(3))
    with pytest.raises(ValueError, match="do not fit together"):
        BoxRows(**{**vars(sound), "values": np.ones(2)})
    with pytest.raises(ValueError, match="do not fit together"):
        BoxRows(**{**vars(sound), "n": 9})


@pytest.fixture
def forty_classes(rng):
    centres = 10.0 * rng.standard_normal((40, 5))
    y = rng.integers(0, 40, 4000)
    X = centres[y] + 4.0 * rng.standard_normal((4000, 5))
    nystroem = KreinNystroem(60, random_state=0)
    model = SpectrumSVC("flip", kernel="tl1", approximation=nystroem)
    return model.fit(X, y), X


def test_models_on_landmarks_are_small(forty_classes, tmp_path):
    """Forty classes of 4000 items: 1.3 MB for each of two whole arrays."""
    model, X = forty_classes
    assert model.dual_coef_.shape == model.alpha_.shape == (40, 4000)
    scores = model.decision_function(X)
    whole = model.kernel_(X[:50], X) @ model.dual_coef_.T + model.intercept_
    np.testing.assert_allclose(scores[:50], whole, atol=1e-9)
    assert np.all((model.alpha_ >= 0.0) & (model.alpha_ <= 1.0))
    assert (model.dual_coef_ != 0.0).any(axis=0).sum() == 60
    assert len(pickle.dumps(model)) < 250_000
    path = save_model(model, tmp_path / "model.krein")
    assert path.stat().st_size < 250_000
    for again in (load_model(path), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(again.decision_function(X), scores)
        np.testing.assert_array_equal(again.dual_coef_, model.dual_coef_)
        np.testing.assert_array_equal(again.alpha_, model.alpha_)


def test_unfitted_models_have_no_coefficients():
    model = SpectrumSVC()
    assert not hasattr(model, "dual_coef_")
    with pytest.raises(AttributeError, match=r"'SpectrumSVC' object has no .*'alpha_'"):
        _ = model.alpha_
