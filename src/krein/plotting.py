"""Pictures; matplotlib is imported when one is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from krein.optional import import_optional
from krein.result import Array, Result

__all__ = ["plot_history", "plot_spectrum"]

_POSITIVE, _NEGATIVE, _BAND = "#2a6f97", "#c1121f", "#c9c9c9"


def new_axes(n_columns: int = 1, **options: Any) -> Any:
    """Make axes in a new figure; the error names the extra if matplotlib is missing."""
    plt = import_optional("matplotlib.pyplot", extra="plot", needed_for="plot()")
    return plt.subplots(1, n_columns, layout="constrained", **options)[1]


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
        (~negative, _POSITIVE, "not negative"),
        (negative, _NEGATIVE, "negative"),
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


def plot_history(
    result: Result,
    *,
    x: Literal["iteration", "seconds"] = "iteration",
    axes: Sequence[Any] | None = None,
    label: str | None = None,
) -> np.ndarray:
    """Draw objective and bound, and the certificate on a logarithmic axis.

    Parameters
    ----------
    result : Result
        With a recorded history.
    x : {"iteration", "seconds"}
        What the horizontal axis counts.
    axes : sequence of two matplotlib Axes, optional
        Where to draw; made when not given. Several results can share them.
    label : str, optional
        Name in the legend.

    Returns
    -------
    ndarray of two matplotlib Axes

    Examples
    --------
    >>> import numpy as np
    >>> from krein import ProxySVC
    >>> from krein.plotting import plot_history
    >>> model = ProxySVC().fit(np.array([[1.0, 2.0], [2.0, 1.0]]), [0, 1])
    >>> axes = plot_history(model.result_, label="auto")
    >>> axes[1].get_ylabel()
    'relative gap'
    """
    if x not in ("iteration", "seconds"):
        raise ValueError(f"x must be 'iteration' or 'seconds', got {x!r}")
    if axes is None:
        axes = new_axes(2, figsize=(9, 3.5))
    history = result.history
    if x == "seconds" and "seconds" in history:
        positions = history["seconds"]
    else:
        positions = np.arange(history.n_rows)
    left, right = axes
    (line,) = left.plot(positions, history["value"], label=label or "objective")
    bound = history["bound"] if "bound" in history else np.full(1, np.nan)
    if np.isfinite(bound).any():
        left.plot(
            positions,
            bound,
            linestyle="--",
            color=line.get_color(),
            label="bound" if label is None else f"{label}, bound",
        )
    relative = history["relative"]
    shown = np.where(np.isfinite(relative) & (relative > 0), relative, np.nan)
    right.semilogy(positions, shown, color=line.get_color(), label=label)
    kind = "gap" if result.certificate.kind == "gap" else "residual"
    left.set_ylabel("objective")
    right.set_ylabel(f"relative {kind}")
    for ax in (left, right):
        ax.set_xlabel(x)
    left.legend()
    return np.asarray(axes)
