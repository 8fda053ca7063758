"""One picture of all claims: printed against ours, coloured by verdict."""

from __future__ import annotations

from pathlib import Path

from papers.claims import Claim
from papers.tally import Ledger

__all__ = ["COLOURS", "draw_claims", "numbers"]

COLOURS = {
    "holds": "#2a6f97",
    "differs": "#c1121f",
    "diverged": "#e09f3e",
    "cannot hold": "black",
    "tests nothing": "#c9c9c9",
    "not to be had": "#8d99ae",
}


def numbers(claims: list[Claim]) -> list[tuple[str, float, float]]:
    """(verdict, printed, ours) of the claims that have two numbers, without signs."""
    found = []
    for claim in claims:
        try:
            pair = abs(float(claim.paper)), abs(float(claim.ours))
        except ValueError:
            continue
        if min(pair) > 0:
            found.append((claim.verdict, *pair))
    return found


def draw_claims(ledger: Ledger, path: Path) -> int:
    """Draw the picture and return the number of points in it.

    Parameters
    ----------
    ledger : Ledger
        All claims.
    path : Path
        Picture to write.

    Returns
    -------
    int
    """
    from krein.plotting import new_axes

    points = numbers(ledger.claims)
    ax = new_axes(figsize=(7.5, 5.2))
    ends = [2e-3, 5e4]
    ax.plot(ends, ends, color="black", linewidth=0.6)
    for verdict, colour in COLOURS.items():
        pairs = [point[1:] for point in points if point[0] == verdict]
        if pairs:
            x, y = zip(*pairs, strict=True)
            label = f"{verdict} ({len(pairs)})"
            ax.plot(x, y, "o", color=colour, alpha=0.7, markersize=4, label=label)
    ax.set(xscale="log", yscale="log", xlabel="printed", ylabel="ours")
    ax.set_title("What the papers print and what we measured")
    if points:
        ax.legend(frameon=False)
    # No date and no version in the file: the same results give the same picture.
    ax.figure.savefig(path, dpi=90, metadata={"Software": None})
    return len(points)
