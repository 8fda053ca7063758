"""Where a pool takes its numbers from: matrices that are given, kernels on items."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from krein.arrays import Array
from krein.kernels.blocks import kernel_matrix
from krein.kernels.registry import Kernel
from krein.similarity.conversions import Conversion, Source, is_constant
from krein.similarity.matrix import Matrix, evaluate
from krein.validation import warn_if_distances

_OF_FORM = ("gamma", "similarity")  # parameters of a kernel of distances, not of these
Check = Callable[[Any, str], Array]  # numbers and their name in messages -> a matrix


def of_matrix(M: Array, name: str, kind: str) -> Source:
    """A checked matrix that was given, `kind` a similarity or a distance."""
    if kind == "distance":
        return Source(name, is_distance=True)
    diagonal = np.diagonal(M).copy()
    return Source(name, own=diagonal if is_constant(diagonal) else None)


def of_matrices(
    parts: Sequence[Any], names: Sequence[str], kind: str, check: Check
) -> tuple[list[Source], list[Array]]:
    """Sources and checked numbers of precomputed matrices."""
    sources = []
    numbers = []
    for part, name in zip(parts, names, strict=True):
        M = check(part, "X" if len(parts) == 1 else name)
        warn_if_distances(M, "X", kind)
        sources.append(of_matrix(M, name, kind))
        numbers.append(M)
    return sources, numbers


def of_kernels(
    kernels: Sequence[Any], items: Any, kind: str, check: Check
) -> tuple[list[Source], list[Array]]:
    """Sources and checked numbers of kernels on items, settled on these."""
    found = [_of_kernel(kernel, items, kind, check) for kernel in kernels]
    return [source for source, _ in found], [numbers for _, numbers in found]


def _of_kernel(
    kernel: Any, items: Any, kind: str, check: Check
) -> tuple[Source, Array]:
    named = isinstance(kernel, Kernel)
    name = _name(kernel)
    if distance_of(kernel) is not None:
        # Scales of the distance itself, such as variances of the features.
        own_words = set(kernel.facts.resolve).difference(_OF_FORM)
        kernel = kernel.fit(items, only=own_words)
        D = check(numbers_of(kernel, True, items, items), f"distance(X, X) of {name}")
        return Source(name, kernel, is_distance=True), D
    settled = kernel.fit(items) if named else kernel
    M = check(numbers_of(settled, False, items, items), f"kernel(X, X) of {name}")
    if kind == "distance" and not named:
        return Source(name, settled, is_distance=True), M
    return Source(name, settled, own=np.diagonal(M).copy()), M


def numbers_of(kernel: Any, distance: bool, X: Any, Y: Any) -> Array:
    """Similarities of items, or with `distance` what its kernel makes them of."""
    own = distance_of(kernel) if distance else None
    if own is not None:
        return evaluate(own, X, Y)
    return kernel_matrix(kernel, X, Y)


def distance_of(kernel: Any) -> Any:
    """Return ``distance(X, Y)`` of a kernel of distances, None for another one."""
    if not isinstance(kernel, Kernel) or kernel.facts.distance is None:
        return None
    distance: Any = kernel.facts.distance
    own = {k: v for k, v in kernel.params.items() if k not in _OF_FORM}
    return lambda X, Y: distance(X, Y, **own)


def form_of(kernel: Any) -> Conversion | None:
    """What a kernel of distances itself makes of them; None for bare distances."""
    if not isinstance(kernel, Kernel):
        return None
    settings = {**kernel.facts.parameters, **kernel.params}
    chosen = {k: settings[k] for k in _OF_FORM if k in settings}
    return Conversion(**chosen)


def _name(kernel: Any) -> str:
    """The name of a kernel, with the parameters that are not its usual ones."""
    if isinstance(kernel, Kernel):
        usual = kernel.params == dict(kernel.facts.by_name)
        return kernel.name if usual else repr(kernel)
    return getattr(kernel, "__name__", type(kernel).__name__)


def is_stack(X: Any) -> bool:
    """Whether X holds several matrices."""
    if isinstance(X, list | tuple):
        return len(X) > 0 and all(getattr(M, "ndim", 0) == 2 for M in X)
    return getattr(X, "ndim", 2) == 3


def positive(
    sources: Sequence[Source], numbers: Sequence[Any], kept: np.ndarray
) -> tuple[list[Source], list[Any]]:
    """Leave out the items that do not count: `kept` are the positions of the others."""
    some = [
        source if source.own is None else replace(source, own=source.own[kept])
        for source in sources
    ]
    parts = [
        M.subset(kept) if isinstance(M, Matrix) else M[np.ix_(kept, kept)]
        for M in numbers
    ]
    return some, parts
