"""Charts as inline SVG: the spectrum, scores with intervals, items at their places.

Marks that mouse and keys can reach have a data-tip.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from html import escape
from typing import Any

import numpy as np

from krein.arrays import Array
from krein.spectrum.decomposition import Spectrum

# Units; style.css sets the size of text so that it is 12 px or more on a phone.
_WIDTH = 520
_LETTER = 10.4  # units a letter of a method's name, at the size of a phone
POINTS = 1500  # items that are drawn
_SHAPES = 6  # in template.html
_COLOURS = 10  # in style.css


# ------------------------------------------------------------------------ the elements


def _svg(label: str, body: str, height: float) -> str:
    """Wrap a picture; arrow keys walk through its marks (see script.js)."""
    title = escape(label)
    return (
        f'<svg role="img" tabindex="0" class="chart" aria-label="{title}" '
        f'viewBox="0 0 {_WIDTH} {height:g}"><title>{title}</title>{body}</svg>'
    )


def _text(x: float, y: float, words: str, kind: str = "", anchor: str = "start") -> str:
    """Write with the middle of the letters at y (style.css), whatever their size."""
    place = f'x="{x:.1f}" y="{y:.1f}" class="{kind}" text-anchor="{anchor}"'
    return f"<text {place}>{escape(words)}</text>"


def _line(x1: float, y1: float, x2: float, y2: float, kind: str = "axis") -> str:
    """A line between two places."""
    ends = f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
    return f'<line class="{kind}" {ends}/>'


def _rect(
    x: float, y: float, width: float, height: float, kind: str, tip: str = ""
) -> str:
    """A rectangle by its upper left corner."""
    place = f'x="{x:.2f}" y="{y:.2f}" width="{width:.2f}" height="{height:.2f}"'
    data = f' data-tip="{escape(tip)}"' if tip else ""
    return f'<rect class="{kind}" {place}{data}/>'


def _circle(x: float, y: float) -> str:
    """A point."""
    return f'<circle cx="{x:.1f}" cy="{y}" r="4.5"/>'


def _mark(body: str, tip: str, kind: str = "") -> str:
    """Elements that say something when they are reached."""
    return f'<g class="{kind}" data-tip="{escape(tip)}">{body}</g>'


# -------------------------------------------------------------------------------- axes


def ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Round numbers between two values."""
    span = (high - low) or abs(high) or 1.0
    step = 10.0 ** math.floor(math.log10(span / about))
    step *= next(f for f in (1, 2, 5, 10) if span / (step * f) <= about)
    first = math.ceil(low / step)
    last = math.floor(high / step)
    return [step * k for k in range(first, last + 1)]


def _axis(
    title: str, middle: float, foot: float, at: dict[str, float], top: float, kind: str
) -> str:
    """Ticks of a horizontal axis, as lines from `top`, and its title."""
    body = _text(middle, foot + 40, title, "tick", "middle")
    for label, x in at.items():
        body += _line(x, top, x, foot, kind)
        body += _text(x, foot + 16, label, "tick", "middle")
    return body


# ------------------------------------------------------------------------ the spectrum


def spectrum_chart(eigenvalues: Sequence[float], noise_edge: float | None) -> str:
    """Eigenvalues by rank on a signed square-root axis, with the band of noise."""
    height = 262.0
    ordered = sorted(eigenvalues, reverse=True)
    top = max(ordered[0], 0.0)
    bottom = min(ordered[-1], 0.0)
    shown = list(dict.fromkeys([top, top / 4, 0.0, bottom]))
    longest = max(len(f"{tick:.3g}") for tick in shown)
    left = max(74.0, _LETTER * longest + 8.0)
    unit = (height - 74) / ((_root(top) - _root(bottom)) or 1.0)

    def y(value: float) -> float:
        return 14 + (_root(top) - _root(value)) * unit

    step = (_WIDTH - left - 8) / len(ordered)
    body = ""
    if noise_edge:
        upper = y(min(noise_edge, top))
        lower = y(max(-noise_edge, bottom))
        tip = f"noise band: within \N{PLUS-MINUS SIGN}{noise_edge:.3g}"
        body += _rect(left, upper, _WIDTH - left, max(lower - upper, 1), "band", tip)
    for i, value in enumerate(ordered):
        kind = "plus" if value >= 0 else "minus"
        tip = f"eigenvalue {i + 1}: {value:.4g}"
        upper = min(y(0), y(value))
        tall = max(abs(y(value) - y(0)), 0.6)
        body += _rect(left + i * step, upper, max(0.85 * step, 0.4), tall, kind, tip)
    for tick in shown:
        has_room = abs(y(tick) - y(0.0)) >= 12
        if tick == 0.0 or has_room:
            body += _text(left - 6, y(tick), f"{tick:.3g}", "tick", "end")
    body += _ranks(len(ordered), left, step, height - 48)
    body += _line(left, y(0), _WIDTH, y(0))
    below = sum(value < 0 for value in ordered)
    label = (
        f"Spectrum: {len(ordered)} eigenvalues from {top:.3g} to {bottom:.3g}, "
        f"{below} below zero"
    )
    return _svg(label, body, height)


def _root(value: float) -> float:
    return math.copysign(math.sqrt(abs(value)), value)


def _ranks(n: int, left: float, step: float, foot: float) -> str:
    """The axis of the ranks 1 to n."""
    ranks = dict.fromkeys([1, *map(round, ticks(1, n, 5))])
    at = {str(k): left + (k - 0.5) * step for k in ranks if 0 < k <= n}
    return _axis("rank", (left + _WIDTH) / 2, foot, at, foot - 4, "axis")


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
    score = column.key
    label = column.title
    # Long names leave half to the chart.
    longest = max(len(row["title"]) for row in rows)
    left = min(_LETTER * longest + 8.0, 0.5 * _WIDTH)
    right = _WIDTH - 58.0
    row_height = 26.0
    low, high = _range_of(rows, score)
    unit = (right - left) / (high - low)

    def x(value: float) -> float:
        return left + (min(max(value, low), high) - low) * unit

    bottom = 12 + row_height * len(rows)
    at = {f"{tick:g}": x(tick) for tick in ticks(low, high, 4)}
    body = _axis(label, (left + right) / 2, bottom, at, 4, "grid")
    body += _line(left, bottom, right, bottom)
    for i, row in enumerate(rows):
        y = 18 + row_height * i
        kind = "plus" if row["method"] == marked else "other"
        body += _text(0, y, row["title"])
        body += _mark(*_interval(row, score, label, y, x), kind)
        body += _text(right + 8, y, f"{row[score]:.3f}", "tick")
    for name, value in levels:
        level = _line(x(value), 4, x(value), bottom, "level")
        # The axis is for the methods: what lies outside is an arrow at its edge.
        if value < low:
            level = _text(x(value), bottom, "\u25c0", "edge", "start")
        elif value > high:
            level = _text(x(value), bottom, "\u25b6", "edge", "end")
        body += _mark(level, f"{name}: {label} {value:.3f}")
    shown = "mean and 95 % interval" if rows[0][f"{score}_interval"] else "mean"
    return _svg(f"{label}, {shown}", body, bottom + 54)


def _range_of(rows: Sequence[dict[str, Any]], score: str) -> tuple[float, float]:
    """Ends of the axis: of all intervals, and a margin."""
    ends: list[float] = []
    for row in rows:
        ends += row[f"{score}_interval"] or [row[score]]
    span = (max(ends) - min(ends)) or abs(max(ends)) or 1.0
    margin = 0.04 * span
    return min(ends) - margin, max(ends) + margin


def _interval(
    row: dict[str, Any], score: str, label: str, y: float, x: Callable[[float], float]
) -> tuple[str, str]:
    """Whisker and mean of one method, and what they say."""
    tip = f"{row['title']}: {label} {row[score]:.3f}"
    mean = _circle(x(row[score]), y)
    if row[f"{score}_interval"] is None:  # of a single split
        return mean, tip
    low, high = row[f"{score}_interval"]
    tip += f", 95 % interval {low:.3f} to {high:.3f}"
    reach = _rect(x(low), y - 10, max(x(high) - x(low), 6), 20, "reach")
    whisker = _line(x(low), y, x(high), y, "whisker")
    return reach + whisker + mean, tip


# --------------------------------------------------------------------------- the items


def scatter_chart(
    eigenvalues: Array, points: Array, codes: Array, names: Any, labels: Sequence[str]
) -> str:
    """Items in two pseudo-Euclidean coordinates (of `embedding`), some of them."""
    shown = np.sort(np.random.default_rng(0).permutation(codes.size)[:POINTS])
    signs = ["positive" if value > 0 else "negative" for value in eigenvalues]
    return scatter(
        points[shown].tolist(),
        codes[shown].tolist(),
        [str(names[i]) for i in shown],
        labels,
        axes=[f"axis {k + 1} ({sign} eigenvalue)" for k, sign in enumerate(signs)],
        label=(
            f"{shown.size} items in two pseudo-Euclidean coordinates, of a {signs[0]} "
            f"and a {signs[1]} eigenvalue"
        ),
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
    wide = max(xs) - min(xs)
    tall = max(ys) - min(ys)
    unit_x = 448 / (wide or 1.0)
    unit_y = (400 if equal else 288) / (tall or 1.0)
    if equal:
        unit_x = unit_y = min(unit_x, unit_y)
    height = max(tall * unit_y, 140.0) + 2 * margin
    middle_x = 0.5 * (min(xs) + max(xs))
    middle_y = 0.5 * (min(ys) + max(ys))
    foot = height - 22
    body = _line(margin / 2, foot, _WIDTH - 8, foot)
    body += _line(margin / 2, foot, margin / 2, 8)
    body += _text(_WIDTH - 8, height - 9, axes[0], "tick", "end")
    body += _text(margin / 2 + 6, 12, axes[1], "tick")
    for px, py, k, name in zip(xs, ys, classes, names, strict=True):
        x = 0.5 * _WIDTH + (px - middle_x) * unit_x
        y = 0.5 * height - (py - middle_y) * unit_y
        tip = f"{name}: {labels[k]}" if labels else name
        body += _mark(_shape(k, x, y), tip, _colour(k))
    return _svg(label, body, height)


def _shape(k: int, x: float, y: float) -> str:
    """The shape of class k at a place."""
    return f'<use href="#shape{k % _SHAPES}" x="{x:.1f}" y="{y:.1f}"/>'


def _colour(k: int) -> str:
    """Name of the colour of class k in style.css."""
    return f"class{k % _COLOURS}"


def legend(labels: Sequence[str]) -> str:
    """Which mark stands for which class."""
    marks = ""
    for k, label in enumerate(labels):
        marks += (
            '<li><svg class="mark" viewBox="-8 -8 16 16" aria-hidden="true">'
            f'<g class="{_colour(k)}">{_shape(k, 0, 0)}</g></svg>{escape(label)}</li>'
        )
    return f'<ul class="legend">{marks}</ul>'


def embedding(spectrum: Spectrum) -> tuple[Array, Array]:
    """Return the two pseudo-Euclidean coordinates of largest magnitude.

    Coordinates are U |l|^1/2; where l is negative, distances along that axis count
    negatively. One negative axis is shown as the second when there is one worth 1 %
    of the largest eigenvalue: it is what the page is about. The eigenvalues come first.
    """
    values = spectrum.eigenvalues
    first, *rest = np.argsort(-np.abs(values), kind="stable")
    second = rest[0] if rest else first
    lowest = int(np.argmin(values))
    if values[lowest] < -0.01 * abs(values[first]) and lowest != first:
        second = lowest
    axes = np.array([first, second])
    points = spectrum.eigenvectors[:, axes] * np.sqrt(np.abs(values[axes]))
    return values[axes], points
