"""The page of ``krein embed``: the items as a map, and how well it fits."""

from __future__ import annotations

from typing import Any

from krein.report.charts import legend, scatter, spectrum_chart
from krein.report.render import facts_rows, fill, page, words


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
    said = words()["map"][found["kind"]]
    labels = sorted({row["label"] for row in found["items"] if "label" in row})
    rounding = 1e-12 * max(map(abs, found["eigenvalues"]))
    negative = sum(value < -rounding for value in found["eigenvalues"])
    below = f"{negative} are below zero (red): {said['meaning']}." if negative else ""
    hidden = f"{found['hidden']} items are not drawn." if found["hidden"] else ""
    items, shares = found["items"], [*found["shares"], 0.0]
    map_chart = scatter(
        [(row["axis1"], row.get("axis2", 0.0)) for row in items],
        [labels.index(row["label"]) if labels else 0 for row in items],
        [row["item"] for row in items],
        labels,
        axes=[f"axis {k + 1}: {share:.1%}" for k, share in enumerate(shares)],
        label=f"Map of {len(items)} items",
        equal=True,  # both axes have the same unit
    )
    parts = {
        "legend": legend(labels) if labels else "",
        "map": map_chart,
        "facts_rows": facts_rows(found["facts"]),
        "scree": spectrum_chart(found["eigenvalues"], None),
    }
    about = found | {
        "hidden_items": hidden,
        "below": below,
        "about_facts": said["facts"],
    }
    body = fill("map.html", about, **parts)
    title = f"krein: {found['title']}"
    return page(body, title=title, headline=found["finding"], intro=said["intro"])
