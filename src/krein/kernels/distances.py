"""Kernels of distances, and what kernels on pairs of items share.

`distance_kernel` turns a function that returns distances into a registered kernel.
Pointwise forms of a similarity need nothing but the distance. What depends on the data
shown (``gamma="median"``, ``similarity="centred"``, ``similarity="max"``) exists only
through `krein.Kernel.fit` on training data.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial, wraps
from typing import Any

import numpy as np

from krein.items import take
from krein.kernels.registry import register_kernel
from krein.similarity.conversions import (
    NEIGHBORS,
    POINTWISE,
    distinct_items,
    doubly_centred,
    local_scales,
    locally_scaled,
    median_gamma,
    median_multiple,
)
from krein.sklearn_internals import num_samples

Distance = Callable[..., np.ndarray]

_MEDIAN_ITEMS = 300


def check_items(X: Any, name: str = "X") -> int:
    """Return the number of items; a single string or nothing at all is refused."""
    if isinstance(X, str | bytes):
        raise TypeError(
            f"{name} must be a list of items, got one {type(X).__name__}; pass [{name}]"
        )
    n = int(num_samples(X))
    if n < 1:
        raise ValueError(f"{name} has no items; at least one is required")
    return n


def same_items(X: Any, Y: Any) -> bool:
    """Whether Y is missing, is X, or holds equal items in the same order.

    A kernel then evaluates half of the pairs, and ``K(X) == K(X, X)`` holds to the
    last bit although rounding may differ between d(x, y) and d(y, x).
    """
    return Y is None or _same(X, Y)


def _same(x: Any, y: Any) -> bool:
    if x is y:
        return True
    if isinstance(x, np.ndarray) and isinstance(y, np.ndarray):
        return bool(np.array_equal(x, y))
    if type(x) is not type(y):
        return False
    if isinstance(x, list | tuple):
        return len(x) == len(y) and all(map(_same, x, y))
    return isinstance(x, str | bytes | int | float) and x == y


def check_each(check: Callable, X: Any, name: str) -> list[Any]:
    """Items as ``check(item)`` returns them; an error begins with the item at fault."""
    check_items(X, name)
    checked = []
    for i, item in enumerate(X.to_numpy() if hasattr(X, "columns") else X):
        try:
            checked.append(check(item))
        except (TypeError, ValueError) as error:
            kind = TypeError if isinstance(error, TypeError) else ValueError
            raise kind(f"{name}[{i}] {error}") from None
    return checked


def check_numbers(item: Any, expected: str, dimensions: Sequence[int]) -> np.ndarray:
    """Return an item as finite numbers; `expected` says what it must be."""
    if np.iscomplexobj(item):
        raise ValueError(f"must be {expected}, got complex numbers")
    try:
        values = np.asarray(item, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"must be {expected}, got {type(item).__name__}") from None
    if values.ndim not in dimensions or values.size == 0:
        raise ValueError(f"has shape {values.shape}; expected {expected}, not empty")
    if not np.isfinite(values).all():
        raise ValueError("contains NaN or infinity; fill or cut it first")
    return values


def check_both(X: Any, Y: Any, check: Callable, size: Any = None) -> tuple[list, list]:
    """Both lists by ``check(item)``; twice the same list where they are the same.

    Where ``size(item)`` is given, it must be the same for all items.
    """
    first = check_each(check, X, "X")
    second = first if same_items(X, Y) else check_each(check, Y, "Y")
    if size is None:
        return first, second
    sizes = {size(item) for item in (*first, *second)}
    if len(sizes) > 1:
        raise ValueError(
            f"items must have one shape (series: channels), got {sorted(sizes)[:3]}"
        )
    return first, second


def fill_pairs(first: Any, second: Any, row: Callable) -> np.ndarray:
    """Fill a matrix of pairs row by row.

    ``row(i, start)`` returns the entries of row i from column `start` on. Where both
    sets are one object the upper half is asked for only, and mirrored.
    """
    out = np.empty((len(first), len(second)))
    for i in range(len(first)):
        start = i if first is second else 0
        out[i, start:] = row(i, start)
        if first is second:
            out[i + 1 :, i] = out[i, i + 1 :]
    return out


def each_pair(first: Sequence, second: Sequence, value: Callable) -> np.ndarray:
    """Matrix of ``value(x, y)``, one pair at a time."""

    def row(i: int, start: int) -> list[float]:
        return [value(first[i], y) for y in second[start:]]

    return fill_pairs(first, second, row)


def normalize_scores(
    scores: np.ndarray, self_rows: np.ndarray, self_columns: np.ndarray
) -> np.ndarray:
    """Return s(a, b) / sqrt(s(a, a) s(b, b)); self scores must be positive."""
    lowest = min(self_rows.min(), self_columns.min())
    if lowest <= 0:
        raise ValueError(
            f"normalize=True needs positive self scores, one item has s(a, a) = "
            f"{lowest:g}: leave it out or use normalize=False"
        )
    # A product of roots, not the root of a product: it cannot overflow.
    return scores / np.sqrt(self_rows)[:, None] / np.sqrt(self_columns)[None, :]


@dataclass(frozen=True, eq=False)
class MaxMinus:
    """``gamma * (largest - d)``, the largest distance being that of training data."""

    largest: float

    def __call__(self, D: np.ndarray, X: Any, Y: Any, distance: Distance) -> np.ndarray:
        """Turn distances into similarities."""
        return self.largest - D


@dataclass(frozen=True, eq=False)
class DoubleCentred:
    """Double centring of squared distances around the training items.

    ``-1/2 (d(x, y)^2 - mean_t d(x, t)^2 - mean_t d(y, t)^2 + mean_st d(s, t)^2)``
    with s, t over training items: the Gram matrix of classical scaling on training
    data, and its extension to new items (Gower 1968, with the training centroid).
    """

    items: Any = field(repr=False)
    row_means: np.ndarray = field(repr=False)

    def _means(self, X: Any, distance: Distance) -> np.ndarray:
        if same_items(X, self.items):
            return self.row_means
        return np.mean(distance(X, self.items) ** 2, axis=1)

    def __call__(self, D: np.ndarray, X: Any, Y: Any, distance: Distance) -> np.ndarray:
        """Turn distances into similarities."""
        rows = self._means(X, distance)
        columns = rows if same_items(X, Y) else self._means(Y, distance)
        return doubly_centred(D, rows, columns, self.row_means.mean())


@dataclass(frozen=True, eq=False)
class LocallyScaled:
    """``exp(-gamma d(x, y)^2 / (s_x s_y))``, s the distance to a near training item.

    `scales` are those of the training items, `distinct` says which of these are no
    copy of an earlier one; only they count as neighbours.
    """

    items: Any = field(repr=False)
    distinct: np.ndarray = field(repr=False)
    scales: np.ndarray = field(repr=False)

    def _scales(self, X: Any, distance: Distance) -> np.ndarray:
        if same_items(X, self.items):
            return self.scales
        return local_scales(distance(X, self.items)[:, self.distinct], NEIGHBORS)

    def __call__(
        self, D: np.ndarray, X: Any, Y: Any, distance: Distance, gamma: float
    ) -> np.ndarray:
        """Turn distances into similarities."""
        rows = self._scales(X, distance)
        columns = rows if same_items(X, Y) else self._scales(Y, distance)
        return locally_scaled(D, rows, columns, gamma)


def similarity_of(
    distance: Distance, X: Any, Y: Any, gamma: float, similarity: Any, /, **own: Any
) -> np.ndarray:
    """Evaluate a distance on all pairs and turn it into a similarity.

    What stands here from `gamma` on also ends the description of parameters in the
    docstring of every kernel of a distance.

    Parameters
    ----------
    distance : callable
        ``distance(X, Y=None, **own)`` returns the matrix of distances.
    X, Y : items
        Y may be None.
    **own
        Parameters of the distance.
    gamma : float or str
        Factor of the distance. ``"median"`` makes the width of the similarity the
        median distance of training items, ``"3 median"`` three of them; `Kernel.fit`
        settles it.
    similarity : str
        ``"exponential"`` exp(-gamma d), ``"gaussian"`` exp(-gamma d^2), ``"inverse"``
        1 / (1 + gamma d), ``"negative"`` -gamma d; by `Kernel.fit` also ``"max"``,
        ``"centred"`` and ``"local"``.

    Returns
    -------
    ndarray of shape (n_X, n_Y)
    """
    if not (isinstance(gamma, int | float | np.number) and 0 < gamma < np.inf):
        raise ValueError(f"gamma must be a positive number, got {gamma!r}")
    D = partial(distance, **own)
    if isinstance(similarity, LocallyScaled):
        return similarity(D(X, Y), X, Y, D, float(gamma))
    if isinstance(similarity, MaxMinus | DoubleCentred):
        return float(gamma) * similarity(D(X, Y), X, Y, D)
    if not isinstance(similarity, str) or similarity not in POINTWISE:
        raise ValueError(
            f"similarity must be one of {', '.join(POINTWISE)} (max, centred and local "
            f"need training data: krein.Kernel(...).fit), got {similarity!r}"
        )
    return POINTWISE[similarity](D(X, Y), float(gamma))


def distance_kernel(name: str, form: str = "exponential", **facts: Any) -> Callable:
    """Register the kernel of a distance; a decorator.

    The decorated function returns the matrix of distances and is kept as
    ``KERNELS[name].distance``. In its place stands the kernel, with its parameters,
    `gamma` and `similarity`; its docstring gets their description and "Returns".

    Parameters
    ----------
    name : str
        Name of the kernel.
    form : str
        Its `similarity` unless given.
    **facts
        As in `register_kernel`.

    Returns
    -------
    callable
        The decorator, for ``distance(X, Y=None, **params)``.
    """

    def decorate(distance: Distance) -> Callable:
        @wraps(distance)
        def kernel(X, Y=None, *, gamma=1.0, similarity=form, **own):
            return similarity_of(distance, X, Y, gamma, similarity, **own)

        _name_parameters(kernel, distance)
        kernel.__doc__ = _documented(distance)
        settled = _settled_by(distance, form)
        settled["resolve"] |= facts.get("resolve", {})  # words of its own parameters
        known = {"distance": distance, "order": _order, **facts, **settled}
        return register_kernel(name, kernel, **known)

    return decorate


def _name_parameters(kernel: Callable, distance: Distance) -> None:
    """Give a kernel the signature of its distance, with gamma and similarity."""
    scale = inspect.signature(kernel, follow_wrapped=False).parameters
    own = inspect.signature(distance)
    parameters = [*own.parameters.values(), scale["gamma"], scale["similarity"]]
    signature = own.replace(parameters=parameters)
    kernel.__signature__ = signature  # type: ignore[attr-defined]


def _documented(distance: Distance) -> str:
    """The docstring of a distance, with what all kernels share above "References"."""
    about, *source = str(inspect.getdoc(distance)).partition("\n\nReferences\n")
    _, *shared = str(inspect.getdoc(similarity_of)).partition("\ngamma :")
    return "".join([about, *shared, *source])


class Medians(Mapping[str, Callable[..., float]]):
    """Words for gamma, "median" and its multiples, and what settles each."""

    def __init__(self, settle: Callable[..., float]) -> None:
        self._settle = settle

    def __getitem__(self, word: str) -> Callable[..., float]:
        width = median_multiple(word)
        if width is None:
            raise KeyError(word)
        return partial(self._settle, width)

    def __iter__(self) -> Iterator[str]:
        return iter(("median",))  # of endlessly many

    def __len__(self) -> int:
        return 1


def _settled_by(distance: Distance, form: str) -> dict[str, Any]:
    """Words for gamma and similarity, and how training items settle them."""

    def training_distances(X: Any, params: Mapping[str, Any]) -> np.ndarray:
        own = {k: v for k, v in params.items() if k not in ("gamma", "similarity")}
        return distance(X, **own)

    def median(width: float, X: Any, params: Mapping[str, Any]) -> float:
        similarity = params.get("similarity", form)
        if similarity == "local" or isinstance(similarity, LocallyScaled):
            return 1.0  # it has a scale of its own
        D = training_distances(some_items(X), params)
        return median_gamma(D, similarity, width)

    def local(X: Any, params: Mapping[str, Any]) -> LocallyScaled:
        D = training_distances(X, params)
        distinct = distinct_items(D)
        return LocallyScaled(X, distinct, local_scales(D[:, distinct], NEIGHBORS))

    def largest(X: Any, params: Mapping[str, Any]) -> MaxMinus:
        return MaxMinus(float(training_distances(X, params).max()))

    def centred(X: Any, params: Mapping[str, Any]) -> DoubleCentred:
        return DoubleCentred(X, np.mean(training_distances(X, params) ** 2, axis=1))

    forms = {"max": largest, "centred": centred, "local": local}
    resolve = {"gamma": Medians(median), "similarity": forms}
    return {"resolve": resolve, "by_name": {"gamma": "median"}}


def some_items(X: Any) -> Any:
    """At most 300 of the items, drawn with a fixed seed: enough for a median."""
    n = check_items(X, "X")
    if n <= _MEDIAN_ITEMS:
        return X
    chosen = np.random.default_rng(0).choice(n, _MEDIAN_ITEMS, replace=False)
    return take(X, np.sort(chosen))


def _order(similarity: Any, **own: Any) -> int:
    """-d is conditionally positive definite of order 1 where exp(-d) is p.d."""
    return int(similarity == "negative")
