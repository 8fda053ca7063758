"""Two small charts as inline SVG: no script, no font, no network."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

__all__ = ["error_chart", "spectrum_chart"]

_WIDTH, _HEIGHT = 640, 220


def _svg(label: str, body: str, height: float = _HEIGHT) -> str:
    return (
        f'<svg role="img" aria-label="{escape(label)}" '
        f'viewBox="0 0 {_WIDTH} {height:g}">{body}</svg>'
    )


def spectrum_chart(eigenvalues: Sequence[float]) -> str:
    """Eigenvalues in order of size on a signed square-root axis, negative ones in red.

    Parameters
    ----------
    eigenvalues : sequence of float

    Returns
    -------
    str
        An ``<svg>`` element.
    """
    heights = [abs(value) ** 0.5 * (1 if value > 0 else -1) for value in eigenvalues]
    ordered = sorted(heights, reverse=True)
    top, bottom = max(ordered[0], 0.0), min(ordered[-1], 0.0)
    unit = (_HEIGHT - 20) / ((top - bottom) or 1.0)
    zero = 10 + top * unit
    step = _WIDTH / len(ordered)
    bars = "".join(
        f'<rect class="{"plus" if h > 0 else "minus"}" x="{i * step:.2f}" '
        f'y="{min(zero, zero - h * unit):.2f}" width="{0.8 * step:.2f}" '
        f'height="{abs(h) * unit:.2f}"/>'
        for i, h in enumerate(ordered)
    )
    axis = f'<line x1="0" x2="{_WIDTH}" y1="{zero:.2f}" y2="{zero:.2f}"/>'
    return _svg("eigenvalues, largest to smallest", bars + axis)


def error_chart(names: Sequence[str], errors: Sequence[float]) -> str:
    """One horizontal bar per method, with its error in percent.

    Parameters
    ----------
    names : sequence of str
    errors : sequence of float
        In percent, not negative.

    Returns
    -------
    str
        An ``<svg>`` element.
    """
    unit = (_WIDTH - 180) / (max(errors) or 1.0)
    rows = []
    for i, (name, error) in enumerate(zip(names, errors, strict=True)):
        y = 6 + 26 * i
        best = "plus" if error == min(errors) else "other"
        rows.append(
            f'<text x="0" y="{y + 15}">{escape(name)}</text>'
            f'<rect class="{best}" x="90" y="{y}" width="{error * unit:.2f}" '
            f'height="20"/>'
            f'<text x="{96 + error * unit:.2f}" y="{y + 15}">{error:.1f} %</text>'
        )
    return _svg("error by method", "".join(rows), height=12 + 26 * len(names))
