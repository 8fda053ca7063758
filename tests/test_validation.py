"""Matrices that are nearly what they should be, and what is said about others."""

import numpy as np
import pytest

from krein import KreinSVC, SpectrumSVC, compare
from krein.validation import check_similarity


@pytest.fixture
def similarities(rng):
    X = rng.standard_normal((30, 3))
    K = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=-1))
    return K, np.where(X[:, 0] > 0, "a", "b")


def asymmetric(K, relative):
    return K * (1.0 + relative * np.triu(np.ones_like(K), 1))


def test_asymmetry_of_rounding_is_taken_as_the_mean(similarities):
    K, y = similarities
    nearly = asymmetric(K, 5.6e-7)
    checked = check_similarity(nearly)
    np.testing.assert_array_equal(checked, 0.5 * (nearly + nearly.T))
    scores = SpectrumSVC("flip").fit(nearly, y).decision_function(K)
    same = SpectrumSVC("flip").fit(0.5 * (nearly + nearly.T), y).decision_function(K)
    np.testing.assert_array_equal(scores, same)
    faithful = asymmetric(K, 1e-9)
    np.testing.assert_array_equal(check_similarity(faithful), faithful)
    for scale in (1e-100, 1e100):
        scaled = check_similarity(scale * nearly)
        np.testing.assert_allclose(scaled, scale * checked, rtol=1e-15)


def test_more_is_refused_with_the_remedy(similarities):
    K, y = similarities
    with pytest.raises(ValueError, match=r"not symmetric.*symmetrize=True"):
        SpectrumSVC("flip").fit(asymmetric(K, 1e-4), y)
    SpectrumSVC("flip", symmetrize=True).fit(asymmetric(K, 1e-4), y)


def test_missing_entries_are_named_without_foreign_advice(similarities):
    K, y = similarities
    K = K.copy()
    K[2, 5] = np.nan
    frame = pytest.importorskip("pandas").DataFrame(K)
    for call in (
        lambda: KreinSVC().fit(K, y),
        lambda: KreinSVC().fit(frame, y),
        lambda: compare(K, y, methods=["flip"], cv=2),
    ):
        with pytest.raises(ValueError, match=r"NaN: 1 of its 900.*\[2, 5\]") as caught:
            call()
        assert "entries across are known" in str(caught.value)
        assert "Boosting" not in str(caught.value)
    K[5, 2] = np.nan
    with pytest.raises(ValueError, match=r"2 of its 900.*leave these items out"):
        KreinSVC().fit(K, y)
