"""The metrics of SciPy as kernels: all of them, other names, what rows must hold."""

import re

import numpy as np
import pytest
import scipy.spatial.distance
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import (
    PAIRWISE_DISTANCE_FUNCTIONS,
    PAIRWISE_KERNEL_FUNCTIONS,
)

import krein
from krein import Kernel, KreinSVC, compare, load_model, save_model
from krein.cli import main
from krein.kernels import KERNELS
from krein.kernels.registry import ALIASES, ELSEWHERE, other_kernel

SCIPY = [
    "braycurtis", "canberra", "chebyshev", "cityblock", "correlation", "cosine", "dice",
    "euclidean", "hamming", "jaccard", "jensenshannon", "mahalanobis", "minkowski",
    "rogerstanimoto", "russellrao", "seuclidean", "sokalsneath", "sqeuclidean", "yule",
]  # fmt: skip
BINARY = ["dice", "jaccard", "rogerstanimoto", "russellrao", "sokalsneath", "yule"]
SETTLED = {"seuclidean": "variances", "mahalanobis": "inverse_covariance"}
RNG = np.random.default_rng(3)
BITS = RNG.integers(0, 2, (12, 6)).astype(float)
ROWS = RNG.random((12, 6))


def rows_for(name):
    return BITS if name in BINARY else ROWS


@pytest.mark.parametrize("name", SCIPY)
def test_distances_are_those_of_scipy(name):
    X = rows_for(name)
    kernel = Kernel(name).fit(X)
    D = cdist(X[:3], X, name) if name not in SETTLED else None
    if name == "seuclidean":
        D = cdist(X[:3], X, name, V=X.var(axis=0, ddof=1))
    if name == "mahalanobis":
        D = cdist(X[:3], X, name, VI=np.linalg.inv(np.cov(X.T)))
    expected = 1 - D if name == "russellrao" else np.exp(-D)
    np.testing.assert_allclose(kernel(X[:3], X), expected, rtol=1e-9, atol=1e-12)


def test_no_metric_of_scipy_is_missing():
    there = vars(scipy.spatial.distance)
    functions = [name for name in SCIPY if name in there]
    assert functions == SCIPY
    retired = {"kulczynski1", "sokalmichener"}  # by SciPy
    words = {name for name in scipy.spatial.distance.__all__ if name in there}
    others = {"cdist", "directed_hausdorff", "is_valid_dm", "is_valid_y", "num_obs_dm",
              "num_obs_y", "pdist", "squareform"}  # fmt: skip
    assert words - others - retired == set(SCIPY)


@pytest.mark.parametrize("name", SCIPY)
def test_each_is_a_kernel_by_name_of_an_estimator(name, tmp_path):
    X = rows_for(name)
    y = X[:, 0] > X[:, 0].mean()
    model = KreinSVC(kernel=name).fit(X, y)
    save_model(model, tmp_path / "m.krein")
    again = load_model(tmp_path / "m.krein")
    np.testing.assert_array_equal(
        again.decision_function(X), model.decision_function(X)
    )
    assert callable(getattr(krein, f"{name}_kernel"))


@pytest.mark.parametrize(("alias", "name"), ALIASES.items())
def test_other_names_are_the_same_kernel(alias, name):
    assert Kernel(alias) == Kernel(name)
    assert KERNELS[alias] is KERNELS[name]


def test_other_names_work_where_names_do(tmp_path, capsys):
    words = ["kernel", "krein", "colonel", "cone"]
    found = Kernel("levenshtein", gamma=1.0)(words)
    np.testing.assert_array_equal(found, krein.edit_kernel(words))
    (tmp_path / "words.txt").write_text("\n".join(words))
    out = str(tmp_path / "K.npy")
    items = str(tmp_path / "words.txt")
    assert main(["kernel", "levenshtein", items, "-o", out, "--param", "gamma=1"]) == 0
    np.testing.assert_array_equal(np.load(out), found)
    assert main(["kernel", "levenstein", items, "-o", out]) == 2
    assert "did you mean 'levenshtein'" in capsys.readouterr().err
    comparison = compare(
        words * 4, [0, 0, 1, 1] * 4, kernel="levenshtein", methods=["svc"], cv=2
    )
    assert comparison.best == "svc"


@pytest.mark.parametrize("name", BINARY)
def test_counts_are_refused_by_binary_metrics(name):
    X = BITS.copy()
    X[2, 4] = 3.0
    with pytest.raises(
        ValueError, match=r"got 3 in row 2, column 4\. For counts: tanim"
    ):
        Kernel(name)(X)
    assert Kernel(name)(BITS.astype(bool)).shape == (12, 12)


@pytest.mark.parametrize("name", ["braycurtis", "jensenshannon"])
def test_negative_amounts_are_refused(name):
    X = ROWS.copy()
    X[1, 5] = -0.5
    with pytest.raises(ValueError, match=r"from 0 on .*got -0.5 in row 1, column 5"):
        Kernel(name)(X)


def test_empty_rows_are_equal_to_each_other():
    X = np.array([[0.0, 0.0], [0.0, 0.0], [1.0, 2.0]])
    assert Kernel("braycurtis", similarity="negative")(X)[0].tolist() == [0, 0, -1]
    for name in ("cosine", "jensenshannon"):
        with pytest.raises(ValueError, match=f"no {name} distance between row 0 of X"):
            Kernel(name)(X)
        assert np.isfinite(Kernel(name)(X[:2])).all()


def test_tanimoto_and_jaccard_are_each_other():
    D = KERNELS["jaccard"].distance(BITS)
    np.testing.assert_allclose(krein.tanimoto_kernel(BITS), 1 - D, rtol=1e-12)


@pytest.mark.parametrize("name", SETTLED)
def test_scales_come_from_training_rows_only(name):
    train, new = ROWS[:8], ROWS[8:] + 5.0
    fitted = Kernel(name).fit(train)
    one_by_one = np.vstack([fitted(row[None], train) for row in new])
    np.testing.assert_allclose(fitted(new, train), one_by_one, rtol=1e-12)
    function = KERNELS[name].function
    with pytest.raises(ValueError, match=f"the scales of {name}.*fit"):
        function(new, train)
    np.testing.assert_allclose(function(train), fitted(train), rtol=1e-12)
    with pytest.raises(ValueError, match=SETTLED[name]):
        function(train, **{SETTLED[name]: (1.0, 2.0)})


def test_constant_features_and_singular_covariances_are_no_error():
    X = np.column_stack([ROWS, np.ones(12), ROWS[:, 0]])
    for name in SETTLED:
        assert np.isfinite(Kernel(name).fit(X)(X)).all()


def test_order_of_minkowski():
    Y = ROWS[:4]
    np.testing.assert_allclose(
        Kernel("minkowski", p=1)(Y), Kernel("cityblock")(Y), rtol=1e-12
    )
    for p in (0.5, np.inf, "2"):
        with pytest.raises(ValueError, match="p must be a number from 1 on"):
            Kernel("minkowski", p=p)(Y)


@pytest.mark.parametrize("name", SETTLED)
def test_scales_are_settled_by_the_model_that_searches(name):
    X = np.random.default_rng(5).random((40, 4))
    y = X[:, 0] > 0.5
    model = krein.SimilarityClassifier(kernel=name, cv=2).fit(X, y)
    assert model.score(X, y) > 0.8
    np.testing.assert_allclose(
        model.decision_function(X[:3]), model.decision_function(X)[:3], rtol=1e-9
    )
    assert compare(X, y, kernel=name, methods=["clip"], cv=2).best == "clip"


@pytest.mark.parametrize("name", sorted(ELSEWHERE))
def test_a_kernel_of_elsewhere_is_answered_by_what_to_do(name):
    assert name not in KERNELS
    with pytest.raises(ValueError, match=f"got '{name}'; ") as caught:
        Kernel(name)
    hint = str(caught.value)
    assert "did you mean" not in hint
    for quoted in re.findall(r"'(\w+)'", hint.partition(f"got '{name}'")[2]):
        assert quoted in KERNELS


def test_names_of_kernels_may_be_spelt_in_other_ways(rng):
    assert "'softdtw'" not in other_kernel("Soft-DTW")
    assert "soft DTW" in other_kernel("Soft-DTW")
    assert other_kernel("Euclidean") == "; did you mean 'euclidean'?"
    assert other_kernel("bray-curtis") == "; did you mean 'bray_curtis'?"
    X = rng.standard_normal((6, 3))
    linear = Kernel("polynomial", degree=1, coef0=0, gamma=1.0)
    np.testing.assert_allclose(linear(X), X @ X.T)


def test_every_metric_of_scipy_and_scikit_learn_is_known():
    theirs = {*SCIPY, *PAIRWISE_DISTANCE_FUNCTIONS, *PAIRWISE_KERNEL_FUNCTIONS}
    for name in theirs - {"precomputed"}:
        assert name in KERNELS or name in ALIASES or name.replace("_", "") in ELSEWHERE
