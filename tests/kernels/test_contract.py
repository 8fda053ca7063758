"""What every kernel keeps, by being in the registry."""

import copy

import numpy as np
import pytest

from krein import Kernel, kernel_matrix
from krein.kernels import KERNELS
from tests.kernels.examples import EXAMPLES

NAMES = sorted(KERNELS)  # not those of other packages
DISTANCES = [name for name in NAMES if KERNELS[name].distance is not None]
INDEFINITE = [name for name in NAMES if KERNELS[name].definiteness == "indefinite"]
DEFINITE = [name for name in NAMES if KERNELS[name].definiteness == "pd"]


def example(name):
    """The example, or a skip where an optional library is not installed."""
    case = EXAMPLES[name]
    try:
        Kernel(name, **case.params)(case.items)
    except ImportError as error:
        pytest.skip(str(error))
    return case


def loop(function, X, Y):
    return np.array([[function(x, y) for y in Y] for x in X])


def test_every_kernel_has_an_example():
    assert sorted(EXAMPLES) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_one_set_or_the_same_set_twice(name):
    case = example(name)
    kernel = Kernel(name, **case.params)
    K = kernel(case.items)
    assert K.dtype == np.float64
    assert np.any(K != 0)
    np.testing.assert_array_equal(kernel(case.items, case.items), K)
    np.testing.assert_array_equal(kernel(case.items, copy.deepcopy(case.items)), K)
    np.testing.assert_allclose(K, K.T, rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize("name", NAMES)
def test_equals_a_double_loop(name):
    case = example(name)
    X, Y = case.items[:4], case.items[2:]
    function = KERNELS[name].distance or KERNELS[name].function
    expected = loop(lambda x, y: case.reference(x, y, **case.params), X, Y)
    np.testing.assert_allclose(
        function(X, Y, **case.params), expected, rtol=case.rtol, atol=case.atol
    )


@pytest.mark.parametrize("name", DISTANCES)
def test_pointwise_forms_of_a_distance(name):
    case = example(name)
    D = KERNELS[name].distance(case.items, **case.params)
    assert np.any(D > 0)
    assert np.all(np.diagonal(D) == 0)
    forms = {
        "exponential": np.exp(-0.3 * D),
        "gaussian": np.exp(-0.3 * D**2),
        "inverse": 1 / (1 + 0.3 * D),
        "negative": -0.3 * D,
    }
    for form, expected in forms.items():
        kernel = Kernel(name, similarity=form, gamma=0.3, **case.params)
        np.testing.assert_array_equal(kernel(case.items), expected)
        assert kernel.order == (form == "negative")
    default = Kernel(name, **case.params)(case.items)
    gaussian = KERNELS[name].parameters["similarity"] == "gaussian"
    np.testing.assert_array_equal(default, np.exp(-(D**2) if gaussian else -D))


@pytest.mark.parametrize("name", DISTANCES)
def test_fitted_forms_of_a_distance(name):
    case = example(name)
    train, new = case.items[:-2], case.items[-2:]
    distance = KERNELS[name].distance
    D = distance(train, **case.params)
    rows = distance(new, train, **case.params)
    # Two items may be the same to a kernel: then one of them counts.
    distinct = [i for i in range(len(D)) if not (D[i, :i] == 0).any()]
    between = D[np.ix_(distinct, distinct)][np.triu_indices(len(distinct), 1)]
    between = between[between > 0]
    middle = np.median(between) if between.size else 1.0
    kernel = Kernel(name, gamma="median", similarity="exponential", **case.params)
    with pytest.raises(ValueError, match="depends on training data"):
        kernel(train)
    np.testing.assert_allclose(kernel.fit(train)(new, train), np.exp(-rows / middle))
    fitted = Kernel(name, similarity="max", **case.params).fit(train)
    np.testing.assert_allclose(fitted(new, train), D.max() - rows)
    centred = Kernel(name, similarity="centred", **case.params).fit(train)
    J = np.eye(len(D)) - 1 / len(D)
    np.testing.assert_allclose(centred(train), -0.5 * J @ D**2 @ J, atol=1e-9)
    expected = -0.5 * (rows**2 - np.mean(D**2, axis=0)) @ J
    np.testing.assert_allclose(centred(new, train), expected, atol=1e-9)
    np.testing.assert_array_equal(centred(train), centred(train, train))


@pytest.mark.parametrize("name", NAMES)
def test_blocks_equal_the_whole(name):
    case = example(name)
    kernel = Kernel(name, **case.params)
    limit = 8 * len(case.items) ** 2 + 500
    blocks = kernel_matrix(kernel, case.items, memory_limit=limit)
    np.testing.assert_allclose(blocks, kernel(case.items), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(blocks, blocks.T, rtol=1e-14, atol=1e-15)
    columns = case.items[:3]
    rectangle = kernel_matrix(kernel, case.items, columns, progress=True)
    np.testing.assert_allclose(
        rectangle, kernel(case.items, columns), rtol=1e-12, atol=1e-12
    )


@pytest.mark.parametrize("name", NAMES)
def test_inputs_are_not_changed(name):
    case = example(name)
    before = copy.deepcopy(case.items)
    if isinstance(case.items, np.ndarray):
        case.items.flags.writeable = False
    Kernel(name, **case.params)(case.items, case.items[:2])
    for old, new in zip(before, case.items, strict=True):
        if isinstance(old, np.ndarray):
            np.testing.assert_array_equal(old, new)
        elif not hasattr(old, "nodes"):
            assert str(old) == str(new)


@pytest.mark.parametrize("name", INDEFINITE)
def test_declared_indefinite_kernels_show_it(name):
    example(name)
    assert KERNELS[name].witness
    items, params = EXAMPLES[name].witness
    values = np.linalg.eigvalsh(Kernel(name, **params)(items))
    assert values[0] < -1e-4 * values[-1]


@pytest.mark.parametrize("name", DEFINITE)
def test_declared_positive_definite_kernels_are(name):
    case = example(name)
    values = np.linalg.eigvalsh(Kernel(name, **case.params)(case.items))
    assert values[0] > -1e-12 * values[-1]


@pytest.mark.parametrize("name", NAMES)
def test_facts_are_complete(name):
    facts = KERNELS[name]
    assert facts.reference
    if facts.definiteness == "depends":
        assert facts.note
    assert all(word in facts.parameters for word in facts.resolve)


@pytest.mark.parametrize("name", NAMES)
def test_no_items_is_an_error(name):
    case = example(name)
    with pytest.raises(ValueError, match=r"no items|minimum of 1|0 sample"):
        Kernel(name, **case.params)(case.items[:0])
