"""Charts as inline SVG, and the heat map as a PNG, with the numbers they draw.

Marks that mouse and keys can reach have a data-tip.
"""

from __future__ import annotations

import base64
import math
import struct
import zlib
from collections.abc import Callable, Sequence
from html import escape
from typing import Any

import numpy as np

from krein.arrays import Array
from krein.spectrum.decomposition import Spectrum

# Units; style.css sets the size of text so that it is 12 px or more on a phone.
_WIDTH = 520
_LETTER = 10.4  # units a letter of a method's name, at the size of a phone
_HEAT_CELLS = 160
POINTS = 1500  # items that are drawn
_SHAPES = 6  # in template.html


def _svg(label: str, body: str, height: float) -> str:
    """Wrap a picture; arrow keys walk through its marks (see script.js)."""
    said, box = escape(label), f'viewBox="0 0 {_WIDTH} {height:g}"'
    start = f'<svg role="img" tabindex="0" class="chart" aria-label="{said}" {box}>'
    return f"{start}<title>{said}</title>{body}</svg>"


def _text(x: float, y: float, text: str, kind: str = "", anchor: str = "start") -> str:
    """Write with the middle of the letters at y (style.css), whatever their size."""
    place = f'x="{x:.1f}" y="{y:.1f}" class="{kind}" text-anchor="{anchor}"'
    return f"<text {place}>{escape(text)}</text>"


def _line(x1: float, y1: float, x2: float, y2: float, kind: str = "axis") -> str:
    ends = f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
    return f'<line class="{kind}" {ends}/>'


def _rect(
    x: float, y: float, width: float, height: float, kind: str, tip: str = ""
) -> str:
    told = f' data-tip="{escape(tip)}"' if tip else ""
    size = f'width="{width:.2f}" height="{height:.2f}"'
    return f'<rect class="{kind}" x="{x:.2f}" y="{y:.2f}" {size}{told}/>'


def _mark(body: str, tip: str, kind: str = "") -> str:
    return f'<g class="{kind}" data-tip="{escape(tip)}">{body}</g>'


def ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Round numbers between two values."""
    span = (high - low) or abs(high) or 1.0
    step = 10.0 ** math.floor(math.log10(span / about))
    step *= next(f for f in (1, 2, 5, 10) if span / (step * f) <= about)
    first = math.ceil(low / step)
    return [step * k for k in range(first, math.floor(high / step) + 1)]


# ------------------------------------------------------------------------ the spectrum


def spectrum_chart(eigenvalues: Sequence[float], noise_edge: float | None) -> str:
    """Eigenvalues by rank on a signed square-root axis, with the band of noise."""
    height = 262.0
    ordered = sorted(eigenvalues, reverse=True)
    top, bottom = max(ordered[0], 0.0), min(ordered[-1], 0.0)
    shown = list(dict.fromkeys([top, top / 4, 0.0, bottom]))
    left = max(74.0, _LETTER * max(len(f"{tick:.3g}") for tick in shown) + 8.0)

    def root(value: float) -> float:
        return math.copysign(math.sqrt(abs(value)), value)

    unit = (height - 74) / ((root(top) - root(bottom)) or 1.0)

    def y(value: float) -> float:
        return 14 + (root(top) - root(value)) * unit

    step = (_WIDTH - left - 8) / len(ordered)
    body = ""
    if noise_edge:
        upper, lower = y(min(noise_edge, top)), y(max(-noise_edge, bottom))
        tip = f"noise band: within \N{PLUS-MINUS SIGN}{noise_edge:.3g}"
        deep = max(lower - upper, 1)
        body += _rect(left, upper, _WIDTH - left, deep, "band", tip)
    for i, value in enumerate(ordered):
        kind, tip = ("minus", "plus")[value >= 0], f"eigenvalue {i + 1}: {value:.4g}"
        upper, tall = min(y(0), y(value)), max(abs(y(value) - y(0)), 0.6)
        body += _rect(left + i * step, upper, max(0.85 * step, 0.4), tall, kind, tip)
    for tick in shown:
        if not tick or abs(y(tick) - y(0.0)) >= 12:
            body += _text(left - 6, y(tick), f"{tick:.3g}", "tick", "end")
    ranks = dict.fromkeys([1, *map(round, ticks(1, len(ordered), 5))])
    at = {str(k): left + (k - 0.5) * step for k in ranks if 0 < k <= len(ordered)}
    foot = height - 48
    body += _axis("rank", (left + _WIDTH) / 2, foot, at, foot - 4, "axis")
    body += _line(left, y(0), _WIDTH, y(0))
    ends = f"eigenvalues from {top:.3g} to {bottom:.3g}"
    below = sum(value < 0 for value in ordered)
    label = f"Spectrum: {len(ordered)} {ends}, {below} below zero"
    return _svg(label, body, height)


def _axis(
    title: str, middle: float, foot: float, at: dict[str, float], top: float, kind: str
) -> str:
    """Ticks of a horizontal axis, as lines from `top`, and its title."""
    body = _text(middle, foot + 40, title, "tick", "middle")
    for text, x in at.items():
        body += _line(x, top, x, foot, kind)
        body += _text(x, foot + 16, text, "tick", "middle")
    return body


# ----------------------------------------------------------------------- scores, times


def interval_chart(
    rows: Sequence[dict[str, Any]],
    column: Any,
    marked: str,
    levels: Sequence[tuple[str, float]] = (),
) -> str:
    """Mean scores with their intervals, one line per method.

    Parameters
    ----------
    rows : sequence of dict
        Of `Comparison.table`.
    column : Column
        The score.
    marked : str
        The recommended method.
    levels : sequence of (str, float)
        Scores that cost nothing, drawn as lines: chance, the largest class.
    """
    score, label = column.key, column.title
    # Long names leave half to the chart.
    left = min(_LETTER * max(len(row["title"]) for row in rows) + 8.0, 0.5 * _WIDTH)
    right, line = _WIDTH - 58.0, 26.0
    ends = [end for row in rows for end in row[f"{score}_interval"] or [row[score]]]
    margin = 0.04 * ((max(ends) - min(ends)) or abs(max(ends)) or 1.0)
    low, high = min(ends) - margin, max(ends) + margin
    unit = (right - left) / (high - low)

    def x(value: float) -> float:
        return left + (min(max(value, low), high) - low) * unit

    bottom = 12 + line * len(rows)
    at = {f"{tick:g}": x(tick) for tick in ticks(low, high, 4)}
    body = _axis(label, (left + right) / 2, bottom, at, 4, "grid")
    body += _line(left, bottom, right, bottom)
    for i, row in enumerate(rows):
        y, kind = 18 + line * i, "plus" if row["method"] == marked else "other"
        body += _text(0, y, row["title"])
        body += _mark(*_interval(row, score, label, y, x), kind)
        body += _text(right + 8, y, f"{row[score]:.3f}", "tick")
    for name, value in levels:
        mark = _line(x(value), 4, x(value), bottom, "level")
        if not low <= value <= high:  # a mark at the edge: the axis is for the methods
            arrow, anchor = ("\u25c0", "start") if value < low else ("\u25b6", "end")
            mark = _text(x(value), bottom, arrow, "edge", anchor)
        body += _mark(mark, f"{name}: {label} {value:.3f}")
    shown = "mean and 95 % interval" if rows[0][f"{score}_interval"] else "mean"
    return _svg(f"{label}, {shown}", body, bottom + 54)


def _interval(
    row: dict[str, Any], score: str, label: str, y: float, x: Callable[[float], float]
) -> tuple[str, str]:
    """Whisker and mean of one method, and what they say."""
    tip = f"{row['title']}: {label} {row[score]:.3f}"
    if row[f"{score}_interval"] is None:  # of a single split
        return f'<circle cx="{x(row[score]):.1f}" cy="{y}" r="4.5"/>', tip
    a, b = row[f"{score}_interval"]
    tip += f", 95 % interval {a:.3f} to {b:.3f}"
    body = _rect(x(a), y - 10, max(x(b) - x(a), 6), 20, "reach")
    body += _line(x(a), y, x(b), y, "whisker")
    body += f'<circle cx="{x(row[score]):.1f}" cy="{y}" r="4.5"/>'
    return body, tip


# --------------------------------------------------------------------------- the items


def scatter_chart(
    eigenvalues: Array, points: Array, codes: Array, names: Any, labels: Sequence[str]
) -> str:
    """Items in two pseudo-Euclidean coordinates (of `embedding`), some of them."""
    shown = np.sort(np.random.default_rng(0).permutation(codes.size)[:POINTS])
    signs = ["positive" if value > 0 else "negative" for value in eigenvalues]
    of = f"of a {signs[0]} and a {signs[1]} eigenvalue"
    return scatter(
        points[shown].tolist(),
        codes[shown].tolist(),
        [str(names[i]) for i in shown],
        labels,
        axes=[f"axis {k + 1} ({sign} eigenvalue)" for k, sign in enumerate(signs)],
        label=f"{shown.size} items in two pseudo-Euclidean coordinates, {of}",
    )


def scatter(
    points: Sequence[Sequence[float]],
    classes: Sequence[int],
    names: Sequence[str],
    labels: Sequence[str],
    *,
    axes: Sequence[str],
    label: str,
    equal: bool = False,
) -> str:
    """One shape and colour per class; `equal`: both axes have the same unit."""
    margin = 36.0
    xs, ys = zip(*points, strict=True)
    sizes = ((448, xs), (400 if equal else 288, ys))
    units = [size / (max(v) - min(v) or 1.0) for size, v in sizes]
    units = [min(units)] * 2 if equal else units
    height = max((max(ys) - min(ys)) * units[1], 140.0) + 2 * margin
    middle = 0.5 * (min(xs) + max(xs)), 0.5 * (min(ys) + max(ys))
    foot = height - 22
    body = _line(margin / 2, foot, _WIDTH - 8, foot)
    body += _line(margin / 2, foot, margin / 2, 8)
    body += _text(_WIDTH - 8, height - 9, axes[0], "tick", "end")
    body += _text(margin / 2 + 6, 12, axes[1], "tick")
    for px, py, k, name in zip(xs, ys, classes, names, strict=True):
        x = 0.5 * _WIDTH + (px - middle[0]) * units[0]
        y = 0.5 * height - (py - middle[1]) * units[1]
        tip = f"{name}: {labels[k]}" if labels else name
        body += _mark(_shape(k, x, y), tip, f"class{k % 10}")
    return _svg(label, body, height)


def _shape(k: int, x: float, y: float) -> str:
    """The shape of class k at a place."""
    return f'<use href="#shape{k % _SHAPES}" x="{x:.1f}" y="{y:.1f}"/>'


def legend(labels: Sequence[str]) -> str:
    """Which mark stands for which class."""
    marks, start = "", '<svg class="mark" viewBox="-8 -8 16 16" aria-hidden="true">'
    for k, label in enumerate(labels):
        shape = f'<g class="class{k % 10}">{_shape(k, 0, 0)}</g>'
        marks += f"<li>{start}{shape}</svg>{escape(label)}</li>"
    return f'<ul class="legend">{marks}</ul>'


def embedding(spectrum: Spectrum) -> tuple[Array, Array]:
    """Return the two pseudo-Euclidean coordinates of largest magnitude.

    Coordinates are U |l|^1/2; where l is negative, distances along that axis count
    negatively. One negative axis is shown as the second when there is one worth 1 %
    of the largest eigenvalue: it is what the page is about. The eigenvalues come first.
    """
    values = spectrum.eigenvalues
    first, *rest = np.argsort(-np.abs(values), kind="stable")
    lowest = int(np.argmin(values))
    worth = values[lowest] < -0.01 * abs(values[first]) and lowest != first
    second = lowest if worth else (rest[0] if rest else first)
    axes = np.array([first, second])
    points = spectrum.eigenvectors[:, axes] * np.sqrt(np.abs(values[axes]))
    return values[axes], points


# ------------------------------------------------------------------------ the heat map


def heat_map(
    K: Array, codes: np.ndarray
) -> tuple[np.ndarray, tuple[float, float], list[float]]:
    """Return the matrix ordered by class, as at most 160 x 160 block means.

    Beside the means in units of the colours, return the range of the colours and where
    one class ends and another begins, between 0 and 1.

    Colours span the 1st to the 99th percentile of what is drawn beside the diagonal,
    so that a few large entries do not wash out the rest: from white (-100 .. 100 is
    red, white, blue) where nothing is negative, else symmetrically around zero.
    """
    order = np.lexsort((-K.mean(axis=1), codes))
    cells = min(codes.size, _HEAT_CELLS)
    edges = np.arange(cells + 1) * codes.size // cells
    ordered = K[np.ix_(order, order)]
    sums = np.add.reduceat(np.add.reduceat(ordered, edges[:-1], 0), edges[:-1], 1)
    sizes = np.diff(edges)
    means = sums / np.outer(sizes, sizes)
    low, high = _colour_range(means)
    start = 0.0 if low < 0 else low
    scaled = np.round(100 * (means - start) / (high - start))
    scaled = np.clip(scaled, -100 if low < 0 or start == 0 else 0, 100)
    boundaries = np.flatnonzero(np.diff(codes[order])) + 1
    return scaled.astype(int), (low, high), (boundaries / codes.size).tolist()


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
    lines = "".join(
        f'<i style="left:{100 * b:.2f}%;top:0;width:1px;height:100%"></i>'
        f'<i style="top:{100 * b:.2f}%;left:0;height:1px;width:100%"></i>'
        for b in boundaries
    )
    ends, names = [0.0, *boundaries, 1.0], ""
    for label, start, end in zip(labels, ends, ends[1:], strict=False):
        if end - start >= 0.04:  # else there is no room
            place = f"{100 * start:.2f}%;{{}}:{100 * (end - start):.2f}%"
            text = escape(label)
            names += f'<b class="row" style="top:{place.format("height")}">{text}</b>'
            names += f'<b class="col" style="left:{place.format("width")}">{text}</b>'
    alt = f"Similarities as colours, items ordered by class: {', '.join(labels)}"
    return (
        f'<figure><div class="heat"><img alt="{escape(alt)}" '
        f'src="{heat_png(cells)}">{lines}{names}</div>'
        f'<span class="scale{" positive" if low >= 0 else ""}"></span>'
        f'<div class="ends"><span>{low:.3g} and less</span>'
        f"<span>{0.5 * (low + high):.3g}</span>"
        f"<span>{high:.3g} and more</span></div></figure>"
    )


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
