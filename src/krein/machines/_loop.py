"""The one loop: record, certify, stop.

A solver is a generator that yields an `Iterate` per step, the starting point first;
`run` consumes it. State lives in the generator, so that the rules for time, history,
divergence and the best point are written once.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Literal

import numpy as np

from krein.arrays import Array
from krein.result import Certificate, History, Result, Status

Stop = Literal["gap", "change"]
_CLOSE = 1e-8  # relative gap beyond which no step is worth its cost


@dataclass(frozen=True)
class Iterate:
    """One step of a solver; `x` must not be changed after it was yielded.

    Parameters
    ----------
    x : ndarray
        The point.
    value : float
        Objective at `x`.
    certificate : Certificate
        How good `x` is.
    bound : float
        The bound from the other side, where there is one.
    stop : {"converged", "diverged"} or None
        A solver's own (published) rule; None leaves it to the certificate.
    watches_bound : bool
        ``stop="change"`` watches `bound`, not `value`.
    facts : mapping
        Further numbers for the history, such as ``size``.
    info : mapping
        What goes into ``Result.info`` if this iterate is returned.
    """

    x: Array
    value: float
    certificate: Certificate
    bound: float = float("nan")
    stop: Literal["converged", "diverged"] | None = None
    watches_bound: bool = False
    facts: Mapping[str, float] = field(default_factory=dict)
    info: Mapping[str, Any] = field(default_factory=dict)


def run(
    iterates: Iterable[Iterate],
    *,
    tol: float,
    max_iter: int,
    callback: Callable[[Iterate], bool | None] | None = None,
    stop: Stop = "gap",
    keep: Literal["best", "last"] = "best",
) -> Result:
    """Run a solver to its tolerance and return the best point by certificate.

    Parameters
    ----------
    iterates : iterable of Iterate
        The solver, starting point first.
    tol : float
        The run has converged when ``certificate.relative <= tol``.
    max_iter : int
        Number of steps after the starting point.
    callback : callable, optional
        Called with every iterate, outside the clock; a true answer stops the run
        with status ``"interrupted"``.
    stop : {"gap", "change"}
        ``"change"``, the rule of the papers: the run has converged when `value` (where
        a solver says so, its bound) changed by less than `tol` of itself. That says
        nothing about the distance to the optimum.
    keep : {"best", "last"}
        ``"last"`` returns the last point, as published algorithms do whose certificate
        need not improve; the best one is returned all the same after divergence.

    Returns
    -------
    Result
    """
    if stop not in ("gap", "change"):
        raise ValueError(f"stop must be 'gap' or 'change', got {stop!r}")
    best: Iterate | None = None
    last: Iterate | None = None
    status: Status | None = None
    n_iter = 0
    history = History()
    seconds = 0.0
    started = time.perf_counter()
    for n_iter, iterate in enumerate(iterates):
        seconds += time.perf_counter() - started
        if not (np.isfinite(iterate.value) and np.isfinite(iterate.x).all()):
            status = "diverged"
            break
        _record(history, iterate, seconds)
        before = last
        last = iterate
        relative = iterate.certificate.relative
        if best is None or not relative > best.certificate.relative:
            best = iterate
        if callback is not None and callback(iterate):
            status = "interrupted"
        elif iterate.stop is not None:
            status = iterate.stop
        elif _reached(iterate, before, tol, stop):
            status = "converged"
        if status is None and n_iter >= max_iter:
            status = "max_iter"
        if status is not None:
            best = iterate if status == "converged" else best
            break
        started = time.perf_counter()
    chosen = last if keep == "last" and status != "diverged" else best
    if chosen is None:
        raise ValueError("the starting point of the solver is not finite")
    found = chosen.x, chosen.value, chosen.certificate
    # A solver that ends by itself has no further step to take.
    return Result(*found, status or "stalled", n_iter, history, dict(chosen.info))


def _reached(iterate: Iterate, before: Iterate | None, tol: float, stop: Stop) -> bool:
    """Tell whether the gap is small enough, or what is watched hardly changed."""
    if stop == "gap":
        return iterate.certificate.relative <= tol
    if before is None:
        return False
    new, old = (it.bound if it.watches_bound else it.value for it in (iterate, before))
    return abs(new - old) < tol * abs(old)


def _record(history: History, iterate: Iterate, seconds: float) -> None:
    certificate = iterate.certificate
    kind = "gap" if certificate.kind == "gap" else "residual"
    history.record(
        value=iterate.value,
        bound=iterate.bound,
        **{kind: certificate.value},
        relative=certificate.relative,
        seconds=seconds,
        **iterate.facts,
    )


def beyond(iterates: Iterator[Iterate], tol: float) -> Iterator[Iterate]:
    """Two steps beyond `tol`, where they cost little: the best of three points."""
    for iterate in iterates:
        if _CLOSE < iterate.certificate.relative <= tol:
            found = [iterate, *islice(iterates, 2)]
            iterate = min(found, key=lambda one: one.certificate.relative)
        yield iterate


def report(iterate: Iterate) -> None:
    """Write objective, bound and certificate to standard error: for ``verbose``."""
    sys.stderr.write(
        f"objective {iterate.value:.8g}  bound {iterate.bound:.8g}  "
        f"relative {iterate.certificate.kind} {iterate.certificate.relative:.2g}\n"
    )
