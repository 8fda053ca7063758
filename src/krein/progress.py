"""A progress bar with rate and time left; quiet where nobody watches."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["progress_bar"]


@contextmanager
def progress_bar(
    label: str, total: int, *, unit: str, done: int = 0, show: bool = True
) -> Iterator[Callable[[int], None]]:
    """Yield ``advance(amount)``; the bar is drawn by rich on a terminal only.

    Parameters
    ----------
    label : str
        What is being done.
    total, done : int
        Amount of work, and what an earlier run has finished.
    unit : str
        What is counted, for the rate.
    show : bool
        False never draws.

    Yields
    ------
    callable
    """
    if not (show and sys.stderr.isatty()):
        yield lambda amount: None
        return
    try:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            Progress,
            TaskProgressColumn,
            TextColumn,
            TimeRemainingColumn,
        )
    except ImportError:
        yield lambda amount: None
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task(label, total=total, completed=done, rate="")

        def advance(amount: int) -> None:
            progress.advance(task, amount)
            speed = progress.tasks[0].speed
            if speed:
                progress.update(task, rate=f"{speed:,.0f} {unit}/s")

        yield advance
