"""The memory that work needs, and what there is: limits, units and messages."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

_GIGABYTE = 1e9
_ALWAYS_FITS = 10e6  # bytes; asking the system takes as long as a fit that needs less


def available_memory() -> int | None:
    """Bytes that can still be allocated, or None where the system does not tell.

    The environment variable ``KREIN_MEMORY_LIMIT`` (bytes, or ``"4GB"``) takes
    precedence, then the smaller of free memory and what the control group leaves.
    """
    limit = os.environ.get("KREIN_MEMORY_LIMIT")
    if limit:
        return parse_bytes(limit)
    known = [m for m in (_free_memory(), _cgroup_memory()) if m is not None]
    return min(known) if known else None


_UNITS = {
    "": 1,
    "KB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "TB": 10**12,
    "KIB": 2**10,
    "MIB": 2**20,
    "GIB": 2**30,
    "TIB": 2**40,
}


def parse_bytes(text: str) -> int:
    """Read ``"500MB"``, ``"4GB"``, ``"2GiB"`` or a number of bytes.

    Examples
    --------
    >>> parse_bytes("500MB"), parse_bytes("2 GiB"), parse_bytes("1e9")
    (500000000, 2147483648, 1000000000)
    """
    found = re.fullmatch(
        r"(\d+\.?\d*(?:E\+?\d+)?) *((?:[KMGT]I?B)?)", text.strip().upper()
    )
    if found is None:
        raise ValueError(
            "a memory limit must be bytes or a number with KB, MB, GB or TB (or KiB, "
            f"MiB, GiB, TiB), got {text!r}"
        )
    return int(float(found[1]) * _UNITS[found[2]])


def size_in_words(n_bytes: float) -> str:
    """Bytes as people write them.

    Examples
    --------
    >>> size_in_words(300_000), size_in_words(2_340_000_000), size_in_words(12)
    ('300 kB', '2.34 GB', '12 bytes')
    """
    for unit, size in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if n_bytes >= size:
            return f"{n_bytes / size:.3g} {unit}"
    return f"{n_bytes:.0f} bytes"


def _free_memory() -> int | None:
    try:
        text = Path("/proc/meminfo").read_text()
        return int(text.partition("MemAvailable:")[2].split()[0]) * 1024
    except (OSError, IndexError):
        return None


def _cgroup_memory() -> int | None:
    try:
        folder = Path("/sys/fs/cgroup")
        limit = int((folder / "memory.max").read_text())
        return max(0, limit - int((folder / "memory.current").read_text()))
    except (OSError, ValueError):
        return None


def require_memory(n_bytes: float, what: str, instead: str) -> None:
    """Raise MemoryError, before anything is allocated, if `n_bytes` will not fit.

    Parameters
    ----------
    n_bytes : float
        Peak memory needed.
    what : str
        What needs it, as the subject of the message.
    instead : str
        What the user can do.
    """
    if n_bytes < _ALWAYS_FITS and not os.environ.get("KREIN_MEMORY_LIMIT"):
        return
    available = available_memory()
    if available is not None and n_bytes > available:
        raise MemoryError(
            f"{what} needs about {n_bytes / _GIGABYTE:.3g} GB, "
            f"{available / _GIGABYTE:.3g} GB are available. {instead}"
        )


# n x n arrays of doubles alive at the peak, by kind of work: one place for the rule.
MATRICES = {
    "a spectral fit": 6,
    "the eigendecomposition": 3,  # a copy, and two as LAPACK's workspace
    "the exact diagnosis": 5,
    "the estimated diagnosis": 3,
    "a conditionally positive definite fit": 3,
}


def require_for(work: str, n: int, instead: str) -> None:
    """Raise MemoryError if the matrices that work on n items needs will not fit.

    Parameters
    ----------
    work : str
        A key of `MATRICES`.
    n : int
        Number of items.
    instead : str
        What the user can do.
    """
    require_memory(MATRICES[work] * 8.0 * n * n, f"{work} of {n} items", instead)


# Models that can be trained on landmarks, for messages of those that cannot.
LANDMARK_MODELS = (
    "SpectrumSVC, KreinSVC, ProxySVC, KreinLogisticRegression, SpectrumSVR, KreinRidge "
    "and SpectrumOneClassSVM"
)


def require_for_spectral_fit(n: int, model: Any = None) -> None:
    """Raise MemoryError if a fit on the spectrum of n items will not fit.

    `model` is the estimator to be fitted: not all of them take landmarks.
    """
    instead = "Use landmarks: approximation=krein.KreinNystroem(n_components=500), or "
    if model is not None and not hasattr(model, "approximation"):
        instead = (
            f"{type(model).__name__} takes no landmarks; {LANDMARK_MODELS} do: "
            "approximation=krein.KreinNystroem(n_components=500). Or use fewer, or "
        )
    require_for("a spectral fit", n, f"{instead}KreinNystroem before a linear model.")
