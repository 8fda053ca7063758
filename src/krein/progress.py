"""Progress with time left: a bar on a terminal, in a pipe a line now and then."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

EVERY = 5.0  # seconds between two lines where nobody sees a bar
_LISTENING: list[Callable[[str], None]] = []  # bars of this process, the last one shows


def say(now: str) -> None:
    """Tell the bar that is shown, if there is one, what is being worked at.

    Parameters
    ----------
    now : str
        Such as "SVM with flip, fold 2". Work in other processes is not heard.
    """
    if _LISTENING:
        _LISTENING[-1](now)


def seconds_in_words(seconds: float) -> str:
    """Write a duration as people do: 40 ms, 3.2 s, 2 min 5 s, 1 h 10 min.

    Parameters
    ----------
    seconds : float

    Returns
    -------
    str
    """
    if seconds < 0.9995:
        return f"{1000 * seconds:.0f} ms" if seconds >= 0.0005 else "< 1 ms"
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    minutes = round(whole / 60)
    return f"{minutes // 60} h {minutes % 60} min"


@contextmanager
def progress_bar(
    label: str, total: int, *, unit: str, done: int = 0, show: bool = True
) -> Iterator[Callable[..., None]]:
    """Yield ``advance(amount, what="")``.

    On a terminal rich draws a bar (a line that is written over where rich is not
    installed); in a pipe a line goes to standard error every few seconds, so that
    quick work stays silent.

    Parameters
    ----------
    label : str
        What is being done.
    total, done : int
        Amount of work, and what an earlier run has finished; a total of 0 is not
        known.
    unit : str
        What is counted, for the rate.
    show : bool
        False never draws.

    Yields
    ------
    callable
    """
    if not show:
        yield lambda amount=0, what="": None
        return
    try:
        rich = sys.stderr.isatty() and __import__("rich.progress")
    except ImportError:
        rich = False
    drawn = _rich_bar if rich else _lines
    with drawn(label, total, unit, done) as (advance, listen):
        _LISTENING.append(listen)
        try:
            yield advance
        finally:
            _LISTENING.remove(listen)


@contextmanager
def percent_bar(
    label: str, *, show: bool = True
) -> Iterator[Callable[[int, int, str], None]]:
    """Yield ``progress(done, total, what)``, drawn as a bar of a hundred percent.

    Parameters
    ----------
    label : str
        What is being done.
    show : bool
        False never draws.

    Yields
    ------
    callable
    """
    with progress_bar(label, 100, unit="%", show=show) as advance:
        seen = 0

        def progress(done: int, total: int, what: str) -> None:
            nonlocal seen
            percent = 100 * done // total
            advance(percent - seen, what)
            seen = percent

        yield progress


@contextmanager
def _rich_bar(label: str, total: int, unit: str, done: int) -> Iterator[Any]:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )
    from rich.table import Column

    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=8),
        # Together within 80 columns, so that the time left is never cut.
        TextColumn("{task.fields[what]}", table_column=Column(max_width=28)),
        TextColumn("left"),
        TimeRemainingColumn(table_column=Column(min_width=7)),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(label, total=total or None, completed=done, what="")

        def advance(amount: int = 0, what: str = "") -> None:
            progress.advance(task, amount)
            speed = progress.tasks[0].speed
            rate = f"{speed:,.0f} {unit}/s" if speed and unit != "%" else ""
            progress.update(task, what=what or rate)

        yield advance, lambda now: progress.update(task, what=now)


class _Lines:
    """State of the work, told by a thread: also while one step takes long."""

    def __init__(self, label: str, total: int, unit: str, done: int) -> None:
        self.label, self.total, self.unit, self.before = label, total, unit, done
        self.done, self.what, self.now = done, "", ""
        self.start = time.monotonic()
        self.stop = threading.Event()
        self.over = sys.stderr.isatty()

    def text(self) -> str:
        spent = time.monotonic() - self.start
        parts = [self.label]
        if self.total:
            parts[0] += f" {100 * self.done // self.total} %"
        parts += [word for word in (self.what, self.now) if word]
        parts.append(f"{seconds_in_words(spent)} so far")
        new = self.done - self.before
        if self.total and new:
            left = spent * (self.total - self.done) / new
            parts.append(f"about {seconds_in_words(left)} left")
        return ", ".join(parts)

    def tell(self) -> None:
        while not self.stop.wait(1.0 if self.over else EVERY):
            sys.stderr.write(f"\r\x1b[K{self.text()}" if self.over else self.text())
            sys.stderr.write("" if self.over else "\n")
            sys.stderr.flush()
        if self.over:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    def advance(self, amount: int = 0, what: str = "") -> None:
        self.done += amount
        self.what = what or self.what

    def listen(self, now: str) -> None:
        self.now = now


@contextmanager
def _lines(label: str, total: int, unit: str, done: int) -> Iterator[Any]:
    lines = _Lines(label, total, unit, done)
    thread = threading.Thread(target=lines.tell, daemon=True)
    thread.start()
    try:
        yield lines.advance, lines.listen
    finally:
        lines.stop.set()
        thread.join()
