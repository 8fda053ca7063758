"""Equal for equal contents, different for everything else."""

import math
from functools import partial

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from krein import Kernel
from krein.store.fingerprint import fingerprint


def dot(X, Y, scale=1.0):
    return scale * X @ Y.T


def enclosing(gamma, log):
    def kernel(X, Y):
        log.append(1)
        return gamma * X @ Y.T

    return kernel


EQUAL = [
    (np.arange(6.0).reshape(2, 3), np.asfortranarray(np.arange(6.0).reshape(2, 3))),
    (["abc", "d"], ("abc", "d")),
    (["ab"] * 2, ["ab", "".join(["a", "b"])]),
    ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
    (Kernel("tl1", tau=2.0), Kernel("tl1", tau=2.0)),
    (partial(dot, scale=2.0), partial(dot, scale=2.0)),
    (enclosing(1.0, []), enclosing(1.0, [1, 2])),
    (np.array(["a", "b"], dtype=object), np.array(["a", "b"], dtype=object)),
]


@pytest.mark.parametrize("pair", EQUAL)
def test_equal_contents(pair):
    assert fingerprint(pair[0]) == fingerprint(pair[1])


DIFFERENT = [
    None, 0, 0.0, False, "", b"", [], {}, [[]], "0", ["ab"], ["a", "b"], [["a"], "b"],
    np.zeros(2), np.zeros((2, 1)), np.zeros((1, 2)), np.zeros(2, dtype=np.float32),
    np.array(["a", "b"]), np.array(["a", "b"], dtype=object), {"a": 1}, [("a", 1)],
    Kernel("tl1", tau=2.0), Kernel("tl1", tau=3.0), Kernel("rbf", gamma=2.0),
    partial(dot, scale=2.0), partial(dot, scale=3.0), dot, math.sqrt, math.exp,
    lambda X, Y: X @ Y.T, lambda X, Y: 2 * X @ Y.T, lambda X, Y: 3 * X @ Y.T,
    enclosing(1.0, []), enclosing(2.0, []), scipy.sparse.eye(3), scipy.sparse.eye(4),
]  # fmt: skip


def test_different_contents():
    marks = [fingerprint(value) for value in DIFFERENT]
    assert len(set(marks)) == len(DIFFERENT)


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(plain, plain)
def test_as_texts_differ_so_do_fingerprints(one, other):
    assert (fingerprint(one) == fingerprint(other)) == (ordered(one) == ordered(other))


def ordered(value):
    """A text that does not depend on the order of a mapping."""
    if isinstance(value, dict):
        return repr(["dict", *sorted((k, ordered(v)) for k, v in value.items())])
    if isinstance(value, list):
        return repr(["list", *map(ordered, value)])
    return repr(value)


def test_what_cannot_be_recognised_is_refused():
    class Local:
        pass

    with pytest.raises(ValueError, match="cannot be pickled"):
        fingerprint(Local())
