"""Pictures by matplotlib, which is imported when one is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from krein.arrays import Array
from krein.numbers_or_classes import is_continuous
from krein.words import import_optional

POSITIVE = "#2a6f97"
NEGATIVE = "#c1121f"
_BAND = "#c9c9c9"


def new_axes(n_columns: int = 1, figsize: tuple[float, float] | None = None) -> Any:
    """Make axes in a new figure; the error names the extra if matplotlib is missing."""
    plt = import_optional("matplotlib.pyplot", extra="plot", needed_for="plot()")
    _, axes = plt.subplots(1, n_columns, layout="constrained", figsize=figsize)
    return axes


def plot_spectrum(
    eigenvalues: Array, noise_edge: float | None = None, ax: Any = None
) -> Any:
    """Draw eigenvalues by rank, negative ones marked, with the band of noise.

    Parameters
    ----------
    eigenvalues : ndarray
        In any order.
    noise_edge : float, optional
        Radius of the semicircle fitted to the negative part.
    ax : matplotlib Axes, optional
        Where to draw; made when not given.

    Returns
    -------
    matplotlib Axes
    """
    ax = new_axes() if ax is None else ax
    values = np.sort(eigenvalues)[::-1]
    rank = np.arange(1, values.size + 1)
    if noise_edge is not None:
        ax.axhspan(-noise_edge, noise_edge, color=_BAND, alpha=0.5, label="noise band")
    negative = values < 0
    for part, colour, label in (
        (~negative, POSITIVE, "not negative"),
        (negative, NEGATIVE, "negative"),
    ):
        if part.any():
            ax.plot(rank[part], values[part], ".", color=colour, label=label)
    ax.axhline(0.0, color="black", linewidth=0.6)
    largest = float(np.abs(values).max(initial=0.0))
    if largest > 0:
        ax.set_yscale("symlog", linthresh=largest * 1e-4)
    ax.set(xlabel="rank", ylabel="eigenvalue", title="Spectrum of the similarity")
    ax.legend(frameon=False)
    return ax


def plot_map(F: Array, shares: Array, labels: Any = None, ax: Any = None) -> Any:
    """Draw items by their first two coordinates.

    Parameters
    ----------
    F : ndarray of shape (n, n_components)
        Coordinates; of a single one the items stand on a line.
    shares : ndarray of shape (n_components,)
        Share of the spectrum that each axis has, for its title.
    labels : array-like of shape (n,), optional
        A colour for each class, with a legend; numbers get a scale of colours.
    ax : matplotlib Axes, optional
        Where to draw; made when not given.

    Returns
    -------
    matplotlib Axes
    """
    if labels is not None and len(labels) != len(F):
        raise ValueError(f"labels has {len(labels)} entries for {len(F)} items")
    ax = new_axes() if ax is None else ax
    x = F[:, 0]
    y = F[:, 1] if F.shape[1] > 1 else np.zeros(len(F))
    colours = None if labels is None else np.asarray(labels)
    if colours is not None and is_continuous(colours):
        ax.figure.colorbar(ax.scatter(x, y, c=colours, s=16), ax=ax)
    elif colours is None:
        ax.scatter(x, y, s=16, color=POSITIVE)
    else:
        for label in np.unique(colours):
            of_class = colours == label
            ax.scatter(x[of_class], y[of_class], s=16, label=str(label))
        ax.legend(frameon=False)
    titles = [f"axis {k + 1} ({share:.0%})" for k, share in enumerate(shares[:2])]
    ax.set(xlabel=titles[0], ylabel="".join(titles[1:]))
    ax.set_aspect("equal", adjustable="datalim")
    return ax


def plot_intervals(
    rows: Sequence[dict[str, Any]], key: str, title: str, ax: Any = None
) -> Any:
    """Draw the mean scores of a table of `Comparison` with their intervals.

    Parameters
    ----------
    rows : sequence of dict
        Of `Comparison.table`.
    key, title : str
        Key of the score, and what it is called.
    ax : matplotlib Axes, optional
        Where to draw; made when not given.

    Returns
    -------
    matplotlib Axes
    """
    if ax is None:
        ax = new_axes(figsize=(6, 1 + 0.35 * len(rows)))
    rows = rows[::-1]
    means = np.array([row[key] for row in rows])
    # There is no interval of a single split.
    intervals = np.array([row[f"{key}_interval"] or [row[key]] * 2 for row in rows])
    errors = np.abs(intervals.T - means)
    ax.errorbar(means, range(len(rows)), xerr=errors, fmt="o", capsize=3)
    ax.set_yticks(range(len(rows)), [row["title"] for row in rows])
    ax.set_xlabel(f"{title}, mean and 95 % interval")
    return ax
