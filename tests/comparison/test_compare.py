"""compare: splits, statistics, words, failures, resuming."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import ttest_rel
from sklearn import metrics
from sklearn.model_selection import StratifiedKFold

import krein.comparison.run as run_module
from krein import (
    Kernel,
    SimilarityGroupSplit,
    compare,
    list_methods,
    load_model,
    save_model,
)
from krein.comparison.contender import Contender
from krein.comparison.contenders import COLUMNS, CONTENDERS, select_contenders
from krein.comparison.recommendation import choose
from krein.comparison.significance import (
    corrected_error,
    corrected_test,
    holm,
    score_interval,
)
from krein.kernels import KERNELS
from krein.selection.folds import inner_folds, outer_splits
from krein.selection.scores import score
from krein.training import Classes
from tests.comparison.made_up import made_up


@pytest.fixture
def problem(rng):
    X = rng.standard_normal((50, 4))
    y = np.array(["no", "yes"])[(X[:, 0] > 0).astype(int)]
    return X, y


# ------------------------------------------------------------------------------- splits


def test_splits_are_stratified_repeated_and_fixed():
    codes = np.repeat([0, 1], [40, 20])
    splits = outer_splits(Classes(codes, 2))
    assert len(splits) == 10
    for train, test in splits:
        assert np.bincount(codes[test]).tolist() == [8, 4]
        assert np.intersect1d(train, test).size == 0
    again = outer_splits(Classes(codes, 2))
    assert all(np.array_equal(a[1], b[1]) for a, b in zip(splits, again, strict=True))


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 1000))
def test_groups_are_never_split(seed):
    rng = np.random.default_rng(seed)
    codes = np.tile([0, 1], 40)
    groups = rng.integers(0, 16, 80)
    for train, test in outer_splits(Classes(codes, 2), groups=groups, cv=3, seed=seed):
        assert not set(groups[train]) & set(groups[test])
        for a, b in inner_folds(codes[train], 0, "a test", groups[train]):
            assert not set(groups[train][a]) & set(groups[train][b])


@pytest.mark.parametrize(
    ("cv", "message"),
    [
        (1, r"cv \(--folds\) must be from 2 to 20"),
        (True, "must be from 2 to 20"),
        (21, "must be from 2 to 20"),
        ("five", "Expected `cv` as an integer"),
        ([(np.arange(10), np.arange(5, 20))], "both to train and to test"),
        ([(np.arange(10), np.arange(30, 40))], "no training items of some class"),
        ([], "no split"),
        (1.5, "Expected `cv` as an integer"),
    ],
)
def test_bad_cv(cv, message):
    with pytest.raises((ValueError, TypeError), match=message):
        outer_splits(Classes(np.repeat([0, 1], 20), 2), cv)


@pytest.mark.parametrize("cv", [None, 3, StratifiedKFold(3)])
@pytest.mark.filterwarnings("ignore:The least populated class")
def test_a_class_of_one_item_is_trained_on_and_never_tested(cv):
    codes = np.array([0] * 20 + [1] * 10 + [2])
    with pytest.warns(UserWarning, match="1 of 3 classes have one item"):
        splits = outer_splits(Classes(codes, 3), cv)
    for train, test in splits:
        assert 30 in train
        assert 30 not in test
    tested = np.concatenate([test for _, test in splits])
    assert set(tested) == set(range(30))


def test_compare_goes_on_with_a_class_of_one_item(problem):
    X, y = problem
    y = y.copy()
    y[7] = "us"
    with pytest.warns(UserWarning, match="no split tests them"):
        found = compare(X @ X.T, y, methods=["clip", "neighbors"], cv=3)
    assert found.failed == {}
    assert found.confusion("clip").sum(axis=1)[1] == 0


def test_one_class_beside_single_items_is_refused():
    with (
        pytest.warns(UserWarning, match="one item"),
        pytest.raises(ValueError, match="needs two classes of at least two items"),
    ):
        outer_splits(Classes(np.array([0] * 20 + [1]), 2))


# --------------------------------------------------------------------------- statistics


def test_corrected_test_against_scipy(rng):
    a, b = rng.standard_normal((2, 15))
    mean, p = corrected_test(a, b, 0.0)
    reference = ttest_rel(a, b)
    assert mean == pytest.approx(np.mean(a - b))
    assert p == pytest.approx(reference.pvalue)
    # Nadeau and Bengio: the variance grows by the factor 1 + J n_test / n_train.
    t = reference.statistic / np.sqrt(1 + 15 * 0.25)
    from scipy.stats import t as student

    assert corrected_test(a, b, 0.25)[1] == pytest.approx(2 * student.sf(abs(t), 14))


def test_interval_and_test_agree(rng):
    difference = rng.standard_normal(12) + 0.4
    low, high = score_interval(difference, 0.25, (-np.inf, np.inf))
    _, p = corrected_test(difference, np.zeros(12), 0.25)
    assert (low > 0 or high < 0) == (p < 0.05)


def test_equal_scores_are_no_difference():
    assert corrected_test(np.ones(5), np.ones(5), 0.25) == (0.0, 1.0)
    assert corrected_test(np.ones(5), np.zeros(5), 0.25) == (1.0, 0.0)
    assert corrected_test(np.ones(1), np.zeros(1), 0.25) == (1.0, 1.0)


def test_holm_by_hand():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), n_classes=st.integers(2, 4))
def test_scores_against_scikit_learn(seed, n_classes):
    rng = np.random.default_rng(seed)
    codes = np.concatenate([np.arange(n_classes), rng.integers(0, n_classes, 20)])
    proba = rng.dirichlet(np.ones(n_classes), codes.size)
    values = np.round(proba, 1)  # with ties
    predicted = proba.argmax(axis=1)
    rows = values[:, 1:2] if n_classes == 2 else values
    areas = [
        metrics.roc_auc_score(codes == k, values[:, k])
        for k in ([1] if n_classes == 2 else range(n_classes))
    ]
    expected = {
        "accuracy": metrics.accuracy_score(codes, predicted),
        "balanced_accuracy": metrics.balanced_accuracy_score(codes, predicted),
        "neg_log_loss": -metrics.log_loss(codes, proba, labels=range(n_classes)),
        "roc_auc": np.mean(areas),
    }
    for name, value in expected.items():
        assert score(name, codes, predicted, rows, proba) == pytest.approx(value)


# ---------------------------------------------------------------------------- the words


@pytest.mark.parametrize(("errors", "method"), [(1.4, "average"), (1.6, "neighbors")])
def test_the_default_stays_unless_clearly_beaten(errors, method, rng):
    noise = 0.05 * rng.standard_normal(10)
    noise -= noise.mean()
    average = 0.8 + 0.01 * rng.standard_normal(10)
    gain = errors * corrected_error(noise, 0.25)
    scores = {"average": average, "neighbors": average + gain + noise}
    assert choose(scores, 0.25, "average") == method


def test_what_beats_the_default_is_not_called_the_default(rng):
    """The raw SVM and clip too, where another method is higher by luck."""
    noise = rng.standard_normal(10)
    noise -= noise.mean()
    average = 0.8 + 0.01 * rng.standard_normal(10)
    for method in ("svc", "clip"):
        scores = {
            "average": average,
            method: average + 0.04 + 0.001 * noise,
            "features": average + 0.05 + 0.3 * noise,
        }
        found = made_up(scores).recommendation
        assert found.method == method
        assert "by more than 1.5 standard errors" in found.text


def test_on_a_definite_similarity_nothing_is_treated(rng):
    """The default is the same; without it the plain machine, not its copy clip."""
    noise = 0.03 * rng.standard_normal(10)
    plain = 0.9 + 0.01 * rng.standard_normal(10)
    scores = {"svc": plain, "clip": plain, "average": plain + 0.01 * noise}
    found = made_up(scores, smallest=0.0).recommendation
    assert found.method == "average"
    assert found.text.endswith("there is nothing to fix.")
    del scores["average"]
    found = made_up(scores, smallest=0.0).recommendation
    assert found.method == "svc"
    assert found.text.endswith("there is nothing to fix.")
    assert made_up(scores).recommendation.method == "clip"
    better = {**scores, "features": plain + 0.06 + 0.1 * noise}
    found = made_up(better, smallest=0.0).recommendation
    assert found.method == "features"
    assert found.text.endswith("there is nothing to fix.")


def test_every_table_has_the_columns_that_are_described(rng):
    comparison = made_up({"svc": rng.random(10), "flip": rng.random(10)})
    keys = {column.key for column in COLUMNS}
    intervals = {
        f"{column.key}_interval" for column in comparison.score_columns.values()
    }
    for row in comparison.table():
        assert set(row) == {"method", "title"} | keys | intervals
    assert keys <= set(comparison.to_frame().columns)
    first = comparison.table()[0]
    lines = str(comparison).splitlines()
    for column in comparison.columns:
        assert column.title in lines[0]
        assert f" {column.show(first)} " in f"{lines[1]} "


def test_a_clear_winner_is_named(rng):
    noise = 0.01 * rng.standard_normal(10)
    answer = made_up({"svc": 0.7 + noise, "flip": 0.9 - noise}).recommendation
    assert answer.method == "flip"
    assert answer.clear
    assert answer.text.startswith("Use SVM with flip")
    assert "the spectrum fix matters" in answer.text


def test_indefiniteness_is_not_blamed_where_there_is_none(rng):
    noise = 0.01 * rng.standard_normal(10)
    scores = {"svc": 0.7 + noise, "square": 0.9 - noise}
    text = made_up(scores, smallest=0.0).recommendation.text
    assert "nothing to fix" in text
    assert "matters" not in text
    yardstick = {"svc": 0.7 + noise, "clip": 0.7 + noise, "features": 0.9 - noise}
    assert "makes no difference" in made_up(yardstick).recommendation.text


def test_methods_that_tie_are_said_to_do_as_well(rng):
    """A recommendation, not a shrug: the simplest, and what cannot be told from it."""
    scores = 0.8 + 0.05 * rng.standard_normal((3, 10))
    scores -= scores.mean(axis=1, keepdims=True) - 0.8
    comparison = made_up(dict(zip(["krein", "svc", "proxy"], scores, strict=True)))
    answer = comparison.recommendation
    assert answer.method == "svc"
    assert not answer.clear
    assert answer.decided
    assert answer.text.startswith("Use SVM on raw matrix")
    assert "No other method can be told apart from it." in answer.text
    assert "o clear winner" not in answer.text


def test_no_method_is_called_better_that_only_ties(rng):
    labels = np.repeat(["a", "b"], 20)
    X = rng.standard_normal((40, 2)) + np.where(labels == "a", 9.0, -9.0)[:, None]
    found = compare(X @ X.T, labels, methods=["neighbors", "average"], cv=3)
    assert found.best != found.recommendation.method
    assert "better score" not in found.recommendation.text


def test_some_do_as_well_and_some_are_worse(rng):
    noise = 0.01 * rng.standard_normal((3, 10))
    noise -= noise.mean(axis=1, keepdims=True)
    scores = {"clip": 0.9 + noise[0], "flip": 0.899 + noise[1], "svc": 0.6 + noise[2]}
    answer = made_up(scores).recommendation
    assert answer.decided
    assert answer.text.startswith("Use SVM with clip: mean accuracy 0.900")
    assert "SVM with flip cannot be told apart from it." in answer.text


def test_no_clear_winner_is_for_what_cannot_be_told():
    """Scores that differ by more than a standard error, and less than is sure."""
    noisy = 0.75 + 0.3 * np.tile([1.0, -1.0], 5)
    answer = made_up({"svc": noisy, "flip": np.full(10, 0.95)}).recommendation
    assert not answer.decided
    assert answer.text.startswith("No clear winner: SVM with flip has the best score")


def test_a_much_lower_mean_is_not_recommended_for_being_simple():
    noisy = 0.75 + 0.3 * np.tile([1.0, -1.0], 5)
    answer = made_up({"svc": noisy, "flip": np.full(10, 0.95)}).recommendation
    assert answer.equals == ("flip", "svc")
    assert answer.method == "flip"
    assert "too few to be sure" in answer.text


def test_the_default_is_kept_unless_something_beats_it(rng):
    noise = 0.05 * rng.standard_normal(10)
    near = made_up({"average": 0.8 + noise, "flip": 0.81 - noise, "svc": 0.79 + noise})
    assert near.best == "flip"
    assert near.recommendation.method == "average"
    assert "does well on most data" in near.recommendation.text
    far = made_up({"average": 0.7 + noise, "flip": 0.9 + noise, "svc": 0.7 + noise})
    assert far.recommendation.method == "flip"


def test_few_splits_cannot_decide():
    scores = {"average": np.array([0.8, 0.9, 0.7]), "flip": np.array([0.9, 0.8, 0.8])}
    text = made_up(scores).recommendation.text
    assert text.startswith("Nothing can be tested over 3 splits")
    assert "Use Average of spectrum SVMs" in text


def test_definite_similarities_are_never_blamed(problem):
    X, y = problem
    comparison = compare(X @ X.T, y, methods=["svc", "clip", "neighbors"], cv=3)
    assert not comparison.indefinite
    assert "there is nothing to fix" in comparison.recommendation.text
    assert "fix matters" not in comparison.recommendation.text


def test_intervals_stay_between_the_bounds_of_a_score(problem):
    X, y = problem
    for row in compare(X @ X.T, y, methods=["clip", "neighbors"], cv=3).table():
        for key in ("accuracy", "balanced_accuracy", "roc_auc"):
            low, high = row[f"{key}_interval"]
            assert 0.0 <= low <= row[key] <= high <= 1.0
        assert row["log_loss_interval"][0] >= 0.0


def test_identical_scores_rank_the_simplest_first():
    same = np.linspace(0.7, 0.9, 10)
    assert made_up({"krein": same, "flip": same, "clip": same}).best == "clip"


# ------------------------------------------------------------------------------ compare


def test_names_are_checked(problem):
    X, y = problem
    with pytest.raises(ValueError, match="methods must be among"):
        compare(X @ X.T, y, methods=["magic"])
    with pytest.raises(ValueError, match="methods is empty"):
        compare(X @ X.T, y, methods=[])
    with pytest.raises(ValueError, match="scoring must be one of"):
        compare(X @ X.T, y, scoring="f1")
    with pytest.raises(TypeError, match="argument 'randomstate'"):
        compare(X @ X.T, y, randomstate=1)
    with pytest.raises(ValueError, match="49 labels for 50 items"):
        compare(X @ X.T, y[:-1])
    with pytest.raises(ValueError, match="is not symmetric"):
        compare(X @ X.T + np.triu(np.ones((50, 50)), 1), y)
    assert set(list_methods()) <= set(CONTENDERS)


def test_uneven_classes_are_offered_weights(rng):
    X = rng.standard_normal((80, 2))
    y = X[:, 0] > 1.3  # about one in ten
    X[y] += 0.4
    K = np.tanh(X @ X.T)
    names = ["balanced", "average"]
    found = compare(K, y, methods=names, cv=3, scoring="balanced_accuracy")
    assert found.best == "balanced"
    assert "Average, classes weighted" in found.recommendation.text
    assert found.fit_best("balanced").class_weight == "balanced"

    def chosen(counts):
        return [m.name for m in select_contenders(None, counts=counts)]

    assert "balanced" in chosen([9, 3])
    assert "balanced" not in chosen([8, 3])


def test_data_dependent_kernels_are_settled_on_the_training_part(problem):
    X, y = problem
    seen = []
    facts = Kernel("rbf").facts
    rule = facts.resolve["gamma"]["scale"]

    def watched(Z, params):
        seen.append(len(Z))
        return rule(Z, params)

    original = dict(facts.resolve["gamma"])
    try:
        facts.resolve["gamma"]["scale"] = watched
        compare(X, y, Kernel("rbf", gamma="scale"), ["svc"], cv=2)
    finally:
        facts.resolve["gamma"].update(original)
    assert seen[1:] == [25, 25]  # the first call finds out whether data matter


def test_results_do_not_depend_on_the_number_of_jobs(problem):
    X, y = problem
    one = compare(X @ X.T, y, methods=["clip", "neighbors"], cv=2)
    two = compare(X @ X.T, y, methods=["clip", "neighbors"], cv=2, n_jobs=2)
    for a, b in zip(one.records, two.records, strict=True):
        assert a["scores"] == b["scores"]
        assert a["predicted"] == b["predicted"]


def test_scaling_the_similarity_changes_nothing(problem):
    X, y = problem
    K = np.tanh(X @ X.T)
    methods = ["svc", "clip", "flip", "square", "diffusion"]
    one = compare(K, y, methods=methods, cv=2)
    many = compare(1024.0 * K, y, methods=methods, cv=2)
    for method in methods:
        np.testing.assert_array_equal(one.scores(method), many.scores(method))


def test_an_interrupted_comparison_goes_on(problem, tmp_path, monkeypatch):
    X, y = problem
    original, ran = run_module.evaluate_split, []

    def interrupted(problem, methods, split, scoring):
        if len(ran) == 2:
            raise KeyboardInterrupt
        ran.append([method.name for method in methods])
        return original(problem, methods, split, scoring)

    monkeypatch.setattr(run_module, "evaluate_split", interrupted)
    arguments = {"methods": ["clip", "flip"], "cv": 4, "cache": tmp_path / "cache"}
    with pytest.raises(KeyboardInterrupt):
        compare(X @ X.T, y, **arguments)
    kept = sorted((tmp_path / "cache").iterdir())
    assert len(kept) == 4  # two splits, whole
    assert all("method" in json.loads(path.read_text())["record"] for path in kept)

    monkeypatch.setattr(run_module, "evaluate_split", original)
    calls = []
    full = compare(X @ X.T, y, **arguments, progress=lambda *a: calls.append(a))
    assert [done for done, _, _ in calls] == [6, 8]
    fresh = compare(X @ X.T, y, methods=["clip", "flip"], cv=4)
    assert [r["scores"] for r in full.records] == [r["scores"] for r in fresh.records]


@pytest.mark.parametrize("edit", ["torn", "incomplete", "edited"])
def test_damaged_records_are_not_believed(problem, tmp_path, edit):
    X, y = problem
    arguments = {"methods": ["clip"], "cv": 3, "cache": tmp_path}
    fresh = compare(X @ X.T, y, **arguments)
    for path in tmp_path.iterdir():
        content = json.loads(path.read_text())
        if edit == "incomplete":
            del content["record"]["scores"]
        content["record"]["fit_seconds"] = -1.0
        text = json.dumps(content)
        path.write_text(text[:-9] if edit == "torn" else text)
    again = compare(X @ X.T, y, **arguments)
    assert again.scores("clip").tolist() == fresh.scores("clip").tolist()
    assert all(record["fit_seconds"] >= 0 for record in again.records)


def test_another_grid_is_another_record(problem, tmp_path, monkeypatch):
    X, y = problem
    arguments = {"methods": ["clip"], "cv": 3, "cache": tmp_path}
    compare(X @ X.T, y, **arguments)
    narrow = replace(CONTENDERS["clip"], grid=lambda K: [{"C": 1e-6}])
    monkeypatch.setitem(CONTENDERS, "clip", narrow)
    again = compare(X @ X.T, y, **arguments)
    assert {record["params"]["C"] for record in again.records} == {1e-6}


def test_a_failing_method_is_reported_and_the_others_go_on(problem, monkeypatch):
    X, y = problem
    broken = Contender("svc", "Broken", 0, "SpectrumSVC", {"method": "clop"})
    monkeypatch.setitem(CONTENDERS, "svc", broken)
    comparison = compare(X @ X.T, y, methods=["svc", "clip"], cv=2)
    assert "'clop' is not known" in comparison.failed["svc"]
    assert comparison.completed == ["clip"]
    assert "svc failed" in str(comparison)


def test_confusion_counts_every_test_item(problem):
    X, y = problem
    comparison = compare(X @ X.T, y, methods=["clip"], cv=5)
    counts = comparison.confusion("clip")
    assert counts.sum() == 50
    assert counts.sum(axis=1).tolist() == [np.sum(y == "no"), np.sum(y == "yes")]
    assert np.trace(counts) / 50 == pytest.approx(comparison.scores("clip").mean())


def test_outputs(problem):
    X, y = problem
    comparison = compare(X @ X.T, y, methods=["clip", "neighbors"], cv=3)
    frame = comparison.to_frame()
    assert set(frame.index) == {"clip", "neighbors"}
    assert frame.loc["clip", "accuracy"] == comparison.scores("clip").mean()
    assert "k nearest neighbours" in comparison._repr_html_()
    axes = comparison.plot()
    assert len(axes.get_yticklabels()) == 2
    import matplotlib.pyplot as plt

    plt.close(axes.figure)


@pytest.mark.parametrize("method", ["svc", "krein", "neighbors", "features"])
def test_the_fitted_model_can_be_saved(problem, tmp_path, method):
    X, y = problem
    comparison = compare(X, y, kernel="tl1", methods=[method], cv=2)
    model = comparison.fit_best()
    loaded = load_model(save_model(model, tmp_path / "best.krein"))
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    assert np.mean(loaded.predict(X) == y) > 0.8


# ---------------------------------------------------------------------- several kernels

WORDS = ["kernel", "kernels", "colonel", "krein", "krien", "kreins"] * 3
KIND = np.array(["k", "k", "k", "r", "r", "r"] * 3)


def test_parameters_of_a_kernel_share_its_distance(monkeypatch):
    calls = []
    facts = KERNELS["edit"]

    def counted(X, **params):
        calls.append(params)
        return facts.distance(X, **params)

    monkeypatch.setitem(KERNELS, "edit", replace(facts, distance=counted))
    grid = [{"gamma": "median"}, {"gamma": 2.0}, {"similarity": "negative"}]
    found = compare(WORDS, KIND, "edit", ["clip"], kernel_params=grid, cv=3)
    assert calls == [{}]
    assert len(found.comparisons) == 3
    for params, one in zip(grid, found.comparisons.values(), strict=True):
        alone = compare(WORDS, KIND, "edit", ["clip"], kernel_params=params, cv=3)
        np.testing.assert_array_equal(alone.scores("clip"), one.scores("clip"))


@pytest.mark.parametrize("given", [{"kernel_params": []}, {"kernel": []}])
def test_no_kernel_at_all(given):
    with pytest.raises(ValueError, match="is an empty list"):
        compare(WORDS, KIND, **{"kernel": "edit", **given})


def test_several_kernels_on_the_same_splits():
    found = compare(WORDS, KIND, ["edit", "jaro_winkler"], ["clip", "neighbors"], cv=3)
    assert set(found.comparisons) == {"edit", "jaro_winkler"}
    for kernel, comparison in found.comparisons.items():
        alone = compare(WORDS, KIND, kernel, ["clip", "neighbors"], cv=3)
        np.testing.assert_array_equal(comparison.scores("clip"), alone.scores("clip"))
    kernel = found.best[0]
    assert found.recommendation.text.startswith(f"Use {kernel} with")
    assert found.fit_best().predict(["kreinn"]).tolist() == ["r"]
    assert found.to_frame().index.names == ["kernel", "method"]
    assert len(found.table()) == 4
    assert "jaro_winkler" in str(found)


def test_no_kernel_is_recommended_where_nothing_was_learnt():
    y = ["k"] * 12 + ["r"] * 6  # every word has both labels
    found = compare(WORDS, y, ["edit", "jaro_winkler"], ["clip"], cv=3)
    assert not found.comparisons[found.best[0]].recommendation.useful
    assert found.recommendation.text.startswith("Nothing was learnt")
    assert not found.recommendation.useful


def test_a_distance_is_computed_once(monkeypatch):
    """Gamma is settled on every training part, on one matrix of distances."""
    facts = KERNELS["edit"]
    calls = []

    def counted(X, *args, **params):
        calls.append(len(X))
        return facts.distance(X, *args, **params)

    monkeypatch.setitem(KERNELS, "edit", replace(facts, distance=counted))
    found = compare(WORDS, KIND, "edit", ["clip"], cv=3)
    assert calls == [18]
    by_hand = [
        Kernel("edit", gamma="median").fit([WORDS[i] for i in train])
        for train, _ in found.splits
    ]
    for (train, _), kernel in zip(found.splits, by_hand, strict=True):
        expected = kernel(WORDS, [WORDS[i] for i in train])
        np.testing.assert_allclose(found.problem.on(train), expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("kernel", "params", "message"),
    [
        ([], None, "empty list"),
        (["edit", "edit"], None, "names one twice"),
        (["edit", "lcs"], {"gamma": 1.0}, "belongs to one kernel"),
    ],
)
def test_bad_lists_of_kernels(kernel, params, message):
    with pytest.raises(ValueError, match=message):
        compare(WORDS, KIND, kernel, ["clip"], cv=2, kernel_params=params)


@pytest.mark.parametrize("gap", [None, float("nan"), "pandas"])
def test_missing_labels_are_named(problem, gap):
    X, y = problem
    if gap == "pandas":
        gap = pytest.importorskip("pandas").NA
    labels = y.astype(object)
    labels[3] = gap
    with pytest.raises(ValueError, match=r"missing value: y\[3\] is"):
        compare(X @ X.T, labels, methods=["clip"])


def test_splitters_see_the_similarities(problem):
    X, y = problem
    K = np.exp(-np.sum((X[:, None] - X) ** 2, axis=2))
    splitter = SimilarityGroupSplit(0.9, n_splits=3)
    found = compare(K, y, methods=["clip"], cv=splitter)
    for train, test in found.splits:
        assert K[np.ix_(train, test)].max() < 0.9


def test_a_cache_tells_a_settled_scale_from_a_fixed_one(tmp_path):
    """gamma="median" is settled on training items, a number is not."""
    words = ["anna", "anne", "bea", "beate", "carl", "karla", "dora", "doris"] * 4
    words = [f"{word}{i // 8}" for i, word in enumerate(words)]
    y = np.arange(32) % 8 < 4
    settled = Kernel("edit", gamma="median").fit(words)
    plain = {"methods": ["clip"], "cv": 3}
    fixed = Kernel("edit", gamma=settled.params["gamma"])
    alone = compare(words, y, fixed, **plain)
    compare(words, y, Kernel("edit", gamma="median"), cache=tmp_path, **plain)
    cached = compare(words, y, fixed, cache=tmp_path, **plain)
    assert [r["params"] for r in cached.records] == [r["params"] for r in alone.records]
    assert [r["scores"] for r in cached.records] == [r["scores"] for r in alone.records]
