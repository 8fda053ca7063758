"""SpectrumSVCCV: the search against fits by hand, the average against its members."""

import matplotlib as mpl
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize_scalar
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from krein import (
    DistanceTransformer,
    SpectrumSVC,
    SpectrumSVCCV,
    SpectrumSVRCV,
    check_certificate,
    load_model,
    rbf_kernel,
    save_model,
    sigmoid_kernel,
)
from krein.machines.svm_dual import svm_path
from krein.selection.calibration import probabilities, temperatures
from krein.selection.scores import setting_scores, with_threshold
from krein.selection.search import CS
from krein.selection.spectra import (
    SEARCHED_FIXES,
    Kernels,
    Settings,
    all_settings,
    by_half,
    left_out,
    near_best,
    screened_settings,
)
from krein.similarity.matrix import Similarities
from krein.spectrum.decomposition import Spectrum
from krein.spectrum.fixes import FIXES, as_fix, power
from krein.training import Classes, Training

mpl.use("Agg")


@pytest.fixture
def problem(rng):
    X = rng.standard_normal((80, 4))
    y = np.where(
        X[:, 0] + 0.5 * X[:, 1] ** 2 + 0.3 * rng.standard_normal(80) > 0.4, "b", "a"
    )
    return sigmoid_kernel(X, gamma=0.6), y


def new_rows(K):
    return K[:30]


def test_the_family_contains_the_named_methods(rng):
    values = np.sort(rng.standard_normal(20))
    for (w, p), name in {(0, 1): "clip", (1, 1): "flip", (1, 2): "square"}.items():
        expected = FIXES[name].apply(values, 1e-12, 1.0)
        found = power(w, p).apply(values, 1e-12, 1.0)
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert len(SEARCHED_FIXES) == 12
    for gain in SEARCHED_FIXES:
        again = as_fix(gain.name).apply(values, 1e-12, 1.0)
        np.testing.assert_array_equal(again, gain.apply(values, 1e-12, 1.0))


def test_path_is_that_of_scikit_learn(problem):
    K, y = problem
    G = K @ K / 40
    signs = np.where(y == "b", 1.0, -1.0)
    weight = np.linspace(0.5, 2.0, 80)
    coef, intercept = svm_path(G, signs, [0.1, 1.0, 10.0], weight, tol=1e-8)
    for c, C in enumerate((0.1, 1.0, 10.0)):
        svc = SVC(C=C, kernel="precomputed", tol=1e-8).fit(G, y, sample_weight=weight)
        ours = G @ coef[c] + intercept[c]
        np.testing.assert_allclose(ours, svc.decision_function(G), atol=1e-5)


def test_path_ends_where_no_bound_is_active(rng):
    X = rng.standard_normal((40, 3))
    signs = np.where(X[:, 0] > 0, 1.0, -1.0)
    coef, _ = svm_path(rbf_kernel(X), signs, [1e3, 1e4, 1e5])
    assert np.abs(coef[0]).max() < 1e3
    np.testing.assert_array_equal(coef[0], coef[2])


def test_scores_are_those_of_separate_fits(problem):
    """One method, one C: fits by SpectrumSVC on every fold, calibrated and scored."""
    K, y = problem
    folds = list(StratifiedKFold(4).split(K, y))
    model = SpectrumSVCCV([1.0], fixes=["flip"], cv=folds, combine="best").fit(K, y)
    values, labels = [], []
    for train, test in folds:
        part = K[np.ix_(train, train)]
        scale = np.abs(np.linalg.eigvalsh(part)).sum() / train.size
        fitted = SpectrumSVC("flip", C=1.0 / scale).fit(part, y[train])
        values.append(fitted.decision_function(K[np.ix_(test, train)]))
        labels.append(y[test])
    temperature = _by_search(np.concatenate(values), np.concatenate(labels) == "b")
    for f, (v, truth) in enumerate(zip(values, labels, strict=True)):
        p = 1.0 / (1.0 + np.exp(-v / temperature))
        expected = -log_loss(truth, np.column_stack([1 - p, p]), labels=["a", "b"])
        found = model.cv_results_[f"split{f}_test_score"][0]
        assert found == pytest.approx(expected, abs=0.02)


def _by_search(values, positive):
    """Temperature of two classes by a bounded search on the smoothed log-loss."""
    n = values.size
    target = np.where(positive, (n + 1) / (n + 2), 1 / (n + 2))

    def loss(log_b):
        p = 1.0 / (1.0 + np.exp(-np.exp(log_b) * values))
        return -np.sum(target * np.log(p) + (1 - target) * np.log1p(-p))

    return np.exp(-minimize_scalar(loss, bounds=(-6, 3), method="bounded").x)


@pytest.mark.parametrize("scoring", ["accuracy", "roc_auc", "neg_log_loss"])
def test_scorers_of_scikit_learn(scoring, problem):
    K, y = problem
    model = SpectrumSVCCV([0.1, 10.0], fixes=["clip"], scoring=scoring).fit(K, y)
    scores = model.cv_results_["mean_test_score"]
    assert scores.shape == (2,)
    assert np.isfinite(scores).all()
    if scoring == "accuracy":
        assert 0.5 < scores.max() <= 1.0


def test_best_is_a_spectrum_svc(problem):
    K, y = problem
    model = SpectrumSVCCV(combine="best").fit(K, y)
    assert model.cv_results_["params"][model.best_index_] == model.best_params_
    again = SpectrumSVC(**model.best_params_).fit(K, y)
    np.testing.assert_allclose(
        model.dual_coef_, again.dual_coef_, rtol=1e-9, atol=1e-14
    )
    assert model.result_.certificate.kind == "gap"
    assert model.cv_results_["weight"].max() == 1.0


@pytest.mark.parametrize("classes", [2, 3])
def test_the_average_is_that_of_its_members(classes):
    X, y = load_iris(return_X_y=True)
    X, y = (X[50:], y[50:]) if classes == 2 else (X, y)
    K = sigmoid_kernel((X - X.mean(0)) / X.std(0), gamma=0.5)
    model = SpectrumSVCCV().fit(K, y)
    members = [SpectrumSVC(m["method"], C=m["C"]).fit(K, y) for m in model.members_]
    assert len(members) == np.ceil(0.25 * len(model.cv_results_["params"]))
    mean = np.mean([m.decision_function(K) for m in members], axis=0)
    np.testing.assert_allclose(model.decision_function(K), mean, atol=1e-8)
    rows = K @ model.dual_coef_.T + model.intercept_
    np.testing.assert_allclose(model.decision_function(K), np.squeeze(rows), atol=1e-8)
    for member in model.members_:
        assert all(r.certificate.relative <= 1e-6 for r in member["results"])
    assert model.predict_proba(K).shape == (len(y), classes)
    np.testing.assert_allclose(model.predict_proba(K).sum(axis=1), 1.0)
    assert model.score(K, y) > 0.9


def test_equal_methods_count_once(rng):
    X = rng.standard_normal((40, 3))
    y = X[:, 0] > 0
    folds = list(StratifiedKFold(5).split(X, y))
    model = SpectrumSVCCV(cv=folds).fit(rbf_kernel(X), y)
    assert len(model.cv_results_["params"]) == 24  # w does not matter: no negative part


@pytest.mark.parametrize("factor", [1e-100, 1e-3, 1e3, 1e100])
def test_scale_of_the_similarity_does_not_matter(factor, problem):
    K, y = problem
    model, scaled = SpectrumSVCCV().fit(K, y), SpectrumSVCCV().fit(factor * K, y)
    np.testing.assert_array_equal(
        model.cv_results_["param_method"], scaled.cv_results_["param_method"]
    )
    np.testing.assert_allclose(
        model.decision_function(K), scaled.decision_function(factor * K), atol=1e-4
    )


def test_zero_weights_are_removal(problem, rng):
    K, y = problem
    kept = np.sort(rng.permutation(80)[:60])
    weight = np.zeros(80)
    weight[kept] = 1.0
    folds = list(StratifiedKFold(3).split(np.zeros(60), y[kept]))
    whole = [(kept[train], kept[test]) for train, test in folds]
    one = SpectrumSVCCV(cv=whole).fit(K, y, weight)
    two = SpectrumSVCCV(cv=folds).fit(K[np.ix_(kept, kept)], y[kept])
    np.testing.assert_allclose(one.dual_coef_[:, kept], two.dual_coef_, atol=1e-8)


def test_jobs_and_groups(problem):
    K, y = problem
    one = SpectrumSVCCV(cv=3).fit(K, y)
    two = SpectrumSVCCV(cv=3, n_jobs=2).fit(K, y)
    np.testing.assert_array_equal(one.dual_coef_, two.dual_coef_)


def test_kernel_by_name(problem, rng):
    words = ["kernel", "kernels", "colonel", "krein", "krien", "kreins"] * 3
    y = ["k", "k", "k", "r", "r", "r"] * 3
    model = SpectrumSVCCV(kernel="edit").fit(words, y)
    assert model.predict(["colonels", "kreinn"]).tolist() == ["k", "r"]


@pytest.mark.parametrize("combine", ["average", "best"])
def test_model_files(combine, problem, tmp_path):
    K, y = problem
    model = SpectrumSVCCV([1.0, 10.0], cv=3, combine=combine).fit(K, y)
    again = load_model(save_model(model, tmp_path / "m.krein"))
    np.testing.assert_array_equal(model.predict_proba(K), again.predict_proba(K))
    assert again.best_params_ == model.best_params_
    assert again.duality_gap_ == model.duality_gap_
    assert len(again.members_) == len(model.members_)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"Cs": [0.0]}, "Cs must be one or more positive numbers"),
        ({"fixes": ["clap"]}, "method='clap' is not known"),
        ({"combine": "sum"}, "combine"),
    ],
)
def test_bad_parameters(params, message, problem):
    with pytest.raises(ValueError, match=message):
        SpectrumSVCCV(**params).fit(*problem)


def test_temperature_is_the_best(rng):
    codes = rng.integers(0, 2, 60)
    values = rng.standard_normal((5, 60, 1)) + 2.0 * codes[:, None] - 1.0
    found = temperatures(values, codes, np.ones(60))
    for s in range(5):
        expected = _by_search(values[s, :, 0], codes == 1)
        assert found[s] == pytest.approx(expected, rel=1e-3)
    large = temperatures(1e9 * values, codes, np.ones(60))
    np.testing.assert_allclose(large, 1e9 * found)


def test_the_most_probable_class_is_the_predicted_one(rng):
    values = rng.standard_normal((40, 3))
    proba = probabilities(values, 0.3)
    np.testing.assert_array_equal(proba.argmax(axis=1), values.argmax(axis=1))
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)


def test_scores_that_point_the_wrong_way_say_nothing(rng):
    codes = np.repeat([0, 1], 30)
    values = -(codes[None, :, None] - 0.5) + 0.1 * rng.standard_normal((1, 60, 1))
    tests, target = [np.arange(60)], Classes(codes, 2)
    scores = setting_scores([values], tests, target, np.ones(60), np.array([0, 1]))
    assert scores[0, 0] == pytest.approx(-np.log(2.0), abs=1e-5)


def test_two_halves_of_kernels_are_formed_for_each_power_and_kept(problem, monkeypatch):
    K, y = problem
    formed = []
    original = Spectrum.formed

    def counted(self):
        formed.append(self)
        return original(self)

    monkeypatch.setattr(Spectrum, "formed", counted)
    model = SpectrumSVCCV(cv=3).fit(K, y)
    # Four powers, two halves each: in three folds, and for the members.
    assert len(formed) <= 8 * 4
    training = Training(Similarities(K), None, None, 80)
    kernels = Kernels(training, training.K.spectrum(None))
    every = Settings(SEARCHED_FIXES, np.ones(1), np.arange(len(SEARCHED_FIXES)))
    for m in by_half(every, kernels.spectrum):
        kernels.unit(SEARCHED_FIXES[m])
        assert len(kernels._halves) <= 2
    assert len(model.cv_results_["params"]) == 18


def test_the_screen_leaves_each_sample_out(problem, rng):
    """Closed form against one fit per sample, with weights and an intercept."""
    K, _ = problem
    n, Cs, weight = 30, np.array([0.5, 20.0]), rng.integers(1, 4, 30).astype(float)
    spectrum = Similarities(K[:n, :n]).spectrum(weight)
    flip, targets = SEARCHED_FIXES[9], rng.standard_normal((n, 2))
    (found,) = left_out(spectrum, [flip], Cs, targets)
    height, _ = flip.apply(spectrum.eigenvalues, spectrum.tolerance, 1.0)
    fixed_kernel = spectrum.map(lambda _: height).matrix()
    fixed_kernel /= height.sum() / weight.sum()
    for c, C in enumerate(Cs):
        for i in range(n):
            rest = np.delete(np.arange(n), i)
            system = np.zeros((n, n))
            system[:-1, :-1] = fixed_kernel[np.ix_(rest, rest)] + np.diag(
                1 / (C * weight[rest])
            )
            system[:-1, -1] = system[-1, :-1] = 1.0
            right = np.vstack([targets[rest], np.zeros((1, 2))])
            solved = np.linalg.solve(system, right)
            value = fixed_kernel[i, rest] @ solved[:-1] + solved[-1]
            np.testing.assert_allclose(found[c, i], value, atol=1e-8)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_screen_keeps_good_settings(n_classes, rng):
    """Its best quarter has settings as good as the best of all."""
    X = rng.standard_normal((90, 3))
    y = (np.digitize(X[:, 0] + 0.2 * X[:, 1], [0.0, 0.7][: n_classes - 1])).astype(int)
    K = sigmoid_kernel(X)
    folds = list(StratifiedKFold(5, shuffle=True, random_state=0).split(K, y))
    whole = SpectrumSVCCV(cv=folds).fit(K, y)
    screened = SpectrumSVCCV(random_state=0).fit(K, y)
    assert len(whole.cv_results_["params"]) == 72
    assert len(screened.cv_results_["params"]) == 18
    assert screened.best_score_ >= whole.best_score_ - 0.02


def test_settings_without_a_screened_score_rank_last(problem):
    K, y = problem
    spectrum = Similarities(K).spectrum(None)

    def screen(values):  # a score below 0, and none for two of six C
        scores = [np.nan, -1.0, -2.0, -3.0, np.nan, -4.0]
        return np.tile(scores, len(values) // 6)

    every = all_settings(spectrum, SEARCHED_FIXES, np.array(CS))
    kept, best = screened_settings(spectrum, every, np.ones((len(y), 1)), screen)
    assert set(kept.kept % 6) == {1, 2, 3, 5}
    assert best == -1.0


@pytest.mark.parametrize(
    ("n_fixes", "n_Cs", "kept"),
    [
        (3, 4, 12),  # twelve settings are all trained
        (1, 13, 4),  # of more, a quarter of them, rounded up
        (4, 6, 6),
        (8, 2, 4),  # the five best fixes have ten settings: a quarter of all is less
        (10, 4, 10),
    ],
)
def test_how_many_settings_are_trained(n_fixes, n_Cs, kept, problem):
    K, y = problem
    spectrum = Spectrum.exact(K)
    fixes = [power(0.5, 0.5 + 0.1 * k) for k in range(n_fixes)]
    every = all_settings(spectrum, fixes, np.geomspace(1.0, 10.0, n_Cs))
    target = np.where(y == y[0], 1.0, -1.0)[:, None]
    chosen, _ = screened_settings(spectrum, every, target, lambda v: np.zeros(len(v)))
    assert chosen.kept.size == kept


def test_settings_of_the_five_best_fixes_are_trained(problem):
    """Eight fixes with three C, each fix better than the next in its best C only."""
    K, y = problem
    spectrum = Spectrum.exact(K)
    fixes = [power(0.5, 0.5 + 0.1 * k) for k in range(8)]
    every = all_settings(spectrum, fixes, np.array([1.0, 2.0, 4.0]))
    scores = np.zeros((8, 3))
    scores[:, 0] = np.arange(8, 0, -1)
    target = np.where(y == y[0], 1.0, -1.0)[:, None]

    def screen(values):
        return scores.ravel()[: len(values)]

    chosen, best = screened_settings(spectrum, every, target, screen)
    assert best == 8.0
    assert set(chosen.kept // 3) == set(range(5))


@pytest.mark.parametrize(("screened", "averaged"), [(False, 6), (True, 5)])
def test_how_many_settings_are_averaged(screened, averaged):
    """Three tenths of all, or a quarter of those that a screen has kept."""
    n_all = 20 if not screened else 80
    settings = Settings([power(0.5, 1.0)], np.ones(n_all), np.arange(20))
    assert settings.screened == screened
    assert near_best(settings, np.arange(20), True).size == averaged
    assert near_best(settings, np.arange(20), False).size == 1


def test_nothing_is_screened_where_samples_have_groups(problem, rng):
    K, y = problem
    groups = np.arange(len(y)) // 4
    model = SpectrumSVCCV().fit(K, y, groups=groups)
    assert len(model.cv_results_["params"]) == 72


def test_a_fitted_threshold_has_as_many_positives_as_there_are():
    values = np.array([[[3.0], [1.0], [2.0], [5.0]]])
    codes = np.array([0, 0, 1, 1])
    moved = with_threshold(values, codes, np.ones(4))
    assert (moved[0, :, 0] > 0).sum() == 2
    three = np.zeros((1, 4, 3))
    assert with_threshold(three, codes, np.ones(4)) is three


def test_one_machine_per_pair_of_classes():
    X, y = load_iris(return_X_y=True)
    K = sigmoid_kernel((X - X.mean(0)) / X.std(0), gamma=0.5)
    model = SpectrumSVCCV(multi_class="ovo").fit(K, y)
    members = [
        SpectrumSVC(m["method"], C=m["C"], multi_class="ovo").fit(K, y)
        for m in model.members_
    ]
    mean = np.mean([m.decision_function(K) for m in members], axis=0)
    np.testing.assert_allclose(model.decision_function(K), mean, atol=1e-8)
    assert model.score(K, y) > 0.95
    most_probable = model.classes_[model.predict_proba(K).argmax(axis=1)]
    np.testing.assert_array_equal(most_probable, model.predict(K))
    assert check_certificate(
        SpectrumSVCCV(multi_class="ovo", combine="best").fit(K, y), K, y
    ).holds


@pytest.mark.parametrize("kind", [SpectrumSVCCV, SpectrumSVRCV])
def test_the_old_name_of_fixes_still_works(kind, problem):
    K, y = problem
    old, new = kind([1.0], gains=["flip"], cv=2), kind([1.0], fixes=["flip"], cv=2)
    target = np.arange(len(y)) % 2
    with pytest.warns(FutureWarning, match="gains is deprecated; use fixes"):
        old.fit(K, target)
    assert_allclose(old.dual_coef_, new.fit(K, target).dual_coef_)
    assert clone(old).get_params()["gains"] == ["flip"]
    with pytest.raises(ValueError, match="gains is the old name of fixes"):
        clone(old).set_params(fixes=["clip"]).fit(K, target)


def test_the_fixes_can_be_searched_by_grid_search(problem):
    K, y = problem
    grid = {"fixes": [["flip"], ["clip", "flip"]]}
    search = GridSearchCV(SpectrumSVCCV([1.0], cv=2), grid, cv=2).fit(K, y)
    assert search.best_params_["fixes"] in grid["fixes"]


@pytest.mark.parametrize("kind", [SpectrumSVCCV, SpectrumSVRCV])
def test_distances_are_converted_as_by_the_transformer(kind, rng, tmp_path):
    X = rng.standard_normal((50, 3))
    y = (X[:, 0] > 0).astype(float)
    D = np.abs(X[:, None] - X[None]).sum(axis=2)
    known, new = D[:30, :30], D[30:, :30]
    one = kind([1.0, 10.0], fixes=["clip"], kind="distance").fit(known, y[:30])
    two = make_pipeline(DistanceTransformer(), kind([1.0, 10.0], fixes=["clip"]))
    expected = two.fit(known, y[:30]).predict(new)
    assert_allclose(one.predict(new), expected)
    save_model(one, tmp_path / "model.krein")
    assert_allclose(load_model(tmp_path / "model.krein").predict(new), expected)
    left = np.setdiff1d(np.arange(30), [4, 9])
    weight = np.isin(np.arange(30), left).astype(float)
    weighted = clone(one).fit(known, y[:30], weight).predict(new)
    removed = clone(one).fit(known[np.ix_(left, left)], y[left])
    assert_allclose(weighted, removed.predict(new[:, left]), rtol=1e-6)
    with pytest.raises(ValueError, match="no distance is negative"):
        clone(one).fit(-known, y[:30])
    with pytest.raises(ValueError, match="its columns are distances"):
        one.sparsify(known, n_prototypes=5)
    with pytest.raises(ValueError, match="kind='distance' is for kernel='precomputed'"):
        clone(one).set_params(kernel="rbf").fit(X, y)
