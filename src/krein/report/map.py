"""The page of ``krein embed``: the items as a map, and how well it fits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from krein.report.charts import legend, scatter, spectrum_chart
from krein.report.page import fill, page, words
from krein.report.section import facts_rows


def render_map(found: dict[str, Any]) -> str:
    """Return the HTML page of a map: the items, the scree, how well it fits.

    Parameters
    ----------
    found : dict
        ``title``, ``finding``, ``facts`` (words), ``kind`` of the matrix, ``items``
        (dicts with "item", "axis1" and perhaps "axis2" and "label"), ``shares`` of the
        axes, ``eigenvalues``, ``hidden`` (number of items that are not drawn) and
        ``command``.
    """
    items = found["items"]
    about = words()["map"][found["kind"]]
    labels = sorted({row["label"] for row in items if "label" in row})
    body = fill(
        "map.html",
        texts={
            **found,
            "hidden_items": _hidden(found["hidden"]),
            "below": _below_zero(found["eigenvalues"], about["meaning"]),
            "about_facts": about["facts"],
        },
        html={
            "legend": legend(labels) if labels else "",
            "map": _map(items, labels, found["shares"]),
            "facts_rows": facts_rows(found["facts"]),
            "scree": spectrum_chart(found["eigenvalues"], None),
        },
    )
    return page(
        body,
        title=f"krein: {found['title']}",
        headline=found["finding"],
        intro=about["intro"],
    )


def _map(
    items: Sequence[dict[str, Any]], labels: list[str], shares: Sequence[float]
) -> str:
    """The items at their coordinates; on a line where there is one axis."""
    return scatter(
        [(row["axis1"], row.get("axis2", 0.0)) for row in items],
        [labels.index(row["label"]) if labels else 0 for row in items],
        [row["item"] for row in items],
        labels,
        axes=[f"axis {k + 1}: {share:.1%}" for k, share in enumerate([*shares, 0.0])],
        label=f"Map of {len(items)} items",
        equal=True,  # both axes have the same unit
    )


def _hidden(count: int) -> str:
    return f"{count} items are not drawn." if count else ""


def _below_zero(eigenvalues: Sequence[float], meaning: str) -> str:
    rounding = 1e-12 * max(map(abs, eigenvalues))
    negative = sum(value < -rounding for value in eigenvalues)
    return f"{negative} are below zero (red): {meaning}." if negative else ""
