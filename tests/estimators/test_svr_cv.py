"""SpectrumSVRCV: the search against fits by hand, the average against its members."""

import numpy as np
import pytest
from sklearn.model_selection import GroupKFold, KFold

from krein import SpectrumSVR, SpectrumSVRCV, load_model, save_model, sigmoid_kernel


@pytest.fixture
def problem(rng):
    X = rng.standard_normal((60, 3))
    t = np.sin(X[:, 0]) + 0.5 * X[:, 1] ** 2 + 0.1 * rng.standard_normal(60)
    return sigmoid_kernel(X, gamma=0.6), 50.0 + 7.0 * t


def test_scores_are_those_of_separate_fits(problem):
    K, y = problem
    folds = list(KFold(3).split(K))
    model = SpectrumSVRCV([1.0], fixes=["flip"], cv=folds).fit(K, y)
    for f, (train, test) in enumerate(folds):
        part = K[np.ix_(train, train)]
        scale = np.abs(np.linalg.eigvalsh(part)).sum() / train.size
        spread = y[train].std()
        one = SpectrumSVR("flip", C=spread / scale, epsilon=0.1 * spread)
        predicted = one.fit(part, y[train]).predict(K[np.ix_(test, train)])
        expected = -np.mean((predicted - y[test]) ** 2)
        found = model.cv_results_[f"split{f}_test_score"][0]
        assert found == pytest.approx(expected, rel=0.1)


def test_the_average_is_that_of_its_members(problem):
    K, y = problem
    model = SpectrumSVRCV().fit(K, y)
    assert len(model.cv_results_["params"]) == 18
    parameters = [
        {k: v for k, v in m.items() if k != "results"} for m in model.members_
    ]
    assert parameters[0] == model.best_params_
    each = [SpectrumSVR(**p).fit(K, y).predict(K) for p in parameters]
    np.testing.assert_allclose(model.predict(K), np.mean(each, axis=0), rtol=1e-7)
    assert all(m["results"][0].certificate.relative <= 1e-6 for m in model.members_)
    assert model.score(K, y) > 0.7


def test_best_is_a_spectrum_svr(problem, tmp_path):
    K, y = problem
    model = SpectrumSVRCV(combine="best", cv=3).fit(K, y)
    assert model.cv_results_["params"][model.best_index_] == model.best_params_
    again = SpectrumSVR(**model.best_params_).fit(K, y)
    np.testing.assert_allclose(model.predict(K), again.predict(K), rtol=1e-9)
    assert model.result_.certificate.kind == "gap"
    loaded = load_model(save_model(model, tmp_path / "m.krein"))
    np.testing.assert_array_equal(loaded.predict(K), model.predict(K))
    assert loaded.best_params_ == model.best_params_


def test_units_of_the_targets_do_not_matter(problem):
    K, y = problem
    plain = SpectrumSVRCV(cv=3).fit(K, y)
    for factor in (1e-30, 1e30):
        scaled = SpectrumSVRCV(cv=3).fit(K, factor * y)
        np.testing.assert_allclose(
            scaled.predict(K) / factor, plain.predict(K), rtol=1e-6
        )


def test_weights_zero_groups_and_constant_targets(problem, rng):
    K, y = problem
    weight = np.repeat([1.0, 0.0], [45, 15])
    one = SpectrumSVRCV([1.0, 10.0], fixes=["clip"], cv=3).fit(K, y, weight)
    two = SpectrumSVRCV([1.0, 10.0], fixes=["clip"], cv=3).fit(K[:45, :45], y[:45])
    np.testing.assert_allclose(one.predict(K), two.predict(K[:, :45]), rtol=1e-9)
    groups = np.repeat(np.arange(12), 5)
    model = SpectrumSVRCV([1.0], fixes=["clip"], cv=GroupKFold(3))
    assert "split2_test_score" in model.fit(K, y, groups=groups).cv_results_
    model.set_params(cv=3)
    np.testing.assert_allclose(model.fit(K, np.full(60, 3.0)).predict(K), 3.0)


def test_bad_parameters(problem):
    with pytest.raises(ValueError, match="Cs must be one or more positive numbers"):
        SpectrumSVRCV([0.0]).fit(*problem)
