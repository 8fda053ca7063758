"""Say how much memory is needed before it is taken."""

from __future__ import annotations

import os
from pathlib import Path

_GIGABYTE = 1e9
# Above this many items a method that needs the eigenvectors of one side only gets no
# others: half the time and a third of the memory. Below it divide and conquer takes as
# long where half of them are needed, and the gap need not count n eps ||K||.
ONE_SIDED_ABOVE = 8000


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


def parse_bytes(text: str) -> int:
    """Read ``"500MB"``, ``"4GB"`` or a number of bytes."""
    units = {"KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12}
    word = text.strip().upper()
    try:
        for unit, factor in units.items():
            if word.endswith(unit):
                return int(float(word.removesuffix(unit)) * factor)
        return int(float(word))
    except ValueError:
        raise ValueError(
            f"a memory limit must be bytes or a number with KB, MB, GB or TB, "
            f"got {text!r}"
        ) from None


def _free_memory() -> int | None:
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError):
        pass
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES")
    except (AttributeError, OSError, ValueError):
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
    available = available_memory()
    if available is not None and n_bytes > available:
        raise MemoryError(
            f"{what} needs about {n_bytes / _GIGABYTE:.3g} GB, "
            f"{available / _GIGABYTE:.3g} GB are available. {instead}"
        )


# n x n arrays of doubles alive at the peak, by kind of work: one place for the rule.
MATRICES = {
    "a spectral fit": 6,
    "the eigendecomposition": 5,
    "the exact diagnosis": 5,
    "the eigendecomposition of a component": 4,
    "a spectral fit of one side": 3,
    "a one-sided spectrum": 2,
    "the estimated diagnosis": 3,
    "a conditionally positive definite fit": 3,
    "a dense copy": 2,
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


def require_for_spectral_fit(n: int, *, one_sided: bool) -> None:
    """Raise MemoryError if a fit on the spectrum of n items will not fit.

    Parameters
    ----------
    n : int
        Number of items.
    one_sided : bool
        Eigenvectors of one side are enough for the method.
    """
    require_for(
        f"a spectral fit{' of one side' if one_sided and n > ONE_SIDED_ABOVE else ''}",
        n,
        "Use landmarks: approximation=krein.KreinNystroem(n_components=500), or "
        "KreinNystroem before a linear model.",
    )
