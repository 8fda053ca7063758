"""Condensed vectors, DistanceMatrix of scikit-bio and triangles."""

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import pdist, squareform

from krein import (
    DistanceTransformer,
    PCoA,
    PseudoEuclideanEmbedding,
    SimilarityClassifier,
    SpectrumSVC,
    SpectrumSVCCV,
    compare,
    diagnose,
    read_matrix,
)
from krein.arrays import as_square, items_of_condensed, square_of_condensed
from krein.validation import both_directions, empty_half

X = np.random.default_rng(0).standard_normal((20, 3))
FLAT = pdist(X)
D = squareform(FLAT)
Y = np.where(X[:, 0] > 0, "a", "b")
NAMES = [f"s{i}" for i in range(20)]


def distance_matrix():
    skbio = pytest.importorskip("skbio")
    return skbio.DistanceMatrix(D, NAMES)


FORMS = {"condensed": lambda: FLAT, "list": FLAT.tolist, "scikit-bio": distance_matrix}


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("form", FORMS)
def test_each_form_is_the_square_matrix(form):
    given = FORMS[form]()
    np.testing.assert_array_equal(
        PCoA(2).fit_transform(given), PCoA(2).fit_transform(D)
    )
    assert (
        DistanceTransformer().fit(given).gamma_ == DistanceTransformer().fit(D).gamma_
    )
    np.testing.assert_array_equal(
        diagnose(given, Y, kind="distance").eigenvalues,
        diagnose(D, Y, kind="distance").eigenvalues,
    )
    how = {"kind": "distance", "methods": ["clip"], "cv": 2}
    scores = [compare(M, Y, **how).table()[0]["accuracy"] for M in (given, D)]
    assert scores[0] == scores[1]
    for model in (SpectrumSVCCV, SimilarityClassifier):
        found = [model(kind="distance", cv=2).fit(M, Y).predict(D) for M in (given, D)]
        np.testing.assert_array_equal(*found)


@pytest.mark.filterwarnings("ignore:X .*valid feature names")
@pytest.mark.filterwarnings("ignore:X has feature names")
@pytest.mark.parametrize("model", [DistanceTransformer, PCoA])
@pytest.mark.parametrize("form", [*FORMS, "frame"])
def test_transform_takes_the_training_items_in_each_form(model, form):
    given = (FORMS | {"frame": lambda: pd.DataFrame(D, NAMES, NAMES)})[form]()
    expected = model().fit(D).transform(D)
    np.testing.assert_array_equal(model().fit(given).transform(given), expected)
    np.testing.assert_array_equal(model().fit(D).transform(given), expected)


@pytest.mark.filterwarnings("ignore:X has feature names")
def test_distances_among_new_items_are_none_to_the_training_items():
    few = D[:5, :5]
    for given in (squareform(few), OtherDistanceMatrix(few, NAMES[:5])):
        with pytest.raises(ValueError, match=r"distances among 5 items.*the 20 train"):
            DistanceTransformer().fit(D).transform(given)


def test_distances_of_one_new_item_are_asked_for_as_a_row():
    for model in (DistanceTransformer(), PCoA()):
        with pytest.raises(ValueError, match="Reshape your data"):
            model.fit(D).transform(D[0])
        assert len(model.transform(D[:1])) == 1
    three = D[:3, :3]  # as many pairs as items
    found = DistanceTransformer().fit(three).transform(squareform(three))
    assert found.shape == (3, 3)


def test_rows_of_a_frame_in_another_order_than_its_columns_are_refused():
    frame = pd.DataFrame(D, NAMES, NAMES).iloc[::-1]
    for model in (DistanceTransformer(symmetrize=True), PCoA()):
        with pytest.raises(ValueError, match=r"in another order.*X\.loc\[X\.columns\]"):
            model.fit(frame)
        model.fit(frame.loc[frame.columns])


class OtherDistanceMatrix:
    """What behaves as scikit-bio's class, where that is not installed."""

    def __init__(self, distances=D, names=NAMES):
        self.distances, self.ids = distances, tuple(names)

    def to_data_frame(self):
        return pd.DataFrame(self.distances, self.ids, self.ids)


@pytest.mark.parametrize("make", [distance_matrix, OtherDistanceMatrix])
def test_a_distance_matrix_is_no_similarity(make):
    given = make()
    np.testing.assert_array_equal(
        DistanceTransformer().fit_transform(given),
        DistanceTransformer().fit_transform(D),
    )
    for refused in (
        lambda: SpectrumSVC().fit(given, Y),
        lambda: compare(given, Y),
        lambda: diagnose(given, Y),
        lambda: PseudoEuclideanEmbedding().fit(given),
    ):
        with pytest.raises(TypeError, match=r"DistanceMatrix, and .*kind='distance'"):
            refused()


def test_a_list_of_distances_is_no_similarity():
    with pytest.raises(ValueError, match=r"as pdist returns it.*kind='distance'"):
        SpectrumSVC().fit(FLAT, Y)
    with pytest.raises(ValueError, match="Reshape your data"):  # 189 are no such list
        SpectrumSVC().fit(FLAT[:-1], Y)
    np.testing.assert_array_equal(
        DistanceTransformer().fit_transform(FLAT),
        DistanceTransformer().fit_transform(D),
    )


def test_names_of_scikit_bio_are_kept():
    model = PCoA(2).fit(distance_matrix())
    assert list(model.feature_names_in_) == NAMES
    rows = pd.DataFrame(D[:2], columns=NAMES)[NAMES[::-1]]
    with pytest.raises(ValueError, match="feature names"):
        model.transform(rows)


@pytest.mark.parametrize(
    ("size", "n"), [(1, 2), (3, 3), (190, 20), (2, None), (0, None)]
)
def test_which_sizes_are_condensed(size, n):
    assert items_of_condensed(size) == n


def test_a_size_that_is_no_number_of_pairs_is_named():
    with pytest.raises(ValueError, match=r"189 entries.*n items have n"):
        PCoA().fit(FLAT[:-1])
    assert as_square(D) is D
    np.testing.assert_array_equal(square_of_condensed(FLAT), D)


def test_condensed_distances_of_a_file(tmp_path):
    np.save(tmp_path / "d.npy", FLAT)
    read = read_matrix(tmp_path / "d.npy", missing="distance")
    np.testing.assert_array_equal(read.data, D)
    with pytest.raises(ValueError, match="condensed distances need --kind distance"):
        read_matrix(tmp_path / "d.npy")


# ------------------------------------------------------------------------- triangles


@pytest.mark.parametrize("half", ["upper", "lower"])
def test_an_empty_half_is_mirrored(half):
    part = np.tril(D) if half == "upper" else np.triu(D)
    assert empty_half(part) == half
    with pytest.warns(UserWarning, match=f"the {half} half of X is zero throughout"):
        model = DistanceTransformer(symmetrize=True).fit(part)
    assert model.gamma_ == DistanceTransformer().fit(D).gamma_
    with pytest.raises(ValueError, match=f"the {half} half is zero; symmetrize=True"):
        DistanceTransformer().fit(part)


@pytest.mark.parametrize(("share", "mirrored"), [(0.6, True), (0.5, False)])
def test_a_half_with_few_entries_is_no_triangle(share, mirrored):
    n = 5
    pairs = n * (n - 1) // 2
    K = np.zeros((n, n))
    rows, columns = np.triu_indices(n, 1)
    filled = int(share * pairs)
    K[rows[:filled], columns[:filled]] = 1.0
    assert (empty_half(K) == "lower") == mirrored


def test_two_directions_are_averaged():
    K = D.copy()
    K[0, 1] += 1.0
    np.testing.assert_array_equal(both_directions(K, "K"), 0.5 * (K + K.T))


def test_messages_do_not_make_a_variable_of_the_name_of_a_file():
    K = D.copy()
    K[0, 1] += 1.0
    with pytest.raises(ValueError, match="two directions of a pair differ by up to 1,"):
        PseudoEuclideanEmbedding().fit(K)


# ------------------------------------------------------------------------------- maps


@pytest.mark.parametrize("model", [PCoA(2), PseudoEuclideanEmbedding(2, center=True)])
def test_a_plot_shows_the_training_items_by_label(model):
    plt = pytest.importorskip("matplotlib.pyplot")
    given = D if isinstance(model, PCoA) else np.exp(-D)
    F = model.fit_transform(given)
    ax = model.plot(Y)
    drawn = np.vstack([part.get_offsets() for part in ax.collections])
    expected = np.vstack([F[Y == label] for label in ("a", "b")])
    np.testing.assert_allclose(drawn, expected, atol=1e-10)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a", "b"]
    assert f"({model.proportion_explained_[0]:.0%})" in ax.get_xlabel()
    assert len(model.plot().collections) == 1
    assert len(model.plot(X[:, 0]).figure.axes) == 2  # and a scale of colours
    with pytest.raises(ValueError, match="labels has 3 entries for 20 items"):
        model.plot(["a", "b", "c"])
    plt.close("all")


def test_one_axis_can_be_drawn():
    plt = pytest.importorskip("matplotlib.pyplot")
    PCoA(1).fit(D).plot(Y)
    plt.close("all")


def test_a_centred_embedding_is_kernel_pca():
    from sklearn.decomposition import KernelPCA

    K = np.exp(-D) + 3.0
    model = PseudoEuclideanEmbedding(3, center=True).fit(K)
    other = KernelPCA(3, kernel="precomputed").fit(K)
    new = 1.1 * K[:5]
    np.testing.assert_allclose(
        np.abs(model.transform(new)), np.abs(other.transform(new)), atol=1e-10
    )
    J = np.eye(20) - 1 / 20
    values = np.abs(np.linalg.eigvalsh(J @ K @ J))
    np.testing.assert_allclose(
        model.proportion_explained_, np.sort(values)[:-4:-1] / values.sum()
    )
