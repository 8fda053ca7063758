"""Rows with few items on a bound, by one inverse: scikit-learn's SVC is the judge."""

import numpy as np
import pytest
from sklearn.svm import SVC

from krein.machines.svm_rows import MOST_BOUNDED, rows_with_few_bounds


def problem(rng, n=90, classes=5, size=0.4):
    """A kernel near the identity, on which few items are no support vectors."""
    X = rng.standard_normal((n, 4))
    K = np.eye(n) + size * np.exp(-((X[:, None] - X) ** 2).sum(axis=2))
    codes = np.arange(n) % classes
    return K, np.where(codes[:, None] == np.arange(classes), 1.0, -1.0)


@pytest.mark.parametrize("C", [100.0, 1.4])
def test_rows_are_those_of_libsvm(rng, C):
    K, Y = problem(rng)
    upper = C * rng.uniform(0.8, 1.2, len(K))
    found = rows_with_few_bounds(K, Y, upper)
    shares = []
    for y, a in zip(Y.T, found, strict=True):
        assert a is not None
        assert np.all((a >= 0.0) & (a <= upper))
        assert abs(y @ a) <= 1e-12 * a.sum()
        judge = SVC(C=1.0, kernel="precomputed", tol=1e-10)
        judge.fit(K, y, sample_weight=upper)
        v = np.zeros(len(K))
        v[judge.support_] = judge.dual_coef_[0]
        np.testing.assert_allclose(y * a, v, atol=1e-7)
        shares.append(np.mean((a <= 0.0) | (a >= upper)))
    if C == 1.4:
        assert 0.0 < max(shares) <= MOST_BOUNDED


def test_items_on_both_bounds(rng):
    """Of neighbours with one label some are not needed, outliers are at the top."""
    K, Y = problem(rng, classes=3, size=0.9)
    upper = np.full(len(K), 1.25)
    bounds = [
        (np.sum(a <= 0.0), np.sum(a >= upper))
        for a in rows_with_few_bounds(K, Y, upper)
        if a is not None
    ]
    assert any(low and high for low, high in bounds)


def test_what_is_not_found_is_none(rng):
    K, Y = problem(rng)
    singular = np.kron(K[:45, :45], np.ones((2, 2)))
    upper = np.full(len(K), 100.0)
    assert rows_with_few_bounds(singular, Y, upper) == [None] * 5
    assert rows_with_few_bounds(K, Y, 0.1 * np.ones(len(K))) == [None] * 5
