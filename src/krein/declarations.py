"""What an estimator declares: its parameters, and the state that a fit leaves.

Parameters are annotated attributes; those of a base class are inherited. A name means
the same everywhere, so one table says what it may be. A class says in ``_fitted_state``
what its `fit` sets beside them; classes that inherit from it add to that or replace
entries of the same name. Model files hold exactly this, and `fit` replaces it as a
whole.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from numbers import Integral, Real
from types import MethodType
from typing import Any, ClassVar, TypeVar, dataclass_transform

import numpy as np
from sklearn.base import BaseEstimator

from krein.kernels.registry import Kernel
from krein.retired import PARAMETERS
from krein.sklearn_internals import HasMethods, Interval, StrOptions, fit_context
from krein.spectrum.fixes import Fix
from krein.threads import rows_of, threads_for
from krein.validation import LARGEST

_Class = TypeVar("_Class")

POSITIVE = Interval(Real, 0, None, closed="neither")
NOT_NEGATIVE = Interval(Real, 0, None, closed="left")
COUNT = Interval(Integral, 1, None, closed="left")
_GRID = ["array-like", None]
_FLAG = ["boolean"]

CONSTRAINTS: dict[str, Any] = {
    # The similarity.
    "kernel": [str, callable, Kernel],
    "kernel_params": [dict, None],
    "kind": [StrOptions({"similarity", "distance"})],
    "symmetrize": _FLAG,
    "approximation": [HasMethods("approximate"), None],
    "method": [str, Fix, callable],  # `as_fix` knows the names
    "t": [POSITIVE],
    # The machine.
    "C": [POSITIVE],
    "rho": [POSITIVE],
    "alpha": [POSITIVE],
    "lam_pos": [POSITIVE],
    "lam_neg": [POSITIVE],
    "epsilon": [NOT_NEGATIVE],
    "nu": [Interval(Real, 0, 1, closed="right")],
    "fit_intercept": _FLAG,
    "class_weight": [dict, StrOptions({"balanced"}), None],
    "multi_class": [StrOptions({"ovr", "ovo"})],
    "probability": _FLAG,
    # Conditionally positive definite kernels.
    "exponent": [POSITIVE],
    "degree": [Interval(Integral, -1, None, closed="left"), None],
    "n_basis": [Interval(Integral, 2, None, closed="left"), None],
    "scale": _FLAG,
    "polynomial": [StrOptions({"free", "zero", "auto"})],
    # The solver.
    "solver_options": [dict, None],
    "tol": [POSITIVE],
    "max_iter": [COUNT],
    "random_state": ["random_state"],
    "verbose": ["verbose"],
    # Searches.
    "Cs": _GRID,
    "rhos": _GRID,
    "alphas": _GRID,
    "fixes": [list, tuple, None],
    "gains": [list, tuple, None],
    "combine": [StrOptions({"average", "best"})],
    "cv": ["cv_object"],
    "scoring": [str, callable, None],
    "n_jobs": [Integral, None],
    # Coordinates.
    "n_components": [COUNT],
}


@dataclass_transform(eq_default=False, field_specifiers=(field,))
def declares_parameters(cls: type[_Class]) -> type[_Class]:
    """Make the annotated attributes of a class parameters of its constructor.

    A dataclass without class attributes, so that an estimator has no attribute that is
    not a parameter of its own constructor.
    """
    made = dataclass(eq=False, repr=False)(cls)
    for one in fields(made):  # type: ignore[arg-type]
        if one.name in vars(made):
            delattr(made, one.name)
    return made


def check_parameters(parameters: dict[str, Any]) -> None:
    """Refuse numbers that cannot be computed with, or not in float64."""
    for name, value in parameters.items():
        if isinstance(value, dict):
            check_parameters({f"{name}[{key!r}]": v for key, v in value.items()})
        for number in value if isinstance(value, list | tuple) else [value]:
            if isinstance(number, Real):
                _check_parameter(name, number)


def _check_parameter(name: str, value: Any) -> None:
    plain = isinstance(value, bool | int | float | np.integer | np.floating)
    plain = plain and not isinstance(value, np.longdouble)
    huge = isinstance(value, int) and abs(value) > LARGEST  # beyond float64, perhaps
    size = abs(float(value)) if plain and not huge else 0.0
    tiny = name != "tol" and 0.0 < size < 1.0 / LARGEST
    if not plain or huge or tiny or LARGEST < size < np.inf:
        shown = f"an integer of {value.bit_length()} bits" if huge else repr(value)
        raise ValueError(
            f"{name} is {shown}, of type {type(value).__name__}; expected an int or a "
            f"float from {1.0 / LARGEST:g} to {LARGEST:g} in size: pass float({name})"
        )


class Documented(BaseEstimator):
    """Base of all estimators: numbers are checked, and notebooks link to the page.

    The environment variable ``KREIN_DOCS`` says where the documentation is, e.g.
    ``https://docs.example.org/krein`` or ``file:///home/me/krein/docs/_build/html``.
    Without it there is no link.
    """

    _parameter_constraints = CONSTRAINTS
    _fitted_state: ClassVar[State] = ()
    # Passes over tiles of a few hundred columns are many short products.
    _on_one_thread = False

    def __new__(cls, *args: Any, **parameters: Any) -> Any:
        """Name the replacement of a parameter that an earlier release had."""
        for name in parameters:
            of_all = PARAMETERS.get(name)
            of_this = f"{cls.__name__}.{name}"
            hint = PARAMETERS.get(of_this, of_all)
            if hint is not None and name not in cls._get_param_names():
                raise TypeError(
                    f"{cls.__name__} has no parameter {name!r} any more: {hint}"
                )
        return super().__new__(cls)

    @classmethod
    def _get_param_names(cls) -> list[str]:
        # Looking at the signature takes as long as fitting a small model.
        return list(_parameter_names(cls))  # type: ignore[arg-type]

    def _validate_params(self) -> None:
        check_parameters(self.get_params(deep=False))
        super()._validate_params()

    @property
    def _doc_link_module(self) -> str:
        return "krein" if os.environ.get("KREIN_DOCS") else "(not published)"

    @property
    def _doc_link_template(self) -> str:
        address = os.environ.get("KREIN_DOCS", "").rstrip("/")
        return f"{address}/api/generated/krein.{{estimator_name}}.html"


@functools.cache
def _parameter_names(cls: type) -> tuple[str, ...]:
    names: list[str] = super(Documented, cls)._get_param_names()  # type: ignore[misc]
    return tuple(names)


class available_when:  # noqa: N801  a decorator
    """Decorate a method that some settings do not have: `hasattr` is False there.

    As scikit-learn's ``available_if``, but the error that users see is the one that
    the check raises, which says what to do, not only that there is no such attribute.

    Parameters
    ----------
    check : callable
        Takes the estimator; raises AttributeError if the method is not available.
    """

    def __init__(self, check: Callable[[Any], Any]):
        self.check = check

    def __call__(self, method: Callable[..., Any]) -> Any:
        """Take the method."""
        self.method = method
        functools.update_wrapper(self, method)
        return self

    def __get__(self, estimator: Any, owner: Any = None) -> Any:
        """Return the bound method if it is available."""
        if estimator is None:
            return self.method
        self.check(estimator)
        return MethodType(self.method, estimator)


# ------------------------------ the fitted state


def replaces_state(fit: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate `fit`: check the parameters, then replace the fitted state as a whole.

    The work is done on a fresh object without fitted attributes; the estimator gets
    all of them in one assignment at the end. A refit therefore leaves nothing of the
    fit before, and a fit that fails or is interrupted leaves the estimator as it was.
    NumPy's numbers among the parameters are Python's during the fit: the arithmetic of
    small types would round or overflow. BLAS runs on the threads that pay for so many
    items (`krein.threads`), or on one where the class says so.

    Parameters
    ----------
    fit : callable
        ``fit(self, ...)``; what it returns is passed on.
    """
    checked = fit_context(prefer_skip_nested_validation=False)(fit)

    @functools.wraps(fit)
    def replacing(self: Any, *args: Any, **kwargs: Any) -> Any:
        fresh = object.__new__(type(self))
        given = self.get_params(deep=False)
        typed = {k: v for k, v in given.items() if isinstance(v, np.number)}
        plain = {name: value.item() for name, value in typed.items()}
        fresh.__dict__ = without_state(self) | plain
        items = args[0] if args else kwargs.get("X")
        with threads_for(0 if fresh._on_one_thread else rows_of(items)):
            result = checked(fresh, *args, **kwargs)
        self.__dict__ = fresh.__dict__ | typed
        return self if result is fresh else result

    return replacing


def without_state(estimator: Any) -> dict[str, Any]:
    """Attributes of an estimator without those that a fit has set."""
    fitted = {entry.place for entry in declared_state(estimator.__class__).values()}
    return {
        name: value
        for name, value in vars(estimator).items()
        if name not in fitted and (name.startswith("_") or not name.endswith("_"))
    }


@dataclass(frozen=True)
class Fitted:
    """One part of the fitted state.

    Attributes
    ----------
    name : str
        Its name in model files.
    kind : str
        What it is, a key of `krein.files.model_state.KINDS`.
    shape : str, optional
        One letter per dimension of an array; equal letters are equal sizes.
    needed : bool or callable
        Whether it must be there and not None, or a function of the estimator (with
        its parameters set) that says so.
    attribute : str
        Where the estimator keeps it; `name` by default.
    """

    name: str
    kind: str
    shape: str | None = None
    needed: bool | Callable[[Any], bool] = True
    attribute: str = ""

    @property
    def place(self) -> str:
        """Attribute of the estimator."""
        return self.attribute or self.name

    @staticmethod
    def state(*entries: Fitted) -> State:
        """Return the parts of a fitted state, whatever their number."""
        return entries


State = tuple[Fitted, ...]


@functools.cache
def declared_state(cls: type) -> dict[str, Fitted]:
    """Return the parts of the fitted state of a class, by name.

    Parameters
    ----------
    cls : type
        An estimator.

    Returns
    -------
    dict of str to Fitted
    """
    entries: dict[str, Fitted] = {}
    for base in reversed(cls.__mro__):
        for entry in vars(base).get("_fitted_state", ()):
            entries[entry.name] = entry
    return entries


class WideRows:
    """Attribute (n_rows, n) of a model that keeps it in whatever form it was set.

    Read, it is the whole array, also where a compact form of it is kept
    (`krein.machines.compact_rows`). What is kept stands in the attribute with a leading
    and no trailing underscore (``_alpha`` for ``alpha_``).
    """

    def __set_name__(self, owner: type, name: str) -> None:
        """Take the name of the attribute."""
        self.name = name
        self.place = f"_{name.removesuffix('_')}"

    def __get__(self, model: Any, owner: type | None = None) -> Any:
        """Return the whole array; one that is kept as such itself."""
        if model is None:
            return self
        rows = vars(model).get(self.place)
        if rows is None:
            kind = type(model).__name__
            raise AttributeError(f"{kind!r} object has no attribute {self.name!r}")
        return rows.wide() if hasattr(rows, "wide") else rows

    def __set__(self, model: Any, rows: Any) -> None:
        """Keep rows in the form given."""
        vars(model)[self.place] = rows

    def __delete__(self, model: Any) -> None:
        """Forget the rows."""
        if vars(model).pop(self.place, None) is None:
            raise AttributeError(self.name)


# What most models have: rows of coefficients on the training items, ...
COEFFICIENTS = Fitted.state(
    Fitted("X_fit_", "items"),
    Fitted("dual_coef_", "coefficients", "rn", attribute="_dual_coef"),
    Fitted("intercept_", "numbers", "r"),
    Fitted("support_", "integers", "s"),
    Fitted("alpha_", "variables", "rn", needed=False, attribute="_alpha"),
    Fitted("poly_coef_", "numbers", "rp", needed=False),
    Fitted("approximation_error_", "number", needed=False),
    Fitted("dense_coef_", "numbers", "rn", needed=False),
    Fitted("dense_intercept_", "numbers", "r", needed=False),
    Fitted("sparse_error_", "number", needed=False),
)
# ... and how they were found.
RESULTS = Fitted.state(
    Fitted("result_", "result"),
    Fitted("n_iter_", "integers", "r"),
    Fitted("objective_", "numbers", "r"),
    Fitted("duality_gap_", "numbers", "r", needed=False),
    Fitted("residual_", "numbers", "r", needed=False),
)
