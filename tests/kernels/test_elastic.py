"""Elastic distances run over the cells inside the window, many pairs at a time."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from krein.kernels import KERNELS, elastic
from tests.reference import series as reference

NAMES = ["msm", "twe", "erp"]
SERIES = st.lists(
    st.lists(st.integers(-9, 9), min_size=1, max_size=7), min_size=1, max_size=5
)
WINDOWS = st.one_of(st.none(), st.integers(0, 3), st.floats(0, 0.5))


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=40, deadline=None)
@given(X=SERIES, Y=SERIES, window=WINDOWS, numbers=st.sampled_from([1, 16, 10_000]))
def test_batches_of_any_lengths(name, X, Y, window, numbers):
    function = getattr(reference, name)
    expected = [[function(x, y, window=window) for y in Y] for x in X]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(elastic, "_NUMBERS", numbers)
        found = KERNELS[name].distance(X, Y, window=window)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("n", "m", "window"), [(40, 40, 3), (40, 31, 2), (9, 40, None)]
)
def test_work_is_the_cells_inside_the_window(name, n, m, window, monkeypatch):
    visited = []
    original = elastic._batch_distances

    def watched(costs, lengths, band):
        def diagonal(x, y, d):
            assert x.stop - x.start == y.stop - y.start
            visited.append(x.stop - x.start)
            return costs.diagonal(x, y, d)

        costs_seen = elastic.Costs(costs.first_row, costs.first_column, diagonal)
        return original(costs_seen, lengths, band)

    monkeypatch.setattr(elastic, "_batch_distances", watched)
    rng = np.random.default_rng(0)
    KERNELS[name].distance(
        [rng.standard_normal(n)], [rng.standard_normal(m)], window=window
    )
    i, j = np.indices((n, m))
    cells = max(n, m) if window is None else window
    inside = (i - j <= cells + max(0, n - m)) & (j - i <= cells + max(0, m - n))
    assert sum(visited) == inside.sum()


def test_a_scale_of_1e100_is_no_matter():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((4, 9))
    for scale in (1e-100, 1e100):
        for name, params in (("msm", {"c": 0.0}), ("erp", {})):
            small = KERNELS[name].distance(X, window=2, **params)
            large = KERNELS[name].distance(X * scale, window=2, **params)
            np.testing.assert_allclose(large, small * scale, rtol=1e-12)
