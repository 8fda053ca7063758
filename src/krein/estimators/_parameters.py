"""Parameters of all estimators: what they may be, and methods that depend on them.

An estimator declares its parameters as annotated attributes; those of a base class are
inherited. A name means the same everywhere, so one table says what it may be.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from functools import update_wrapper
from numbers import Integral, Real
from types import MethodType
from typing import Any, TypeVar, dataclass_transform

from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from krein.kernels.registry import Kernel
from krein.methods import Method
from krein.validation import check_parameters

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
    "symmetrize": _FLAG,
    "approximation": [HasMethods("approximate"), None],
    "method": [str, Method],  # `as_method` knows the names
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


class Documented(BaseEstimator):
    """Base of all estimators: numbers are checked, and notebooks link to the page.

    The environment variable ``KREIN_DOCS`` says where the documentation is, e.g.
    ``https://docs.example.org/krein`` or ``file:///home/me/krein/docs/_build/html``.
    Without it there is no link.
    """

    _parameter_constraints = CONSTRAINTS

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
        update_wrapper(self, method)
        return self

    def __get__(self, estimator: Any, owner: Any = None) -> Any:
        """Return the bound method if it is available."""
        if estimator is None:
            return self.method
        self.check(estimator)
        return MethodType(self.method, estimator)
