"""Kernel columns on demand: products and systems are those of the matrix."""

import numpy as np
import pytest

from krein.kernels.splines import monomials, thin_plate_kernel
from krein.machines.cpd_columns import Features, KernelColumns, System
from krein.similarity.matrix import Similarities

N = 400


@pytest.fixture
def X(rng):
    return rng.standard_normal((N, 3))


@pytest.fixture
def kinds(rng, X):
    """Each kind of columns with its matrix."""
    Phi, F = thin_plate_kernel(X), rng.standard_normal((N, 7))
    return {
        "dense": (KernelColumns(Similarities(Phi)), Phi),
        "on demand": (KernelColumns(Similarities(X, thin_plate_kernel)), Phi),
        "features": (Features(F), F @ F.T),
    }


@pytest.mark.parametrize("kind", ["dense", "on demand", "features"])
def test_products_are_those_of_the_matrix(rng, kinds, kind):
    """For sets that grow and shrink, of all samples and of some."""
    columns, K = kinds[kind]
    some = np.sort(rng.permutation(N)[:300])
    for size in (20, 180, 190, 60, 250, 1, 0):
        for part, rows in ((columns, np.arange(N)), (columns.restrict(some), some)):
            A, c = K[np.ix_(rows, rows)], np.zeros(rows.size)
            c[rng.permutation(rows.size)[:size]] = rng.standard_normal(size)
            close = {"rtol": 0, "atol": 1e-11 * np.abs(K).max() * N}
            np.testing.assert_allclose(part @ c, A @ c, **close)
            np.testing.assert_allclose(part.dense(), A, **close)
            if kind != "features":
                image, error = part.product_and_error(c)
                assert np.all(np.abs(image - A @ c) <= error)
                assert np.all(error <= 1e-13 * (np.abs(A) @ np.abs(c)))


@pytest.mark.parametrize("gradients", [True, False])
@pytest.mark.parametrize("kind", ["dense", "on demand", "features"])
def test_systems_are_solved(rng, X, kinds, kind, gradients, monkeypatch):
    """With scales of several sizes, and a rank-deficient polynomial basis."""
    monkeypatch.setattr("krein.machines.cpd_columns._MANY", 1 if gradients else N)
    monkeypatch.setattr("krein.machines.cpd_columns._WORTH", 1)
    columns, K = kinds[kind]
    if kind != "features":
        columns.definite = True
    for size in (40, 250, 120):
        s = np.sort(rng.permutation(N)[:size])
        root = rng.uniform(0.05, 2.0, size)
        W = np.linalg.qr(root[:, None] * monomials(X[s], 1))[0]
        v = rng.standard_normal(size)
        v -= W @ (W.T @ v)
        u = columns.solve(System(s, root, W, v, np.zeros(size), 1e-11))
        left = v - u - root * (K[np.ix_(s, s)] @ (root * u))
        left -= W @ (W.T @ left)
        assert np.abs(W.T @ u).max() < 1e-13
        assert np.linalg.norm(left) < 1e-9


def test_a_column_is_computed_once(rng, X):
    """Whatever is asked for, and only when it is asked for."""
    asked = []

    def kernel(A, B):
        asked.append(len(A))
        return thin_plate_kernel(A, B)

    columns = KernelColumns(Similarities(X, kernel))
    for size in (30, 150, 100):
        c = np.zeros(N)
        c[rng.permutation(200)[:size]] = 1.0
        columns @ c
        columns.product_and_error(c)
    assert sum(asked) <= 200
