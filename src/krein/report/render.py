"""Dict -> one HTML file without network access. Every text is escaped."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from functools import cache
from html import escape
from importlib import resources
from pathlib import Path
from string import Formatter, Template
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


class _Filled(Formatter):
    """Puts values into a template; those that are no Html are escaped."""

    def format_field(self, value: Any, format_spec: str) -> str:
        text = format(value, format_spec)
        return text if isinstance(value, Html) else escape(text)


class Html(str):
    """Text that is HTML already."""


def fill(name: str, texts: dict[str, Any], **html: str) -> str:
    """Return a template with texts, which are escaped, and HTML in it."""
    parts = {key: Html(part) for key, part in html.items()}
    return _Filled().vformat(_file(name), (), {**texts, **parts})


def _file(name: str) -> str:
    return (resources.files("krein.report") / name).read_text("utf-8")


@cache
def words() -> dict[str, Any]:
    """Words of the report by task, and of the demo."""
    return tomllib.loads(_file("words.toml"))


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


# ------------------------------------------------------------------------- the section


def _section(case: dict[str, Any], index: int, cases: int) -> str:
    """One similarity, the answer first."""
    comparison, run = case["comparison"], case["run"]
    methods = comparison["methods"]
    labels = [c["label"] for c in case["classes"]]
    cut = "the solver was cut short on {:.0%} of the splits"
    slow = {methods[m]["title"]: cut.format(s) for m, s in run["not_converged"].items()}
    return fill(
        "section.html",
        case | _texts(case, index),
        heading=_heading(case) if cases > 1 else "",
        alerts=_alerts(case["findings"]),
        lines=_pre(case["copy"]["shell"]) + _pre(case["copy"]["python"]),
        several=_kernels(case),
        table=score_table(comparison),
        failed="".join(
            _note(f"{name} was left out, it failed: {why}")
            for name, why in comparison["failed"].items()
        ),
        wrong=_mistakes(case),
        options="".join(_option(comparison, name) for name in methods),
        methods="".join(_method(name, m, labels) for name, m in methods.items()),
        facts=facts_table(case["spectrum"]["facts"]),
        advice=_advice(case),
        cut_short=_facts(slow),
        command=_pre(run["command"]),
        **_pictures(case, labels),
    )


def _pictures(case: dict[str, Any], labels: list[str]) -> dict[str, str]:
    comparison, spectrum = case["comparison"], case["spectrum"]
    rows, chosen = comparison["table"], comparison["recommended"]
    score = comparison["scoring"], comparison["label"]
    edge = spectrum["noise_edge"]
    return {
        "scores": charts.interval_chart(rows, *score, chosen, comparison["levels"]),
        "spectrum_chart": charts.spectrum_chart(spectrum["eigenvalues"], edge),
        "heat_chart": charts.heat_chart(case["heat"], case["classes"]),
        "legend": charts.legend(labels),
        "scatter": charts.scatter_chart(case["embedding"], labels),
    }


def _texts(case: dict[str, Any], index: int) -> dict[str, Any]:
    """Texts of a section that depend on the task or on what was found."""
    edge, hidden = case["spectrum"]["noise_edge"], case["embedding"]["hidden"]
    classes, band = _classes(case["classes"]), ""
    if case["task"] == "regression":
        classes = "numbers to be predicted, drawn in fifths"
    if edge is not None:
        band = f"; the grey band (up to {edge:.3g}) is what noise alone would fill"
    return {
        "index": index,
        "about_data": f"{case['about']} {case['items']} items; {classes}.".strip(),
        "useful": "" if case["comparison"]["useful"] else "bad",
        "band": band,
        "hidden": f"{hidden} items are not drawn." if hidden else "",
        "words": words()[case["task"]],
    }


def _heading(case: dict[str, Any]) -> str:
    said = escape(_capital(case.get("finding") or case["headline"]))
    return f'<h2>{escape(case["title"])}</h2><p class="finding">{said}</p>'


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


def _pre(text: str) -> str:
    return f"<pre>{escape(text)}</pre>" if text else ""


def _kernels(case: dict[str, Any]) -> str:
    """Several kernels, each with the method that is recommended for it."""
    rows, comparison = case["kernels"], case["comparison"]
    if not rows:
        return ""
    label, best = comparison["label"], rows[0]["method"]
    chart = charts.interval_chart(rows, comparison["scoring"], label, best)
    by = "; ".join(f"{row['title']} by {row['by']}" for row in rows)
    caption = f"Mean {label} with 95 % intervals, {by}. What follows is about {best}."
    said = f"<figcaption>{escape(caption)}</figcaption>"
    return f"<h3>Kernels</h3><figure>{chart}{said}</figure>"


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
    return _wide("Table of scores", "sortable", head, rows)


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
    return f"<table><tbody>{_facts(facts)}</tbody></table>"


def _facts(facts: dict[str, str]) -> str:
    return "".join(_words(name, [fact]) for name, fact in facts.items())


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
    comparison, about = case["comparison"], words()[case["task"]]
    title = comparison["methods"][comparison["recommended"]]["title"]
    if not case["mistakes"]:
        return f"<p>{escape(title)} was right on every test item.</p>"
    body = []
    for row in case["mistakes"]:
        sure = f"{row['probability']:.0%}" if row["probability"] else ""
        counted = [sure, f"{row['wrong']} of {row['tests']}"]
        near = ", ".join(f"{n['item']} ({n['label']})" for n in row["nearest"])
        counted = counted if case["task"] == "classification" else []
        body.append(
            _words(row["item"], [row["label"], row["predicted"], *counted, near])
        )
    table = _wide("Mistakes", "mistakes", _heads(about["columns"]), body)
    return _note(f"By {title}, {about['surest']}.") + table


def _option(comparison: dict[str, Any], name: str) -> str:
    selected = " selected" if name == comparison["recommended"] else ""
    title = escape(comparison["methods"][name]["title"])
    return f'<option value="{escape(name)}"{selected}>{title}</option>'


def _method(name: str, method: dict[str, Any], labels: list[str]) -> str:
    """What a method is, which settings it chose, and what it got wrong."""
    about = method["about"]
    if method["chosen"]:
        about += f" Chosen most often: {'; '.join(method['chosen'])}."
    return (
        f'<div class="pick" data-method="{escape(name)}">'
        f"<h4>{escape(method['title'])}</h4><p>{escape(about)}</p>"
        f"{_confusion(method['confusion'], labels)}</div>"
    )


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


def _advice(case: dict[str, Any]) -> str:
    """What to do about classes, unless the alerts said it."""
    said = [finding["text"] for finding in case["findings"]]
    advice = [] if case["task"] == "regression" else case["spectrum"]["advice"]
    new = [text for text in advice if not any(known in text for known in said)]
    items = "".join(f"<li>{escape(text)}</li>" for text in new)
    return f"<ul>{items}</ul>" if items else ""
