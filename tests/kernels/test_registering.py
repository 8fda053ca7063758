"""Kernels of users and of other packages: registered, found, sent to processes."""

import pickle
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from krein import (
    Kernel,
    SpectrumSVC,
    compare,
    kernel_matrix,
    list_kernels,
    load_model,
    register_kernel,
    save_model,
)
from krein.kernels import KERNELS, as_kernel
from krein.kernels.distances import distance_kernel

PACKAGE = Path(__file__).parent / "other_package"
WORDS = ["abc", "abd", "abe", "acd", "xyz", "xyw", "xzw", "yzv"]
LABELS = [0, 0, 0, 0, 1, 1, 1, 1]


def letters_kernel(X, Y=None, *, factor=1.0):
    """Letters that two words have in common, times a factor."""
    Y = X if Y is None else Y
    return factor * np.array([[len({*x} & {*y}) for y in Y] for x in X], float)


def other_kernel(X, Y=None):
    """Something else."""
    return letters_kernel(X, Y)


@pytest.fixture
def registry():
    """The registry, put back as it was."""
    before = dict(KERNELS)
    yield KERNELS
    KERNELS.clear()
    KERNELS.update(before)


@pytest.fixture
def package(registry, monkeypatch):
    """A package that is installed beside krein."""
    monkeypatch.syspath_prepend(str(PACKAGE))
    yield
    sys.modules.pop("krein_letters", None)


def test_a_registered_name_works_everywhere(registry, tmp_path):
    assert register_kernel("letters", letters_kernel, input="strings") is letters_kernel
    assert "letters" in list_kernels()
    np.testing.assert_array_equal(
        Kernel("letters", factor=2.0)(WORDS), 2 * letters_kernel(WORDS)
    )
    np.testing.assert_array_equal(
        kernel_matrix("letters", WORDS, n_jobs=2), letters_kernel(WORDS)
    )
    model = SpectrumSVC(kernel="letters", kernel_params={"factor": 0.5})
    assert model.fit(WORDS, LABELS).predict(["abg", "xyg"]).tolist() == [0, 1]
    save_model(model, tmp_path / "m.krein")
    again = load_model(tmp_path / "m.krein")
    assert again.predict(["abg", "xyg"]).tolist() == [0, 1]
    found = compare(WORDS, LABELS, kernel="letters", methods=["clip"], cv=2)
    assert found.scores("clip").mean() == 1.0


def test_registering_as_a_decorator(registry):
    @register_kernel("same_length", input="strings", definiteness="pd", note="words")
    def same_length_kernel(X, Y=None):
        Y = X if Y is None else Y
        return np.array([[len(x) == len(y) for y in Y] for x in X], float)

    assert KERNELS["same_length"].note == "words"
    assert Kernel("same_length")(["ab"], ["cd", "c"]).tolist() == [[1.0, 0.0]]


def test_the_source_is_read_from_the_docstring(registry):
    def cited_kernel(X, Y=None):
        """Nothing.

        References
        ----------
        Somebody (1999), "A title that
        is long".

        Examples
        --------
        >>> 1
        1
        """

    register_kernel("cited", cited_kernel)
    assert KERNELS["cited"].reference == 'Somebody (1999), "A title that is long".'
    register_kernel("cited", cited_kernel, reference="Another (2000)")
    assert KERNELS["cited"].reference == "Another (2000)"
    register_kernel("letters", letters_kernel)
    assert KERNELS["letters"].reference == ""


def test_a_distance_becomes_a_kernel_with_one_decorator(registry):
    @distance_kernel("apart", input="any", definiteness="pd")
    def apart_kernel(X, Y=None, *, power=1.0):
        """Kernel of the distance of numbers.

        Parameters
        ----------
        X, Y : lists of float
            Numbers.
        power : float
            Exponent.

        References
        ----------
        Nobody (2001).
        """
        return np.abs(np.subtract.outer(X, X if Y is None else Y)) ** power

    facts = KERNELS["apart"]
    assert list(facts.parameters.items()) == [
        ("power", 1.0),
        ("gamma", 1.0),
        ("similarity", "exponential"),
    ]
    np.testing.assert_array_equal(facts.distance([0.0], [2.0], power=2), [[4.0]])
    np.testing.assert_array_equal(
        apart_kernel([0.0], [2.0], power=2, gamma=0.5, similarity="negative"), [[-2.0]]
    )
    fitted = as_kernel("apart", None).fit([0.0, 2.0])
    np.testing.assert_allclose(fitted([0.0], [2.0]), np.exp(-1.0))
    headings = re.findall(r"^(\S+)\n---", apart_kernel.__doc__, re.MULTILINE)
    assert headings == ["Parameters", "Returns", "References"]
    with pytest.raises(TypeError, match="unexpected keyword argument 'powr'"):
        apart_kernel([0.0], powr=2)


def test_a_name_has_one_owner(registry):
    register_kernel("letters", letters_kernel)
    register_kernel("letters", letters_kernel, input="strings")  # a cell run again
    assert KERNELS["letters"].input == "strings"
    with pytest.raises(ValueError, match="'letters' is registered already"):
        register_kernel("letters", other_kernel)
    with pytest.raises(ValueError, match="'rbf' is registered already"):
        register_kernel("rbf", letters_kernel)


@pytest.mark.parametrize(
    ("name", "function", "facts", "words"),
    [
        ("precomputed", letters_kernel, {}, "precomputed"),
        ("two words", letters_kernel, {}, "letters, digits and underscores"),
        ("letters", 3, {}, "function must be a callable, got 3"),
        (
            "letters",
            letters_kernel,
            {"inputs": "strings"},
            "unexpected keyword argument 'inputs'",
        ),
        ("letters", letters_kernel, {"input": "words"}, "input must be one of"),
        ("letters", letters_kernel, {"definiteness": "no"}, "definiteness must be"),
    ],
)
def test_what_cannot_be_registered_is_refused(registry, name, function, facts, words):
    with pytest.raises((ValueError, TypeError), match=words):
        register_kernel(name, function, **facts)
    assert "letters" not in KERNELS


def test_another_process_gets_the_facts(registry):
    register_kernel("letters", letters_kernel, parallel="processes")
    sent = pickle.dumps(Kernel("letters", factor=3.0))
    del KERNELS["letters"]
    assert pickle.loads(sent)(["ab"], ["abc"]).tolist() == [[6.0]]
    own = pickle.loads(pickle.dumps(Kernel("tl1", tau=2.0)))
    assert own == Kernel("tl1", tau=2.0)


def test_kernels_of_an_installed_package_are_found(package, tmp_path):
    assert {"common_letters", "letter_overlap"} <= set(list_kernels())
    assert "krein_letters" not in sys.modules  # a list loads nothing
    assert Kernel("common_letters", power=2.0)(["abc"], ["abd"]).tolist() == [[4.0]]
    assert KERNELS["letter_overlap"].definiteness == "pd"
    model = SpectrumSVC(kernel="letter_overlap").fit(WORDS, LABELS)
    save_model(model, tmp_path / "m.krein")
    KERNELS.pop("letter_overlap")
    sys.modules.pop("krein_letters")
    assert load_model(tmp_path / "m.krein").predict(WORDS).tolist() == LABELS


def test_a_broken_package_is_named(package):
    assert "broken_kernel" in list_kernels()
    with pytest.raises(ImportError, match="krein_letters_gone"):
        Kernel("broken_kernel")


def test_an_unknown_name_says_the_nearest(package):
    with pytest.raises(ValueError, match="did you mean 'common_letters'"):
        Kernel("common_leters")


def test_the_command_line_takes_a_kernel_of_a_package(tmp_path):
    path = tmp_path / "words.txt"
    path.write_text("\n".join(WORDS))
    code = (
        f"import sys; sys.path.insert(0, {str(PACKAGE)!r}); from krein.cli import main;"
        f"sys.exit(main(['kernel', 'letter_overlap', {str(path)!r}, '-o', '-']))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert run.stdout.splitlines()[0].startswith("1.0,0.5,")
