"""Dict -> one HTML file without network access. Every text is escaped."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from importlib import resources
from string import Template
from typing import Any

import krein
from krein.progress import seconds_in_words
from krein.report.charts import (
    heat_chart,
    interval_chart,
    legend_mark,
    map_chart,
    scatter_chart,
    spectrum_chart,
    time_chart,
)
from krein.report.tables import (
    capital,
    facts_table,
    mistake_table,
    picker,
    score_table,
    unsure_table,
)

_FEW_CLASSES = 12


def render(report: dict[str, Any]) -> str:
    """Return the HTML page of a report.

    Parameters
    ----------
    report : dict
        ``title``, ``intro``, ``footer`` and ``cases``, a list of
        `krein.report.data.case`; ``headline`` if it is not that of the first case.
    """
    cases = report["cases"]
    sections = [_section(c, i, len(cases)) for i, c in enumerate(cases)]
    headline = report.get("headline") or cases[0]["headline"]
    framed = {**report, "finding": headline}
    return page(framed, "\n".join(sections), _contents(cases), glossary())


def page(
    report: dict[str, Any],
    body: str,
    contents: str = "",
    words: Iterable[tuple[str, str]] = (),
) -> str:
    """Put HTML into the frame of a page: title, finding as headline, footer."""
    meanings = "".join(
        f"<dt>{escape(w)}</dt><dd>{escape(text)}</dd>" for w, text in words
    )
    if meanings:
        meanings = (
            f'<section id="glossary"><h2>Glossary</h2><dl>{meanings}</dl></section>'
        )
    return Template(_file("template.html")).substitute(
        title=escape(report["title"]),
        headline=escape(capital(report["finding"])),
        intro=escape(report["intro"]),
        footer=escape(report["footer"]),
        style=_file("style.css"),
        script=_file("script.js"),
        contents=contents,
        cases=body,
        glossary=meanings,
    )


def _file(name: str) -> str:
    return (resources.files("krein.report") / name).read_text("utf-8")


def glossary() -> list[tuple[str, str]]:
    """The words of the report with their meanings."""
    lines = _file("glossary.txt").splitlines()
    return [(word, text) for word, _, text in (line.partition(": ") for line in lines)]


def _contents(cases: list[dict[str, Any]]) -> str:
    links = [(f"case{i}", case["title"]) for i, case in enumerate(cases)]
    links = [*(links if len(cases) > 1 else []), ("glossary", "Glossary")]
    items = "".join(
        f'<li><a href="#{where}">{escape(title)}</a></li>' for where, title in links
    )
    return f'<nav aria-label="Contents"><ul>{items}</ul></nav>'


def _classes(classes: list[dict[str, Any]]) -> str:
    """Say how many items each class has, or of many classes the range."""
    if len(classes) <= _FEW_CLASSES:
        return "classes " + ", ".join(f"{c['label']}: {c['count']}" for c in classes)
    counts = [c["count"] for c in classes]
    return f"{len(counts)} classes of {min(counts)} to {max(counts)} items"


def _section(case: dict[str, Any], index: int, cases: int) -> str:
    """One similarity, the answer first."""
    comparison, spectrum = case["comparison"], case["spectrum"]
    edge, classes = spectrum["noise_edge"], _classes(case["classes"])
    numbers = case["task"] == "regression"
    if numbers:
        classes = "numbers to be predicted, drawn in fifths"
    about = f"{case['about']} {case['items']} items; {classes}."
    heading = ""
    if cases > 1:
        said = case.get("finding") or case["headline"]
        heading = f"<h2>{escape(case['title'])}</h2>"
        heading += f'<p class="finding">{escape(capital(said))}</p>'
    return f"""<section id="case{index}">
{heading}
<p class="about">{escape(about.strip())}</p>
{alerts(case["findings"])}
<div class="answer{"" if comparison["useful"] else " bad"}"><p>
{escape(comparison["recommendation"])}</p></div>
{_copy(case["copy"])}
{_kernels(case)}
<h3>Scores</h3>
{_score_chart(case)}
{score_table(comparison)}
{_failed(comparison["failed"])}
<h3>{"Largest errors" if numbers else "Items that were not recognised"}</h3>
{mistake_table(case)}
{"" if numbers else "<h3>Items to look at</h3>" + unsure_table(case["unsure"])}
<h3>{"The methods" if numbers else "What each method got wrong"}</h3>
{picker(comparison, case["classes"])}
<h3>The similarity</h3>
{facts_table(spectrum["facts"])}
{"" if numbers else _advice(spectrum["advice"], case["findings"])}
<figure>{spectrum_chart(spectrum["eigenvalues"], edge)}
<figcaption>Eigenvalues from the largest to the smallest on a square-root scale; those
below zero in red{_band_words(edge)}.</figcaption></figure>
<h3>Heat map, ordered by {"value" if numbers else "class"}</h3>
{heat_chart(case["heat"], case["classes"])}
<h3>Items in pseudo-Euclidean space</h3>
{_embedding(case)}
<h3>Time</h3>
<figure>{time_chart(comparison["table"])}
<figcaption>Median time of one fit with chosen hyperparameters (dark) and one
prediction of the test part (light). Choosing them by cross-validation is not
included.</figcaption></figure>
<h3>What was run</h3>
{_run(case["run"], comparison)}
</section>"""


def alerts(findings: list[dict[str, Any]]) -> str:
    """What is wrong or worth knowing, the worst first, each with its repair."""
    if not findings:
        return ""
    items = "".join(
        f'<li class="{escape(f["severity"])}"><b>{escape(f["severity"])}</b> '
        f"{escape(f['text'])}{_repair(f)}</li>"
        for f in findings
    )
    return f'<ul class="alerts" aria-label="Alerts">{items}</ul>'


def _repair(finding: dict[str, Any]) -> str:
    lines = [finding.get("command"), finding.get("python")]
    return "".join(f"<code>{escape(line)}</code>" for line in lines if line)


def _copy(copy: dict[str, str]) -> str:
    """Commands and Python for the recommended model."""
    parts = [copy["shell"], copy["python"]]
    body = "".join(f"<pre>{escape(part)}</pre>" for part in parts if part)
    return (
        "<details open><summary>Copy this to fit it and predict new items</summary>"
        f"{body}</details>"
    )


# ------------------------------------------------------------------------------ scores


def _kernels(case: dict[str, Any]) -> str:
    """Several kernels, each with the method that is recommended for it."""
    rows, comparison = case["kernels"], case["comparison"]
    if not rows:
        return ""
    label = comparison["label"]
    chart = interval_chart(rows, comparison["scoring"], label, rows[0]["method"])
    by = "; ".join(f"{row['title']} by {row['by']}" for row in rows)
    return (
        f"<h3>Kernels</h3><figure>{chart}<figcaption>Mean {escape(label)} with 95 % "
        f"intervals, {escape(by)}. What follows is about "
        f"{escape(rows[0]['title'])}.</figcaption></figure>"
    )


def _score_chart(case: dict[str, Any]) -> str:
    comparison = case["comparison"]
    label, levels = comparison["label"], comparison["levels"]
    chart = interval_chart(
        comparison["table"],
        comparison["scoring"],
        label,
        comparison["recommended"],
        levels,
    )
    lines = ", ".join(f"{name} {value:.3g}" for name, value in levels)
    return (
        f"<figure>{chart}<figcaption>Means with 95 % intervals, corrected for "
        "overlapping training sets. The recommended method is coloured; in red: "
        f"{escape(lines)}.</figcaption></figure>"
    )


def _failed(failed: dict[str, str]) -> str:
    return "".join(
        f'<p class="note">{escape(name)} was left out, it failed: {escape(why)}</p>'
        for name, why in failed.items()
    )


# ---------------------------------------------------------------------- the similarity


def _advice(advice: list[str], findings: list[dict[str, Any]]) -> str:
    """What to do, unless the alerts said it."""
    said = [finding["text"] for finding in findings]
    new = [text for text in advice if not any(known in text for known in said)]
    items = "".join(f"<li>{escape(text)}</li>" for text in new)
    return f"<ul>{items}</ul>" if items else ""


def _band_words(noise_edge: float | None) -> str:
    if noise_edge is None:
        return ""
    return f"; the grey band (up to {noise_edge:.3g}) is what noise alone would fill"


def legend(labels: list[str]) -> str:
    """Which mark stands for which class."""
    marks = "".join(
        f"<li>{legend_mark(k)}{escape(label)}</li>" for k, label in enumerate(labels)
    )
    return f'<ul class="legend">{marks}</ul>'


def _hidden(count: int) -> str:
    return f" {count} items are not drawn." if count else ""


def _embedding(case: dict[str, Any]) -> str:
    labels = [c["label"] for c in case["classes"]]
    points = case["embedding"]
    p, q, _ = case["spectrum"]["signature"]
    values = " and ".join(f"{v:.3g}" for v in points["eigenvalues"])
    return (
        f"{legend(labels)}<figure>{scatter_chart(points, labels)}<figcaption>"
        f"Signature ({p}, {q}): the "
        f"whole space has {p} positive and {q} negative axes. Shown are those of the "
        f"eigenvalues {values}; along a negative axis distances count negatively."
        f"{_hidden(points['hidden'])}</figcaption></figure>"
    )


def _run(run: dict[str, Any], comparison: dict[str, Any]) -> str:
    kind = "grouped" if run["grouped"] else "random"
    facts = {
        "splits": f"{run['splits']} {kind} splits, {run['train_items']} items to train "
        f"and {run['test_items']} to test on, seed {run['seed']}",
        "hyperparameters": "by cross-validation inside of each training part, for "
        f"{comparison['label']}",
        "computing time": f"{seconds_in_words(run['seconds'])}, summed over methods "
        "and splits",
        "versions": f"krein {run['krein']}, Python {run['python']}, numpy "
        f"{run['numpy']}, scipy {run['scipy']}, scikit-learn {run['scikit-learn']}, "
        f"{run['platform']}",
    }
    for name, share in run["not_converged"].items():
        title = comparison["methods"][name]["title"]
        facts[title] = f"the solver was cut short on {share:.0%} of the splits"
    command = f"<pre>{escape(run['command'])}</pre>" if run["command"] else ""
    return facts_table(facts) + command


# ------------------------------------------------------------ the page of an embedding

# By kind of matrix: what the coordinates are, and what a negative eigenvalue says.
_MAP_WORDS = {
    "distance": (
        "Principal coordinates of the distances between the items.",
        "no points have exactly these distances",
    ),
    "similarity": (
        "Pseudo-Euclidean coordinates of the similarities between the items.",
        "the similarities are not inner products of points",
    ),
}


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
    intro, meaning = _MAP_WORDS[found["kind"]]
    labels = sorted({row["label"] for row in found["items"] if "label" in row})
    rounding = 1e-12 * max(map(abs, found["eigenvalues"]))
    negative = sum(value < -rounding for value in found["eigenvalues"])
    below = f"{negative} are below zero (red): {meaning}." if negative else ""
    body = f"""<section id="map">
<h2>Map</h2>
{legend(labels) if labels else ""}
<figure>{map_chart(found["items"], labels, found["shares"])}
<figcaption>One mark per item, near where the numbers are alike; both axes have the same
unit. Names are under the mouse, or walk through the marks with the arrow keys.
{_hidden(found["hidden"])}</figcaption></figure>
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
        "intro": intro,
        "footer": f"Made by krein {krein.__version__}.",
    }
    return page(report, body)
