"""The one loop: record, certify, stop.

A solver is a generator that yields an `Iterate` per step, the starting point first;
`run` consumes it. State lives in the generator, so that the rules for time, history,
divergence, interruption and the best point are written once.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from krein.arrays import Array
from krein.result import Certificate, History, Result, Status

__all__ = ["Iterate", "Stop", "report", "run"]

Stop = Literal["gap", "change"]


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
    watched : float, optional
        What ``stop="change"`` watches; `value` unless given.
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
    watched: float | None = None
    facts: Mapping[str, float] = field(default_factory=dict)
    info: Mapping[str, Any] = field(default_factory=dict)


def run(
    iterates: Iterable[Iterate],
    *,
    tol: float,
    max_iter: int,
    callback: Callable[[Iterate], bool | None] | None = None,
    on_interrupt: Literal["raise", "return"] = "raise",
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
    on_interrupt : {"raise", "return"}
        What Ctrl-C does between two steps: raise, or return the best point so far
        with status ``"interrupted"``.
    stop : {"gap", "change"}
        ``"change"``, the rule of the papers: the run has converged when `value` (where
        a solver says so, another ``Iterate.watched``) changed by less than `tol` of
        itself. That says nothing about the distance to the optimum.
    keep : {"best", "last"}
        ``"last"`` returns the last point, as published algorithms do whose certificate
        need not improve; the best one is returned all the same after divergence.

    Returns
    -------
    Result
    """
    if stop not in ("gap", "change"):
        raise ValueError(f"stop must be 'gap' or 'change', got {stop!r}")
    history = History()
    best: Iterate | None = None
    last: Iterate | None = None
    status: Status = "max_iter"
    n_iter = -1
    clock = 0.0
    started = time.perf_counter()
    try:
        for iterate in iterates:
            clock += time.perf_counter() - started
            n_iter += 1
            if not (np.isfinite(iterate.value) and np.isfinite(iterate.x).all()):
                status = "diverged"
                break
            _record(history, iterate, clock)
            if best is None or not (
                iterate.certificate.relative > best.certificate.relative
            ):
                best = iterate
            before, last = last, iterate
            if callback is not None and callback(iterate):
                status = "interrupted"
                break
            ended = _ended(iterate, before, stop, tol)
            if ended is not None:
                status = ended
                best = iterate if ended == "converged" else best
                break
            if n_iter >= max_iter:
                break
            started = time.perf_counter()
    except KeyboardInterrupt:
        if on_interrupt == "raise" or best is None:
            raise
        status = "interrupted"
    if best is None or last is None:
        raise ValueError("the starting point of the solver is not finite")
    if keep == "last" and status != "diverged":
        best = last
    return Result(
        x=best.x,
        value=best.value,
        certificate=best.certificate,
        status=status,
        n_iter=max(n_iter, 0),
        history=history,
        info=dict(best.info),
    )


def _ended(
    iterate: Iterate, before: Iterate | None, stop: Stop, tol: float
) -> Status | None:
    """How the run ends here, by the solver's own rule or by the one asked for."""
    if iterate.stop is not None:
        return iterate.stop
    if stop == "change":
        done = before is not None and _unchanged(iterate, before, tol)
    else:
        done = iterate.certificate.relative <= tol
    return "converged" if done else None


def _unchanged(iterate: Iterate, before: Iterate, tol: float) -> bool:
    """Tell whether the watched objective changed by less than `tol` of itself."""
    new, old = (
        it.value if it.watched is None else it.watched for it in (iterate, before)
    )
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


def report(iterate: Iterate) -> None:
    """Write objective, bound and certificate to standard error: for ``verbose``."""
    sys.stderr.write(
        f"objective {iterate.value:.8g}  bound {iterate.bound:.8g}  "
        f"relative {iterate.certificate.kind} {iterate.certificate.relative:.2g}\n"
    )
