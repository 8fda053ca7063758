"""Bad calls: whatever is passed, the answer is a result or one clear error."""

import warnings

import numpy as np
import scipy.sparse

import krein

from . import TrialError

# What may be raised for bad input; its message must say something.
CLEAR = (ValueError, TypeError, AttributeError)
ESTIMATORS = [
    "CPDRegressor",
    "CPDSVC",
    "DCSVC",
    "KreinLogisticRegression",
    "KreinRidge",
    "KreinSVC",
    "ProxySVC",
    "SpectrumOneClassSVM",
    "SpectrumSVC",
    "SpectrumSVR",
]
KERNELS = [
    "rbf_kernel",
    "tl1_kernel",
    "edit_kernel",
    "dtw_kernel",
    "smith_waterman_kernel",
    "thin_plate_kernel",
    "sigmoid_kernel",
    "erp_kernel",
]


def good(rng, n=6):
    A = rng.standard_normal((n, n))
    return A + A.T


def _spoiled(rng, value):
    K = good(rng)
    K[2, 3] = K[3, 2] = value
    return K


# name -> (bad X, whether no fit may accept it)
BAD_X = {
    "nan": lambda rng: (_spoiled(rng, np.nan), True),
    "infinite": lambda rng: (_spoiled(rng, np.inf), True),
    "complex": lambda rng: (good(rng) + 1j, True),
    "masked": lambda rng: (np.ma.masked_array(good(rng), np.eye(6, dtype=bool)), True),
    "ragged": lambda rng: ([[1.0, 2.0], [3.0]], True),
    "empty": lambda rng: (np.empty((0, 0)), True),
    "no columns": lambda rng: (np.empty((6, 0)), True),
    "one item": lambda rng: (np.ones((1, 1)), True),
    "flat": lambda rng: (np.ones(6), True),
    "deep": lambda rng: (np.ones((6, 6, 6)), True),
    "dates": lambda rng: (np.full((6, 6), np.datetime64("2020-01-01")), True),
    "words": lambda rng: (np.full((6, 6), "a"), True),
    "numbers as words": lambda rng: (good(rng).astype(str), False),
    "objects": lambda rng: (np.array([[None] * 6] * 6), True),
    "huge integers": lambda rng: (np.full((6, 6), 10**400, dtype=object), True),
    "asymmetric": lambda rng: (rng.standard_normal((6, 6)), True),
    "tall": lambda rng: (rng.standard_normal((6, 4)), True),
    "sparse": lambda rng: (scipy.sparse.csr_matrix(good(rng)), False),
    "dict": lambda rng: ({"a": 1}, True),
    "None": lambda rng: (None, True),
    "text": lambda rng: ("matrix", True),
    "generator": lambda rng: ((row for row in good(rng)), False),
    "bool": lambda rng: (np.eye(6) > 0, False),
    "float16": lambda rng: (good(rng).astype(np.float16), False),
    "read-only": lambda rng: (_read_only(good(rng)), False),
    "strided": lambda rng: (np.kron(good(rng), np.ones((2, 2)))[::2, ::2], False),
}
BAD_Y = {
    "good": lambda rng: (np.array([0, 1, 0, 1, 0, 1]), False),
    "short": lambda rng: (np.array([0, 1, 0]), True),
    "nan": lambda rng: (np.array([0, 1, np.nan, 1, 0, 1]), True),
    "one class": lambda rng: (np.zeros(6), False),
    "None": lambda rng: (None, False),
    "masked": lambda rng: (np.ma.masked_array([0, 1] * 3, [1, 0] * 3), True),
    "columns": lambda rng: (np.zeros((6, 2)), True),
    "mixed": lambda rng: (np.array([0, "a", None, 1, 0, 1], dtype=object), True),
    "complex": lambda rng: (np.array([0, 1, 0, 1, 0, 1j]), True),
    "text": lambda rng: ("010101", True),
}
BAD_WEIGHT = {
    "none": None,
    "short": np.ones(3),
    "negative": np.array([1, 1, -1, 1, 1, 1.0]),
    "nan": np.array([1, 1, np.nan, 1, 1, 1.0]),
    "infinite": np.array([1, 1, np.inf, 1, 1, 1.0]),
    "zero": np.zeros(6),
    "words": np.array(["a"] * 6),
    "matrix": np.ones((6, 6)),
    "huge": np.full(6, 1e308),
    "tiny": np.full(6, 5e-324),
}
VALUES = [
    np.nan, np.inf, -1, 0, 1e308, 5e-324, 10**400, "x", None, [], {}, "clip", True,
    np.array([1.0, 2.0]), object(), 2**63, -0.0, 1j, b"x", (1, 2), np.float32(1), 3,
]  # fmt: skip


def _read_only(K):
    K.flags.writeable = False
    return K


def pick(rng, table):
    name = str(rng.choice(list(table)))
    return name, table[name]


def calls(seed):
    """One bad call of an estimator, a kernel or a function."""
    rng = np.random.default_rng([seed, 3])
    which = rng.integers(10)
    call = _estimator if which < 7 else _kernel if which < 9 else _function
    what, forbidden, run = call(rng)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            run()
    except CLEAR as error:
        if isinstance(error, AttributeError) and type(error) is AttributeError:
            raise TrialError(f"{what}: raw AttributeError: {error}") from error
        if not str(error).strip():
            raise TrialError(f"{what}: {type(error).__name__} without text") from error
        return
    except Exception as error:
        raise TrialError(f"{what}: {type(error).__name__}: {error}") from error
    if forbidden:
        raise TrialError(f"{what}: accepted")


def _estimator(rng):
    name = str(rng.choice(ESTIMATORS))
    cls = getattr(krein, name)
    params, forbidden = {}, False
    if rng.integers(2):
        parameter = str(rng.choice(cls._get_param_names()))
        value = VALUES[rng.integers(len(VALUES))]
        params = {parameter: value}
    kernel = {} if "kernel" in params else {"kernel": "precomputed"}
    bad_x, make_x = pick(rng, BAD_X) if rng.integers(2) else ("good", None)
    X, no_x = (good(rng), False) if make_x is None else make_x(rng)
    bad_y, make_y = pick(rng, BAD_Y) if rng.integers(3) == 0 else ("good", None)
    y, no_y = (np.array([0, 1] * 3), False) if make_y is None else make_y(rng)
    bad_w, weight = pick(rng, BAD_WEIGHT) if rng.integers(3) == 0 else ("none", None)
    forbidden = not params and (no_x or (no_y and name != "SpectrumOneClassSVM"))
    forbidden = forbidden and not (bad_x == "asymmetric" and "symmetrize" in params)
    what = f"{name}({params}).fit(X: {bad_x}, y: {bad_y}, weight: {bad_w})"
    refused_weights = ("short", "negative", "nan", "infinite", "words", "matrix")
    forbidden = forbidden or (not params and bad_w in refused_weights)

    def run():
        model = cls(**kernel, **params).fit(X, y, sample_weight=weight)
        outputs = model.predict(good(rng))
        if np.asarray(outputs).shape != (6,):
            raise TrialError(f"{what}: predicts shape {np.shape(outputs)}")

    return what, forbidden, run


def _kernel(rng):
    name = str(rng.choice(KERNELS))
    items = [
        ["abc", "", "zzz"], rng.standard_normal((3, 2)), [], None, 3, "abc",
        [rng.standard_normal(4), rng.standard_normal(3)], [None, "a"], [[1, 2], "a"],
        np.array([[np.nan, 1.0]]), np.ones((2, 2)) * 1e308, [b"ab", b"c"], [{}, {}],
    ]  # fmt: skip
    X = items[rng.integers(len(items))]
    parameter = str(rng.choice(["gamma", "similarity", "tau", "gap_open", "g", "nu"]))
    value = VALUES[rng.integers(len(VALUES))]
    params = {parameter: value} if rng.integers(2) else {}
    what = f"{name}({_short(X)}, **{params})"

    def run():
        K = np.asarray(getattr(krein, name)(X, **params))
        if K.dtype.kind == "c":
            raise TrialError(f"{what}: complex matrix")

    return what, False, run


def _function(rng):
    bad_x, make_x = pick(rng, BAD_X)
    X, forbidden = make_x(rng)
    bad_y, make_y = pick(rng, BAD_Y)
    y, _ = make_y(rng)
    name = str(rng.choice(["diagnose", "split_kernel", "SpectrumTransformer"]))
    if name == "split_kernel":  # takes parts of whatever it is given
        forbidden = False
    if name == "SpectrumTransformer":
        forbidden = forbidden and bad_x != "one item"
        return (
            f"SpectrumTransformer().fit({bad_x})",
            forbidden,
            lambda: krein.SpectrumTransformer().fit(X),
        )
    what = f"{name}(X: {bad_x}, y: {bad_y})"
    forbidden = forbidden and bad_x not in ("asymmetric", "one item")
    return what, forbidden, lambda: getattr(krein, name)(X, y)


def _short(value):
    return " ".join(repr(value).split())[:60]
