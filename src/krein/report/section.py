"""The section of a page about one similarity, the answer first, and its tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

import numpy as np

from krein.diagnostics.twins import listed_groups
from krein.estimators._pool_candidates import in_words
from krein.report import charts
from krein.report.data import Case, machine, mistakes, recipe
from krein.report.heat_map import heat_chart
from krein.report.page import capital, fill, words
from krein.spectrum.decomposition import Spectrum
from krein.verdicts.sentences import say
from krein.words import digits, seconds_in_words

_FEW_CLASSES = 12  # whose sizes are listed one by one


def section(case: Case, index: int, cases: int) -> str:
    """Return the HTML of one similarity.

    Parameters
    ----------
    case : Case
        What was found.
    index, cases : int
        Which of how many it is.
    """
    comparison = case.comparison
    to_copy = recipe(comparison, case.source)
    ranking = comparison.ranking
    return fill(
        "section.html",
        texts={
            "index": index,
            **_texts(case),
            **words()[comparison.task],
            **_run(comparison),
            **machine(),
        },
        html={
            "heading": _heading(case) if cases > 1 else "",
            "alerts": _alerts(case.findings),
            "fed": _fed(comparison, comparison.recommendation.contender),
            "lines": _pre(to_copy["shell"]) + _pre(to_copy["python"]),
            "several": _kernels(case),
            "table": score_table(comparison),
            "failed": _failed(comparison),
            "wrong": mistakes_table(case),
            "options": "".join(_option(comparison, name) for name in ranking),
            "each": "".join(_method(comparison, name, case.labels) for name in ranking),
            "facts": facts_rows(case.diagnosis.facts()),
            "advice": _advice(case),
            "cut_short": _cut_short(comparison),
            "command": _pre(case.command),
            **_pictures(case),
        },
    )


# ----------------------------------------------------------------------- its pictures


def _pictures(case: Case) -> dict[str, str]:
    comparison = case.comparison
    diagnosis = case.diagnosis
    chosen = comparison.recommendation.contender
    axes, points = charts.embedding(Spectrum.exact(case.K))
    hidden = max(0, len(points) - charts.POINTS)
    return {
        "scores": charts.interval_chart(
            comparison.table(), comparison.deciding, chosen, comparison.levels
        ),
        "spectrum_chart": charts.spectrum_chart(
            diagnosis.eigenvalues.tolist(), diagnosis.negative_part.noise_edge
        ),
        "heat_chart": heat_chart(case.K, case.codes, case.labels),
        "legend": charts.legend(case.labels),
        "scatter": charts.scatter_chart(
            axes, points, case.codes, case.names, case.labels
        ),
        "axes": f"{axes[0]:.3g} and {axes[1]:.3g}",
        "hidden": f"{hidden} items are not drawn." if hidden else "",
    }


# -------------------------------------------------------------------------- its texts


def _texts(case: Case) -> dict[str, Any]:
    """Texts that depend on what was found."""
    comparison = case.comparison
    recommendation = comparison.recommendation
    positive, negative, _ = case.diagnosis.signature
    levels = [f"{name} {value:.3g}" for name, value in comparison.levels]
    target = "numbers to be predicted, drawn in fifths"
    if comparison.task != "regression":
        target = classes_in_words(case.labels, np.bincount(case.codes).tolist())
    about_data = f"{case.about} {case.codes.size} items; {target}."
    return {
        "about_data": about_data.strip(),
        "answer": case.found.recommendation.in_words(below_headline=True),
        "useful": "" if recommendation.useful else "bad",
        "free": ", ".join(levels),
        "band": _band(case.diagnosis.negative_part.noise_edge),
        "label": comparison.deciding.title,
        "about_p": comparison.about_p,
        "about_best": comparison.about_best,
        "intervals": comparison.about_intervals,
        "positive": positive,
        "negative": negative,
    }


def classes_in_words(labels: Sequence[str], counts: Sequence[int]) -> str:
    """Say how many items each class has, or of many classes the range."""
    if len(labels) > _FEW_CLASSES:
        return f"{len(labels)} classes of {min(counts)} to {max(counts)} items"
    pairs = zip(labels, counts, strict=True)
    return "classes " + ", ".join(f"{label}: {count}" for label, count in pairs)


def _band(noise_edge: float | None) -> str:
    if noise_edge is None:
        return ""
    return f"; the grey band (up to {noise_edge:.3g}) is what noise alone would fill"


def _run(comparison: Any) -> dict[str, Any]:
    """Texts on what was run."""
    sizes = [(train.size, test.size) for train, test in comparison.splits]
    n_train, n_test = np.median(sizes, axis=0)
    seconds = 0.0
    for record in comparison.records:
        seconds += record.get("search_seconds", 0.0)
        seconds += record.get("fit_seconds", 0.0)
    return {
        "splits": len(comparison.splits),
        "train": int(n_train),
        "test": int(n_test),
        "seed": comparison.random_state,
        "kind": "random" if comparison.problem.groups is None else "grouped",
        "time": seconds_in_words(seconds),
    }


def _heading(case: Case) -> str:
    text = capital(case.finding or case.headline)
    return f'<h2>{escape(case.title)}</h2><p class="finding">{escape(text)}</p>'


def _alerts(findings: list[dict[str, Any]]) -> str:
    """What is wrong or worth knowing, the worst first, each with its repair."""
    items = ""
    for finding in findings:
        kind = escape(finding["severity"])
        items += f'<li class="{kind}"><b>{kind}</b> {escape(finding["text"])}'
        if finding.get("items"):
            items += f"<p>Items: {escape(listed_groups(finding['items']))}</p>"
        for repair in (finding.get("command"), finding.get("python")):
            if repair:
                items += f"<code>{escape(repair)}</code>"
        items += "</li>"
    return f'<ul class="alerts" aria-label="Alerts">{items}</ul>' if items else ""


def _advice(case: Case) -> str:
    """What to do about classes, unless the alerts said it."""
    if case.comparison.task == "regression":
        return ""
    alerts = [finding["text"] for finding in case.findings]
    items = ""
    for text in case.diagnosis.advice:
        if not any(alert in text for alert in alerts):
            items += f"<li>{escape(text)}</li>"
    return f"<ul>{items}</ul>" if items else ""


def _failed(comparison: Any) -> str:
    notes = [
        note(say("left out", name=name, why=why))
        for name, why in comparison.failed.items()
    ]
    return "".join(notes)


def _cut_short(comparison: Any) -> str:
    """Rows about methods whose solver did not always end by itself."""
    facts = {}
    for row in comparison.table():
        share = 1.0 - row["converged"]
        if share:
            text = f"the solver was cut short on {share:.0%} of the splits"
            facts[row["title"]] = text
    return facts_rows(facts)


def _pre(text: str) -> str:
    return f"<pre>{escape(text)}</pre>" if text else ""


# ----------------------------------------------------------------- kernels and methods


def _kernels(case: Case) -> str:
    """Several kernels, each with the method that is recommended for it."""
    if not case.kernel:
        return ""
    rows = []
    for kernel in case.found.ranking:
        comparison = case.found.comparisons[kernel]
        by_method = {row["method"]: row for row in comparison.table()}
        row = by_method[comparison.recommendation.contender]
        rows.append({**row, "title": kernel, "method": kernel, "by": row["title"]})
    column = case.comparison.deciding
    chart = charts.interval_chart(rows, column, case.kernel)
    by = "; ".join(f"{row['title']} by {row['by']}" for row in rows)
    caption = (
        f"Mean {column.title} with 95 % intervals, {by}. "
        f"What follows is about {case.kernel}."
    )
    figure = f"<figure>{chart}<figcaption>{escape(caption)}</figcaption></figure>"
    return f"<h3>Kernels</h3>{figure}"


def _option(comparison: Any, name: str) -> str:
    selected = " selected" if name == comparison.recommendation.contender else ""
    title = escape(comparison.title(name))
    return f'<option value="{escape(name)}"{selected}>{title}</option>'


def _method(comparison: Any, name: str, labels: list[str]) -> str:
    """What a method is, which settings it chose, and what it got wrong."""
    about = comparison.registry[name].about + _chosen_settings(comparison.of(name))
    return (
        f'<div class="pick" data-method="{escape(name)}">'
        f"<h4>{escape(comparison.title(name))}</h4><p>{escape(about)}</p>"
        f"{_fed(comparison, name)}"
        f"{confusion_table(comparison.confusion(name).tolist(), labels)}</div>"
    )


def _fed(comparison: Any, name: str) -> str:
    """What a method that chooses what is fed to it has chosen, the usual first."""
    records = comparison.of(name)
    fed = [pair for record in records for pair in record.get("fed", [])]
    if not fed:
        return ""
    conversions = Counter(in_words(conversion) for conversion, _ in fed)
    fixes = Counter(fix for _, fix in fed)
    text = say(
        "fed",
        splits=len(records),
        name=comparison.title(name),
        conversions=_counted(conversions),
        fixes=_counted(fixes),
    )
    return f"<p>{escape(text)}</p>"


def _counted(counts: Counter[str]) -> str:
    """All that was chosen, with how often."""
    return ", ".join(f"{what} ({count})" for what, count in counts.most_common())


def _chosen_settings(records: Sequence[dict[str, Any]]) -> str:
    """The three settings that most splits chose."""
    counts = Counter(_settings(record["params"]) for record in records)
    often = [
        f"{settings} (splits: {count})"
        for settings, count in counts.most_common(3)
        if settings
    ]
    return f" Chosen most often: {'; '.join(often)}." if often else ""


def _settings(params: dict[str, Any]) -> str:
    texts = []
    for name, value in params.items():
        if isinstance(value, dict):
            texts.append(_settings(value))
        else:
            texts.append(f"{name} = {digits(value)}")
    return ", ".join(texts)


# ------------------------------------------------------------------------------ tables


def score_table(comparison: Any) -> str:
    """All methods; the column that decides is bold for the recommended one."""
    columns = comparison.columns
    chosen = comparison.recommendation.contender
    rows = []
    for row in comparison.table():
        cells = [
            _score(column, row, deciding=column is comparison.deciding)
            for column in columns
        ]
        kind = ' class="chosen"' if row["method"] == chosen else ""
        rows.append(_row(row["title"], cells, kind))
    titles = [column.title for column in columns]
    head = _heads(["Method"]) + _heads(titles, ' class="number"')
    return _wide("Table of scores", "sortable", head, rows)


def _score(column: Any, row: dict[str, Any], *, deciding: bool) -> str:
    kind = "number deciding" if deciding else "number"
    value = row[column.key]
    return f'<td class="{kind}" data-value="{value!r}">{escape(column.show(row))}</td>'


def mistakes_table(case: Case) -> str:
    """Items that the recommended method got wrong, with their neighbours."""
    comparison = case.comparison
    about = words()[comparison.task]
    title = comparison.title(comparison.recommendation.contender)
    wrong = mistakes(comparison, case.K, case.names)
    if not wrong:
        return f"<p>{escape(title)} was right on every test item.</p>"
    rows = [_text_row(name, cells) for name, *cells in wrong]
    table = _wide("Mistakes", "mistakes", _heads(about["columns"]), rows)
    return note(f"By {title}, {about['surest']}.") + table


def confusion_table(counts: Sequence[Sequence[int]], labels: list[str]) -> str:
    """Counts by true class and answer, shaded by their share of the true class."""
    if not counts:
        return ""
    rows = []
    for i, row in enumerate(counts):
        cells = []
        for j, count in enumerate(row):
            kind = "right" if i == j else "wrong"
            share = 100 * count / max(sum(row), 1)
            style = f"--share:{share:.0f}%"
            cells.append(f'<td class="{kind}" style="{style}">{count}</td>')
        rows.append(_row(labels[i], cells))
    head = "<td></td>" + _heads(labels, ' class="number"')
    return _wide("Confusion", "confusion", head, rows)


def facts_rows(facts: dict[str, str]) -> str:
    """Rows of a table of two columns."""
    return "".join(_text_row(name, [fact]) for name, fact in facts.items())


def note(text: str) -> str:
    """A paragraph in small letters."""
    return f'<p class="note">{escape(text)}</p>'


def _row(name: str, cells: Iterable[str], kind: str = "") -> str:
    return f'<tr{kind}><th scope="row">{escape(name)}</th>{"".join(cells)}</tr>'


def _text_row(name: str, texts: Iterable[str]) -> str:
    return _row(name, [f"<td>{escape(text)}</td>" for text in texts])


def _heads(titles: Iterable[str], kind: str = "") -> str:
    return "".join(f'<th scope="col"{kind}>{escape(title)}</th>' for title in titles)


def _wide(label: str, kind: str, head: str, rows: Iterable[str]) -> str:
    """A table that scrolls sideways where the screen is narrow."""
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="{label}">'
        f'<table class="{kind}"><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )
