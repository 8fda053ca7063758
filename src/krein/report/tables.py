"""Tables of the report as HTML: scores, mistakes, confusions, facts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from krein.report.data import Case, mistakes
from krein.report.page import words


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
    rows = [_texts(name, cells) for name, *cells in wrong]
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
    return "".join(_texts(name, [fact]) for name, fact in facts.items())


def note(text: str) -> str:
    """A paragraph in small letters."""
    return f'<p class="note">{escape(text)}</p>'


def _row(name: str, cells: Iterable[str], kind: str = "") -> str:
    return f'<tr{kind}><th scope="row">{escape(name)}</th>{"".join(cells)}</tr>'


def _texts(name: str, texts: Iterable[str]) -> str:
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
