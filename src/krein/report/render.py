"""Dict -> one HTML file without network access. Every text is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from html import escape
from importlib import resources
from pathlib import Path
from string import Template
from typing import Any

from krein.report import charts
from krein.report.data import case
from krein.store.files import atomic_write, check_writable
from krein.store.sharing import is_sharing, shared_work
from krein.words import seconds_in_words

_FEW_CLASSES = 12


def write_report(
    comparison: Any, path: str | Path, *, force: bool = False, **context: Any
) -> Path:
    """Write the report of one comparison.

    Parameters
    ----------
    comparison : Comparison or KernelComparison
        What was found.
    path : str or Path
        Where to write.
    force : bool
        Replace an existing file.
    **context
        Of `krein.report.data.case`.

    Returns
    -------
    Path
    """
    path = check_writable(path, overwrite=force)
    with nullcontext() if is_sharing() else shared_work():
        found = case(comparison, **context)
    footer = f"Made by krein {found['run']['krein']}."
    report = {"title": f"krein: {found['title']}", "intro": "", "footer": footer}
    with atomic_write(path, overwrite=force, text=True) as file:
        file.write(render({**report, "cases": [found]}))
    return path


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
    links = [(f"case{i}", c["title"]) for i, c in enumerate(cases)]
    links = [*(links if len(cases) > 1 else []), ("glossary", "Glossary")]
    items = [f'<li><a href="#{at}">{escape(title)}</a></li>' for at, title in links]
    contents = f'<nav aria-label="Contents"><ul>{"".join(items)}</ul></nav>'
    words = [f"<dt>{escape(w)}</dt><dd>{escape(text)}</dd>" for w, text in glossary()]
    meanings = f"<h2>Glossary</h2><dl>{''.join(words)}</dl>"
    sections.append(f'<section id="glossary">{meanings}</section>')
    return page({**report, "finding": headline}, "\n".join(sections), contents)


def page(report: dict[str, Any], body: str, contents: str = "") -> str:
    """Put HTML into the frame of a page: title, finding as headline, footer."""
    return Template(_file("template.html")).substitute(
        title=escape(report["title"]),
        headline=escape(_capital(report["finding"])),
        intro=escape(report["intro"]),
        footer=escape(report["footer"]),
        style=_file("style.css"),
        script=_file("script.js"),
        contents=contents,
        body=body,
    )


def _file(name: str) -> str:
    return (resources.files("krein.report") / name).read_text("utf-8")


def _capital(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]


def glossary() -> list[tuple[str, str]]:
    """The words of the report with their meanings."""
    lines = _file("glossary.txt").splitlines()
    return [(word, text) for word, _, text in (line.partition(": ") for line in lines)]


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
    heading = band = ""
    if cases > 1:
        said = case.get("finding") or case["headline"]
        heading = f"<h2>{escape(case['title'])}</h2>"
        heading += f'<p class="finding">{escape(_capital(said))}</p>'
    if edge is not None:
        band = f"; the grey band (up to {edge:.3g}) is what noise alone would fill"
    return f"""<section id="case{index}">
{heading}
<p class="about">{escape(about.strip())}</p>
{_alerts(case["findings"])}
<div class="answer{"" if comparison["useful"] else " bad"}"><p>
{escape(comparison["recommendation"])}</p></div>
{_copy(case["copy"])}
{_kernels(case)}
<h3>Scores</h3>
{_scores(comparison)}
<h3>{"Largest errors" if numbers else "Items that were not recognised"}</h3>
{_mistakes(case)}
<h3>{"The methods" if numbers else "What each method got wrong"}</h3>
{_picker(comparison, case["classes"])}
<h3>The similarity</h3>
{facts_table(spectrum["facts"])}
{"" if numbers else _advice(spectrum["advice"], case["findings"])}
<figure>{charts.spectrum_chart(spectrum["eigenvalues"], edge)}
<figcaption>Eigenvalues from the largest to the smallest on a square-root scale; those
below zero in red{band}.</figcaption></figure>
<h3>Heat map, ordered by {"value" if numbers else "class"}</h3>
{charts.heat_chart(case["heat"], case["classes"])}
<h3>Items in pseudo-Euclidean space</h3>
{_embedding(case)}
<h3>What was run</h3>
{_run(case["run"], comparison)}
</section>"""


def _alerts(findings: list[dict[str, Any]]) -> str:
    """What is wrong or worth knowing, the worst first, each with its repair."""
    items = ""
    for finding in findings:
        kind = escape(finding["severity"])
        items += f'<li class="{kind}"><b>{kind}</b> {escape(finding["text"])}'
        repairs = (finding.get("command"), finding.get("python"))
        items += "".join(f"<code>{escape(line)}</code>" for line in repairs if line)
        items += "</li>"
    return f'<ul class="alerts" aria-label="Alerts">{items}</ul>' if items else ""


def _copy(copy: dict[str, str]) -> str:
    """Commands and Python for the recommended model."""
    parts = [copy["shell"], copy["python"]]
    body = "".join(f"<pre>{escape(part)}</pre>" for part in parts if part)
    title = "Copy this to fit it and predict new items"
    return f"<details open><summary>{title}</summary>{body}</details>"


def _figure(chart: str, caption: str) -> str:
    return f"<figure>{chart}<figcaption>{escape(caption)}</figcaption></figure>"


def _kernels(case: dict[str, Any]) -> str:
    """Several kernels, each with the method that is recommended for it."""
    rows, comparison = case["kernels"], case["comparison"]
    if not rows:
        return ""
    label, best = comparison["label"], rows[0]["method"]
    chart = charts.interval_chart(rows, comparison["scoring"], label, best)
    by = "; ".join(f"{row['title']} by {row['by']}" for row in rows)
    caption = f"Mean {label} with 95 % intervals, {by}. What follows is about {best}."
    return f"<h3>Kernels</h3>{_figure(chart, caption)}"


def _scores(comparison: dict[str, Any]) -> str:
    label, levels, key = (comparison[k] for k in ("label", "levels", "scoring"))
    rows, chosen = comparison["table"], comparison["recommended"]
    chart = charts.interval_chart(rows, key, label, chosen, levels)
    lines = ", ".join(f"{name} {value:.3g}" for name, value in levels)
    caption = (
        "Means with 95 % intervals, corrected for overlapping training sets. The "
        f"recommended method is coloured; in red: {lines}."
    )
    failed = "".join(
        _note(f"{name} was left out, it failed: {why}")
        for name, why in comparison["failed"].items()
    )
    return _figure(chart, caption) + score_table(comparison) + failed


def score_table(comparison: dict[str, Any]) -> str:
    """All methods; the column that decides is bold for the recommended one."""
    columns = comparison["columns"]
    titles = [c["title"].removesuffix(" s") for c in columns]
    rows = []
    for row in comparison["table"]:
        cells = (_cell(c, row, c["key"] == comparison["scoring"]) for c in columns)
        chosen = row["method"] == comparison["recommended"]
        rows.append(_row(row["title"], cells, ' class="chosen"' if chosen else ""))
    head = _heads(["Method"]) + _heads(titles, ' class="number"')
    note = (
        f'<p class="note">{escape(_capital(comparison["label"]))} decides (bold). '
        '<span class="screen">Press a heading to sort.</span> '
        f"{escape(comparison['about_p'])}</p>"
    )
    return note + _wide("Table of scores", "sortable", head, rows)


def _cell(column: dict[str, Any], row: dict[str, Any], deciding: bool) -> str:
    value = row[column["key"]]
    text = format(value, column["format"])
    if column["key"].endswith("_seconds"):
        text = seconds_in_words(value)
    kind = "number deciding" if deciding else "number"
    return f'<td class="{kind}" data-value="{value!r}">{escape(text)}</td>'


# ------------------------------------------------------------------------------ tables


def facts_table(facts: dict[str, str]) -> str:
    """A table of two columns."""
    rows = "".join(_words(name, [fact]) for name, fact in facts.items())
    return f"<table><tbody>{rows}</tbody></table>"


def _row(name: str, cells: Iterable[str], kind: str = "") -> str:
    return f'<tr{kind}><th scope="row">{escape(name)}</th>{"".join(cells)}</tr>'


def _words(name: str, cells: Iterable[str]) -> str:
    return _row(name, (f"<td>{escape(cell)}</td>" for cell in cells))


def _heads(titles: Iterable[str], kind: str = "") -> str:
    return "".join(f'<th scope="col"{kind}>{escape(title)}</th>' for title in titles)


def _wide(label: str, kind: str, head: str, rows: Iterable[str]) -> str:
    """A table that scrolls sideways where the screen is narrow."""
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="{label}">'
        f'<table class="{kind}"><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def _note(text: str) -> str:
    return f'<p class="note">{escape(text)}</p>'


def _mistakes(case: dict[str, Any]) -> str:
    """Items the recommended method got wrong, with their neighbours."""
    comparison, rows = case["comparison"], case["mistakes"]
    title = comparison["methods"][comparison["recommended"]]["title"]
    if not rows:
        return f"<p>{escape(title)} was right on every test item.</p>"
    titles = ["Item", "Is", "Taken for", "Confidence", "Wrong", "Nearest items"]
    order = (
        "the surest mistakes first. An item that stands among items of another class "
        "may be labelled wrongly"
    )
    numbers = case["task"] == "regression"
    if numbers:
        order, titles[2:5] = "the largest errors first", ["Predicted"]
    body = []
    for row in rows:
        sure = f"{row['probability']:.0%}" if row["probability"] else ""
        counted = [] if numbers else [sure, f"{row['wrong']} of {row['tests']}"]
        near = ", ".join(f"{n['item']} ({n['label']})" for n in row["nearest"])
        cells = [row["label"], row["predicted"], *counted, near]
        body.append(_words(row["item"], cells))
    note = _note(f"By {title}, {order}.")
    return note + _wide("Mistakes", "mistakes", _heads(titles), body)


def _picker(comparison: dict[str, Any], classes: list[dict[str, Any]]) -> str:
    """What each method got wrong, one at a time."""
    labels, parts, options, counted = [c["label"] for c in classes], "", "", False
    for name, method in comparison["methods"].items():
        selected = " selected" if name == comparison["recommended"] else ""
        title, key = escape(method["title"]), escape(name)
        chosen = "; ".join(
            f"{c['params']} ({c['splits']} split{'s' if c['splits'] > 1 else ''})"
            for c in method["chosen"]
            if c["params"]
        )
        about = method["about"] + (f" Chosen most often: {chosen}." if chosen else "")
        counted |= bool(method["confusion"])
        options += f'<option value="{key}"{selected}>{title}</option>'
        parts += f'<div class="pick" data-method="{key}"><h4>{title}</h4>'
        parts += (
            f"<p>{escape(about)}</p>{_confusion(method['confusion'], labels)}</div>"
        )
    select = f'<select class="methods">{options}</select>'
    said = "True class in rows, predicted class in columns, counted over all tests."
    note = _note(said) if counted else ""
    return f'<p class="picker"><label>Method: {select}</label></p>{note}{parts}'


def _confusion(counts: Sequence[Sequence[int]], labels: list[str]) -> str:
    """Counts, shaded by their share of the true class."""
    if not counts:
        return ""
    rows = []
    for i, row in enumerate(counts):
        cells = [
            f'<td class="{"right" if i == j else "wrong"}" '
            f'style="--share:{100 * count / max(sum(row), 1):.0f}%">{count}</td>'
            for j, count in enumerate(row)
        ]
        rows.append(_row(labels[i], cells))
    head = "<td></td>" + _heads(labels, ' class="number"')
    return _wide("Confusion", "confusion", head, rows)


def _advice(advice: list[str], findings: list[dict[str, Any]]) -> str:
    """What to do, unless the alerts said it."""
    said = [finding["text"] for finding in findings]
    new = [text for text in advice if not any(known in text for known in said)]
    items = "".join(f"<li>{escape(text)}</li>" for text in new)
    return f"<ul>{items}</ul>" if items else ""


def _embedding(case: dict[str, Any]) -> str:
    labels = [c["label"] for c in case["classes"]]
    points = case["embedding"]
    p, q, _ = case["spectrum"]["signature"]
    values = " and ".join(f"{v:.3g}" for v in points["eigenvalues"])
    hidden = f" {points['hidden']} items are not drawn." if points["hidden"] else ""
    caption = (
        f"Signature ({p}, {q}): the whole space has {p} positive and {q} negative "
        f"axes. Shown are those of the eigenvalues {values}; along a negative axis "
        f"distances count negatively.{hidden}"
    )
    chart = charts.scatter_chart(points, labels)
    return charts.legend(labels) + _figure(chart, caption)


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
