"""Tables of the report: scores of all methods, and items that were not recognised."""

from __future__ import annotations

from html import escape
from typing import Any

from krein.comparison.columns import ABOUT_P, Column, shown_columns
from krein.progress import seconds_in_words

__all__ = ["mistake_table", "score_table"]


def _cell(column: Column, row: dict[str, Any], deciding: bool) -> str:
    value = row[column.key]
    text = column.show(row)
    if column.key.endswith("_seconds"):
        text = seconds_in_words(value)
    kind = "number deciding" if deciding else "number"
    return f'<td class="{kind}" data-value="{value!r}">{escape(text)}</td>'


def score_table(comparison: dict[str, Any]) -> str:
    """All methods; the column that decides is bold for the recommended one.

    Parameters
    ----------
    comparison : dict
        Of `krein.report.data.case`.
    """
    columns = shown_columns(comparison["splits"])
    judged = any(column.key == "p_value" for column in columns)
    few = "With so few splits no difference can be proven: p-values are left out."
    head = "".join(
        f'<th scope="col" class="number">{escape(c.title.removesuffix(" s"))}</th>'
        for c in columns
    )
    body = ""
    for row in comparison["table"]:
        chosen = ' class="chosen"' if row["method"] == comparison["recommended"] else ""
        cells = "".join(_cell(c, row, c.key == comparison["scoring"]) for c in columns)
        body += f'<tr{chosen}><th scope="row">{escape(row["title"])}</th>{cells}</tr>'
    return (
        f'<p class="note">Means over the splits; {escape(comparison["label"])} decides '
        f"(bold). Press a heading to sort. {ABOUT_P if judged else few}</p>"
        '<div class="wide" tabindex="0" role="region" aria-label="Table of scores">'
        '<table class="sortable">'
        f'<thead><tr><th scope="col">Method</th>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def mistake_table(case: dict[str, Any]) -> str:
    """Items the recommended method got wrong, with their neighbours.

    Parameters
    ----------
    case : dict
        Of `krein.report.data.case`.
    """
    comparison, rows = case["comparison"], case["mistakes"]
    title = comparison["methods"][comparison["recommended"]]["title"]
    if not rows:
        return f"<p>{escape(title)} was right on every test item.</p>"
    head = "".join(
        f'<th scope="col">{word}</th>'
        for word in ("Item", "Is", "Taken for", "Confidence", "Wrong", "Nearest items")
    )
    body = "".join(_mistake(row) for row in rows)
    return (
        f'<p class="note">By {escape(title)}, the surest mistakes first. An item that '
        "stands among items of another class may be labelled wrongly.</p>"
        '<div class="wide" tabindex="0" role="region" aria-label="Mistakes">'
        '<table class="mistakes">'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _mistake(row: dict[str, Any]) -> str:
    near = ", ".join(f"{n['item']} ({n['label']})" for n in row["nearest"])
    sure = row["probability"]
    cells = (
        row["label"],
        row["predicted"],
        f"{sure:.0%}" if sure else "",
        f"{row['wrong']} of {row['tests']}",
        near,
    )
    tds = "".join(f"<td>{escape(cell)}</td>" for cell in cells)
    return f'<tr><th scope="row">{escape(row["item"])}</th>{tds}</tr>'
