"""Kernels as data: plain functions, one registry of facts, one small class.

A kernel function ``name_kernel(X, Y=None, **params)`` returns the matrix of k(x, y);
``K(X) == K(X, X)`` always. It never regularises and never takes a parameter from the
data it is shown; what depends on data is settled by `Kernel.fit` on training data.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import entry_points
from typing import Any, Literal

import numpy as np

from krein.items import plain_items
from krein.retired import GONE_KERNELS
from krein.words import did_you_mean

INPUTS = "vectors tables strings series spd graphs places distributions any".split()
Rules = Mapping[str, Callable[..., Any]]  # functions by the words they stand for
DEFINITENESS = ("pd", "cpd", "indefinite", "depends")


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
        What an item is: a row of numbers ("vectors"), a row of a table with text
        ("tables"), one of "strings", "series", "spd", "graphs", "places" or
        "distributions"; "any" where the function itself checks its items.
    definiteness : {"pd", "cpd", "indefinite", "depends"}
        Positive definite for all parameters, conditionally positive definite of
        `order`, indefinite on the example named in `witness`, or depending on the
        parameters (`note` says how).
    order : int or callable
        Order of conditional positive definiteness, possibly a function of all
        parameters.
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
    once : tuple of str
        Parameters in `resolve` that tell the kind of items and not their scale (DNA
        or protein): `compare` settles them on all items, the others on each training
        part.
    convert : callable or None
        Turns items as users give them (a frame) into a list that can be cut and
        stored.
    by_name : mapping of parameter to word
        Settings of a kernel that is given by its name to an estimator, `compare` or
        the command line and settled on training items there, where the plain
        function cannot know the scale of the data: ``{"gamma": "median"}``.
    reference : str
        Source; taken from "References" of the docstring when not given.
    note, witness : str
        Restrictions; a data set and parameters that show indefiniteness.
    """

    name: str
    function: Callable[..., np.ndarray]
    input: str = "any"
    definiteness: str = "depends"
    order: int | Callable[..., int] = 0
    extra: str | None = None
    distance: Callable[..., np.ndarray] | None = None
    parallel: Literal["threads", "processes"] = "threads"
    resolve: Mapping[str, Rules] = field(default_factory=dict)
    by_name: Mapping[str, str] = field(default_factory=dict)
    once: tuple[str, ...] = ()
    convert: Callable[[Any], list] | None = None
    reference: str = ""
    note: str = ""
    witness: str = ""

    def __post_init__(self) -> None:
        """Refuse what cannot be a kernel."""
        if not callable(self.function):
            raise TypeError(f"function must be a callable, got {self.function!r}")
        for what, known in (("input", INPUTS), ("definiteness", DEFINITENESS)):
            given = getattr(self, what)
            if given not in known:
                raise ValueError(
                    f"{what} must be one of {', '.join(known)}, got {given!r}"
                )

    @property
    def parameters(self) -> dict[str, Any]:
        """Parameter names and defaults of the function."""
        return dict(self._parameters)

    @functools.cached_property
    def _parameters(self) -> dict[str, Any]:
        # A fit asks a dozen times, and a look at the signature takes 0.1 ms.
        known = inspect.signature(self.function).parameters
        return {name: p.default for name, p in known.items() if name not in ("X", "Y")}


class Registry(dict[str, KernelFacts]):
    """Facts by name; a name that is not there is looked for in other packages."""

    def __missing__(self, name: str) -> KernelFacts:
        """Take another name of a kernel, or load the entry point that registers it."""
        if name in ALIASES:
            return self[ALIASES[name]]
        for entry in entry_points(group=ENTRY_POINTS, name=name):
            function = entry.load()
            if name not in self:
                register_kernel(name, function)
            return self[name]
        raise KeyError(name)


ENTRY_POINTS = "krein.kernels"
# Names that people know from elsewhere.
ALIASES = {
    "levenshtein": "edit",
    "manhattan": "cityblock",
    "taxicab": "cityblock",
    "l1": "cityblock",
    "l2": "euclidean",
    "bray_curtis": "braycurtis",
    "sorensen": "dice",
    "sokalmichener": "rogerstanimoto",
    "gaussian": "rbf",
    "poly": "polynomial",
    "laplace": "laplacian",
    "euclid": "euclidean",
    "chebychev": "chebyshev",
    "matching": "hamming",
    "needleman": "needleman_wunsch",
    "waterman": "smith_waterman",
}
# Kernels that people look for and that are not here (without blanks, "-" and "_"), and
# what to do instead.
ELSEWHERE = {
    "linear": "'polynomial' with degree=1 and coef0=0 is the linear kernel",
    "chi2": "pass the function sklearn.metrics.pairwise.chi2_kernel, or its matrix",
    "additivechi2": "pass sklearn.metrics.pairwise.additive_chi2_kernel, or its matrix",
    "naneuclidean": "'gower' compares rows with missing entries",
    "softdtw": "'dtw', 'msm' and 'twe' compare series; pass a matrix of soft DTW",
    "gak": "'dtw', 'msm' and 'twe' compare series; pass tslearn's cdist_gak",
    "jaro": "'jaro_winkler' is there",
    "unifrac": "pass the DistanceMatrix of skbio.diversity.beta_diversity",
    "string": "'edit', 'lcs', 'damerau' and 'jaro_winkler' compare strings",
    "graph": "'wl' and 'optimal_assignment' compare graphs",
}
KERNELS = Registry()


def other_kernel(name: str) -> str:
    """What to take instead of a kernel that is not there, to end a sentence with."""
    known = [*list_kernels(), *ALIASES]
    plain = name.lower().replace("-", "_").replace(" ", "_")
    instead = ELSEWHERE.get(plain.replace("_", ""))
    return f"; {instead}" if instead else did_you_mean(plain, known, GONE_KERNELS)


def register_kernel(
    name: str,
    function: Callable[..., np.ndarray] | None = None,
    *,
    input: str = "any",
    definiteness: str = "depends",
    order: int | Callable[..., int] = 0,
    note: str = "",
    witness: str = "",
    reference: str | None = None,
    extra: str | None = None,
    distance: Callable[..., np.ndarray] | None = None,
    parallel: Literal["threads", "processes"] = "threads",
    resolve: Mapping[str, Rules] | None = None,
    by_name: Mapping[str, str] | None = None,
    once: tuple[str, ...] = (),
    convert: Callable[[Any], list] | None = None,
) -> Callable:
    """Add a kernel to those known by name, with what is known about it.

    The name then works in every estimator, in `compare`, `kernel_matrix` and model
    files. A package brings its kernels by entry points of the group ``krein.kernels``
    (name of the kernel = ``"module:function"``), which are found on first use.

    Parameters
    ----------
    name : str
        Name of the kernel: letters, digits and underscores.
    function : callable, optional
        ``function(X, Y=None, **params) -> ndarray``, where ``K(X) == K(X, X)``. When
        not given, the call is a decorator.
    input : {"any", "vectors", "tables", "strings", "series", "spd", "graphs", \
"places", "distributions"}
        What an item is. Rows of numbers ("vectors") are checked by the estimators;
        where it is "any" the function itself checks its items.
    definiteness : {"depends", "pd", "cpd", "indefinite"}
        Whether the kernel is positive definite for all parameters, conditionally
        positive definite of `order`, indefinite on the example that `witness` names,
        or depends on the parameters as `note` says.
    order : int or callable
        Order of conditional positive definiteness, possibly a function of all
        parameters.
    note, witness : str
        Restrictions; a data set and parameters that show indefiniteness.
    reference : str, optional
        Source; taken from "References" of the docstring when not given.
    extra : str, optional
        The extra that brings the library that does the work.
    distance : callable, optional
        For kernels of a distance: ``distance(X, Y=None, **params)``.
    parallel : {"threads", "processes"}
        How blocks are evaluated side by side.
    resolve : mapping of parameter to mapping, optional
        Data-dependent settings: ``{"gamma": {"median": function(X, params)}}``.
    by_name : mapping of parameter to word, optional
        Settings of a kernel that is given by its name: ``{"gamma": "median"}``.
    once : tuple of str
        Parameters in `resolve` that tell the kind of items and not their scale.
    convert : callable, optional
        Turns items as users give them (a frame) into a list.

    Returns
    -------
    callable
        The function itself (or the decorator).

    Examples
    --------
    >>> import numpy as np
    >>> from krein import Kernel, register_kernel
    >>> @register_kernel("shared_letters", input="strings", definiteness="pd")
    ... def shared_letters_kernel(X, Y=None):
    ...     Y = X if Y is None else Y
    ...     return np.array([[len({*x} & {*y}) for y in Y] for x in X], float)
    >>> Kernel("shared_letters")(["krein"], ["kernel", "k"])
    array([[4., 1.]])
    """

    def register(function: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
        facts = KernelFacts(
            name=name,
            function=function,
            input=input,
            definiteness=definiteness,
            order=order,
            extra=extra,
            distance=distance,
            parallel=parallel,
            resolve=resolve or {},
            by_name=by_name or {},
            once=once,
            convert=convert,
            reference=_reference(function) if reference is None else reference,
            note=note,
            witness=witness,
        )
        _add(facts)
        return function

    _check_name(name)
    return register if function is None else register(function)


def _check_name(name: Any) -> None:
    if not (isinstance(name, str) and name.isidentifier()) or name == "precomputed":
        raise ValueError(
            "name must consist of letters, digits and underscores and must not be "
            f"'precomputed', got {name!r}"
        )


def _add(facts: KernelFacts) -> None:
    name = facts.name
    if name in KERNELS and _home(KERNELS[name].function) != _home(facts.function):
        raise ValueError(f"a kernel named {name!r} is registered already")
    KERNELS[name] = facts


def _reference(function: Any) -> str:
    """References in a docstring, on one line."""
    text = (inspect.getdoc(function) or "").partition("References\n----------\n")[2]
    return " ".join(text.partition("\n\n")[0].split())


def _home(function: Any) -> tuple[str, str]:
    """Where a function is defined: a cell that is run again may replace its kernel."""
    return function.__module__, function.__qualname__


def list_kernels() -> list[str]:
    """Names of all registered kernels, those of installed packages included.

    Returns
    -------
    list of str

    Examples
    --------
    >>> from krein import list_kernels
    >>> "tl1" in list_kernels()
    True
    """
    return sorted({*KERNELS, *entry_points(group=ENTRY_POINTS).names})


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
        try:
            name = KERNELS[name].name  # of another name for it, the registered one
        except KeyError:
            raise ValueError(
                f"kernel must be one of {', '.join(list_kernels())}, a Kernel or a "
                f"callable, got {name!r}{other_kernel(str(name))}"
            ) from None
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
        settings = {**self.facts.parameters, **self.params}
        return order(**settings) if callable(order) else order

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Name and parameters, as scikit-learn's `clone` and grids need them."""
        return {"name": self.name, **self.facts.parameters, **self.params}

    def set_params(self, **params: Any) -> Kernel:
        """Change parameters; unknown ones are refused by name."""
        name = params.pop("name", self.name)
        if name != self.name:
            self.__init__(name)  # type: ignore[misc]
        known = ", ".join(self.facts.parameters) or "none"
        for parameter in params.keys() - self.facts.parameters.keys():
            raise ValueError(
                f"kernel {self.name!r} has no parameter {parameter!r}; it has {known}"
            )
        self.params.update(params)
        return self

    def _unsettled(self) -> dict[str, str]:
        """Parameters whose word stands for something that depends on data."""
        settings = {**self.facts.parameters, **self.params}
        unsettled = {}
        for parameter, rules in self.facts.resolve.items():
            value = settings[parameter]
            if isinstance(value, str) and value in rules:
                unsettled[parameter] = value
        return unsettled

    def fit(self, X: Any, only: Collection[str] | None = None) -> Kernel:
        """Return a copy whose data-dependent settings are settled on X.

        Parameters
        ----------
        X : training data
        only : collection of str, optional
            Settle these parameters and leave the others.

        Returns
        -------
        Kernel
        """
        settled = {
            parameter: self.facts.resolve[parameter][word](X, self.params)
            for parameter, word in self._unsettled().items()
            if only is None or parameter in only
        }
        return Kernel(self.name, **{**self.params, **settled})

    def __call__(self, X: Any, Y: Any = None) -> np.ndarray:
        """Evaluate the kernel matrix between X and Y (or X and X)."""
        for parameter, word in self._unsettled().items():
            raise ValueError(
                f"{parameter}={word!r} depends on training data: call "
                f"Kernel({self.name!r}, ...).fit(X_train) first (estimators do)"
            )
        return self.facts.function(X, Y, **self.params)

    def __reduce__(self) -> tuple:
        """Send facts along that another process may not have registered."""
        facts = self.facts
        own = facts.function.__module__.startswith("krein.")
        return _unpickled, (self.name, self.params, None if own else facts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Kernel) and self.get_params() == other.get_params()

    def __hash__(self) -> int:
        return hash((self.name, repr(sorted(self.get_params().items()))))

    def __repr__(self) -> str:
        defaults = self.facts.parameters
        shown = {k: v for k, v in self.params.items() if v is not defaults[k]}
        params = "".join(f", {k}={v!r}" for k, v in shown.items())
        return f"Kernel({self.name!r}{params})"


def _unpickled(name: str, params: dict[str, Any], facts: KernelFacts | None) -> Kernel:
    if facts is not None:
        KERNELS.setdefault(name, facts)
    return Kernel(name, **params)


def items_for(kernel: Any, X: Any) -> Any:
    """Items as a kernel takes them, in a form that can be cut and stored.

    `kernel` is what an estimator is given, "precomputed" included.
    """
    if not (isinstance(kernel, str) and kernel == "precomputed"):
        kernel = as_kernel(kernel, None)
    convert = kernel.facts.convert if isinstance(kernel, Kernel) else None
    return plain_items(X) if convert is None or X is None else convert(X)


def as_kernel(kernel: Any, kernel_params: Mapping[str, Any] | None) -> Any:
    """Turn an estimator's `kernel` argument into something callable.

    A name becomes a `Kernel`, with scales to be settled on training items unless they
    are given; a `Kernel` is copied with `kernel_params`, the function of a registered
    kernel becomes one; another callable is returned with them bound.
    """
    params = dict(kernel_params or {})
    if isinstance(kernel, str):
        named = Kernel(kernel, **params)
        return Kernel(kernel, **{**named.facts.by_name, **params})
    if isinstance(kernel, Kernel):
        return Kernel(kernel.name, **{**kernel.params, **params})
    if callable(kernel):
        for facts in KERNELS.values():
            if facts.function is kernel:
                return Kernel(facts.name, **params)
        return partial(kernel, **params) if params else kernel
    raise TypeError(
        "kernel must be 'precomputed', a registered name, a krein.Kernel or a callable "
        f"k(X, Y) -> matrix, got {type(kernel).__name__}"
    )
