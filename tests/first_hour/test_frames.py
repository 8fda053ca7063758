"""Frames as people have them, in Python: by name where names are, never by chance."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    cross_val_score,
    train_test_split,
)
from sklearn.pipeline import make_pipeline

from krein import DistanceTransformer, KreinRidge, SpectrumSVC, compare

NAMES = [f"item {i}" for i in range(40)]


@pytest.fixture(scope="module")
def points():
    rng = np.random.default_rng(5)
    return rng.standard_normal((40, 3)) + np.repeat([[1.2], [-1.2]], 20, axis=0)


@pytest.fixture(scope="module")
def frame(points):
    K = np.tanh(points @ points.T / 2)
    return pd.DataFrame(K, index=NAMES, columns=NAMES)


@pytest.fixture(scope="module")
def labels():
    return pd.Series(np.repeat(["up", "down"], 20), index=NAMES, name="way")


def test_rows_of_a_frame_find_their_columns(frame, labels):
    """`train_test_split` cuts rows only; the names say which columns are meant."""
    train, test, y_train, y_test = train_test_split(frame, labels, random_state=0)
    model = SpectrumSVC("flip").fit(train, y_train)
    assert list(model.feature_names_in_) == list(train.index)
    square = SpectrumSVC("flip").fit(train[train.index].to_numpy(), y_train)
    np.testing.assert_array_equal(model.dual_coef_, square.dual_coef_)
    expected = square.predict(test[train.index].to_numpy())
    np.testing.assert_array_equal(model.predict(test), expected)
    np.testing.assert_array_equal(model.predict(pl.from_pandas(test)), expected)
    assert model.score(test, y_test) > 0.8


def test_distances_too(points, labels):
    D = np.abs(points[:, None] - points[None]).max(axis=2)
    frame = pd.DataFrame(D, index=NAMES, columns=NAMES)
    train, test, y_train, y_test = train_test_split(frame, labels, random_state=0)
    model = make_pipeline(DistanceTransformer(), SpectrumSVC("flip"))
    assert model.fit(train, y_train).score(test, y_test) > 0.8


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, np.array])
def test_without_names_rows_are_refused(frame, labels, kind):
    rows = kind(frame.to_numpy()[:30])
    with pytest.raises(ValueError, match=r"must be a square matrix .*split_kernel"):
        SpectrumSVC("flip").fit(rows, labels[:30])


def test_cross_validation_takes_the_numbers(frame, labels):
    """As the documentation says: an estimator is not asked before the frame is cut."""
    model = SpectrumSVC("flip")
    y = labels.to_numpy()
    for given, message in ((frame, "array"), (pl.from_pandas(frame), "index")):
        with pytest.raises((KeyError, TypeError, pd.errors.InvalidIndexError)) as info:
            cross_val_score(model, given, y, cv=KFold(4), error_score="raise")
        assert message in str(info.value)
        scores = cross_val_score(model, given.to_numpy(), y, cv=4)
        assert scores.mean() > 0.8


def test_a_first_step_lets_frames_through(frame, labels):
    """A pipeline is cut by rows alone, and the estimator finds its columns."""
    model = make_pipeline("passthrough", SpectrumSVC("flip"))
    by_name = cross_val_score(model, frame, labels, cv=4, error_score="raise")
    plain = cross_val_score(model[-1], frame.to_numpy(), labels, cv=4)
    np.testing.assert_array_equal(by_name, plain)
    search = GridSearchCV(model, {"spectrumsvc__C": [0.1, 1.0]}, error_score="raise")
    assert search.fit(frame, labels).best_score_ > 0.8


def test_labels_in_another_order_are_said(frame, labels, points):
    shuffled = labels.sample(frac=1.0, random_state=0)
    with pytest.warns(UserWarning, match=r"in another order.*y\.loc\[X\.index\]"):
        SpectrumSVC("flip").fit(frame, shuffled)
    with pytest.warns(UserWarning, match=r"y\.loc\[X\.index\]"):
        compare(frame, shuffled, methods=["flip"], cv=3)
    with pytest.warns(UserWarning, match=r"y\.loc\[X\.index\]"):
        KreinRidge().fit(frame, pd.Series(points[:, 0], NAMES).loc[shuffled.index])
    SpectrumSVC("flip").fit(frame, shuffled.loc[frame.index])  # no warning
    SpectrumSVC("flip").fit(frame, shuffled.reset_index(drop=True))


def test_gaps_in_a_frame_are_named(frame, labels):
    frame = frame.copy()
    frame.iloc[3, 4] = frame.iloc[4, 3] = np.nan
    with pytest.raises(ValueError, match=r"\(row 'item 3', column 'item 4'\)"):
        SpectrumSVC("flip").fit(frame, labels)
