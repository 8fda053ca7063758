"""Kernels as data: plain functions, one registry of facts, one small class.

A kernel function ``name_kernel(X, Y=None, **params)`` returns the matrix of k(x, y);
``K(X) == K(X, X)`` always. It never regularises and never takes a parameter from the
data it is shown; what depends on data is settled by `Kernel.fit` on training data.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

Input = Literal[
    "vectors", "strings", "series", "spd", "graphs", "places", "distributions", "any"
]
Definiteness = Literal["pd", "cpd", "indefinite", "depends"]


@dataclass(frozen=True)
class KernelFacts:
    """What is known about a kernel; tested, not only stated.

    Parameters
    ----------
    name : str
        Registered name.
    function : callable
        ``function(X, Y=None, **params) -> ndarray``.
    input : str
        What an item is: a row of a matrix ("vectors"), a string, a series, ...
    definiteness : {"pd", "cpd", "indefinite", "depends"}
        Positive definite for all parameters, conditionally positive definite of
        `order`, indefinite on the example named in `witness`, or depending on the
        parameters (`note` says how).
    order : int or callable
        Order of conditional positive definiteness, possibly of the parameters.
    extra : str or None
        The extra that brings the library that does the work.
    distance : callable or None
        For kernels of a distance: ``distance(X, Y=None, **params)``, before it is
        turned into a similarity; "pd" then speaks of the default, exp(-gamma d).
    parallel : {"threads", "processes"}
        How blocks are evaluated side by side: threads where the library releases
        the interpreter lock and two threads were measured to be faster than one.
    resolve : mapping of parameter to callable
        Data-dependent settings: ``{"gamma": {"median": function(X, params)}}``.
    by_name : mapping of parameter to word
        Settings of a kernel that is given by its name to an estimator, `compare` or
        the command line and settled on training items there, where the plain
        function cannot know the scale of the data: ``{"gamma": "median"}``.
    reference, note, witness : str
        Source; restrictions; a data set and parameters that show indefiniteness.
    """

    name: str
    function: Callable[..., np.ndarray]
    input: Input
    definiteness: Definiteness
    order: int | Callable[..., int] = 0
    extra: str | None = None
    distance: Callable[..., np.ndarray] | None = None
    parallel: Literal["threads", "processes"] = "threads"
    resolve: Mapping[str, Mapping[str, Callable[..., Any]]] = field(
        default_factory=dict
    )
    by_name: Mapping[str, str] = field(default_factory=dict)
    reference: str = ""
    note: str = ""
    witness: str = ""

    @property
    def parameters(self) -> dict[str, Any]:
        """Parameter names and defaults of the function."""
        signature = inspect.signature(self.function)
        return {
            name: parameter.default
            for name, parameter in signature.parameters.items()
            if name not in ("X", "Y")
        }


KERNELS: dict[str, KernelFacts] = {}


def register(name: str, **facts: Any) -> Callable[[Callable], Callable]:
    """Decorate a kernel function to put it and its facts into the registry."""

    def decorate(function: Callable) -> Callable:
        if name in KERNELS:
            raise ValueError(f"a kernel named {name!r} is registered already")
        KERNELS[name] = KernelFacts(name=name, function=function, **facts)
        return function

    return decorate


def list_kernels() -> list[str]:
    """Names of all registered kernels.

    Returns
    -------
    list of str

    Examples
    --------
    >>> from krein import list_kernels
    >>> "tl1" in list_kernels()
    True
    """
    return sorted(KERNELS)


class Kernel:
    """A registered kernel with its parameters, usable in `clone` and grids.

    Parameters
    ----------
    name : str
        A registered name, see `krein.list_kernels`.
    **params
        Parameters of the kernel function.

    Examples
    --------
    >>> import numpy as np
    >>> from krein import Kernel
    >>> kernel = Kernel("tl1", tau=1.5)
    >>> kernel(np.array([[0.0, 0.0], [1.0, 0.0]]))
    array([[1.5, 0.5],
           [0.5, 1.5]])
    >>> kernel.set_params(tau=2.0)
    Kernel('tl1', tau=2.0)
    """

    def __init__(self, name: str, **params: Any) -> None:
        if name not in KERNELS:
            raise ValueError(
                f"kernel must be one of {', '.join(list_kernels())}, a Kernel or a "
                f"callable, got {name!r}"
            )
        self.name = name
        self.params: dict[str, Any] = {}
        self.set_params(**params)

    @property
    def facts(self) -> KernelFacts:
        """The registry entry."""
        return KERNELS[self.name]

    @property
    def order(self) -> int:
        """Order of conditional positive definiteness (0: positive definite)."""
        order = self.facts.order
        if callable(order):
            known = inspect.signature(order).parameters
            settings = {**self.facts.parameters, **self.params}
            return order(**{k: v for k, v in settings.items() if k in known})
        return order

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Name and parameters, as scikit-learn's `clone` and grids need them."""
        return {"name": self.name, **self.facts.parameters, **self.params}

    def set_params(self, **params: Any) -> Kernel:
        """Change parameters; unknown ones are refused by name."""
        name = params.pop("name", self.name)
        if name != self.name:
            self.__init__(name)  # type: ignore[misc]
        known = self.facts.parameters
        for parameter in params:
            if parameter not in known:
                raise ValueError(
                    f"kernel {self.name!r} has no parameter {parameter!r}; it has "
                    f"{', '.join(known) or 'none'}"
                )
        self.params.update(params)
        return self

    def fit(self, X: Any) -> Kernel:
        """Return a copy whose data-dependent settings are settled on X.

        Parameters
        ----------
        X : training data

        Returns
        -------
        Kernel
        """
        settled = {}
        for parameter, rules in self.facts.resolve.items():
            value = self.params.get(parameter, self.facts.parameters[parameter])
            if isinstance(value, str) and value in rules:
                settled[parameter] = rules[value](X, self.params)
        return Kernel(self.name, **{**self.params, **settled})

    def __call__(self, X: Any, Y: Any = None) -> np.ndarray:
        """Evaluate the kernel matrix between X and Y (or X and X)."""
        for parameter, rules in self.facts.resolve.items():
            value = self.params.get(parameter, self.facts.parameters[parameter])
            if isinstance(value, str) and value in rules:
                raise ValueError(
                    f"{parameter}={value!r} depends on training data: call "
                    f"Kernel({self.name!r}, ...).fit(X_train) first (estimators do)"
                )
        return self.facts.function(X, Y, **self.params)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Kernel) and self.get_params() == other.get_params()

    def __hash__(self) -> int:
        return hash((self.name, repr(sorted(self.get_params().items()))))

    def __repr__(self) -> str:
        defaults = self.facts.parameters
        shown = {k: v for k, v in self.params.items() if v is not defaults[k]}
        params = "".join(f", {k}={v!r}" for k, v in shown.items())
        return f"Kernel({self.name!r}{params})"


def as_kernel(kernel: Any, kernel_params: Mapping[str, Any] | None) -> Any:
    """Turn an estimator's `kernel` argument into something callable.

    A name becomes a `Kernel`, with scales to be settled on training items unless they
    are given; a `Kernel` is copied with `kernel_params`; a callable is returned with
    them bound.
    """
    params = dict(kernel_params or {})
    if isinstance(kernel, str):
        named = Kernel(kernel, **params)
        return Kernel(kernel, **{**named.facts.by_name, **params})
    if isinstance(kernel, Kernel):
        return Kernel(kernel.name, **{**kernel.params, **params})
    if callable(kernel):
        if not params:
            return kernel
        from functools import partial

        return partial(kernel, **params)
    raise TypeError(
        "kernel must be 'precomputed', a registered name, a krein.Kernel or a callable "
        f"k(X, Y) -> matrix, got {type(kernel).__name__}"
    )
