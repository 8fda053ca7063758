"""Closures of every kind: other contents are another kernel, or are refused."""

import array
import collections
import datetime
import decimal
import enum
import fractions
import functools
import io
import math
import operator
import random
import re
import threading
import types
from pathlib import PurePath

import numpy as np
import pandas
import scipy.sparse

from krein.store.fingerprint import fingerprint

from . import TrialError

Pair = collections.namedtuple("Pair", "first second")


class Kind(enum.IntEnum):
    ONE = 1
    TWO = 2


class Slots:
    __slots__ = ("content",)

    def __init__(self, content):
        self.content = content


class Numbers(list):
    """A list with an attribute."""


class Weight(float):
    """A number that does not show what it is."""

    def __repr__(self):
        return "Weight"


def numbers(unit, content=(1.0, 2.0)):
    values = Numbers(content)
    values.unit = unit
    return values


def record(name):
    return np.array([(1.0, 2.0)], dtype=[(name, float), ("other", float)])


def masked(mask):
    return np.ma.masked_array([1.0, 2.0], mask=[mask, False])


def generator(n):
    yield from range(n)


# Functions of a value: 0 and 1 must give different fingerprints, or be refused.
LEAVES = {
    "int": lambda v: v,
    "huge int": lambda v: 2**70 + v,
    "bool": bool,
    "float": lambda v: 0.1 + v,
    "signed zero": lambda v: [0.0, -0.0][v],
    "nan": lambda v: [np.nan, np.inf][v],
    "complex": lambda v: 1j * v,
    "None": lambda v: [None, 0][v],
    "text": lambda v: "ab"[v],
    "bytes": lambda v: b"ab"[v : v + 1],
    "bytearray": lambda v: bytearray(b"ab"[v : v + 1]),
    "memoryview": lambda v: memoryview(b"ab"[v : v + 1]),
    "np.int64": np.int64,
    "np.int8": np.int8,
    "np.float32": np.float32,
    "np.longdouble": lambda v: np.longdouble(1) + v * np.finfo(np.longdouble).eps,
    "np.bool": np.bool_,
    "np.str": lambda v: np.str_("ab"[v]),
    "datetime64": lambda v: np.datetime64("2020-01-01") + v,
    "unit of time": lambda v: np.timedelta64(1, "sm"[v]),
    "dtype": lambda v: np.dtype(["f4", "f8"][v]),
    "array": lambda v: np.array([1.0, v]),
    "0-d array": lambda v: np.array(float(v)),
    "objects": lambda v: np.array([None, v], dtype=object),
    "strided": lambda v: np.arange(8.0)[v::2],
    "empty": lambda v: np.empty((0, v)),
    "record": lambda v: record("ab"[v]),
    "masked": lambda v: masked(bool(v)),
    "np.matrix": lambda v: [np.ones((2, 2)), np.ones((2, 2)).view(np.matrix)][v],
    "CSR": lambda v: scipy.sparse.csr_array([[1.0, v]]),
    "matrix or array": lambda v: [scipy.sparse.csr_array, scipy.sparse.csr_matrix][v](
        np.eye(2)
    ),
    "frame": lambda v: pandas.DataFrame({"a": [1.0, v]}),
    "columns": lambda v: pandas.DataFrame({"ab"[v]: [1.0]}),
    "index": lambda v: pandas.DataFrame({"a": [1.0, 2.0]}, index=[v, 2]),
    "series": lambda v: pandas.Series([1.0, 2.0], index=[v, 2]),
    "Fraction": lambda v: fractions.Fraction(v, 3),
    "Decimal": lambda v: decimal.Decimal(v) / 3,
    "date": lambda v: datetime.date(2020, 1, 1 + v),
    "enum": lambda v: [Kind.ONE, Kind.TWO][v],
    "range": range,
    "slice": slice,
    "Ellipsis": lambda v: [..., NotImplemented][v],
    "path": lambda v: PurePath("ab"[v]),
    "pattern": lambda v: re.compile("ab"[v]),
    "random": random.Random,
    "np.random": np.random.default_rng,
    "RandomState": np.random.RandomState,
    "array.array": lambda v: array.array("d", [v]),
    "deque": lambda v: collections.deque([1, 2], maxlen=2 + v),
    "namedtuple": lambda v: Pair(1, v),
    "Counter": lambda v: collections.Counter({"a": v}),
    "defaultdict": lambda v: collections.defaultdict([int, float][v], a=1),
    "OrderedDict": lambda v: collections.OrderedDict(["ab", "cd"][:: 1 - 2 * v]),
    "ChainMap": lambda v: collections.ChainMap({"a": v}, {"a": 1}),
    "mappingproxy": lambda v: types.MappingProxyType({"a": v}),
    "namespace": lambda v: types.SimpleNamespace(a=v),
    "slots": Slots,
    "list with an attribute": numbers,
    "silent number": Weight,
    "itemgetter": operator.itemgetter,
    "partial": lambda v: functools.partial(pow, v),
    "builtin": lambda v: [math.sin, math.cos][v],
    "ufunc": lambda v: [np.sin, np.cos][v],
    "lambda": lambda v: [lambda x: x, lambda x: x + 1][v],
    "cached": lambda v: functools.lru_cache([abs, len][v]),
    "bound method": lambda v: [v].count,
    "iterator": lambda v: iter([v, 1]),
    "text file": lambda v: io.StringIO("ab"[v]),
    "generator": generator,
    "lock": lambda v: [threading.Lock(), 0][v],
    "module": lambda v: [math, operator][v],
    "class": lambda v: [Slots, Numbers][v],
}  # fmt: skip


def enclosed(content):
    def kernel(X, Y):
        return content and X @ Y.T

    return kernel


def default(content):
    def kernel(X, Y, content=content):
        return X @ Y.T

    return kernel


def keyword_default(content):
    def kernel(X, Y, *, content=content):
        return X @ Y.T

    return kernel


def of_a_class(content):
    class Local:
        def __call__(self, X, Y):
            return self.content and X @ Y.T

    Local.content = content
    return Local()


def static_method(content):
    class Local:
        @staticmethod
        def inner(X):
            return content

    return Local()


def class_method(content):
    class Local:
        @classmethod
        def inner(cls, X):
            return content

    return Local()


def in_a_property(content):
    class Local:
        @property
        def inner(self):
            return content

    return Local()


def wrapped(content):
    @functools.wraps(operator.add)
    def kernel(X, Y):
        return content

    return kernel


def of_an_instance(content):
    local = of_a_class(1)
    local.inner = content
    return local


def global_variable(content):
    code = enclosed_by_nothing.__code__
    return types.FunctionType(code, {"CONTENT": content, "__name__": "elsewhere"})


def enclosed_by_nothing(X, Y):
    return CONTENT and [CONTENT for _ in X]  # noqa: F821


HOLDERS = [
    enclosed, default, keyword_default, static_method, class_method, in_a_property,
    wrapped, of_an_instance, global_variable,
    functools.partial(functools.partial, max),
    lambda content: [1, content], lambda content: (content,),
    lambda content: {"a": content}, lambda content: {"a": {"b": [content]}},
    lambda content: np.array([content, None], dtype=object)[:1],
    lambda content: Pair(content, 1), lambda content: types.SimpleNamespace(a=content),
    Slots, lambda content: collections.OrderedDict(a=content), numbers,
    lambda content: functools.lru_cache(enclosed(content)),
    lambda content: enclosed(content).__call__, lambda content: property(content),
    lambda content: collections.defaultdict(enclosed(content)),
]  # fmt: skip


def kernel_of(choices, leaf, value):
    """The kernel that holds a leaf in holders, the outermost a closure."""
    content = LEAVES[leaf](value)
    for which in choices:
        content = HOLDERS[which](content)
    return enclosed(content)


def stores(seed):
    """Equal contents have one fingerprint, different ones two, or are refused."""
    rng = np.random.default_rng([seed, 7])
    leaf = str(rng.choice(list(LEAVES)))
    choices = rng.integers(len(HOLDERS), size=rng.integers(0, 4))
    if leaf == "text file" and [global_variable] == [HOLDERS[i] for i in choices[:1]]:
        return  # open files in global variables do not count: a stated exception
    names = [getattr(HOLDERS[i], "__name__", "partial") for i in choices]
    what = f"{leaf} in {names} (holders {choices.tolist()})"
    prints = []
    for value in (0, 1, 0):
        try:
            prints.append(fingerprint(kernel_of(choices, leaf, value)))
        except TypeError as error:
            if "cannot be recognised again" not in str(error):
                raise TrialError(f"{what}: {error}") from error
            prints.append(None)
        except Exception as error:
            raise TrialError(f"{what}: {type(error).__name__}: {error}") from error
    if prints[0] is not None and prints[0] == prints[1]:
        raise TrialError(f"{what}: one fingerprint for two contents")
    if prints[0] != prints[2] and leaf != "cached":
        raise TrialError(f"{what}: two fingerprints for one content")
