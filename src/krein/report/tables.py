"""Tables of the report: scores, confusion, facts, mistaken items, items to look at."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import Any

import numpy as np

from krein.arrays import Array
from krein.progress import seconds_in_words
from krein.words import digits

_SETS = (
    "Prediction sets hold the true class of nine items in ten. A set of several "
    "classes says that the item lies between them, an empty one that it is unlike all "
    "of them."
)


def capital(sentence: str) -> str:
    """The sentence with a capital letter."""
    return sentence[:1].upper() + sentence[1:]


def facts_table(facts: dict[str, str]) -> str:
    """A table of two columns."""
    rows = "".join(_row(k, [f"<td>{escape(v)}</td>"]) for k, v in facts.items())
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


def score_table(comparison: dict[str, Any]) -> str:
    """All methods; the column that decides is bold for the recommended one."""
    columns = comparison["columns"]
    titles = [c["title"].removesuffix(" s") for c in columns]
    rows = (
        _row(
            row["title"],
            (_cell(c, row, c["key"] == comparison["scoring"]) for c in columns),
            ' class="chosen"' if row["method"] == comparison["recommended"] else "",
        )
        for row in comparison["table"]
    )
    head = _heads(["Method"]) + _heads(titles, ' class="number"')
    note = (
        f'<p class="note">{escape(capital(comparison["label"]))} decides (bold). '
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


def mistake_table(case: dict[str, Any]) -> str:
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
    body = (_mistake(row, numbers) for row in rows)
    note = _note(f"By {title}, {order}.")
    return note + _wide("Mistakes", "mistakes", _heads(titles), body)


def _mistake(row: dict[str, Any], numbers: bool) -> str:
    sure = f"{row['probability']:.0%}" if row["probability"] else ""
    counted = [] if numbers else [sure, f"{row['wrong']} of {row['tests']}"]
    near = ", ".join(f"{n['item']} ({n['label']})" for n in row["nearest"])
    return _words(row["item"], [row["label"], row["predicted"], *counted, near])


def unsure_table(rows: list[dict[str, Any]]) -> str:
    """Items whose 90 % prediction set is empty or holds several classes."""
    if not rows:
        return "<p>Every prediction set at 90 % holds exactly one class.</p>"
    body = (
        _words(row["item"], [row["label"], ", ".join(row["set"]) or "no class"])
        for row in rows
    )
    head = _heads(["Item", "Is", "Set at 90 %"])
    return _note(_SETS) + _wide("Items to look at", "unsure", head, body)


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
    counted = any(method["confusion"] for method in methods.values())
    note = (
        "True class in rows, predicted class in columns, counted over all test parts."
    )
    return (
        f'<p class="picker"><label>Method: <select class="methods">{options}</select>'
        f"</label></p>{_note(note) if counted else ''}{parts}"
    )


def _method_part(name: str, method: dict[str, Any], labels: list[str]) -> str:
    chosen = "; ".join(
        f"{c['params']} ({c['splits']} split{'s' if c['splits'] > 1 else ''})"
        for c in method["chosen"]
        if c["params"]
    )
    about = method["about"] + (f" Chosen most often: {chosen}." if chosen else "")
    return (
        f'<div class="pick" data-method="{escape(name)}"><h4>{escape(method["title"])}'
        f"</h4><p>{escape(about)}</p>{_confusion(method['confusion'], labels)}</div>"
    )


def _confusion(counts: Sequence[Sequence[int]], labels: list[str]) -> str:
    """Counts, shaded by their share of the true class."""
    if not counts:
        return ""
    rows = (
        _row(
            labels[i],
            (
                f'<td class="{"right" if i == j else "wrong"}" '
                f'style="--share:{100 * count / max(sum(row), 1):.0f}%">{count}</td>'
                for j, count in enumerate(row)
            ),
        )
        for i, row in enumerate(counts)
    )
    head = "<td></td>" + _heads(labels, ' class="number"')
    return _wide("Confusion", "confusion", head, rows)


_SHOWN = 20


def mistakes(comparison: Any, K: Array, names: Sequence[str]) -> list[dict[str, Any]]:
    """Items that the recommended method got wrong, the surest mistakes first.

    Each with its name, true and predicted label, on how many of its tests it was
    wrong, how probable the wrong label was said to be, and its nearest items.
    """
    labels = _true_labels(comparison)
    wrong: dict[int, list[tuple[str, float]]] = {}
    tests: Counter[int] = Counter()
    for record, test in _tests(comparison):
        tests.update(test)
        sure = record.get("probability") or [0.0] * len(test)
        for i, label, p in zip(test, comparison.said(record), sure, strict=True):
            if label != labels[i]:
                wrong.setdefault(i, []).append((label, float(p)))
    found: list[dict[str, Any]] = [
        {
            "item": names[i],
            "label": labels[i],
            "predicted": Counter(label for label, _ in seen).most_common(1)[0][0],
            "wrong": len(seen),
            "tests": tests[i],
            "probability": round(float(np.mean([p for _, p in seen])), 4),
            "nearest": _nearest(K, i, labels, names),
        }
        for i, seen in wrong.items()
    ]
    if comparison.task == "regression":
        found.sort(key=lambda m: -abs(float(m["label"]) - float(m["predicted"])))
    else:
        found.sort(key=lambda m: (-m["wrong"] / m["tests"], -m["probability"]))
    return found[:_SHOWN]


def unsure_items(comparison: Any, names: Sequence[str]) -> list[dict[str, Any]]:
    """Items whose prediction set does not hold exactly one class, to look at."""
    labels, found = _true_labels(comparison), {}
    classes = [str(label) for label in comparison.problem.classes]
    for record, test in _tests(comparison):
        for i, chosen in zip(test, record.get("sets") or [], strict=False):
            if len(chosen) != 1:
                found[i] = [classes[k] for k in chosen]
    rows = [
        {"item": names[i], "label": labels[i], "set": chosen}
        for i, chosen in sorted(found.items(), key=lambda pair: len(pair[1]))
    ]
    return rows[:_SHOWN]


def _tests(comparison: Any) -> Iterator[tuple[dict[str, Any], list[int]]]:
    """Records of the recommended method, with the items that were tested."""
    for record in comparison.of(comparison.recommendation.method):
        yield record, comparison.splits[record["split"]][1].tolist()


def _true_labels(comparison: Any) -> list[str]:
    return [
        digits(float(label)) if comparison.task == "regression" else str(label)
        for label in comparison.problem.labels
    ]


def _nearest(
    K: Array, i: int, labels: list[str], names: Sequence[str]
) -> list[dict[str, str]]:
    order = [j for j in np.argsort(-K[i], kind="stable")[:4] if j != i][:3]
    if 2 * np.count_nonzero(K[i]) < K.shape[0]:  # hits: who is absent is not near
        order = [j for j in order if K[i, j] != 0.0]
    return [{"item": names[j], "label": labels[j]} for j in order]
