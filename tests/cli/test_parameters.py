"""Parameters on the command line: what a docstring declares is what can be typed."""

import contextlib
import inspect
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

import krein
from krein.cli.parameters import declared, kernel_parameters, parse_pairs
from krein.comparison.methods import METHODS

KERNELS = krein.list_kernels()


@pytest.mark.parametrize("name", KERNELS)
def test_every_parameter_of_a_kernel_is_declared(name):
    from krein.kernels import KERNELS as FACTS

    known = kernel_parameters(name)
    assert set(known) == set(FACTS[name].parameters)
    for parameter in known.values():
        assert parameter.kind
        assert parameter.about, f"{name}: {parameter.name} is not explained"


@pytest.mark.parametrize("name", KERNELS)
def test_defaults_can_be_typed(name):
    """What help prints as default is understood, and means the default."""
    for parameter in kernel_parameters(name).values():
        if parameter.kind == "callable":
            continue
        assert parameter.parse(str(parameter.default)) == parameter.default


@given(st.sampled_from(KERNELS), st.text(max_size=12))
def test_any_text_is_a_value_or_an_error_with_the_choices(name, text):
    for parameter in kernel_parameters(name).values():
        with contextlib.suppress(ValueError):
            value = parameter.parse(text)
            assert parameter.kind != "bool" or isinstance(value, bool)
            continue
        with pytest.raises(ValueError, match=re.escape(parameter.expected)):
            parameter.parse(text)


@pytest.mark.parametrize("name", sorted({m.estimator for m in METHODS.values()}))
def test_estimators_declare_theirs(name):
    cls = getattr(krein, name)
    assert set(declared(cls)) == set(inspect.signature(cls).parameters)


def read(*pairs, kernel="edit"):
    return parse_pairs(
        pairs, kernel_parameters(kernel), option="--param", owner="kernel"
    )


def test_values_have_their_types():
    assert read("normalize=FALSE", "gamma=1e-3") == {"normalize": False, "gamma": 1e-3}
    assert read("window=none", kernel="dtw") == {"window": None}
    assert read("window=3", kernel="dtw") == {"window": 3}
    assert read("matrix=(2, -1)", kernel="smith_waterman") == {"matrix": (2, -1)}
    assert read("matrix=pam250", kernel="smith_waterman") == {"matrix": "pam250"}


@pytest.mark.parametrize(
    ("pair", "words"),
    [
        ("gamma", "must look like name=value"),
        ("gamma=True", "must be a number"),
        ("gamma=[1]", "must be a number"),
        ("normalize=2", "true or false"),
    ],
)
def test_other_types_are_refused(pair, words):
    with pytest.raises(ValueError, match=words):
        read(pair)
