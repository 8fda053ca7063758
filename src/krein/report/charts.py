"""Charts as inline SVG; marks that mouse and keys can reach have a data-tip."""

from __future__ import annotations

import base64
import math
import struct
import zlib
from collections.abc import Callable, Sequence
from html import escape
from typing import Any

import numpy as np

from krein.progress import seconds_in_words

# Units; style.css sets the size of text so that it is 12 px or more on a phone.
_WIDTH = 520
_LETTER = 10.4  # units a letter of a method's name, at the size of a phone
_SHAPES = ("circle", "square", "triangle", "diamond", "cross", "ring")


def _svg(label: str, body: str, height: float) -> str:
    """Wrap a picture; arrow keys walk through its marks (see script.js)."""
    return (
        f'<svg role="img" tabindex="0" class="chart" aria-label="{escape(label)}" '
        f'viewBox="0 0 {_WIDTH} {height:g}"><title>{escape(label)}</title>{body}</svg>'
    )


def _text(x: float, y: float, text: str, kind: str = "", anchor: str = "start") -> str:
    """Write with the middle of the letters at y (style.css), whatever their size."""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}" text-anchor="{anchor}">'
        f"{escape(text)}</text>"
    )


def _line(x1: float, y1: float, x2: float, y2: float, kind: str = "axis") -> str:
    ends = f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
    return f'<line class="{kind}" {ends}/>'


def ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Round numbers between two values."""
    span = (high - low) or abs(high) or 1.0
    step = 10.0 ** math.floor(math.log10(span / about))
    step *= next(f for f in (1, 2, 5, 10) if span / (step * f) <= about)
    first = math.ceil(low / step)
    return [step * k for k in range(first, math.floor(high / step) + 1)]


def spectrum_chart(eigenvalues: Sequence[float], noise_edge: float | None) -> str:
    """Eigenvalues by rank on a signed square-root axis, with the band of noise.

    Parameters
    ----------
    eigenvalues : sequence of float
    noise_edge : float or None
        Half width of the band.

    Returns
    -------
    str
        An ``<svg>`` element.
    """
    height, left = 262.0, 74.0
    ordered = sorted(eigenvalues, reverse=True)
    top, bottom = max(ordered[0], 0.0), min(ordered[-1], 0.0)

    def root(value: float) -> float:
        return math.copysign(math.sqrt(abs(value)), value)

    unit = (height - 74) / ((root(top) - root(bottom)) or 1.0)

    def y(value: float) -> float:
        return 14 + (root(top) - root(value)) * unit

    step = (_WIDTH - left - 8) / len(ordered)
    body = ""
    if noise_edge is not None and noise_edge > 0:
        upper, lower = y(min(noise_edge, top)), y(max(-noise_edge, bottom))
        body += (
            f'<rect class="band" x="{left}" y="{upper:.1f}" width="{_WIDTH - left}" '
            f'height="{max(lower - upper, 1):.1f}" data-tip="noise band: within '
            f'&#177;{noise_edge:.3g}"/>'
        )
    for i, value in enumerate(ordered):
        kind = "plus" if value >= 0 else "minus"
        body += (
            f'<rect class="{kind}" x="{left + i * step:.2f}" '
            f'y="{min(y(0), y(value)):.2f}" width="{max(0.85 * step, 0.4):.2f}" '
            f'height="{max(abs(y(value) - y(0)), 0.6):.2f}" '
            f'data-tip="eigenvalue {i + 1}: {value:.4g}"/>'
        )
    for tick in dict.fromkeys([top, top / 4, 0.0, bottom]):
        if tick and abs(y(tick) - y(0.0)) < 12:
            continue
        body += _text(left - 6, y(tick), f"{tick:.3g}", "tick", "end")
    body += _line(left, y(0), _WIDTH, y(0))
    foot = height - 48
    for rank in dict.fromkeys([1, *map(round, ticks(1, len(ordered), 5))]):
        if 0 < rank <= len(ordered):
            at = left + (rank - 0.5) * step
            body += _line(at, foot - 4, at, foot) + _text(
                at, foot + 14, str(rank), "tick", "middle"
            )
    body += _text((left + _WIDTH) / 2, height - 10, "rank", "tick", "middle")
    negative = sum(value < 0 for value in ordered)
    label = (
        f"Spectrum: {len(ordered)} eigenvalues from {top:.3g} to {bottom:.3g}, "
        f"{negative} below zero"
    )
    return _svg(label, body, height)


def interval_chart(
    rows: Sequence[dict[str, Any]],
    score: str,
    label: str,
    marked: str,
    levels: Sequence[tuple[str, float]] = (),
) -> str:
    """Mean scores with their intervals, one line per method.

    Parameters
    ----------
    rows : sequence of dict
        Of `Comparison.table`.
    score, label : str
        Key of the score and what to call it.
    marked : str
        The recommended method.
    levels : sequence of (str, float)
        Scores that cost nothing, drawn as lines: chance, the largest class.

    Returns
    -------
    str
        An ``<svg>`` element.
    """
    left, right, line = _beside_names(rows), _WIDTH - 58.0, 26.0
    ends = [end for row in rows for end in row[f"{score}_interval"]]
    low, high = min(ends), max(ends)
    margin = 0.04 * ((high - low) or abs(high) or 1.0)
    low, high = low - margin, high + margin
    unit = (right - left) / (high - low)

    def x(value: float) -> float:
        return left + (min(max(value, low), high) - low) * unit

    bottom = 12 + line * len(rows)
    body = "".join(
        _line(x(tick), 4, x(tick), bottom, "grid")
        + _text(x(tick), bottom + 16, f"{tick:g}", "tick", "middle")
        for tick in ticks(low, high, 4)
    )
    body += _line(left, bottom, right, bottom)
    body += _text((left + right) / 2, bottom + 40, label, "tick", "middle")
    for i, row in enumerate(rows):
        kind = "plus" if row["method"] == marked else "other"
        body += _interval(row, score, label, kind, 18 + line * i, x)
        body += _text(right + 8, 18 + line * i, f"{row[score]:.3f}", "tick")
    for name, value in levels:
        inside = low <= value <= high
        mark = _line(x(value), 4, x(value), bottom, "level")
        if not inside:  # a mark at the edge: the axis is for the methods
            at, back = x(value), x(value) + (7 if value < low else -7)
            corners = (
                f"{at:.1f},{bottom} {back:.1f},{bottom - 5} {back:.1f},{bottom + 5}"
            )
            mark = f'<polygon class="edge" points="{corners}"/>'
        body += f'<g data-tip="{escape(f"{name}: {label} {value:.3f}")}">{mark}</g>'
    return _svg(f"{label}, mean and 95 % interval", body, bottom + 54)


def _beside_names(rows: Sequence[dict[str, Any]]) -> float:
    """Where the names of the methods end; long ones leave a third to the chart."""
    longest = max(len(row["title"]) for row in rows)
    return min(_LETTER * longest + 8.0, 0.5 * _WIDTH)


def _interval(
    row: dict[str, Any],
    score: str,
    label: str,
    kind: str,
    y: float,
    x: Callable[[float], float],
) -> str:
    """Name, whisker and mean of one method."""
    a, b = row[f"{score}_interval"]
    tip = f"{row['title']}: {label} {row[score]:.3f}, 95 % interval {a:.3f} to {b:.3f}"
    return _text(0, y, row["title"]) + (
        f'<g class="{kind}" data-tip="{escape(tip)}">'
        f'<rect class="reach" x="{x(a):.1f}" y="{y - 10}" '
        f'width="{max(x(b) - x(a), 6):.1f}" height="20"/>'
        f"{_line(x(a), y, x(b), y, 'whisker')}"
        f'<circle cx="{x(row[score]):.1f}" cy="{y}" r="4.5"/></g>'
    )


def time_chart(rows: Sequence[dict[str, Any]]) -> str:
    """Seconds of one fit and one prediction, one bar per method.

    Parameters
    ----------
    rows : sequence of dict
        Of `Comparison.table`.

    Returns
    -------
    str
        An ``<svg>`` element.
    """
    left, line = _beside_names(rows), 24.0
    longest = max(row["fit_seconds"] + row["predict_seconds"] for row in rows) or 1.0
    unit = (_WIDTH - left - 84) / longest
    body = ""
    for i, row in enumerate(rows):
        y = 6 + line * i
        fit, predict = row["fit_seconds"], row["predict_seconds"]
        tip = (
            f"{row['title']}: fit {seconds_in_words(fit)}, predict "
            f"{seconds_in_words(predict)}"
        )
        total = (fit + predict) * unit
        body += _text(0, y + 7.5, row["title"])
        body += (
            f'<g data-tip="{escape(tip)}">'
            f'<rect class="plus" x="{left}" y="{y}" '
            f'width="{fit * unit:.1f}" height="15"/>'
            f'<rect class="other" x="{left + fit * unit:.1f}" y="{y}" '
            f'width="{predict * unit:.1f}" height="15"/></g>'
        )
        body += _text(
            left + total + 6, y + 7.5, seconds_in_words(fit + predict), "tick"
        )
    return _svg("Seconds to fit and predict, by method", body, 12 + line * len(rows))


def scatter_chart(points: dict[str, Any], labels: Sequence[str]) -> str:
    """Items in two pseudo-Euclidean coordinates, one shape and colour per class.

    Parameters
    ----------
    points : dict
        Of `krein.report.data.embedding`.
    labels : sequence of str
        Names of the classes.

    Returns
    -------
    str
        An ``<svg>`` element.
    """
    height, margin = 360.0, 36.0
    xs = [p[0] for p in points["points"]]
    ys = [p[1] for p in points["points"]]
    place_x = _scale(xs, margin, _WIDTH - margin)
    place_y = _scale(ys, height - margin, margin)
    body = _line(margin / 2, height - 22, _WIDTH - 8, height - 22)
    body += _line(margin / 2, height - 22, margin / 2, 8)
    signs = ["positive" if s > 0 else "negative" for s in points["signature"]]
    body += _text(
        _WIDTH - 8, height - 9, f"axis 1 ({signs[0]} eigenvalue)", "tick", "end"
    )
    body += _text(margin / 2 + 6, 12, f"axis 2 ({signs[1]} eigenvalue)", "tick")
    named = zip(points["points"], points["classes"], points["names"], strict=True)
    for (px, py), k, name in named:
        tip = escape(f"{name}: {labels[k]}")
        body += (
            f'<g class="class{k % 10}" data-tip="{tip}">'
            f"{_shape(_SHAPES[k % 6], place_x(px), place_y(py))}</g>"
        )
    label = (
        f"{len(xs)} items in two pseudo-Euclidean coordinates, of a {signs[0]} and a "
        f"{signs[1]} eigenvalue"
    )
    return _svg(label, body, height)


def _scale(
    values: Sequence[float], start: float, end: float
) -> Callable[[float], float]:
    low, high = min(values), max(values)
    unit = (end - start) / ((high - low) or 1.0)
    return lambda value: start + (value - low) * unit


def _shape(kind: str, x: float, y: float) -> str:
    if kind == "circle":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5"/>'
    if kind == "ring":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" class="ring"/>'
    corners = {
        "square": ((-4, -4), (4, -4), (4, 4), (-4, 4)),
        "triangle": ((0, -5.5), (5, 4), (-5, 4)),
        "diamond": ((0, -6), (5, 0), (0, 6), (-5, 0)),
        "cross": ((-5, -2), (-2, -2), (-2, -5), (2, -5), (2, -2), (5, -2), (5, 2),
                  (2, 2), (2, 5), (-2, 5), (-2, 2), (-5, 2)),
    }[kind]  # fmt: skip
    path = " ".join(f"{x + dx:.1f},{y + dy:.1f}" for dx, dy in corners)
    return f'<polygon points="{path}"/>'


def legend_mark(k: int) -> str:
    """Return the mark of class k, for a legend."""
    return (
        f'<svg class="mark" viewBox="-8 -8 16 16" aria-hidden="true">'
        f'<g class="class{k % 10}">{_shape(_SHAPES[k % 6], 0, 0)}</g></svg>'
    )


# ---------------------------------------------------------------------------- heat map

_LOW, _MIDDLE, _HIGH = (178, 24, 43), (247, 247, 247), (33, 102, 172)


def heat_png(cells: list[list[int]]) -> str:
    """Return a data URI: red for -100, white for 0, blue for 100.

    What is drawn decides which of these colours occur; see `heat_map`.

    Parameters
    ----------
    cells : list of list of int
        Rows of equal length, values -100 .. 100.
    """
    indices = (np.asarray(cells) + 100).astype(np.uint8)
    height, width = indices.shape
    rows = np.hstack([np.zeros((height, 1), dtype=np.uint8), indices])
    body = b"\x89PNG\r\n\x1a\n" + b"".join(
        (
            # 8 bits per pixel, colours from a palette.
            _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)),
            _chunk(b"PLTE", _palette()),
            _chunk(b"IDAT", zlib.compress(rows.tobytes(), 9)),
            _chunk(b"IEND", b""),
        )
    )
    return "data:image/png;base64," + base64.b64encode(body).decode()


def _chunk(kind: bytes, content: bytes) -> bytes:
    checksum = zlib.crc32(kind + content)
    return (
        struct.pack(">I", len(content)) + kind + content + struct.pack(">I", checksum)
    )


def _palette() -> bytes:
    share = np.linspace(0, 1, 101)[:, None]
    low = np.array(_LOW) * (1 - share) + np.array(_MIDDLE) * share
    high = np.array(_MIDDLE) * (1 - share) + np.array(_HIGH) * share
    return np.vstack([low[:-1], high]).round().astype(np.uint8).tobytes()


def heat_chart(heat: dict[str, Any], classes: list[dict[str, Any]]) -> str:
    """The heat map with the names of the classes at its edges."""
    lines = "".join(
        f'<i style="left:{100 * b:.2f}%;top:0;width:1px;height:100%"></i>'
        f'<i style="top:{100 * b:.2f}%;left:0;height:1px;width:100%"></i>'
        for b in heat["boundaries"]
    )
    ends = [0.0, *heat["boundaries"], 1.0]
    names = ""
    for c, start, end in zip(classes, ends, ends[1:], strict=False):
        if end - start >= 0.04:  # else there is no room
            place = f"{100 * start:.2f}%;{{}}:{100 * (end - start):.2f}%"
            text = escape(c["label"])
            names += f'<b class="row" style="top:{place.format("height")}">{text}</b>'
            names += f'<b class="col" style="left:{place.format("width")}">{text}</b>'
    order = ", ".join(c["label"] for c in classes)
    alt = f"Similarities as colours, items ordered by class: {order}"
    return (
        f'<figure><div class="heat"><img alt="{escape(alt)}" '
        f'src="{heat_png(heat["cells"])}">{lines}{names}</div>'
        f'<span class="scale{" positive" if heat["low"] >= 0 else ""}"></span>'
        f'<div class="ends"><span>{heat["low"]:.3g} and less</span>'
        f"<span>{0.5 * (heat['low'] + heat['high']):.3g}</span>"
        f"<span>{heat['high']:.3g} and more</span></div></figure>"
    )
