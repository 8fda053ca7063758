"""What earlier releases had, and what to use instead: the hints of error messages."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TypeVar

Function = TypeVar("Function", bound=Callable)

# Names of the package.
NAMES = {
    "log_kernel": "pass a function of two lists as kernel=",
    "thin_plate_order_kernel": "use thin_plate_kernel(X, Y, exponent=...)",
    "unbounded_direction": "a fitted DCSVC says it in unbounded_",
}
# Parameters of estimators, by name: where a class no longer has one. With the name of a
# class in front: of that class only.
PARAMETERS = {
    "KreinLogisticRegressionCV.approximation": (
        "search alpha of KreinLogisticRegression(approximation=...) by GridSearchCV"
    ),
    "basis": "n_basis= takes that many training items at random",
    "floor": "leave low scores out of the table before",
    "signature": "put KreinNystroem before scikit-learn's LogisticRegression",
    "sparse": "call sparsify(tolerance=0.1) after fit",
}
# Kernels by name.
GONE_KERNELS = {
    "features": "put KreinNystroem before scikit-learn's LogisticRegression",
    "log": "pass a function of two lists",
    "thin_plate_order": "use 'thin_plate' with exponent=...",
}
# What `compare` and `krein fit` ran.
GONE_CONTENDERS = {
    "gaussian": "compare kernels: kernel=['rbf', ...], --kernel rbf,...",
    "thin_plate": "fit CPDSVC",
}
# Commands of ``krein``.
GONE_COMMANDS = {
    "completion": "krein COMMAND --help lists the options",
    "reproduce": "make papers, in the repository",
}
# Options that commands had.
GONE_OPTIONS = {
    "--check": "krein.check_certificate(model, X, y) in Python",
    "--proba": "krein fit --proba, then krein predict --proba",
}


def without(**gone: str) -> Callable[[Function], Function]:
    """Name the replacement of an argument that a function had; a decorator.

    Parameters
    ----------
    **gone : str
        Name of the argument, and what to use instead.
    """

    def decorate(function: Function) -> Function:
        @functools.wraps(function)
        def call(*args, **options):
            for name in options.keys() & gone.keys():
                raise TypeError(
                    f"{function.__name__} has no argument {name!r} any more: "
                    f"{gone[name]}"
                )
            return function(*args, **options)

        return call  # type: ignore[return-value]

    return decorate
