"""Names and parameters of earlier releases: the error says what to use instead."""

import pytest

import krein
from krein import CPDSVC, KreinSVC, SpectrumSVC
from krein.cli import main
from krein.retired import (
    GONE_COMMANDS,
    GONE_CONTENDERS,
    GONE_KERNELS,
    GONE_OPTIONS,
    NAMES,
    PARAMETERS,
)


@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_is_gone_says_what_to_use(name):
    assert name not in krein.__all__
    with pytest.raises(AttributeError, match=f"no attribute '{name}': ") as caught:
        getattr(krein, name)
    assert NAMES[name] in str(caught.value)


def test_a_name_that_never_was_has_no_hint():
    with pytest.raises(AttributeError, match=r"no attribute 'clog_kernel'$"):
        krein.clog_kernel  # noqa: B018


@pytest.mark.parametrize("key", PARAMETERS)
def test_a_parameter_that_is_gone_says_what_to_use(key):
    owner, _, name = key.rpartition(".")
    owner = owner or "KreinSVC"
    with pytest.raises(TypeError) as caught:
        getattr(krein, owner)(**{name: 1})
    expected = f"{owner} has no parameter {name!r} any more: {PARAMETERS[key]}"
    assert str(caught.value) == expected


def test_a_parameter_of_one_class_is_gone_there_only():
    assert KreinSVC(approximation=None).approximation is None
    with pytest.raises(TypeError, match="unexpected keyword argument 'approximation'"):
        krein.DCSVC(approximation=None, nosuch=1)


@pytest.mark.parametrize("name", ["max_evalue", "min_identity"])
def test_an_argument_that_is_gone_says_what_to_use(name):
    with pytest.raises(TypeError, match=f"'{name}' any more: filter the table before"):
        krein.read_hits("hits.m8", **{name: 1})


@pytest.mark.parametrize("name", GONE_KERNELS)
def test_a_kernel_that_is_gone_says_what_to_use(name, capsys):
    with pytest.raises(ValueError) as caught:
        krein.Kernel(name)
    assert str(caught.value).endswith(f"; it is gone, instead: {GONE_KERNELS[name]}")
    assert main(["kernel", name, "items.csv"]) == 2
    assert f"it is gone, instead: {GONE_KERNELS[name]}" in capsys.readouterr().err


@pytest.mark.parametrize("name", GONE_CONTENDERS)
def test_a_contender_that_is_gone_says_what_to_use(name):
    K, y = [[1.0, 0.0], [0.0, 1.0]], [0, 1]
    with pytest.raises(ValueError) as caught:
        krein.compare(K, y, methods=[name])
    assert str(caught.value).endswith(f"; it is gone, instead: {GONE_CONTENDERS[name]}")


@pytest.mark.parametrize("name", GONE_COMMANDS)
def test_a_command_that_is_gone_says_what_to_use(name, capsys):
    assert main([name]) == 2
    assert f"it is gone, instead: {GONE_COMMANDS[name]}" in capsys.readouterr().err


@pytest.mark.parametrize("option", GONE_OPTIONS)
def test_an_option_that_is_gone_says_what_to_use(option, capsys):
    assert main(["compare", "K.csv", option]) == 2
    assert f"it is gone, instead: {GONE_OPTIONS[option]}" in capsys.readouterr().err


@pytest.mark.parametrize("suffix", [".arff", ".libsvm", ".svmlight"])
def test_a_file_that_is_no_longer_read_says_what_reads_it(suffix, tmp_path):
    path = tmp_path / f"file{suffix}"
    path.write_text("@relation iris\n1 1:2\n")
    with pytest.raises(krein.FormatError, match="is read by "):
        krein.read_matrix(path)


def test_a_parameter_that_never_was_is_pythons_error():
    with pytest.raises(TypeError, match="unexpected keyword argument 'bases'"):
        CPDSVC(bases=3)


def test_methods_under_their_former_names():
    with pytest.raises(ValueError, match="it is 'diffusion' now"):
        SpectrumSVC("exponential").fit([[1.0, 0.0], [0.0, 1.0]], [0, 1])
