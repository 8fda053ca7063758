"""Progress with time left: one line on a terminal, in a pipe a line now and then."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

EVERY = 5.0  # seconds between two lines in a pipe
_SHOWN: list[_Line] = []  # what this process is doing; the last one hears `say`


def say(now: str) -> None:
    """Tell the line that is shown, if there is one, what is being worked at.

    Parameters
    ----------
    now : str
        Such as "SVM with flip, fold 2". Work in other processes is not heard.
    """
    if _SHOWN:
        _SHOWN[-1].now = now


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

    On a terminal a line is written over every second; in a pipe a line goes to standard
    error every few seconds, so that quick work stays silent.

    Parameters
    ----------
    label : str
        What is being done.
    total, done : int
        Amount of work, and what an earlier run has finished; a total of 0 is not
        known.
    unit : str
        What is counted, for the rate; "" and "%" have none.
    show : bool
        False never draws.

    Yields
    ------
    callable
    """
    line = _Line(label, total, unit, done)
    if not show:
        yield line.advance
        return
    thread = threading.Thread(target=line.tell, daemon=True)
    thread.start()
    _SHOWN.append(line)
    try:
        yield line.advance
    finally:
        _SHOWN.remove(line)
        line.stop.set()
        thread.join()


@contextmanager
def percent_bar(
    label: str, *, show: bool = True
) -> Iterator[Callable[[int, int, str], None]]:
    """Yield ``progress(done, total, what)``, shown as percent.

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


class _Line:
    """State of the work, told by a thread: also while one step takes long."""

    def __init__(self, label: str, total: int, unit: str, done: int) -> None:
        self.label, self.total, self.unit, self.before = label, total, unit, done
        self.done, self.what, self.now = done, "", ""
        self.start = time.monotonic()
        self.stop = threading.Event()

    def advance(self, amount: int = 0, what: str = "") -> None:
        self.done += amount
        self.what = what or self.what

    def text(self) -> str:
        spent, new = time.monotonic() - self.start, self.done - self.before
        percent = f" {100 * self.done // self.total} %" if self.total else ""
        parts = [self.label + percent, f"{seconds_in_words(spent)} so far"]
        if self.total and new:
            left = spent * (self.total - self.done) / new
            parts.append(f"about {seconds_in_words(left)} left")
        parts += [self.what, self.now]
        if new and self.unit not in ("", "%"):
            parts.append(f"{new / spent:,.0f} {self.unit}/s")
        return ", ".join(part for part in parts if part)

    def tell(self) -> None:
        over = sys.stderr.isatty()
        while not self.stop.wait(1.0 if over else EVERY):
            text, width = self.text(), shutil.get_terminal_size().columns - 1
            sys.stderr.write(f"\r\x1b[K{text[:width]}" if over else f"{text}\n")
            sys.stderr.flush()
        if over:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
