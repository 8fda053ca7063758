"""The page of `krein embed`: a map of the items, the scree, how well it fits."""

from __future__ import annotations

from html import escape
from typing import Any

import krein
from krein.report.charts import map_chart, spectrum_chart
from krein.report.render import facts_table, legend, page


def render_map(found: dict[str, Any]) -> str:
    """Return the HTML page of a map.

    Parameters
    ----------
    found : dict
        ``title``, ``intro``, ``finding``, ``facts`` (words), ``map`` (of `map_chart`),
        ``labels``, ``eigenvalues``, ``meaning`` (of negative ones), ``hidden`` (number
        of items that are not drawn) and ``command``.

    Returns
    -------
    str
        One file without network access; every text is escaped.
    """
    labels = found["labels"]
    hidden = f" {found['hidden']} items are not drawn." if found["hidden"] else ""
    rounding = 1e-12 * max(map(abs, found["eigenvalues"]))
    negative = sum(value < -rounding for value in found["eigenvalues"])
    below = (
        f"{negative} are below zero (red): {found['meaning']}."
        if negative
        else "None is below zero."
    )
    body = f"""<section id="map">
<h2>Map</h2>
{legend(labels) if labels else ""}
<figure>{map_chart(found["map"], labels)}
<figcaption>One mark per item, near where the numbers are alike; both axes have the same
unit. Names are under the mouse, or walk through the marks with the arrow keys.{hidden}
</figcaption></figure>
<h2>How much the map shows</h2>
{facts_table(found["facts"])}
<figure>{spectrum_chart(found["eigenvalues"], None)}
<figcaption>Scree: eigenvalues from the largest to the smallest on a square-root scale.
{escape(below)}</figcaption></figure>
<h2>What was run</h2>
<pre>{escape(found["command"])}</pre>
</section>"""
    report = {
        "title": f"krein: {found['title']}",
        "finding": found["finding"],
        "intro": found["intro"],
        "footer": f"Made by krein {krein.__version__}.",
    }
    return page(report, body)
