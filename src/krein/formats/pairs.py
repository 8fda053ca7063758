"""Lists of scored pairs: what BLAST, MMseqs2 and DIAMOND write."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np

from krein.formats.cells import parse_number
from krein.formats.named import FormatError, Named, require_room
from krein.formats.text import text_lines

__all__ = ["read_pairs"]

# query subject identity length mismatches gaps qstart qend sstart send evalue bitscore
_TABULAR_COLUMNS = 12


def read_pairs(
    path: Path,
    *,
    missing: float | Literal["error"] = 0.0,
) -> Named:
    """Read query, subject and score per line into a symmetric matrix.

    The score is the third field of three, or the bit score (twelfth) of the tabular
    output of BLAST, MMseqs2 and DIAMOND. Of several hits of a pair, and of its two
    directions, the best score counts. Items stand in the order in which they appear.

    Parameters
    ----------
    path : Path
        Fields separated by tabs (or blanks); lines that begin with # are comments.
    missing : float or "error"
        Score of pairs that are not in the file, or a refusal.

    Returns
    -------
    Named
    """
    position: dict[str, int] = {}
    best: dict[tuple[int, int], float] = {}
    for line, text in text_lines(path, weight=5):
        if not text.strip() or text.startswith("#"):
            continue
        fields = text.split("\t") if "\t" in text else text.split()
        column = 3 if len(fields) < _TABULAR_COLUMNS else _TABULAR_COLUMNS
        if len(fields) < 3:
            raise FormatError(
                path,
                f"has {len(fields)} fields; expected query, subject and a score in "
                f"field {column}",
                line=line,
            )
        value = parse_number(fields[column - 1], path, line, column)
        i, j = sorted(
            position.setdefault(name.strip(), len(position)) for name in fields[:2]
        )
        best[i, j] = max(value, best.get((i, j), -np.inf))
    if not position:
        raise FormatError(path, "there are no pairs in the file")
    names = list(position)
    note = f"read {len(best)} scored pairs of {len(names)} items"
    return Named(_fill(best, names, missing, path), names, notes=[note])


def _fill(
    best: dict[tuple[int, int], float],
    names: list[str],
    missing: float | Literal["error"],
    path: Path,
) -> np.ndarray:
    n = len(names)
    require_room(8 * n * n, path, "Read it sparse, with krein.read_hits.")
    if missing == "error" and len(best) < n * (n + 1) // 2:
        i, j = next((i, j) for i in range(n) for j in range(i, n) if (i, j) not in best)
        raise FormatError(
            path,
            f"{n * (n + 1) // 2 - len(best)} pairs are missing, the first is "
            f"({names[i]!r}, {names[j]!r}); pass missing=0 to fill them",
        )
    K = np.full((n, n), 0.0 if missing == "error" else float(missing))
    rows, columns = np.array(list(best)).T
    K[rows, columns] = K[columns, rows] = list(best.values())
    return K
