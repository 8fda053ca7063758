"""Equal for equal contents, different for everything else."""

import datetime
import importlib
import math
import os
import re
import subprocess
import sys
import threading
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from sklearn.preprocessing import StandardScaler

from krein import Kernel, KreinNystroem, SpectrumSVC, kernel_matrix, scale
from krein.store.fingerprint import fingerprint


def dot(X, Y, scale=1.0):
    return scale * X @ Y.T


def enclosing(content):
    """A kernel that uses something from outside."""

    def kernel(X, Y):
        return content and X @ Y.T

    return kernel


FACTOR = 1.0


def with_global(X, Y):
    return FACTOR * helper(X) @ Y.T


def helper(X):
    return np.sqrt(X)


def by_default(content):
    def kernel(X, Y, content=content, *, more=content):
        return X @ Y.T

    return kernel


class Scaled:
    """A callable object, with a count of its calls that says nothing about it."""

    def __init__(self, factor):
        self.factor = factor
        self.calls = 0

    def __call__(self, X, Y):
        self.calls += 1
        return self.factor * X @ Y.T

    def __getstate__(self):
        return {"factor": self.factor}

    def method(self, X, Y):
        return self(X, Y)


class Slots:
    __slots__ = ("factor",)

    def __init__(self, factor):
        self.factor = factor


@dataclass
class Record:
    factor: object

    def __call__(self, X, Y):
        return X @ Y.T


def partial_of(content):
    return partial(dot, scale=content)


lru = type(lru_cache(dot))


def called(kernel, times=3):
    for _ in range(times):
        kernel(np.eye(2), np.eye(2))
    return kernel


def local_class(factor):
    class Local:
        def __call__(self, X, Y):
            return factor * X @ Y.T

    return Local()


def itself():
    """A list that holds itself, and a function that calls itself."""
    ring = [1]
    ring.append(ring)

    def kernel(X, Y):
        return kernel(X[1:], Y) if ring else X

    return kernel


EQUAL = [
    (np.arange(6.0).reshape(2, 3), np.asfortranarray(np.arange(6.0).reshape(2, 3))),
    (["abc", "d"], ("abc", "d")),
    (["ab"] * 2, ["ab", "".join(["a", "b"])]),
    ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
    (Kernel("tl1", tau=2.0), Kernel("tl1", tau=2.0)),
    (partial(dot, scale=2.0), partial(dot, scale=2.0)),
    (enclosing([1, {"a": np.ones(2)}]), enclosing([1, {"a": np.ones(2)}])),
    (enclosing(enclosing(1)), enclosing(enclosing(1))),
    (Scaled(2.0), called(Scaled(2.0))),
    (Record(2.0), Record(2.0)),
    (Slots(2.0), Slots(2.0)),
    (local_class(2.0), local_class(2.0)),
    (itself(), itself()),
    (StandardScaler().fit(np.eye(2)), StandardScaler().fit(np.eye(2))),
    ({1, 2, "a"}, {"a", 2, 1}),
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
    scipy.sparse.eye(3), scipy.sparse.eye(4), Record(1.0), Record(2.0), Scaled(1.0),
    Scaled(2.0), Scaled(1.0).method, Slots(1.0), Slots(2.0), local_class(1.0),
    local_class(2.0), itself(), np, scipy, np.add, np.multiply, Scaled, Record,
    StandardScaler(), StandardScaler().fit(np.eye(2)),
    StandardScaler().fit(np.ones((2, 2))), re.compile("a"), re.compile("b"),
    datetime.date(2026, 1, 1), [1.0].append, [2.0].append,
]  # fmt: skip

ENCLOSED = [
    1, 2, np.int64(1), np.int64(2), np.int32(1), np.float32(1), np.float64(1), True,
    [1], [2], [[1]], {"a": 1}, {"a": 2}, {1}, {2}, "a", b"a", None, np.ones(2),
    dot, helper, math.sqrt, partial(dot, scale=2.0), partial(dot, scale=np.int64(3)),
    Scaled(1.0), Scaled(2.0), Record(1.0), Record(2.0), Record([1]), np.ones(3),
    Record(Record(1.0)),
    enclosing(1), enclosing(2), enclosing(np.int64(1)), enclosing([np.int64(1)]),
    Kernel("tl1", tau=1.0), Kernel("tl1", tau=2.0), lambda x: x, lambda x: -x,
    lru_cache(lambda x: x), lru_cache(lambda x: -x), Scaled, np.random.default_rng(1),
    np.random.default_rng(2),
]  # fmt: skip


def test_different_contents():
    marks = [fingerprint(value) for value in DIFFERENT]
    assert len(set(marks)) == len(DIFFERENT)


@pytest.mark.parametrize("wrap", [enclosing, by_default, Record, partial_of])
def test_all_that_a_function_encloses_counts(wrap):
    marks = [fingerprint(wrap(value)) for value in ENCLOSED]
    assert len(set(marks)) == len(ENCLOSED)
    assert marks == [fingerprint(wrap(value)) for value in ENCLOSED]


@pytest.mark.parametrize("value", [2.0, np.int64(1), [1.0], helper, Scaled(1.0)])
def test_global_variables_count(monkeypatch, value):
    before = fingerprint(with_global)
    monkeypatch.setitem(globals(), "FACTOR", value)
    assert fingerprint(with_global) != before
    monkeypatch.undo()
    assert fingerprint(with_global) == before


@pytest.mark.parametrize("value", [sys.__stderr__, threading.Lock()])
def test_files_and_locks_of_a_module_do_not_count(monkeypatch, value):
    monkeypatch.setitem(globals(), "FACTOR", value)
    before = fingerprint(with_global)
    monkeypatch.setitem(globals(), "FACTOR", threading.Lock())
    assert fingerprint(with_global) == before


def test_functions_that_a_function_calls_count(monkeypatch):
    before = fingerprint(with_global)
    monkeypatch.setattr(helper, "__code__", (lambda X: np.log(X)).__code__)
    assert fingerprint(with_global) != before


def test_methods_of_an_object_count(monkeypatch):
    before = fingerprint(Record(1.0))
    monkeypatch.setattr(Record, "__call__", lambda self, X, Y: 2 * X @ Y.T)
    assert fingerprint(Record(1.0)) != before


def test_modules_of_users_count_by_their_text(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    path = tmp_path / "my_metrics.py"
    marks = []
    for text in ("a = 1\n", "a = 2\n"):
        path.write_text(text)
        sys.modules.pop("my_metrics", None)
        marks.append(fingerprint(enclosing(importlib.import_module("my_metrics"))))
    sys.modules.pop("my_metrics")
    assert marks[0] != marks[1]


def test_another_process_finds_the_same():
    code = (
        "from tests.store.test_fingerprint import *\n"
        "parts = [value for value in ENCLOSED if not isinstance(value, lru)]\n"
        "print(fingerprint(*map(enclosing, parts), with_global, itself(), EQUAL[3]))"
    )
    here = [
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    ]
    assert here[0] == here[1] != ""


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


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (threading.Lock(), "_thread.lock"),
        ((number for number in [1]), "generator"),
        (sys.stderr, "TextIO|EncodedFile|Wrapper"),
    ],
    ids=["lock", "generator", "file"],
)
def test_what_cannot_be_recognised_is_refused(value, words):
    for part in (value, [value], {"a": value}):
        with pytest.raises(TypeError, match=words):
            fingerprint(part)
    for part in (enclosing(value), partial(dot, scale=enclosing([value]))):
        with pytest.raises(TypeError, match=rf"{words}.*Pass a krein.Kernel"):
            fingerprint(part)
    with pytest.raises(TypeError, match="cannot be recognised again"):
        fingerprint(by_default(value))


# ---------------------------------------------------------------- stores that use it


def power(exponent):
    return lambda X, Y: np.maximum(X @ Y.T, 0.0) ** exponent


def times(function):
    return lambda X, Y: function(X @ Y.T)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (power(np.int64(1)), power(np.int64(2))),
        (power(np.float32(1)), power(np.float32(2))),
        (times(np.abs), times(np.square)),
        (times(lambda S: S), times(lambda S: 2 * S)),
    ],
)
def test_a_store_refuses_another_kernel(tmp_path, one, other):
    X = np.random.default_rng(0).random((40, 3))
    y = X[:, 0] > 0.5
    model = SpectrumSVC(kernel=one, approximation=KreinNystroem(8, random_state=0))
    scale.fit(model, X, y, store=tmp_path / "store")
    with pytest.raises(ValueError, match="belongs to other work"):
        scale.fit(model.set_params(kernel=other), X, y, store=tmp_path / "store")


def test_an_interrupted_matrix_is_not_finished_by_another_kernel(tmp_path, monkeypatch):
    monkeypatch.setattr("krein.kernels.blocks.LARGEST_BLOCK", 10)
    X = np.random.default_rng(0).random((30, 3))

    def evaluated(function):
        def kernel(X, Y):
            if len(list(tmp_path.glob("*.partial/blocks/*"))) > 2:
                raise KeyboardInterrupt
            return function(X @ Y.T)

        return kernel

    with pytest.raises(KeyboardInterrupt):
        kernel_matrix(evaluated(np.abs), X, out=tmp_path / "K.npy")
    with pytest.raises(ValueError, match="belongs to other work"):
        kernel_matrix(evaluated(np.square), X, out=tmp_path / "K.npy")


def test_packages_of_the_users_own_folder_count_by_version(tmp_path, monkeypatch):
    """They lie in no folder of this environment; their text is not read."""
    folder = tmp_path / "lib" / "python3" / "site-packages"
    folder.mkdir(parents=True)
    monkeypatch.syspath_prepend(str(folder))
    module = folder / "usersown.py"
    module.write_text("__version__ = '1'\n\ndef kernel(X, Y):\n    return X @ Y.T\n")
    usersown = importlib.import_module("usersown")
    before = fingerprint(usersown.kernel)
    module.write_text(module.read_text() + "# a comment\n")
    assert fingerprint(usersown.kernel) == before
    monkeypatch.setattr(usersown, "__version__", "2")
    assert fingerprint(usersown.kernel) != before
