"""Parameters of odd numeric types: one clear error, or the model of the plain value."""

import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np

import krein

from . import TrialError
from .refits import data, differs

# Numbers that a class takes; integers among them stay integers.
NUMBERS = {
    "SpectrumSVC": {"C": 2, "t": 1, "tol": 1e-6, "max_iter": 1000},
    "SpectrumSVR": {"C": 2, "epsilon": 0.125, "tol": 1e-6},
    "SpectrumOneClassSVM": {"nu": 0.5, "tol": 1e-6},
    "KreinSVC": {"C": 2, "lam_pos": 2, "lam_neg": 0.5, "tol": 1e-6},
    "ProxySVC": {"C": 2, "rho": 0.5, "tol": 1e-6, "max_iter": 1000},
    "DCSVC": {"C": 2, "tol": 1e-6, "max_iter": 100},
    "KreinLogisticRegression": {"alpha": 0.5, "tol": 1e-10, "max_iter": 50},
    "KreinRidge": {"alpha": 2, "t": 0.5},
    "CPDSVC": {"alpha": 0.5, "exponent": 1, "tol": 1e-10, "n_basis": 5},
    "CPDRegressor": {"alpha": 0.5, "exponent": 1, "n_basis": 5},
    "MKLSVC": {"C": 2, "rho": 0.5},
    "PseudoEuclideanEmbedding": {"n_components": 2},
    "PCoA": {"n_components": 2},
    "KreinNystroem": {"n_components": 3, "oversampling": 2},
    "SpectrumTransformer": {"t": 0.5},
}
TYPES = {
    "np.float16": np.float16,
    "np.float32": np.float32,
    "np.float64": np.float64,
    "np.longdouble": np.longdouble,
    "np.int16": np.int16,
    "np.uint64": np.uint64,
    "Fraction": Fraction,
    "Decimal": Decimal,
    "complex": complex,
    "bool": bool,
    "np.bool_": np.bool_,
    "int": int,
    "array": np.array,
    "array of one": lambda value: np.array([value]),
    "list": lambda value: [value],
    "text": str,
    "bytes": lambda value: str(value).encode(),
    "huge int": lambda value: 10**400 + int(value),
    "negative huge int": lambda value: -(10**400),
    "2**63": lambda value: 2**63,
    "2**1024": lambda value: 2**1024,
    "huge Fraction": lambda value: Fraction(10**400, 3),
    "tiny Fraction": lambda value: Fraction(1, 10**400),
    "huge long double": lambda value: np.longdouble("1e400"),
    "tiny long double": lambda value: np.longdouble("1e-400"),
    "huge Decimal": lambda value: Decimal("1e400"),
    "nan": lambda value: np.float32("nan"),
    "infinite": lambda value: np.longdouble("inf"),
    "1e308": lambda value: 1e308,
    "datetime": lambda value: np.timedelta64(1, "s"),
}


def plain(value):
    """The number that an odd one stands for, or None."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    if not isinstance(value, float | np.floating) and number == int(number):
        return int(number)
    return number


def parameters(seed):
    """Fit with one parameter of an odd type, and with its plain value."""
    rng = np.random.default_rng([seed, 8])
    name = str(rng.choice(list(NUMBERS)))
    cls, table = getattr(krein, name), NUMBERS[name]
    parameter = str(rng.choice(list(table)))
    kind = str(rng.choice(list(TYPES)))
    value = TYPES[kind](table[parameter])
    if parameter == "max_iter" and isinstance(value, int) and value > 10**6:
        return  # a large budget is no fault, and takes its time
    options = {"n_components": 3} if name == "KreinNystroem" else {}
    if hasattr(cls(**options), "random_state"):
        options["random_state"] = 0
    if "t" == parameter and name != "SpectrumTransformer":
        options["method"] = "diffusion"
    X, y = data(rng, name)
    what = f"{name}({parameter}={str(value)[:20]}), {kind}"
    model = _fit(what, cls(**{**options, parameter: value}), X, y, parameter)
    if model is None:
        return
    number = plain(value)
    if number is None or not np.isfinite(number):
        raise TrialError(f"{what}: accepted")
    expected = _fit(what, cls(**{**options, parameter: number}), X, y, parameter)
    if expected is None:
        raise TrialError(f"{what}: accepted, but {number!r} is refused")
    states = [
        {k: v for k, v in vars(m).items() if k.endswith("_")} for m in (model, expected)
    ]
    if differs(*states):
        raise TrialError(f"{what}: {differs(*states)} is not that of {number!r}")


def _fit(what, model, X, y, parameter):
    """None if the parameter was refused with a message that names it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return model.fit(X, y)
        except (ValueError, TypeError) as error:
            if parameter not in str(error) and not _is_about_the_problem(error):
                text = f"{what}: {type(error).__name__}: {error}"
                raise TrialError(text) from error
            return None
        except Exception as error:
            raise TrialError(f"{what}: {type(error).__name__}: {error}") from error


def _is_about_the_problem(error):
    """E.g. a floor above all scores."""
    texts = ("makes K + alpha I singular", "no item has a hit of itself")
    return any(text in str(error) for text in texts)
