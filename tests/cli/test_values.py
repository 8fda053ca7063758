"""NAME=VALUE on the command line: what is declared is what can be typed."""

import inspect
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

import krein
from krein.cli.kernel import shown
from krein.cli.learning import kernel_defaults, make_kernel
from krein.kernels import KERNELS as FACTS

KERNELS = krein.list_kernels()


@pytest.mark.parametrize("name", KERNELS)
def test_every_parameter_of_a_kernel_is_explained(name):
    known = kernel_defaults(name)
    assert set(known) == set(FACTS[name].parameters)
    doc = inspect.getdoc(FACTS[name].function)
    for parameter in known:
        assert re.search(rf"^(\w+, )*{parameter}(, \w+)*( : |$)", doc, re.M), parameter


@pytest.mark.parametrize("name", KERNELS)
def test_defaults_can_be_typed(name):
    """What help prints as default is understood, and means the default."""
    for key, default in kernel_defaults(name).items():
        if not callable(default):
            typed = make_kernel(name, [f"{key}={shown(default)}"])
            assert typed.params[key] == default


@given(st.sampled_from(KERNELS), st.text(max_size=12))
def test_any_text_is_a_value_or_an_error_with_the_choices(name, text):
    for key, default in kernel_defaults(name).items():
        pair = f"{key}={text}"
        try:
            value = make_kernel(name, [pair]).params[key]
        except ValueError:
            with pytest.raises(ValueError, match="true or false"):
                make_kernel(name, [pair])
        else:
            assert isinstance(value, bool) or not isinstance(default, bool)


def read(*pairs, kernel="edit"):
    """The parameters that were typed, without those that a name brings."""
    typed = {pair.partition("=")[0] for pair in pairs}
    params = make_kernel(kernel, pairs).params
    return {name: value for name, value in params.items() if name in typed}


def test_values_have_their_types():
    assert read("normalize=FALSE", "gamma=1e-3") == {"normalize": False, "gamma": 1e-3}
    assert read("normalize=1") == {"normalize": True}
    assert read("window=none", kernel="dtw") == {"window": None}
    assert read("window=3", kernel="dtw") == {"window": 3}
    assert read("matrix=(2, -1)", kernel="smith_waterman") == {"matrix": (2, -1)}
    assert read("matrix=pam250", kernel="smith_waterman") == {"matrix": "pam250"}


@pytest.mark.parametrize(
    ("pair", "words"),
    [
        ("gamma", "must look like name=value"),
        ("normalize=2", "true or false"),
        ("gama=2", "has no parameter 'gama'.*did you mean 'gamma'"),
    ],
)
def test_other_types_are_refused(pair, words):
    with pytest.raises(ValueError, match=words):
        read(pair)
