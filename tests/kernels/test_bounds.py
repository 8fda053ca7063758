"""Bounds that kernels declare hold for every pair, and entries stand alone."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from krein import Kernel
from krein.items import take
from krein.kernels import KERNELS
from krein.kernels.warping import warping_bounds
from tests.kernels.test_contract import DISTANCES, example
from tests.reference import series as reference

BOUNDED = sorted(name for name, facts in KERNELS.items() if facts.bounds is not None)
FORMS = ["exponential", "gaussian", "inverse", "negative", "max"]


def assert_inside(kernel, X, Y):
    low, high = kernel.bounds(X, Y)
    K = kernel(X, Y)
    assert low.shape == high.shape == K.shape
    assert np.all(low <= K)
    assert np.all(K <= high)


def test_expensive_kernels_declare_bounds():
    assert set(DISTANCES) | {"smith_waterman", "jaro_winkler", "lcs"} == set(BOUNDED)
    assert Kernel("rbf", gamma=1.0).bounds([[0.0]], [[1.0]]) is None


@pytest.mark.parametrize("name", BOUNDED)
def test_bounds_hold_on_the_examples(name):
    case = example(name)
    forms = FORMS if name in DISTANCES else [None]
    for form in forms:
        params = case.params if form is None else {**case.params, "similarity": form}
        if form is not None:
            params = {**params, "gamma": 0.3}
        kernel = Kernel(name, **params).fit(case.items)
        assert_inside(kernel, case.items[:3], case.items)


@pytest.mark.parametrize("name", DISTANCES)
def test_double_centring_has_no_bounds(name):
    case = example(name)
    kernel = Kernel(name, similarity="centred", **case.params).fit(case.items)
    assert kernel.bounds(case.items, case.items) is None


@pytest.mark.parametrize("name", BOUNDED)
def test_entries_do_not_depend_on_their_block(name):
    case = example(name)
    kernel = Kernel(name, **case.params)
    n = len(case.items)
    K = kernel(take(case.items, np.arange(n - 1)), case.items)
    rng = np.random.default_rng(0)
    for _ in range(20):
        i = rng.choice(n - 1, rng.integers(1, 3), replace=False)
        j = rng.choice(n, rng.integers(1, 4), replace=False)
        part = kernel(take(case.items, i), take(case.items, j))
        np.testing.assert_array_equal(part, K[np.ix_(i, j)])


def items_of_series(elements, channels):
    one = st.integers(1, 7).flatmap(
        lambda n: arrays(float, (channels, n), elements=elements)
    )
    return st.lists(one, min_size=1, max_size=4)


SAMPLES = [
    st.floats(-1e3, 1e3),
    st.integers(-2, 2).map(float),
    st.floats(-1e100, 1e100),
    st.floats(-1e-160, 1e-160),
]


@settings(max_examples=300, deadline=None)
@given(
    st.data(),
    st.sampled_from(SAMPLES),
    st.integers(1, 3),
    st.none() | st.integers(0, 8) | st.floats(0, 1),
)
def test_bounds_of_warping(data, elements, channels, window):
    pytest.importorskip("dtaidistance")
    X = data.draw(items_of_series(elements, channels))
    Y = data.draw(items_of_series(elements, channels))
    low, high = KERNELS["dtw"].bounds(X, Y, window=window, similarity="negative")
    expected = np.array([[-reference.dtw(x, y, window=window) for y in Y] for x in X])
    room = 1e-12 * np.abs(expected)
    assert np.all(low <= expected + room)
    assert np.all(expected <= high + room)
    assert_inside(Kernel("dtw", window=window, similarity="negative"), X, Y)
    assert_inside(Kernel("dtw", window=window, gamma=0.01), X, Y)


def test_bounds_of_warping_by_hand():
    x, y = np.array([[0.0, 5.0, 0.0, 0.0]]), np.array([[1.0, 1.0, 1.0, 2.0]])
    low, high = warping_bounds([x], [y], lambda n, m: 1)
    # Samples 5, 0 to [1, 1], [1, 2]; the ends to the ends: 1 + 16 + 1 + 4.
    assert low[0, 0] == pytest.approx(np.sqrt(22.0))
    assert high[0, 0] == pytest.approx(np.sqrt(1 + 16 + 1 + 4))
    longer = np.array([[0.0, 5.0, 0.0, 0.0, 3.0]])
    low, high = warping_bounds([longer], [y], lambda n, m: 0)
    # The band is one wider below the diagonal: 5 meets the first two, all of them 1.
    assert low[0, 0] == pytest.approx(np.sqrt(1 + 16 + 1 + 1 + 1))
    assert high[0, 0] == pytest.approx(np.sqrt(1 + 16 + 1 + 4 + 1))


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from(["edit", "damerau", "lcs", "jaro_winkler"]),
    st.lists(st.text("abc", min_size=1, max_size=8), min_size=2, max_size=8),
    st.booleans(),
)
def test_bounds_of_strings(name, words, normalize):
    pytest.importorskip("rapidfuzz")
    known = KERNELS[name].parameters
    params = {"normalize": normalize} if "normalize" in known else {}
    if name in DISTANCES:
        params["similarity"] = "negative"
    assert_inside(Kernel(name, **params), words[:1], words[1:])


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.text("ACGTX", min_size=1, max_size=12), min_size=2, max_size=6),
    st.sampled_from(["blosum62", "pam30", (2, -1), (1, 3)]),
    st.integers(0, 3),
    st.booleans(),
)
def test_bounds_of_alignments(sequences, matrix, gap, normalize):
    pytest.importorskip("parasail")
    params = {"matrix": matrix, "gap_open": gap, "gap_extend": 1}
    own = Kernel("smith_waterman", **params)
    if normalize:
        sequences = [x for x in sequences if own([x])[0, 0] > 0] or ["ACG"]
        plain = own([*sequences, "ACG"])
        root = np.sqrt(np.diagonal(plain))
        apart = Kernel("smith_waterman", normalize=True, **params)(sequences, ["ACG"])
        expected = plain[:-1, -1] / root[:-1] / root[-1]
        np.testing.assert_array_equal(apart[:, 0], expected)
    kernel = Kernel("smith_waterman", normalize=normalize, **params)
    assert_inside(kernel, sequences[:1], sequences)
