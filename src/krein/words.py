"""Words for people: suggestions, numbers, safe text, warnings, progress."""

from __future__ import annotations

import difflib
import importlib
import re
import shutil
import sys
import threading
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from types import ModuleType

# Control characters, marks that reverse or break a line, bytes that were no text.
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def did_you_mean(
    given: str, known: Iterable[str], gone: Mapping[str, str] | None = None
) -> str:
    """Return "; did you mean 'flip'?", or nothing when nothing is near.

    Parameters
    ----------
    given : str
        What was asked for.
    known : iterable of str
        What there is.
    gone : mapping of str to str, optional
        What there was in an earlier release, and what to use instead (`krein.retired`).
    """
    if gone and given in gone:
        return f"; it is gone, instead: {gone[given]}"
    spelt = {name.lower(): name for name in known}
    near = difflib.get_close_matches(given.lower(), list(spelt), n=1, cutoff=0.6)
    return f"; did you mean {spelt[near[0]]!r}?" if near else ""


def digits(value: object) -> str:
    """Show a number with three significant digits, anything else as it is."""
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def few_digits(text: str) -> str:
    """Return a text with its long decimal numbers cut to three significant digits."""
    return re.sub(r"\d+\.\d{4,}(e-?\d+)?", lambda found: digits(float(found[0])), text)


def printable(text: str, keep: str = "") -> str:
    r"""Return a text that is safe on a terminal: control characters as ``\x1b``.

    Names of files, items and classes come from elsewhere, and may hold sequences that
    move the cursor, change the title of the window or type into the shell. `keep` are
    the characters that stay, such as line ends of a text of our own.
    """

    def escape(found: re.Match) -> str:
        mark = found[0]
        return mark if mark in keep else mark.encode("unicode_escape").decode()

    return _UNPRINTABLE.sub(escape, text)


# Files that stand between the user and krein, or are krein's.
_INSIDE = re.compile(
    r"(site-packages|src)[\\/](krein|sklearn|joblib)[\\/]|contextlib\.py$|<frozen"
)


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the nearest caller that is neither krein nor scikit-learn.

    Parameters
    ----------
    message : str
        What happened, and what to do.
    category : type
        Kind of warning.
    """
    level = 1
    frame = sys._getframe(0)
    while frame.f_back is not None and _INSIDE.search(frame.f_code.co_filename):
        frame = frame.f_back
        level = level + 1
    warnings.warn(message, category, stacklevel=level)


def import_optional(module: str, *, extra: str | None, needed_for: str) -> ModuleType:
    """Import `module`, or raise an ImportError that names the extra to install.

    Parameters
    ----------
    module : str
        Dotted name, e.g. ``"rapidfuzz.distance"``.
    extra : str or None
        Name of the extra in ``pip install "krein[extra]"``; None: no extra has it.
    needed_for : str
        The feature, as the subject of the message.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.split(".")[0]
        install = package if extra is None else f'"krein[{extra}]"'
        raise ImportError(
            f"{needed_for} needs the package {package!r}: pip install {install}"
        ) from error


# ---------------------------------------------------------------------------- progress
# One line on a terminal, with time left; nothing in a pipe.

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


def is_watched() -> bool:
    """Whether somebody sees standard error: on a terminal or in a notebook."""
    return sys.stderr.isatty() or _in_notebook()


def _in_notebook() -> bool:
    """Whether this process runs the cells of a notebook.

    The shell of Jupyter, Colab or VS Code has a kernel, that of ``ipython`` has none. A
    script that only imports ipykernel has no shell at all.
    """
    get_ipython = getattr(sys.modules.get("IPython"), "get_ipython", None)
    shell = get_ipython() if get_ipython is not None else None
    return getattr(shell, "kernel", None) is not None


@contextmanager
def progress_bar(
    label: str, total: int = 0, *, done: int = 0, show: bool = True
) -> Iterator[_Line]:
    """Yield ``advance``, called as ``advance(amount)`` or ``advance.to(done, total)``.

    On a terminal and in notebooks a line on standard error is written over every
    second.

    Parameters
    ----------
    label : str
        What is being done.
    total, done : int
        Amount of work, and what an earlier run has finished; a total of 0 is not
        known.
    show : bool
        False never draws.

    Yields
    ------
    callable
    """
    line = _Line(label, total, done)
    if not show or not is_watched():
        yield line
        return
    thread = threading.Thread(target=line.tell, daemon=True)
    thread.start()
    _SHOWN.append(line)
    try:
        yield line
    finally:
        _SHOWN.remove(line)
        line.stop.set()
        thread.join()


class _Line:
    """State of the work, told by a thread: also while one step takes long."""

    def __init__(self, label: str, total: int, done: int) -> None:
        self.label = label
        self.total = total
        self.before = done
        self.done = done
        self.what = ""
        self.now = ""
        self.start = time.monotonic()
        self.stop = threading.Event()

    def __call__(self, amount: int) -> None:
        self.done += amount

    def to(self, done: int, total: int, what: str = "") -> None:
        self.done = done
        self.total = total
        self.what = what

    def text(self) -> str:
        spent = time.monotonic() - self.start
        new = self.done - self.before
        percent = f" {100 * self.done // self.total} %" if self.total else ""
        parts = [self.label + percent, f"{seconds_in_words(spent)} so far"]
        if self.total and new:
            left = spent * (self.total - self.done) / new
            parts.append(f"about {seconds_in_words(left)} left")
        return ", ".join(part for part in (*parts, self.what, self.now) if part)

    def tell(self) -> None:
        while not self.stop.wait(1.0):
            width = shutil.get_terminal_size().columns - 1
            sys.stderr.write(f"\r\x1b[K{self.text()[:width]}")
            sys.stderr.flush()
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()
