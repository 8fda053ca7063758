"""One picture of all claims: printed against ours, coloured by verdict."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from papers.claims import Claim

__all__ = ["draw_claims", "numbers"]

_COLOURS = {
    "holds": "#2a6f97",
    "differs": "#c1121f",
    "diverged": "#e09f3e",
    "cannot hold": "black",
    "tests nothing": "#c9c9c9",
    "not to be had": "#8d99ae",
}
Point = tuple[str, float, float]  # verdict, printed, ours


def numbers(claims: list[Claim]) -> tuple[list[Point], list[Point]]:
    """Pairs of numbers: accuracies and errors in percent, and all others, unsigned."""
    shares: list[Point] = []
    others: list[Point] = []
    for claim in claims:
        try:
            pair = abs(float(claim.paper)), abs(float(claim.ours))
        except ValueError:
            continue
        if claim.quantity in ("accuracy", "error"):
            unit = 100.0 if max(pair) <= 1.0 else 1.0
            shares.append((claim.verdict, unit * pair[0], unit * pair[1]))
        elif min(pair) > 0:
            others.append((claim.verdict, *pair))
    return shares, others


def draw_claims(claims: list[Claim], path: Path) -> int:
    """Draw the picture and return the number of points in it."""
    from krein.result import new_axes

    shares, others = numbers(claims)
    axes = new_axes(2, figsize=(11, 5.2))
    _draw(axes[0], shares, (0.0, 100.0))
    _draw(axes[1], others, (1e-3, 1e6))
    axes[0].set(title="accuracies and errors, %", xlim=(0, 101), ylim=(0, 101))
    axes[1].set(title="all other numbers", xscale="log", yscale="log")
    axes[1].set(xlim=(1e-3, 1e5), ylim=(1e-3, 1e6))
    # No date and no version in the file: the same results give the same picture.
    axes[0].figure.savefig(path, dpi=90, metadata={"Software": None})
    return len(shares) + len(others)


def _draw(ax: Any, points: list[Point], ends: tuple[float, float]) -> None:
    """Points by verdict, those beyond the axes at their edge."""
    ax.plot(ends, ends, color="black", linewidth=0.6)
    for verdict, colour in _COLOURS.items():
        pairs = [
            (x, min(max(y, ends[0]), ends[1])) for v, x, y in points if v == verdict
        ]
        if pairs:
            x, y = zip(*pairs, strict=True)
            label = f"{verdict} ({len(pairs)})"
            ax.plot(x, y, "o", color=colour, alpha=0.7, markersize=4, label=label)
    ax.set(xlabel="printed", ylabel="ours")
    if points:
        ax.legend(frameon=False)
