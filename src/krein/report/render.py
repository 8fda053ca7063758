"""Cases -> one HTML file without network access. Every text is escaped."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from functools import cache
from html import escape
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

import krein
from krein.report import charts
from krein.report.data import Case, machine, mistakes, recipe
from krein.spectrum.decomposition import Spectrum
from krein.store.files import atomic_write, check_writable
from krein.store.shared_work import is_sharing, shared_work
from krein.verdicts.sentences import say
from krein.words import digits, seconds_in_words

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
        Of `krein.report.data.Case`.

    Returns
    -------
    Path
    """
    path = check_writable(path, overwrite=force)
    with nullcontext() if is_sharing() else shared_work():
        text = render([Case(comparison, **context)])
    with atomic_write(path, overwrite=force, text=True) as file:
        file.write(text)
    return path


def render(cases: Sequence[Case], **texts: str) -> str:
    """Return the HTML page of some cases.

    Parameters
    ----------
    cases : sequence of Case
        What was found.
    **texts
        Of `page`, where they are not those of the first case.
    """
    sections = [_section(c, i, len(cases)) for i, c in enumerate(cases)]
    links = [(f"case{i}", c.title) for i, c in enumerate(cases)]
    links = [*(links if len(cases) > 1 else []), ("glossary", "Glossary")]
    items = [f'<li><a href="#{at}">{escape(title)}</a></li>' for at, title in links]
    contents = f'<nav aria-label="Contents"><ul>{"".join(items)}</ul></nav>'
    glossary = words()["glossary"].items()
    terms = [f"<dt>{escape(w)}</dt><dd>{escape(text)}</dd>" for w, text in glossary]
    meanings = f"<h2>Glossary</h2><dl>{''.join(terms)}</dl>"
    sections.append(f'<section id="glossary">{meanings}</section>')
    first = {"title": f"krein: {cases[0].title}", "headline": cases[0].headline}
    return page("\n".join(sections), contents, **(first | texts))


def page(body: str, contents: str = "", **texts: str) -> str:
    """Put HTML into the frame of a page.

    Parameters
    ----------
    body, contents : str
        HTML.
    **texts
        ``title``, ``headline`` and where there are any ``intro`` and ``footer``.
    """
    about = {"version": krein.__version__, "intro": "", "footer": ""} | texts
    about["headline"] = _capital(about["headline"])
    files = {"style": _file("style.css"), "script": _file("script.js")}
    return fill("template.html", about, body=body, contents=contents, **files)


def fill(name: str, texts: dict[str, Any], **html: str) -> str:
    """Return a template with texts, which are escaped, and HTML in it."""
    escaped = {key: escape(str(text)) for key, text in texts.items()}
    return _file(name).format_map(escaped | html)


def _file(name: str) -> str:
    return (resources.files("krein.report") / name).read_text("utf-8")


@cache
def words() -> dict[str, Any]:
    """Words of the report by task, of the demo, the glossary and maps."""
    return tomllib.loads(_file("words.toml"))


def _capital(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]


def _classes(labels: Sequence[str], counts: Sequence[int]) -> str:
    """Say how many items each class has, or of many classes the range."""
    if len(labels) <= _FEW_CLASSES:
        pairs = zip(labels, counts, strict=True)
        return "classes " + ", ".join(f"{label}: {count}" for label, count in pairs)
    return f"{len(labels)} classes of {min(counts)} to {max(counts)} items"


# ------------------------------------------------------------------------- the section


def _section(case: Case, index: int, cases: int) -> str:
    """One similarity, the answer first."""
    comparison = case.comparison
    ranking, copied = comparison.ranking, recipe(comparison, case.source)
    return fill(
        "section.html",
        _texts(case, index),
        heading=_heading(case) if cases > 1 else "",
        alerts=_alerts(case.findings),
        lines=_pre(copied["shell"]) + _pre(copied["python"]),
        several=_kernels(case),
        table=score_table(comparison),
        failed="".join(
            _note(say("left out", name=name, why=why))
            for name, why in comparison.failed.items()
        ),
        wrong=_mistakes(case),
        options="".join(_option(comparison, name) for name in ranking),
        each="".join(_method(comparison, name, case.labels) for name in ranking),
        facts=facts_rows(case.diagnosis.facts()),
        advice=_advice(case),
        cut_short=_cut_short(comparison),
        command=_pre(case.command),
        **_pictures(case),
    )


def _pictures(case: Case) -> dict[str, str]:
    comparison, diagnosis, labels = case.comparison, case.diagnosis, case.labels
    column, chosen = comparison.deciding, comparison.recommendation.contender
    rows, edge = comparison.table(), diagnosis.negative_part.noise_edge
    values, points = charts.embedding(Spectrum.exact(case.K))
    hidden = max(0, len(points) - charts.POINTS)
    return {
        "scores": charts.interval_chart(rows, column, chosen, comparison.levels),
        "spectrum_chart": charts.spectrum_chart(diagnosis.eigenvalues.tolist(), edge),
        "heat_chart": charts.heat_chart(case.K, case.codes, labels),
        "legend": charts.legend(labels),
        "scatter": charts.scatter_chart(values, points, case.codes, case.names, labels),
        "axes": f"{values[0]:.3g} and {values[1]:.3g}",
        "hidden": f"{hidden} items are not drawn." if hidden else "",
    }


def _texts(case: Case, index: int) -> dict[str, Any]:
    """Texts of a section that depend on the task or on what was found."""
    comparison, edge = case.comparison, case.diagnosis.negative_part.noise_edge
    classes, band = _classes(case.labels, np.bincount(case.codes).tolist()), ""
    if comparison.task == "regression":
        classes = "numbers to be predicted, drawn in fifths"
    if edge is not None:
        band = f"; the grey band (up to {edge:.3g}) is what noise alone would fill"
    return {
        "index": index,
        "about_data": f"{case.about} {case.codes.size} items; {classes}.".strip(),
        "answer": case.found.recommendation.in_words(below_headline=True),
        "useful": "" if comparison.recommendation.useful else "bad",
        "free": ", ".join(f"{name} {value:.3g}" for name, value in comparison.levels),
        "band": band,
        "label": comparison.deciding.title,
        "about_p": comparison.about_p,
        "about_best": comparison.about_best,
        "intervals": comparison.about_intervals,
        "positive": case.diagnosis.signature[0],
        "negative": case.diagnosis.signature[1],
        **words()[comparison.task],
        **_run(comparison),
    }


def _run(comparison: Any) -> dict[str, Any]:
    """Texts on what was run, and by which versions."""
    sizes = np.median([(a.size, b.size) for a, b in comparison.splits], axis=0)
    times = ("search_seconds", "fit_seconds")
    seconds = sum(r.get(time, 0.0) for r in comparison.records for time in times)
    return {
        "splits": len(comparison.splits),
        "train": int(sizes[0]),
        "test": int(sizes[1]),
        "seed": comparison.random_state,
        "kind": "random" if comparison.problem.groups is None else "grouped",
        "time": seconds_in_words(seconds),
        **machine(),
    }


def _heading(case: Case) -> str:
    said = escape(_capital(case.finding or case.headline))
    return f'<h2>{escape(case.title)}</h2><p class="finding">{said}</p>'


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


def _kernels(case: Case) -> str:
    """Several kernels, each with the method that is recommended for it."""
    if not case.kernel:
        return ""
    rows = []
    for kernel in case.found.ranking:
        found = case.found.comparisons[kernel]
        row = {row["method"]: row for row in found.table()}[
            found.recommendation.contender
        ]
        rows.append({**row, "title": kernel, "method": kernel, "by": row["title"]})
    column = case.comparison.deciding
    chart = charts.interval_chart(rows, column, case.kernel)
    by = "; ".join(f"{row['title']} by {row['by']}" for row in rows)
    caption = f"Mean {column.title} with 95 % intervals, {by}."
    caption += f" What follows is about {case.kernel}."
    said = f"<figcaption>{escape(caption)}</figcaption>"
    return f"<h3>Kernels</h3><figure>{chart}{said}</figure>"


def score_table(comparison: Any) -> str:
    """All methods; the column that decides is bold for the recommended one."""
    columns = comparison.columns
    rows = []
    for row in comparison.table():
        cells = (_cell(c, row, c is comparison.deciding) for c in columns)
        chosen = row["method"] == comparison.recommendation.contender
        rows.append(_row(row["title"], cells, ' class="chosen"' if chosen else ""))
    head = _heads(["Method"]) + _heads((c.title for c in columns), ' class="number"')
    return _wide("Table of scores", "sortable", head, rows)


def _cell(column: Any, row: dict[str, Any], deciding: bool) -> str:
    kind, value = "number deciding" if deciding else "number", row[column.key]
    return f'<td class="{kind}" data-value="{value!r}">{escape(column.show(row))}</td>'


# ------------------------------------------------------------------------------ tables


def facts_rows(facts: dict[str, str]) -> str:
    """Rows of a table of two columns."""
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


def _mistakes(case: Case) -> str:
    """Items the recommended method got wrong, with their neighbours."""
    comparison, about = case.comparison, words()[case.comparison.task]
    title = comparison.title(comparison.recommendation.contender)
    rows = mistakes(comparison, case.K, case.names)
    if not rows:
        return f"<p>{escape(title)} was right on every test item.</p>"
    body = [_words(name, cells) for name, *cells in rows]
    table = _wide("Mistakes", "mistakes", _heads(about["columns"]), body)
    return _note(f"By {title}, {about['surest']}.") + table


def _option(comparison: Any, name: str) -> str:
    selected = " selected" if name == comparison.recommendation.contender else ""
    title = escape(comparison.title(name))
    return f'<option value="{escape(name)}"{selected}>{title}</option>'


def _method(comparison: Any, name: str, labels: list[str]) -> str:
    """What a method is, which settings it chose, and what it got wrong."""
    about = comparison.registry[name].about
    settings = Counter(_settings(record["params"]) for record in comparison.of(name))
    chosen = [f"{some} (splits: {n})" for some, n in settings.most_common(3) if some]
    if chosen:
        about += f" Chosen most often: {'; '.join(chosen)}."
    return (
        f'<div class="pick" data-method="{escape(name)}">'
        f"<h4>{escape(comparison.title(name))}</h4><p>{escape(about)}</p>"
        f"{_confusion(comparison.confusion(name).tolist(), labels)}</div>"
    )


def _settings(params: dict[str, Any]) -> str:
    return ", ".join(
        _settings(value) if isinstance(value, dict) else f"{name} = {digits(value)}"
        for name, value in params.items()
    )


def _cut_short(comparison: Any) -> str:
    cut = "the solver was cut short on {:.0%} of the splits"
    shares = {row["title"]: 1.0 - row["converged"] for row in comparison.table()}
    facts = {name: cut.format(share) for name, share in shares.items() if share}
    return facts_rows(facts)


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


def _advice(case: Case) -> str:
    """What to do about classes, unless the alerts said it."""
    said = [finding["text"] for finding in case.findings]
    advice = [] if case.comparison.task == "regression" else case.diagnosis.advice
    new = [text for text in advice if not any(known in text for known in said)]
    items = "".join(f"<li>{escape(text)}</li>" for text in new)
    return f"<ul>{items}</ul>" if items else ""
