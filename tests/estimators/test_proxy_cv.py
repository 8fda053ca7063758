"""ProxySVCCV: same scores as a plain grid search, one eigendecomposition per fold."""

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, StratifiedKFold

from krein import ProxySVC, ProxySVCCV, Spectrum
from krein.estimators._proxy_options import default_grid
from krein.selection.scores import split_scores
from krein.training import Classes

N = 60


@pytest.fixture
def data(rng):
    X = rng.standard_normal((N, 4))
    y = np.where(X[:, 0] + 0.5 * rng.standard_normal(N) > 0, "yes", "no")
    E = rng.standard_normal((N, N))
    K = np.exp(-np.sum((X[:, None] - X) ** 2, axis=2) / 4) - 0.05 * (E + E.T)
    return K, y


def test_scores_of_a_plain_grid_search(data):
    K, y = data
    Cs, rhos, folds = [0.5, 5.0], [0.1, 1.0, 10.0], StratifiedKFold(3)
    ours = ProxySVCCV(Cs, rhos=rhos, cv=folds, tol=1e-7).fit(K, y)
    theirs = GridSearchCV(ProxySVC(tol=1e-7), {"C": Cs, "rho": rhos}, cv=folds).fit(
        K, y
    )
    expected = np.stack(
        [theirs.cv_results_[f"split{k}_test_score"] for k in range(3)], axis=-1
    )
    np.testing.assert_allclose(split_scores(ours), expected)
    assert ours.cv_results_["params"] == theirs.cv_results_["params"]
    assert ours.best_score_ == pytest.approx(theirs.best_score_)
    assert ours.best_score_ == ours.cv_results_["mean_test_score"][ours.best_index_]
    np.testing.assert_allclose(
        ours.decision_function(K),
        ProxySVC(**ours.best_params_, tol=1e-7).fit(K, y).decision_function(K),
        atol=1e-4,
    )
    assert ours.proxy_kernel().shape == (N, N)


def test_one_eigendecomposition_per_fold_and_one_at_the_end(data, monkeypatch):
    K, y = data
    sizes = []
    decompose = Spectrum._decompose

    def counted(K, *args, **kwargs):
        sizes.append(K.shape[0])
        return decompose(K, *args, **kwargs)

    monkeypatch.setattr(Spectrum, "_decompose", counted)
    ProxySVCCV(cv=3).fit(K, y)
    assert sorted(sizes) == [40, 40, 40, 60]


@pytest.mark.slow
def test_scoring_and_parallel_folds_agree(data):
    K, y = data
    options = {"Cs": [1.0], "rhos": [0.1, 1.0], "cv": 3, "scoring": "roc_auc"}
    one = ProxySVCCV(**options).fit(K, y)
    two = ProxySVCCV(n_jobs=2, **options).fit(K, y)
    np.testing.assert_allclose(split_scores(one), split_scores(two))
    assert split_scores(one).shape == (2, 3)


def test_default_grid_follows_the_scale(data):
    """K t, C / t, rho / t^3: the same models."""
    K, y = data
    codes = Classes((y == "yes").astype(int), 2)
    Cs, rhos = default_grid(Spectrum.exact(K), codes)
    scaled_Cs, scaled_rhos = default_grid(Spectrum.exact(10 * K), codes)
    np.testing.assert_allclose(scaled_Cs, Cs / 10)
    np.testing.assert_allclose(scaled_rhos, rhos / 1000, rtol=1e-3)
    assert np.all(np.diff(rhos) > 0)


def test_ties_go_to_the_larger_rho(data):
    K, y = data
    model = ProxySVCCV([1.0], rhos=[1e7, 1e8, 1e9], cv=3).fit(K, y)
    assert model.best_params_["rho"] == 1e9


def test_weights_and_probability(data, rng):
    K, y = data
    weight = rng.integers(0, 3, N)
    model = ProxySVCCV([1.0], rhos=[1.0], cv=3, probability=True, random_state=0).fit(
        K, y, sample_weight=weight
    )
    assert model.predict_proba(K).shape == (N, 2)
    assert np.all(model.dual_coef_[:, weight == 0] == 0)


@pytest.mark.parametrize("name", ["Cs", "rhos"])
def test_grids_must_be_positive(name, data):
    with pytest.raises(ValueError, match=f"{name} must be one or more positive"):
        ProxySVCCV(**{name: [1.0, -1.0]}).fit(*data)


def test_luss_is_refused(data):
    with pytest.raises(ValueError, match="not available in ProxySVCCV"):
        ProxySVCCV(new_points="luss").fit(*data)
