"""Conversions of distances: what training items settle, and what new rows get."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist

from krein import DistanceTransformer, Kernel, KreinSVC, kernel_matrix
from krein.similarity.conversions import (
    CONVERSIONS,
    FORMS,
    Conversion,
    as_conversion,
    derived_distances,
    distinct_items,
    local_scales,
    median_distance,
    name_of,
)


@pytest.fixture
def points(rng):
    X = rng.standard_normal((30, 3))
    return X, cdist(X, X)


@pytest.mark.parametrize("name", CONVERSIONS)
def test_rows_of_training_items_become_what_they_were(name, points):
    _, D = points
    D = np.block([[D, D], [D, D]])  # every item twice
    settled = CONVERSIONS[name].settle(D)
    K = settled.similarities(D)
    assert_array_equal(K, K.T)
    assert_array_equal(settled.similarities(D[5:9]), K[5:9])
    assert np.isfinite(K).all()


@pytest.mark.parametrize("form", FORMS)
def test_the_transformer_is_its_conversion(form, points):
    _, D = points
    transformer = DistanceTransformer(form).fit(D[:20, :20])
    expected = Conversion(form).settle(D[:20, :20]).similarities(D[20:, :20])
    assert_array_equal(transformer.transform(D[20:, :20]), expected)


def test_local_scaling_by_its_definition(points):
    _, D = points
    K = Conversion("local", neighbors=7).settle(D).similarities(D)
    scale = np.sort(D, axis=1)[:, 7]  # the first is the item itself
    assert_allclose(K, np.exp(-(D**2) / np.outer(scale, scale)), rtol=1e-12)
    new = cdist(np.ones((2, 3)), np.zeros((9, 3)) + np.arange(9.0)[:, None])
    assert_allclose(local_scales(new, 3), np.sort(new, axis=1)[:, 3])


def test_copies_are_no_neighbours(points):
    """Repetition is a weight, which does not enter a conversion."""
    _, D = points
    often = np.repeat(np.arange(30), np.arange(30) % 3 + 1)
    more = D[np.ix_(often, often)]
    for name in ("local", "gaussian", "wide exponential"):
        once = CONVERSIONS[name].settle(D).similarities(D)
        twice = CONVERSIONS[name].settle(more).similarities(more)
        assert_array_equal(twice, once[np.ix_(often, often)])


@pytest.mark.parametrize("n", [2, 3, 8, 9])
def test_few_items_and_items_that_are_all_the_same(n):
    same = np.zeros((n, n))
    assert_array_equal(Conversion("local").settle(same).similarities(same), 1.0)
    line = np.abs(np.subtract.outer(np.arange(n), np.arange(n))).astype(float)
    K = Conversion("local").settle(line).similarities(line)
    assert np.all((K > 0) & (K <= 1))
    assert np.all(np.diag(K) == 1)
    # With seven others or fewer the farthest is the scale.
    scales = local_scales(line[:, distinct_items(line)])
    farthest = np.maximum(np.arange(n), n - 1 - np.arange(n))
    assert np.all(scales == farthest) == (n <= 8)


@pytest.mark.parametrize(
    ("gamma", "form", "expected"),
    [
        ("median", "exponential", lambda d, m: np.exp(-d / m)),
        ("3 median", "exponential", lambda d, m: np.exp(-d / (3 * m))),
        ("0.5 median", "gaussian", lambda d, m: np.exp(-((d / (0.5 * m)) ** 2) / 2)),
        ("2 median", "inverse", lambda d, m: 1 / (1 + d / (2 * m))),
        (0.7, "negative", lambda d, m: -0.7 * d),
    ],
)
def test_widths_are_multiples_of_the_median(gamma, form, expected, points):
    _, D = points
    K = DistanceTransformer(form, gamma=gamma).fit_transform(D)
    assert_allclose(K, expected(D, median_distance(D)), rtol=1e-12)


@pytest.mark.parametrize(
    "gamma", ["mean", "0 median", "-1 median", "3median", 0.0, -1.0, np.inf]
)
def test_other_words_for_gamma_are_refused(gamma, points):
    with pytest.raises(ValueError, match="gamma"):
        DistanceTransformer(gamma=gamma).fit(points[1])


@pytest.mark.parametrize("form", ["local", "centred", "max"])
def test_a_form_with_its_own_scale_has_no_width(form, points):
    with pytest.raises(ValueError, match="has a scale of its own"):
        DistanceTransformer(form, gamma="3 median").fit(points[1])


def test_names_and_records_of_conversions():
    assert as_conversion("as given") is None
    assert name_of(None) == "as given"
    assert name_of(as_conversion("wide gaussian")) == "wide gaussian"
    assert name_of(Conversion(gamma="5 median")) == "exp(-d / (5 median))"
    with pytest.raises(ValueError, match="conversions must be names"):
        as_conversion("gausian")
    with pytest.raises(ValueError, match="similarity must be one of"):
        Conversion("sharp")


@pytest.mark.parametrize(
    ("similarity", "gamma"),
    [
        ("exponential", "3 median"),
        ("gaussian", "0.5 median"),
        ("local", "median"),
        ("local", 0.5),
    ],
)
def test_kernels_of_distances_use_them(similarity, gamma, rng):
    words = ["".join(rng.choice(list("abc"), 6)) for _ in range(25)]
    kernel = Kernel("edit", similarity=similarity, gamma=gamma)
    known, new = words[:18], words[18:]
    settled = kernel.fit(known)
    D = kernel.facts.distance(words, known)
    expected = DistanceTransformer(similarity, gamma=gamma).fit(D[:18])
    assert_allclose(settled(known), expected.transform(D[:18]), rtol=1e-12)
    assert_allclose(settled(new, known), expected.transform(D[18:]), rtol=1e-12)
    assert_array_equal(kernel_matrix(settled, known), settled(known, known))
    model = KreinSVC(kernel=kernel).fit(known, np.arange(18) % 2)
    assert model.predict(new).shape == (7,)


def test_distances_in_similarities(points):
    X, D = points
    K = X @ X.T
    own = np.einsum("ij,ij->i", X, X)
    assert_allclose(derived_distances(K, own, own), D, atol=1e-7)
    assert_array_equal(np.diag(derived_distances(K, own, own)), 0.0)
    negative = np.array([[1.0, 2.0], [2.0, 1.0]])  # d^2 = -2
    assert_array_equal(derived_distances(negative, np.ones(2), np.ones(2)), 0.0)
