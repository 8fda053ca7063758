"""Charts as inline SVG; marks that mouse and keys can reach have a data-tip."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from html import escape
from typing import Any

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
    for tick in shown:
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
    signs = ["positive" if s > 0 else "negative" for s in points["signature"]]
    label = (
        f"{len(points['points'])} items in two pseudo-Euclidean coordinates, of a "
        f"{signs[0]} and a {signs[1]} eigenvalue"
    )
    axes = [f"axis {k + 1} ({sign} eigenvalue)" for k, sign in enumerate(signs)]
    return _scatter(points, labels, axes, label)


def map_chart(
    items: Sequence[dict[str, Any]], labels: Sequence[str], shares: Sequence[float]
) -> str:
    """Items in two coordinates with equal units, one shape and colour per label.

    Parameters
    ----------
    items : sequence of dict
        "item", "axis1", and perhaps "axis2" and "label".
    labels : sequence of str
        Names of the classes; empty where there are none.
    shares : sequence of float
        What each axis explains.

    Returns
    -------
    str
        An ``<svg>`` element.
    """
    points = {
        "points": [(row["axis1"], row.get("axis2", 0.0)) for row in items],
        "classes": [labels.index(row["label"]) if labels else 0 for row in items],
        "names": [row["item"] for row in items],
    }
    axes = [f"axis {k + 1}: {share:.1%}" for k, share in enumerate([*shares, 0.0])]
    return _scatter(points, labels, axes, f"Map of {len(items)} items", equal=True)


def _scatter(
    points: dict[str, Any],
    labels: Sequence[str],
    axes: Sequence[str],
    label: str,
    equal: bool = False,
) -> str:
    height, margin = 360.0, 36.0
    xs, ys = zip(*points["points"], strict=True)
    if equal:
        width, tall = _WIDTH - 2 * margin, max(ys) - min(ys)
        unit = min(width / (max(xs) - min(xs) or 1.0), 400.0 / (tall or 1.0))
        height = max(tall * unit, 140.0) + 2 * margin
        place_x = _centred(xs, 0.5 * _WIDTH, unit)
        place_y = _centred(ys, 0.5 * height, -unit)
    else:
        place_x = _scale(xs, margin, _WIDTH - margin)
        place_y = _scale(ys, height - margin, margin)
    body = _line(margin / 2, height - 22, _WIDTH - 8, height - 22)
    body += _line(margin / 2, height - 22, margin / 2, 8)
    body += _text(_WIDTH - 8, height - 9, axes[0], "tick", "end")
    body += _text(margin / 2 + 6, 12, axes[1], "tick")
    named = zip(points["points"], points["classes"], points["names"], strict=True)
    for (px, py), k, name in named:
        tip = escape(f"{name}: {labels[k]}" if labels else name)
        body += (
            f'<g class="class{k % 10}" data-tip="{tip}">'
            f"{_shape(_SHAPES[k % 6], place_x(px), place_y(py))}</g>"
        )
    return _svg(label, body, height)


def _centred(
    values: Sequence[float], middle: float, unit: float
) -> Callable[[float], float]:
    centre = 0.5 * (min(values) + max(values))
    return lambda value: middle + (value - centre) * unit


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
