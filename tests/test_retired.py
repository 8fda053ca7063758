"""Names and parameters of earlier releases: the error says what to use instead."""

import pytest

import krein
from krein import CPDSVC, KreinSVC, SpectrumSVC
from krein.retired import NAMES, PARAMETERS


@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_is_gone_says_what_to_use(name):
    assert name not in krein.__all__
    with pytest.raises(AttributeError, match=f"no attribute '{name}': ") as caught:
        getattr(krein, name)
    assert NAMES[name] in str(caught.value)


def test_a_name_that_never_was_has_no_hint():
    with pytest.raises(AttributeError, match=r"no attribute 'clog_kernel'$"):
        krein.clog_kernel  # noqa: B018


@pytest.mark.parametrize("name", PARAMETERS)
def test_a_parameter_that_is_gone_says_what_to_use(name):
    with pytest.raises(TypeError) as caught:
        KreinSVC(**{name: 1})
    expected = f"KreinSVC has no parameter {name!r} any more: {PARAMETERS[name]}"
    assert str(caught.value) == expected


def test_a_parameter_that_never_was_is_pythons_error():
    with pytest.raises(TypeError, match="unexpected keyword argument 'bases'"):
        CPDSVC(bases=3)


def test_methods_under_their_former_names():
    with pytest.raises(ValueError, match="it is 'diffusion' now"):
        SpectrumSVC("exponential").fit([[1.0, 0.0], [0.0, 1.0]], [0, 1])
