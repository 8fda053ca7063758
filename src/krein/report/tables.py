"""Tables of the report: scores, mistakes, confusion, facts."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Any

from krein.progress import seconds_in_words


def capital(sentence: str) -> str:
    """The sentence with a capital letter."""
    return sentence[:1].upper() + sentence[1:]


def facts_table(facts: dict[str, str]) -> str:
    """A table of two columns."""
    rows = "".join(_row(k, [f"<td>{escape(v)}</td>"]) for k, v in facts.items())
    return f"<table><tbody>{rows}</tbody></table>"


def _scrolling(table: str, label: str) -> str:
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="{label}">'
        f"{table}</div>"
    )


def _row(name: str, cells: Iterable[str], kind: str = "") -> str:
    return f'<tr{kind}><th scope="row">{escape(name)}</th>{"".join(cells)}</tr>'


def _cell(column: dict[str, Any], row: dict[str, Any], deciding: bool) -> str:
    value = row[column["key"]]
    text = format(value, column["format"])
    if column["key"].endswith("_seconds"):
        text = seconds_in_words(value)
    kind = "number deciding" if deciding else "number"
    return f'<td class="{kind}" data-value="{value!r}">{escape(text)}</td>'


def score_table(comparison: dict[str, Any]) -> str:
    """All methods; the column that decides is bold for the recommended one."""
    columns = comparison["columns"]
    head = "".join(
        f'<th scope="col" class="number">{escape(c["title"].removesuffix(" s"))}</th>'
        for c in columns
    )
    body = "".join(
        _row(
            row["title"],
            (_cell(c, row, c["key"] == comparison["scoring"]) for c in columns),
            ' class="chosen"' if row["method"] == comparison["recommended"] else "",
        )
        for row in comparison["table"]
    )
    table = (
        f'<table class="sortable"><thead><tr><th scope="col">Method</th>{head}</tr>'
        f"</thead><tbody>{body}</tbody></table>"
    )
    return (
        f'<p class="note">{escape(capital(comparison["label"]))} decides (bold). '
        f"Press a heading to sort. {escape(comparison['about_p'])}</p>"
        + _scrolling(table, "Table of scores")
    )


def mistake_table(case: dict[str, Any]) -> str:
    """Items the recommended method got wrong, with their neighbours."""
    comparison, rows = case["comparison"], case["mistakes"]
    title = comparison["methods"][comparison["recommended"]]["title"]
    if not rows:
        return f"<p>{escape(title)} was right on every test item.</p>"
    words = ["Item", "Is", "Taken for", "Confidence", "Wrong", "Nearest items"]
    order = "the surest mistakes first. An item that stands among items of another "
    order += "class may be labelled wrongly"
    numbers = case["task"] == "regression"
    if numbers:
        order, words[2:5] = "the largest errors first", ["Predicted"]
    head = "".join(f'<th scope="col">{word}</th>' for word in words)
    body = "".join(_mistake(row, numbers) for row in rows)
    table = (
        f'<table class="mistakes"><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table>"
    )
    return f'<p class="note">By {escape(title)}, {order}.</p>' + _scrolling(
        table, "Mistakes"
    )


def unsure_table(rows: list[dict[str, Any]]) -> str:
    """Items whose 90 % prediction set is empty or holds several classes."""
    if not rows:
        return "<p>Every prediction set at 90 % holds exactly one class.</p>"
    head = "".join(
        f'<th scope="col">{word}</th>' for word in ("Item", "Is", "Set at 90 %")
    )
    body = "".join(
        _row(row["item"], (f"<td>{escape(cell)}</td>" for cell in cells))
        for row in rows
        for cells in [(row["label"], ", ".join(row["set"]) or "none of the classes")]
    )
    note = (
        "Prediction sets hold the true class of nine items in ten. A set of several "
        "classes says that the item lies between them, an empty one that it is unlike "
        "all of them."
    )
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f'<p class="note">{note}</p>' + _scrolling(table, "Items to look at")


def _mistake(row: dict[str, Any], numbers: bool) -> str:
    sure = f"{row['probability']:.0%}" if row["probability"] else ""
    counted = [] if numbers else [sure, f"{row['wrong']} of {row['tests']}"]
    near = ", ".join(f"{n['item']} ({n['label']})" for n in row["nearest"])
    cells = [row["label"], row["predicted"], *counted, near]
    return _row(row["item"], (f"<td>{escape(cell)}</td>" for cell in cells))


def picker(comparison: dict[str, Any], classes: list[dict[str, Any]]) -> str:
    """What each method got wrong, one at a time."""
    labels, methods = [c["label"] for c in classes], comparison["methods"]
    options = "".join(
        f'<option value="{escape(name)}"'
        f"{' selected' if name == comparison['recommended'] else ''}>"
        f"{escape(method['title'])}</option>"
        for name, method in methods.items()
    )
    parts = "".join(_method_part(n, method, labels) for n, method in methods.items())
    return (
        f'<p class="picker"><label>Method: <select class="methods">{options}</select>'
        f"</label></p>{parts}"
    )


def _method_part(name: str, method: dict[str, Any], labels: list[str]) -> str:
    chosen = "; ".join(
        f"{c['params'] or 'nothing to choose'} "
        f"({c['splits']} split{'s' if c['splits'] > 1 else ''})"
        for c in method["chosen"]
    )
    return (
        f'<div class="pick" data-method="{escape(name)}"><p>{escape(method["about"])} '
        f"Chosen most often: {escape(chosen)}.</p>{_confusion(method, labels)}</div>"
    )


def _confusion(method: dict[str, Any], labels: list[str]) -> str:
    """Counts, shaded by their share of the true class."""
    if not method["confusion"]:
        return ""
    head = "".join(f'<th scope="col" class="number">{escape(x)}</th>' for x in labels)
    body = ""
    for i, counts in enumerate(method["confusion"]):
        total = max(sum(counts), 1)
        body += _row(
            labels[i],
            (
                f'<td class="{"right" if i == j else "wrong"}" '
                f'style="--share:{100 * count / total:.0f}%">{count}</td>'
                for j, count in enumerate(counts)
            ),
        )
    table = (
        '<table class="confusion"><caption>True class (rows), predicted class '
        "(columns), counted over all test parts</caption>"
        f"<thead><tr><td></td>{head}</tr></thead><tbody>{body}</tbody></table>"
    )
    return _scrolling(table, "Confusion")
