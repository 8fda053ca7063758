"""`nearest_psd`: the optimum, its gap, fixed entries, frames, refusals."""

import dataclasses

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from krein import check_certificate, nearest_psd


def symmetric(seed, n=12):
    A = np.random.default_rng(seed).standard_normal((n, n))
    return (A + A.T) / 2


def correlation(seed, n=30, noise=0.2):
    rng = np.random.default_rng(seed)
    C = np.corrcoef(rng.standard_normal((n, 8)))
    E = np.triu(noise * rng.standard_normal((n, n)), 1)
    return C + E + E.T


def brute_force(K, weight=None, least=0.0, settled=None, steps=20_000):
    """Dykstra's alternating projections (Higham 2002), slow and independent."""
    root = np.ones(len(K)) if weight is None else np.sqrt(weight)
    outer = np.outer(root, root)
    X, S = K * outer, np.zeros_like(K)
    for _ in range(steps):
        R = X - S
        w, V = np.linalg.eigh(R - least * np.diag(root**2))
        Y = (V * np.maximum(w, 0.0)) @ V.T + least * np.diag(root**2)
        S, before = Y - R, X
        X = Y.copy()
        if settled is not None:
            X[settled] = (K * outer)[settled]
        if np.abs(X - before).max() < 1e-13:
            break
    return X / outer


def test_free_diagonal_is_the_clipped_matrix():
    K = symmetric(0)
    w, V = np.linalg.eigh(K)
    found = nearest_psd(K)
    np.testing.assert_allclose(found.matrix, (V * np.maximum(w, 0)) @ V.T, atol=1e-13)
    assert found.n_iter == 1
    np.testing.assert_allclose(found.distance, np.linalg.norm(np.minimum(w, 0)))


def test_a_matrix_that_needs_no_repair_stays_as_it_is():
    K = np.corrcoef(np.random.default_rng(0).standard_normal((10, 4)))
    np.fill_diagonal(K, 1.0)
    K = (K + K.T) / 2
    for diagonal in ("free", "keep", "unit"):
        found = nearest_psd(K, diagonal=diagonal)
        assert found.distance == 0.0
        np.testing.assert_array_equal(found.matrix, K)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("least", [0.0, 0.05])
def test_equal_to_alternating_projections(weighted, least):
    K = correlation(1, n=10)
    np.fill_diagonal(K, 1.0)
    weight = np.linspace(0.5, 3.0, 10) if weighted else None
    found = nearest_psd(
        K, diagonal="keep", weight=weight, min_eigenvalue=least, tol=1e-12
    )
    expected = brute_force(K, weight, least, np.eye(10, dtype=bool))
    np.testing.assert_allclose(found.matrix, expected, atol=1e-6)
    assert np.linalg.eigvalsh(found.matrix)[0] >= least - 1e-12
    assert check_certificate(found, K).holds


def test_fixed_entries_equal_to_alternating_projections():
    K = correlation(2, n=10)
    np.fill_diagonal(K, 1.0)
    fixed = np.zeros((10, 10), dtype=bool)
    fixed[:3, :3] = fixed[4, 7] = fixed[7, 4] = True
    K[:3, :3] = np.corrcoef(np.random.default_rng(0).standard_normal((3, 9)))
    K = (K + K.T) / 2
    np.fill_diagonal(K, 1.0)
    found = nearest_psd(K, diagonal="unit", fixed=fixed)
    expected = brute_force(K, settled=fixed | np.eye(10, dtype=bool))
    np.testing.assert_allclose(found.matrix, expected, atol=1e-6)
    np.testing.assert_array_equal(found.matrix[fixed], K[fixed])
    assert np.linalg.eigvalsh(found.matrix)[0] >= -1e-10
    assert found.status == "converged"
    assert check_certificate(found, K).holds


def test_partly_fixed_diagonal():
    K = symmetric(3)
    K[0, 0] = 2.0
    fixed = np.zeros(K.shape, dtype=bool)
    fixed[0, 0] = fixed[0, 1] = fixed[1, 0] = True
    found = nearest_psd(K, fixed=fixed)
    np.testing.assert_allclose(found.matrix, brute_force(K, settled=fixed), atol=1e-6)
    assert check_certificate(found, K).holds


@given(st.integers(0, 10_000), st.integers(2, 25), st.floats(0.0, 1.0))
def test_certified_on_random_input(seed, n, noise):
    K = correlation(seed, n, noise)
    found = nearest_psd(K, diagonal="unit", tol=1e-9)
    assert found.status == "converged"
    assert check_certificate(found, K).holds
    np.testing.assert_array_equal(found.matrix.diagonal(), 1.0)
    assert np.linalg.eigvalsh(found.matrix)[0] >= -1e-12 * n


@pytest.mark.parametrize("scale", [1e-150, 1e-6, 1e9, 1e140])
def test_units_do_not_matter(scale):
    K = correlation(5)
    one, other = (
        nearest_psd(K, diagonal="keep"),
        nearest_psd(scale * K, diagonal="keep"),
    )
    np.testing.assert_allclose(np.asarray(other) / scale, np.asarray(one), atol=1e-9)


def test_never_farther_than_statsmodels():
    tools = pytest.importorskip("statsmodels.stats.correlation_tools")
    for seed in range(3):
        K = correlation(seed)
        found = nearest_psd(K, diagonal="unit", tol=1e-10)
        with pytest.warns(UserWarning, match="."):
            theirs = tools.corr_nearest(K, threshold=1e-15, n_fact=5)
        assert found.distance <= np.linalg.norm(theirs - K) * (1 + 1e-10)


def test_impossible_fixed_entries_are_said():
    K = np.array([[1.0, 0.9, -0.9], [0.9, 1.0, 0.9], [-0.9, 0.9, 1.0]])
    with pytest.raises(ValueError, match="no positive semidefinite matrix has these"):
        nearest_psd(K, fixed=np.ones((3, 3), dtype=bool))
    names = ["a", "b", "c"]
    frame = pd.DataFrame(K, index=names, columns=names)
    with pytest.raises(ValueError, match=r"\(a, b\)"):
        nearest_psd(frame, fixed=np.ones((3, 3), dtype=bool))


def test_entries_that_leave_no_freedom():
    K = np.ones((3, 3))
    K[0, 2] = K[2, 0] = 0.3  # items 0, 1 and 1, 2 are equal, 0 and 2 are not
    fixed = np.array([[1, 1, 0], [1, 1, 1], [0, 1, 1]], dtype=bool)
    found = nearest_psd(K, fixed=fixed)
    np.testing.assert_allclose(found.matrix, np.ones((3, 3)), atol=1e-6)


def test_converged_means_positive():
    """Fixed entries are met to rounding of K, which is much for a small result."""
    K, fixed = 1e-6 * np.eye(4), np.zeros((4, 4), dtype=bool)
    K[[0, 1, 3, 3], [3, 3, 0, 1]] = 1.0
    fixed[0, 1] = fixed[1, 0] = True
    options = {"diagonal": "keep", "fixed": fixed, "min_eigenvalue": 1e-14}
    with pytest.warns(ConvergenceWarning, match="free some entries"):
        found = nearest_psd(K, **options)
    assert found.status == "stalled"
    assert np.linalg.eigvalsh(found)[0] < 0.0


def test_a_gap_that_is_not_reached_is_warned_of(monkeypatch):
    monkeypatch.setattr("krein.spectrum.repair_newton._MAX_ITER", 1)
    with pytest.warns(ConvergenceWarning, match="not converged"):
        found = nearest_psd(correlation(0), diagonal="unit")
    assert found.status == "max_iter"
    assert check_certificate(found, correlation(0)).holds


def test_frames_keep_their_names():
    K, names = correlation(0, n=4), ["a", "b", "c", "d"]
    frame = pd.DataFrame(K, index=names, columns=names)
    found = nearest_psd(frame, diagonal="unit")
    assert list(found.matrix.index) == list(found.matrix.columns) == names
    table = nearest_psd(pl.DataFrame(K, schema=names), diagonal="unit").matrix
    assert table.columns == names
    np.testing.assert_array_equal(np.asarray(found), table.to_numpy())
    assert check_certificate(found, frame).holds


def test_the_referee_refuses_false_claims():
    K = correlation(7)
    found = nearest_psd(K, diagonal="unit")
    for change in (
        {"distance": 0.9 * found.distance},
        {"duality_gap": 0.0, "matrix": np.eye(len(K))},
        {"matrix": 0.5 * (found.matrix + K)},
        {"multipliers": 2.0 * found.multipliers},
    ):
        assert not check_certificate(dataclasses.replace(found, **change), K).holds


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"diagonal": "one"}, "'free', 'keep' or 'unit'"),
        ({"min_eigenvalue": -1.0}, "0 or positive"),
        ({"diagonal": "unit", "min_eigenvalue": 1.0}, "at most min_eigenvalue"),
        ({"weight": [1.0, 2.0]}, "2 positive numbers|12 positive numbers"),
        ({"weight": np.zeros(12)}, "positive numbers"),
        ({"fixed": np.ones((12, 12))}, "boolean array"),
        ({"fixed": np.triu(np.ones((12, 12), dtype=bool))}, r"fixed \| fixed.T"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=message):
        nearest_psd(symmetric(0), **options)


@pytest.mark.parametrize(
    ("options", "advice"),
    [
        ({"diagonal": "unit", "min_eigenvalue": 2.0}, "Use diagonal='free', a"),
        ({"diagonal": "keep", "min_eigenvalue": 9.0}, "Use diagonal='free', a"),
        ({"diagonal": "keep", "min_eigenvalue": 0.5}, "diagonal='free' or 'unit', a"),
        ({"fixed": np.eye(12, dtype=bool)}, "Do not fix it, a"),
    ],
)
def test_a_low_diagonal_is_told_what_was_not_given(options, advice):
    K = symmetric(0)
    np.fill_diagonal(K, 0.0)
    with pytest.raises(ValueError, match=f"{advice} smaller min_eigenvalue"):
        nearest_psd(K, **options)


def test_bad_matrices():
    K = symmetric(0)
    with pytest.raises(ValueError, match=r"\(K \+ K.T\) / 2"):
        nearest_psd(K + 0.1 * np.triu(K, 1))
    with pytest.raises(ValueError, match="the lower half is zero; pass"):
        nearest_psd(np.triu(K))
    gaps = K.copy()
    gaps[0, 1] = gaps[1, 0] = np.nan
    with pytest.raises(ValueError, match="K contains NaN"):
        nearest_psd(gaps)
    with pytest.raises(ValueError, match="square"):
        nearest_psd(K[:5])
    np.fill_diagonal(K, 0.0)
    with pytest.raises(ValueError, match="zeros in its row"):
        nearest_psd(K, diagonal="keep")
