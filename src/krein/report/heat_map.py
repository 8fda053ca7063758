"""The heat map of a similarity, as a PNG, with the names of the classes."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Sequence
from html import escape
from typing import NamedTuple

import numpy as np

from krein.arrays import Array

_HEAT_CELLS = 160  # of a side
_ROOM_FOR_A_NAME = 0.04  # of a side


class HeatMap(NamedTuple):
    """What the picture shows.

    Attributes
    ----------
    cells : ndarray of int
        Block means in units of the colours, from -100 (red) over 0 (white) to 100
        (blue).
    range : tuple of float
        What the two ends of the colours stand for.
    boundaries : list of float
        Where one class ends and another begins, between 0 and 1.
    """

    cells: np.ndarray
    range: tuple[float, float]
    boundaries: list[float]


def heat_map(K: Array, codes: np.ndarray) -> HeatMap:
    """Return the matrix ordered by class, as at most 160 x 160 block means.

    Colours span the 1st to the 99th percentile of what is drawn beside the diagonal,
    so that a few large entries do not wash out the rest: from white where nothing is
    negative, else symmetrically around zero.
    """
    order = np.lexsort((-K.mean(axis=1), codes))
    n_cells = min(codes.size, _HEAT_CELLS)
    edges = np.arange(n_cells + 1) * codes.size // n_cells
    sums = K[np.ix_(order, order)]
    for axis in (0, 1):
        sums = np.add.reduceat(sums, edges[:-1], axis)
    sizes = np.diff(edges)
    means = sums / np.outer(sizes, sizes)
    low, high = _colour_range(means)
    white = 0.0 if low < 0 else low
    least = 0 if white > 0 else -100
    cells = np.round(100 * (means - white) / (high - white))
    cells = np.clip(cells, least, 100).astype(int)
    boundaries = np.flatnonzero(np.diff(codes[order])) + 1
    return HeatMap(cells, (low, high), (boundaries / codes.size).tolist())


def _colour_range(means: Array) -> tuple[float, float]:
    """Values of the two ends of the colours."""
    beside = means[~np.eye(len(means), dtype=bool)] if len(means) > 1 else means
    low, high = (float(v) for v in np.percentile(beside, [1, 99]))
    if float(means.min()) < 0 and -low > 0.02 * abs(high):
        high = max(-low, high)
        return -high, high
    low = max(low, 0.0)
    return (low, high) if high > low else (low, low + (abs(low) or 1.0))


def heat_chart(K: Array, codes: np.ndarray, labels: Sequence[str]) -> str:
    """The heat map with the names of the classes at its edges."""
    cells, (low, high), boundaries = heat_map(K, codes)
    alt = f"Similarities as colours, items ordered by class: {', '.join(labels)}"
    marks = _lines(boundaries) + _names(labels, boundaries)
    scale = "scale positive" if low >= 0 else "scale"
    middle = 0.5 * (low + high)
    return (
        f'<figure><div class="heat"><img alt="{escape(alt)}" '
        f'src="{heat_png(cells)}">{marks}</div>'
        f'<span class="{scale}"></span>'
        f'<div class="ends"><span>{low:.3g} and less</span>'
        f"<span>{middle:.3g}</span>"
        f"<span>{high:.3g} and more</span></div></figure>"
    )


def _lines(boundaries: Sequence[float]) -> str:
    """Where one class ends and another begins."""
    lines = ""
    for boundary in boundaries:
        at = f"{100 * boundary:.2f}%"
        lines += f'<i style="left:{at};top:0;width:1px;height:100%"></i>'
        lines += f'<i style="top:{at};left:0;height:1px;width:100%"></i>'
    return lines


def _names(labels: Sequence[str], boundaries: Sequence[float]) -> str:
    """The names of classes that have room for one."""
    names = ""
    ends = [0.0, *boundaries, 1.0]
    for label, start, end in zip(labels, ends, ends[1:], strict=False):
        if end - start < _ROOM_FOR_A_NAME:
            continue
        at = f"{100 * start:.2f}%"
        size = f"{100 * (end - start):.2f}%"
        name = escape(label)
        names += f'<b class="row" style="top:{at};height:{size}">{name}</b>'
        names += f'<b class="col" style="left:{at};width:{size}">{name}</b>'
    return names


def heat_png(cells: np.ndarray) -> str:
    """Return a data URI: red for -100, white for 0, blue for 100."""
    indices = (cells + 100).astype(np.uint8)
    height, width = indices.shape
    rows = np.hstack([np.zeros((height, 1), dtype=np.uint8), indices])
    ends = [(178, 247, 33), (24, 247, 102), (43, 247, 172)]  # red, white, blue
    palette = [np.interp(np.arange(201), (0, 100, 200), channel) for channel in ends]
    chunks = {
        # 8 bits per pixel, colours from a palette.
        b"IHDR": struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0),
        b"PLTE": np.transpose(palette).round().astype(np.uint8).tobytes(),
        b"IDAT": zlib.compress(rows.tobytes(), 9),
        b"IEND": b"",
    }
    body = b"\x89PNG\r\n\x1a\n"
    for kind, content in chunks.items():
        ending = struct.pack(">I", zlib.crc32(kind + content))
        body += struct.pack(">I", len(content)) + kind + content + ending
    return "data:image/png;base64," + base64.b64encode(body).decode()
