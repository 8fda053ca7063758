"""Every kind of matrix keeps the one contract; a new kind says how to make one."""

import numpy as np
import pytest

from krein import KreinNystroem
from krein.similarity.low_rank import LowRank
from krein.similarity.matrix import Similarities, Views
from krein.similarity.tiles import DenseTiles

N = 24


def indefinite(rng):
    A = rng.standard_normal((N, N))
    return A + A.T


def of_matrix(rng, weight):
    return Similarities(indefinite(rng))


def of_items(rng, weight):
    return Similarities(rng.standard_normal((N, 3)), lambda X, Y: np.tanh(X @ Y.T))


def of_landmarks(rng, weight):
    source = of_items(rng, None)
    return KreinNystroem(8, random_state=0).approximate(source, weight=weight).low_rank


def of_views(rng, weight):
    return Views(tuple(indefinite(rng) for _ in range(3)))


KINDS = [of_matrix, of_items, of_landmarks, of_views]


@pytest.fixture(params=[None, "weighted"])
def weight(request, rng):
    return None if request.param is None else rng.uniform(0.2, 3.0, N)


@pytest.mark.parametrize("make", KINDS)
def test_products_blocks_and_subsets_are_those_of_the_dense_matrix(make, rng, weight):
    matrix = make(rng, weight)
    K = matrix.dense()
    assert matrix.shape == K.shape == (N, N)
    V = rng.standard_normal((N, 2))
    np.testing.assert_allclose(matrix @ V, K @ V, atol=1e-9)
    np.testing.assert_allclose(matrix @ V[:, 0], K @ V[:, 0], atol=1e-9)
    rows, columns = np.array([3, 1, 7]), np.array([0, 20])
    cut = K[np.ix_(rows, columns)]
    np.testing.assert_allclose(matrix.block(rows, columns), cut, atol=1e-9)
    part = np.sort(rng.permutation(N)[:15])
    np.testing.assert_allclose(
        matrix.subset(part).dense(), K[np.ix_(part, part)], atol=1e-9
    )
    np.testing.assert_allclose(matrix.operand() @ V, K @ V, atol=1e-9)


@pytest.mark.parametrize("make", KINDS)
@pytest.mark.parametrize("cut", [False, True])
def test_the_spectrum_is_one(make, cut, rng, weight):
    """Orthonormal vectors and the true eigenvalues, also of a subset."""
    matrix = make(rng, weight)
    if cut:
        part = np.sort(rng.permutation(N)[:15])
        matrix = matrix.subset(part)
        weight = None if weight is None else weight[part]
    spectrum = matrix.spectrum(weight)
    U = spectrum.eigenvectors
    np.testing.assert_allclose(U.T @ U, np.eye(U.shape[1]), atol=1e-8)
    np.testing.assert_allclose(spectrum.matrix(), matrix.dense(), atol=1e-8)
    lowest = min(0.0, spectrum.eigenvalues[0])
    assert matrix.lowest_eigenvalue(weight) == pytest.approx(lowest, abs=1e-8)


@pytest.mark.parametrize("make", KINDS)
@pytest.mark.parametrize("method", ["clip", "flip", "square"])
def test_a_trained_kernel_and_its_way_back(make, method, rng, weight):
    """K~ v on the samples is what prediction says of them, for both of its forms."""
    matrix = make(rng, weight)
    trained = matrix.fixed_kernel(method, weight=weight)
    v, everything = rng.standard_normal(N), np.arange(N)
    assert trained.psd
    assert np.linalg.eigvalsh(trained.kernel())[0] > -1e-8
    said = matrix.seen(everything, everything) @ trained.to_raw(v)
    np.testing.assert_allclose(said, trained.kernel() @ v, atol=1e-7)
    if trained.features is not None:
        F = trained.features.array
        np.testing.assert_allclose(F @ F.T, trained.kernel(), atol=1e-8)


def test_a_subset_of_few_items_has_fewer_directions(rng):
    matrix = of_landmarks(rng, None).subset(np.arange(3))
    assert isinstance(matrix, LowRank)
    assert matrix.eigenvalues.size <= 3
    assert isinstance(matrix.columns, DenseTiles)
    np.testing.assert_allclose(matrix.spectrum().matrix(), matrix.dense(), atol=1e-9)
