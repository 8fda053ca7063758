"""Vector kernels: scaling, rules for gamma, bad input."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from krein import Kernel, SpectrumSVC, tl1_kernel


def test_scaling_survives_constant_columns(rng):
    X = np.column_stack([rng.random(20) * 9, np.full(20, 4.2)])
    scaled = MinMaxScaler().fit_transform(X)
    np.testing.assert_array_equal(scaled[:, 1], 0)
    y = X[:, 0] > 4
    model = make_pipeline(MinMaxScaler(), SpectrumSVC(kernel="tl1")).fit(X, y)
    assert model.score(X, y) > 0.8


def test_tl1_default_radius(rng):
    X = rng.random((5, 10))
    assert np.diagonal(tl1_kernel(X)).tolist() == pytest.approx([7.0] * 5)
    with pytest.raises(ValueError, match="tau must be positive"):
        tl1_kernel(X, tau=0)


def test_gamma_words_are_settled_on_training_data(rng):
    X = rng.random((30, 3))
    scale = Kernel("rbf", gamma="scale").fit(X)
    assert scale.params["gamma"] == pytest.approx(1 / (3 * X.var()))
    median = Kernel("rbf", gamma="median").fit(X)
    distances = [np.linalg.norm(X[i] - X[j]) for i in range(30) for j in range(i)]
    assert median.params["gamma"] == pytest.approx(0.5 / np.median(distances) ** 2)


def test_real_witnesses(shared_data):
    X = MinMaxScaler().fit_transform(shared_data("monks1")["X"])
    assert np.linalg.eigvalsh(tl1_kernel(X))[0] < -1
    X = shared_data("sonar")["X"]
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    assert np.linalg.eigvalsh(Kernel("sigmoid")(X))[0] < -1
