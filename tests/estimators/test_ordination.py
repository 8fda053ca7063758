"""`PCoA`: equal to scikit-bio, corrections, new items, names, refusals."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from krein import PCoA, load_model, save_model

CORRECTIONS = ("none", "lingoes", "cailliez")


def distances(seed=0, n=20, power=2.0):
    """Powers of Euclidean distances; those above 1 are not Euclidean."""
    X = np.random.default_rng(seed).standard_normal((n, 3))
    return np.linalg.norm(X[:, None] - X[None], axis=2) ** power


def pairwise(X):
    return np.linalg.norm(X[:, None] - X[None], axis=2)


# ---------------------------------------------------------------- scikit-learn's checks


@parametrize_with_checks(
    [PCoA(), PCoA(n_components=1, correction="lingoes"), PCoA(1, correction="cailliez")]
)
def test_scikit_learn_check(estimator, check):
    check(estimator)


# -------------------------------------------------------------------------- coordinates


@pytest.mark.parametrize("power", [0.5, 1.0, 2.0, 3.0])
def test_equal_to_scikit_bio(power):
    ordination = pytest.importorskip("skbio.stats.ordination")
    D = distances(power=power)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = ordination.pcoa(D, method="eigh", dimensions=3)
    model = PCoA(3)
    ours, expected = model.fit_transform(D), theirs.samples.to_numpy()
    np.testing.assert_allclose(np.abs(ours), np.abs(expected), atol=1e-8 * D.max())
    np.testing.assert_allclose(model.eigenvalues_[:3], theirs.eigvals, rtol=1e-8)


def test_euclidean_distances_come_back():
    D = distances(power=1.0)
    model = PCoA(None)
    F = model.fit_transform(D)
    assert F.shape == (20, 3)
    np.testing.assert_allclose(pairwise(F), D, atol=1e-10)
    assert model.negative_mass_ == 0.0
    np.testing.assert_allclose(model.proportion_explained_.sum(), 1.0)


def test_proportions_count_negative_eigenvalues():
    D = distances(power=3.0)
    model = PCoA(None).fit(D)
    J = np.eye(20) - 1 / 20
    values = np.linalg.eigvalsh(-0.5 * J @ D**2 @ J)
    np.testing.assert_allclose(
        model.negative_mass_, -values[values < 0].sum() / np.abs(values).sum()
    )
    np.testing.assert_allclose(
        model.proportion_explained_.sum(), 1.0 - model.negative_mass_
    )
    np.testing.assert_allclose(model.eigenvalues_, values[::-1], atol=1e-9)


@pytest.mark.parametrize("correction", ["lingoes", "cailliez"])
def test_corrections_leave_no_negative_eigenvalue_and_are_the_least(correction):
    D = distances(power=3.0)
    model = PCoA(None, correction=correction)
    F = model.fit_transform(D)
    c = model.correction_
    assert c > 0.0
    assert model.negative_mass_ < 1e-12
    other = ~np.eye(20, dtype=bool)

    def corrected(c):
        return np.sqrt(D**2 + c * other) if correction == "lingoes" else D + c * other

    np.testing.assert_allclose(pairwise(F), corrected(c), atol=1e-6 * D.max())
    assert PCoA().fit(corrected(1.001 * c)).negative_mass_ < 1e-12
    assert PCoA().fit(corrected(0.99 * c)).negative_mass_ > 1e-6


@pytest.mark.parametrize("correction", ["lingoes", "cailliez"])
def test_euclidean_distances_need_no_correction(correction):
    D = distances(power=1.0)
    model = PCoA(correction=correction).fit(D)
    assert model.correction_ <= 1e-12 * D.max() ** 2
    np.testing.assert_allclose(model.transform(D), PCoA().fit_transform(D), atol=1e-8)


# --------------------------------------------------------------------------- new items


@pytest.mark.parametrize("correction", CORRECTIONS)
@pytest.mark.parametrize("power", [1.0, 3.0])
def test_training_rows_get_their_coordinates(correction, power):
    D = distances(power=power)
    model = PCoA(4 if power > 1 else 3, correction=correction)
    F = model.fit_transform(D)
    np.testing.assert_allclose(model.transform(D), F, atol=1e-9 * np.abs(F).max())


def test_new_items_of_a_euclidean_space_are_placed_exactly():
    X = np.random.default_rng(1).standard_normal((30, 3))
    D = pairwise(X)
    model = PCoA(3).fit(D[:20, :20])
    F = model.transform(D[:, :20])
    np.testing.assert_allclose(pairwise(F), D, atol=1e-9)


@pytest.mark.parametrize("correction", CORRECTIONS)
def test_a_place_does_not_depend_on_the_batch(correction):
    D = distances(n=30, power=2.0)
    model = PCoA(2, correction=correction).fit(D[:20, :20])
    together = model.transform(D[20:, :20])
    apart = np.vstack([model.transform(row[None]) for row in D[20:, :20]])
    np.testing.assert_allclose(together, apart, atol=1e-12 * D.max())


def test_lingoes_for_a_new_item_by_brute_force():
    """The new item is added to the corrected matrix, and its row of B projected."""
    D = distances(n=21, power=3.0)
    model = PCoA(3, correction="lingoes").fit(D[:20, :20])
    squares = D**2 + model.correction_ * ~np.eye(21, dtype=bool)
    J = np.eye(20) - 1 / 20
    B = -0.5 * J @ squares[:20, :20] @ J
    w, U = np.linalg.eigh(B)
    row = -0.5 * (squares[20, :20] - squares[:20, :20].mean(axis=0)) @ J
    expected = row @ U[:, -3:][:, ::-1] / np.sqrt(w[-3:][::-1])
    found = model.transform(D[20:, :20])[0]
    np.testing.assert_allclose(np.abs(found), np.abs(expected), rtol=1e-9)


def test_coordinates_beyond_the_positive_eigenvalues_are_zero():
    D = distances(n=5, power=1.0)
    model = PCoA(5)
    F = model.fit_transform(D)
    assert not F[:, 3:].any()
    assert not model.transform(D)[:, 3:].any()


# ------------------------------------------------------------------- frames, files, use


def test_frames_keep_names():
    D, names = distances(n=6), list("abcdef")
    frame = pd.DataFrame(D, index=names, columns=names)
    model = PCoA().set_output(transform="pandas")
    table = model.fit_transform(frame)
    assert list(table.index) == names
    assert list(table.columns) == ["pcoa0", "pcoa1"]
    assert list(model.transform(frame.iloc[:2]).index) == ["a", "b"]
    with pytest.raises(ValueError, match="feature names"):
        model.transform(frame[names[::-1]])
    table = PCoA().fit(pl.DataFrame(D, schema=names)).set_output(transform="polars")
    assert table.transform(pl.DataFrame(D, schema=names)).columns == ["pcoa0", "pcoa1"]


def test_columns_are_found_by_name():
    D, names = distances(n=6), list("abcdef")
    frame = pd.DataFrame(D, index=names, columns=names)
    model = PCoA().fit(frame.iloc[:4])  # as train_test_split cuts it
    np.testing.assert_allclose(
        model.transform(frame.iloc[4:]), PCoA().fit(D[:4, :4]).transform(D[4:, :4])
    )


@pytest.mark.parametrize("correction", CORRECTIONS)
def test_model_files(tmp_path, correction):
    D = distances()
    model = PCoA(correction=correction).fit(D)
    save_model(model, tmp_path / "map.krein")
    again = load_model(tmp_path / "map.krein")
    np.testing.assert_array_equal(again.transform(D), model.transform(D))
    np.testing.assert_array_equal(again.eigenvalues_, model.eigenvalues_)


def test_clusters_of_new_items():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(0, 1, (20, 2)), rng.normal(9, 1, (20, 2))])
    D = pairwise(X)
    train = np.r_[:15, 20:35]
    model = make_pipeline(PCoA(2), KMeans(2, n_init=1, random_state=0))
    model.fit(D[np.ix_(train, train)])
    found = model.predict(D[:, train])
    assert len(set(found[:20])) == len(set(found[20:])) == 1
    assert found[0] != found[-1]


# ----------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda D: np.exp(-D), "looks like similarities"),
        (lambda D: -D, "no distance is negative"),
        (lambda D: np.triu(D), "symmetrize=True"),
        (lambda D: D + np.diag(np.r_[1.0, np.zeros(19)]), r"np.fill_diagonal\(X, 0\)"),
        (lambda D: D[:5], "square matrix"),
        (lambda D: np.where(D > 5, np.nan, D), "X contains NaN"),
    ],
)
def test_what_is_not_a_distance_matrix(change, message):
    with pytest.raises(ValueError, match=message):
        PCoA().fit(change(distances()))


def test_too_many_components():
    with pytest.raises(ValueError, match="larger than the number of items"):
        PCoA(21).fit(distances())


def test_clone():
    assert clone(PCoA(3, correction="lingoes")).correction == "lingoes"
