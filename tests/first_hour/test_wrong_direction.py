# ruff: noqa: F811  (fixtures of another module)
"""Similarities taken for distances, and the other way round."""

import numpy as np
import pytest

import krein
from krein import (
    DistanceTransformer,
    PseudoEuclideanEmbedding,
    SpectrumSVC,
    SpectrumTransformer,
    compare,
)
from tests.first_hour.folder import NAMES, N, here, points, run, similarity, square  # noqa: F401


def test_similarities_declared_as_distances_are_refused(run, here):
    words = ("K.csv", "--labels", "y.csv", "--kind", "distance")
    assert "ERROR: These look like similarities" in run("inspect", *words).out
    for command in (("compare", "--model", "m.krein"), ("fit", "-o", "m.krein")):
        assert "looks like similarities" in run(*command, *words, code=2).err
        assert not (here / "m.krein").exists()


@pytest.mark.filterwarnings("default")
def test_an_inverted_similarity_is_refused(run, here, similarity):
    square(here / "upside.csv", 1.0 - similarity + 0.5 * np.eye(N))
    words = ("upside.csv", "--labels", "y.csv")
    assert "ERROR: These look like an inverted" in run("inspect", *words).out
    for command in (("compare",), ("fit", "-o", "m.krein")):
        said = run(*command, *words, code=2).err
        assert "looks like an inverted similarity" in said
        assert "--kind distance" in said
    insisted = run("fit", *words, "--kind", "similarity", "-o", "m.krein")
    assert "inverted" in insisted.err


@pytest.mark.parametrize(
    ("model", "numbers"),
    [
        (DistanceTransformer(), "similarities"),
        (SpectrumTransformer(), "distances"),
        (PseudoEuclideanEmbedding(), "distances"),
        (SpectrumSVC(), "distances"),
    ],
)
def test_python_warns_of_the_wrong_direction(model, numbers, similarity):
    X = similarity if numbers == "similarities" else -np.log(similarity)
    with pytest.warns(UserWarning, match=f"X looks like a matrix of {numbers}"):
        model.fit(X, np.repeat([0, 1], N // 2))


def test_compare_warns_of_the_wrong_direction(similarity):
    y = np.repeat([0, 1], N // 2)
    with pytest.warns(UserWarning, match="matrix of an inverted similarity"):
        compare(1.0 - similarity + 0.5 * np.eye(N), y, methods=["clip"], cv=2)
    with pytest.warns(UserWarning, match="matrix of similarities"):
        compare(similarity, y, methods=["clip"], cv=2, conversion=DistanceTransformer())


def test_similarities_are_not_suspected_for_a_few_large_diagonals(rng):
    """Nine of ten rows must have their largest number on the diagonal."""
    D = np.abs(rng.standard_normal((20, 20)))
    D = D + D.T + 0.1
    np.fill_diagonal(D, 0.05)
    D[np.arange(14), np.arange(14)] = D.max() + 1.0  # 70 % of the rows
    assert "looks-like-similarities" not in {
        f.key for f in krein.diagnose(D, kind="distance").findings
    }
    D[np.arange(19), np.arange(19)] = D.max() + 1.0
    assert krein.diagnose(D, kind="distance").findings[0].key == (
        "looks-like-similarities"
    )
