"""All items fixed together: what it is, and that it is not the map of new rows."""

import numpy as np
import pytest

from krein import SpectrumSVC, SpectrumTransformer, transductive_kernel


@pytest.fixture
def K(rng):
    A = rng.standard_normal((12, 12))
    return A + A.T


def test_it_is_the_fixed_matrix_cut_afterwards(K):
    """Clip by hand: eigenvalues of the whole matrix, then rows and columns."""
    train = np.array([7, 0, 3, 9])
    mu, V = np.linalg.eigh(K)
    whole = (V * np.maximum(mu, 0)) @ V.T
    K_train, K_new = transductive_kernel(K, train)
    new = [1, 2, 4, 5, 6, 8, 10, 11]
    np.testing.assert_allclose(K_train, whole[np.ix_(train, train)], atol=1e-12)
    np.testing.assert_allclose(K_new, whole[np.ix_(new, train)], atol=1e-12)
    assert np.linalg.eigvalsh(K_train)[0] > -1e-12


def test_it_differs_from_mapped_rows_which_do_not_see_new_items(K):
    train, new = np.arange(8), np.arange(8, 12)
    _, together = transductive_kernel(K, train, "flip")
    mapped = SpectrumTransformer("flip").fit(K[:8, :8]).transform(K[np.ix_(new, train)])
    assert np.abs(together - mapped).max() > 0.1
    K[-1, -1] += 5.0  # another new item changes what the first one gets
    assert (
        np.abs(transductive_kernel(K, train, "flip")[1][0] - together[0]).max() > 0.01
    )


def test_on_a_positive_definite_matrix_both_are_the_matrix(rng):
    A = rng.standard_normal((9, 9))
    K = A @ A.T + np.eye(9)
    for method in ("clip", "flip", "shift"):
        K_train, K_new = transductive_kernel(K, np.arange(9) < 6, method)
        np.testing.assert_allclose(K_train, K[:6, :6], atol=1e-10)
        np.testing.assert_allclose(K_new, K[6:, :6], atol=1e-10)


def test_a_mask_and_negative_indices_are_indices(K):
    mask = np.zeros(12, dtype=bool)
    mask[[2, 11]] = True
    for one, two in zip(
        transductive_kernel(K, mask), transductive_kernel(K, [2, -1]), strict=True
    ):
        np.testing.assert_array_equal(one, two)


def test_a_model_is_trained_on_it(K):
    y = np.arange(8) % 2
    K_train, K_new = transductive_kernel(K, np.arange(8), "shift")
    model = SpectrumSVC("none").fit(K_train, y)
    assert model.predict(K_new).shape == (4,)


@pytest.mark.parametrize(
    ("train", "message"),
    [
        ([0, 0], "distinct indices"),
        ([0, -12], "distinct indices"),
        ([], "integer"),
        ([0.5], "integer"),
        (np.ones(5, dtype=bool), "boolean"),
        ([[0, 1]], r"shape \(1, 2\)"),
        ([0, 12], "index 12 is out of bounds"),
        ([-13, 1], "index -13 is out of bounds"),
    ],
)
def test_bad_training_items_are_named(K, train, message):
    with pytest.raises((ValueError, IndexError), match=message):
        transductive_kernel(K, train)
