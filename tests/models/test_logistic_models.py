"""Models of logistic regression, DC SVMs and ridge survive a file."""

import numpy as np
import pytest

from krein import (
    DCSVC,
    KreinLogisticRegression,
    KreinLogisticRegressionCV,
    KreinRidge,
    load_model,
    save_model,
    tl1_kernel,
)


@pytest.mark.parametrize(
    "model",
    [
        KreinLogisticRegression(0.05),
        KreinLogisticRegressionCV([0.05, 0.1], cv=2),
        DCSVC(),
        KreinRidge(),
    ],
    ids=lambda model: type(model).__name__,
)
def test_a_loaded_model_predicts_the_same(model, rng, tmp_path):
    X = rng.uniform(size=(60, 2))
    y = (X[:, 0] > 0.5).astype(int) + (X[:, 1] > 0.7)
    K = tl1_kernel(X)
    model.fit(K, y)
    save_model(model, tmp_path / "model.krein")
    loaded = load_model(tmp_path / "model.krein")
    np.testing.assert_array_equal(loaded.predict(K), model.predict(K))
    assert len(np.unique(model.predict(K))) > 1
