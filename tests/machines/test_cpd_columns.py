"""Kernel columns on demand: the same matrix however it is kept."""

import numpy as np
import pytest

from krein.kernels.splines import thin_plate_kernel
from krein.machines.cpd_columns import (
    CentredColumns,
    DenseColumns,
    FeatureColumns,
    LazyColumns,
)

N = 400


@pytest.fixture
def kinds(rng):
    """Each kind of columns with its matrix."""
    X = rng.standard_normal((N, 3))
    Phi = thin_plate_kernel(X)
    F = rng.standard_normal((N, 7))
    Q, V = rng.standard_normal((2, N, 2))
    lazy = LazyColumns(N, lambda rows, columns: Phi[np.ix_(rows, columns)])
    return {
        "dense": (DenseColumns(Phi), Phi),
        "lazy": (lazy, Phi),
        "features": (FeatureColumns(F), F @ F.T),
        "centred": (CentredColumns(lazy, Q, V, True), Phi - Q @ V.T - V @ Q.T),
    }


@pytest.mark.parametrize("kind", ["dense", "lazy", "features", "centred"])
def test_blocks_and_products_are_those_of_the_matrix(rng, kinds, kind):
    """For sets that grow, shrink and come in any order, of all samples and of some."""
    columns, K = kinds[kind]
    some = np.sort(rng.permutation(N)[:300])
    for size in (20, 180, 190, 60, 250, 1):
        for part, rows in ((columns, np.arange(N)), (columns.restrict(some), some)):
            A = K[np.ix_(rows, rows)]
            s = rng.permutation(rows.size)[:size]
            other = rng.permutation(rows.size)[:230]
            c = rng.standard_normal(size)
            tolerance = 1e-11 * np.abs(K).max() * size
            for found, wanted in (
                (part.block(other, s), A[np.ix_(other, s)]),
                (part.product(s, c), A[:, s] @ c),
                (part.within(s, c), A[np.ix_(s, s)] @ c),
            ):
                np.testing.assert_allclose(found, wanted, rtol=0, atol=tolerance)


def test_a_column_is_computed_once(rng):
    """Whatever is asked for, and only when it is asked for."""
    X = rng.standard_normal((N, 3))
    asked = []

    def evaluate(rows, columns):
        asked.append(rows)
        return thin_plate_kernel(X[rows], X[columns])

    columns = LazyColumns(N, evaluate)
    for size in (30, 150, 100):
        s = rng.permutation(200)[:size]
        columns.product(s, np.ones(size))
        columns.within(s, np.ones(size))
        columns.block(np.arange(N), s)
    computed = np.concatenate(asked)
    assert np.unique(computed).size == computed.size <= 200


def test_few_samples_of_many_cost_only_their_own_matrix(rng):
    X = rng.standard_normal((N, 3))
    entries = []

    def evaluate(rows, columns):
        entries.append(rows.size * columns.size)
        return thin_plate_kernel(X[rows], X[columns])

    part = LazyColumns(N, evaluate).restrict(np.arange(0, N, 4))
    part.product(np.arange(50), np.ones(50))
    part.restrict(np.arange(30)).product(np.arange(5), np.ones(5))
    assert sum(entries) == (N // 4) ** 2
