"""Object kernels inside scikit-learn: names, grids, cores, settings of the fold."""

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score

from krein import Kernel, KreinSVC, SpectrumSVC, dtw_kernel
from tests.kernels.examples import GRAPHS


@pytest.fixture
def series(rng):
    """Two kinds of bumps, shifted at random."""
    X = [np.roll(np.sin(np.arange(20) / 3) ** 2, rng.integers(9)) for _ in range(12)]
    X += [np.roll(np.arange(20) % 7 / 7.0, rng.integers(9)) for _ in range(12)]
    return np.array(X), np.repeat(["bump", "saw"], 12)


def test_name_kernel_and_callable_agree(series):
    X, y = series
    models = [
        KreinSVC(kernel="dtw", kernel_params={"window": 0.2, "gamma": 1.0}),
        KreinSVC(kernel=Kernel("dtw", window=0.2)),
        KreinSVC(kernel=dtw_kernel, kernel_params={"window": 0.2}),
    ]
    scores = [model.fit(X, y).decision_function(X) for model in models]
    np.testing.assert_array_equal(scores[0], scores[1])
    np.testing.assert_array_equal(scores[0], scores[2])
    assert models[0].score(X, y) > 0.9


def test_grid_over_kernel_parameters(series):
    X, y = series
    search = GridSearchCV(
        KreinSVC(kernel=Kernel("dtw")),
        {"kernel__window": [0, 0.3], "kernel__gamma": [0.1, "median"]},
        cv=3,
    ).fit(X, y)
    assert len(search.cv_results_["params"]) == 4
    assert set(search.best_params_) == {"kernel__window", "kernel__gamma"}
    found = search.best_estimator_.kernel
    assert found.params["window"] == search.best_params_["kernel__window"]


def test_lists_of_unequal_length_in_cross_validation(series):
    X, y = series
    items = [x[: 15 + k % 5] for k, x in enumerate(X)]
    assert cross_val_score(KreinSVC(kernel="msm"), items, y, cv=3).mean() > 0.7
    words = ["aab", "aba", "abb", "xyy", "yxy", "xxy"]
    model = SpectrumSVC(kernel="edit", C=10.0).fit(words, [0, 0, 0, 1, 1, 1])
    assert model.predict(["aaa", "yyy"]).tolist() == [0, 1]
    assert not hasattr(model, "n_features_in_")
    model = SpectrumSVC(kernel="wl").fit(GRAPHS, [0, 0, 1, 1, 0])
    assert model.predict(GRAPHS[:2]).shape == (2,)


def test_settings_come_from_training_data_only(series):
    X, y = series
    model = KreinSVC(kernel=Kernel("dtw", gamma="median", similarity="exponential"))
    model.fit(X[:20], y[:20])
    assert model.kernel.params["gamma"] == "median"
    expected = Kernel("dtw", gamma="median").fit(X[:20]).params["gamma"]
    assert model.kernel_.params["gamma"] == expected
    centred = KreinSVC(kernel=Kernel("dtw", similarity="centred")).fit(X, y)
    assert centred.predict(X).shape == (24,)


def test_cores_are_those_of_joblib(series, monkeypatch):
    X, y = series
    used = []
    original = joblib.Parallel.__init__

    def spy(self, *args, **options):
        used.append(options.get("n_jobs"))
        original(self, *args, **options)

    monkeypatch.setattr("krein.kernels.blocks.Parallel.__init__", spy)
    model = KreinSVC(kernel="euclidean_spd")
    matrices = np.array([np.outer(x, x) + np.eye(20) for x in X])
    alone = model.fit(matrices, y).decision_function(matrices)
    assert used == []
    with joblib.parallel_config(n_jobs=2):
        together = model.fit(matrices, y).decision_function(matrices)
    assert 2 in used
    np.testing.assert_allclose(together, alone, rtol=1e-9)


def test_kernels_clone_and_pickle(series):
    import pickle

    X, y = series
    model = KreinSVC(kernel=Kernel("dtw", window=3, gamma=0.5)).fit(X, y)
    assert clone(model).kernel == model.kernel
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(
        again.decision_function(X), model.decision_function(X)
    )
