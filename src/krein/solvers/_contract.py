"""What a solver needs of its problem, declared, and checked before it runs."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from krein.result import Certificate, History, Result

__all__ = ["in_units", "needs"]


def needs(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare the attributes and methods that a solver uses of its first argument.

    The declaration is readable as ``solver.needs``; a problem without one of them is
    refused by an error that names it.

    Examples
    --------
    >>> from krein.solvers.second_order import second_order
    >>> "rise_grad" in second_order.needs
    True
    """

    def declare(solver: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(solver)
        def checked(problem: Any, *args: Any, **options: Any) -> Any:
            missing = [name for name in names if not _has(problem, name)]
            if missing:
                raise TypeError(
                    f"{solver.__name__} cannot solve {type(problem).__name__}: it "
                    f"needs {', '.join(names)}, and there is no {', '.join(missing)}"
                )
            return solver(problem, *args, **options)

        checked.needs = names  # type: ignore[attr-defined]
        return checked

    return declare


def _has(problem: Any, name: str) -> bool:
    """Tell without computing what is computed on demand."""
    return hasattr(type(problem), name) or name in getattr(problem, "__dict__", {})


def in_units(solver: Callable[..., Result]) -> Callable[..., Result]:
    """Solve ``problem.unit()`` and bring the result back to the problem's units."""

    @functools.wraps(solver)
    def scaled(problem: Any, x0: Any = None, **options: Any) -> Result:
        unit, size = problem.unit()
        if size == 1.0:
            return solver(problem, x0, **options)
        result = solver(unit, None if x0 is None else x0 / size, **options)
        old = result.certificate
        return replace(
            result,
            x=result.x * size,
            value=result.value * size,
            certificate=Certificate(old.kind, old.value * size, old.relative),
            history=_rescaled(result.history, size),
        )

    return scaled


def _rescaled(history: History, size: float) -> History:
    """History with values, bounds and gaps times `size`."""
    new = History()
    columns = {name: history[name] for name in history}
    for row in range(history.n_rows):
        new.record(
            **{
                name: column[row] * (size if name in ("value", "bound", "gap") else 1.0)
                for name, column in columns.items()
            }
        )
    return new
