"""Dict -> one HTML file without network access. Every text is escaped."""

from __future__ import annotations

from html import escape
from importlib import resources
from string import Template
from typing import Any

from krein.progress import seconds_in_words
from krein.report.charts import (
    interval_chart,
    legend_mark,
    scatter_chart,
    spectrum_chart,
    time_chart,
)
from krein.report.glossary import GLOSSARY
from krein.report.png import heat_png
from krein.report.tables import mistake_table, score_table

__all__ = ["facts_table", "legend", "page", "render"]


def render(report: dict[str, Any]) -> str:
    """Return the HTML page of a report.

    Parameters
    ----------
    report : dict
        ``title``, ``intro``, ``footer`` and ``cases``, a list of
        `krein.report.data.case`; ``finding``, where there is one, comes first.
    """
    cases = report["cases"]
    sections = [
        _section(case, i, report.get("finding", "")) for i, case in enumerate(cases)
    ]
    return page(report, "\n".join(sections), _contents(cases), _glossary())


def page(
    report: dict[str, Any], body: str, contents: str = "", glossary: str = ""
) -> str:
    """Put HTML into the frame of a page, with its heading and footer."""
    return Template(_file("template.html")).substitute(
        title=escape(report["title"]),
        heading=_heading(report),
        intro=escape(report["intro"]),
        footer=escape(report["footer"]),
        style=_file("style.css"),
        script=_file("script.js"),
        contents=contents,
        cases=body,
        glossary=glossary,
    )


def _heading(report: dict[str, Any]) -> str:
    title, finding = escape(report["title"]), escape(report.get("finding", ""))
    if not finding:
        return f"<h1>{title}</h1>"
    return f'<p class="title">{title}</p>\n<h1>{finding}</h1>'


def _file(name: str) -> str:
    return (resources.files("krein.report") / name).read_text("utf-8")


def _contents(cases: list[dict[str, Any]]) -> str:
    links = [(f"case{i}", case["title"]) for i, case in enumerate(cases)]
    links.append(("glossary", "Glossary"))
    items = "".join(
        f'<li><a href="#{where}">{escape(title)}</a></li>' for where, title in links
    )
    return f'<nav aria-label="Contents"><ul>{items}</ul></nav>'


_FEW_CLASSES = 12


def _classes(classes: list[dict[str, Any]]) -> str:
    """Say how many items each class has, or of many classes the range."""
    if len(classes) <= _FEW_CLASSES:
        return "classes " + ", ".join(f"{c['label']}: {c['count']}" for c in classes)
    counts = [c["count"] for c in classes]
    return f"{len(counts)} classes of {min(counts)} to {max(counts)} items"


def _section(case: dict[str, Any], index: int, said: str) -> str:
    """One similarity; what the heading `said` is not said again."""
    comparison, spectrum = case["comparison"], case["spectrum"]
    rows = comparison["table"]
    about = f"{case['about']} {case['items']} items; {_classes(case['classes'])}."
    edge = spectrum["noise_edge"]
    return f"""<section id="case{index}">
<h2>{escape(case["title"])}</h2>
{_finding("" if case["finding"] in said else case["finding"])}
<p class="about">{escape(about)}</p>
{alerts(case["findings"])}
{_answer(comparison)}
{_copy(case["copy"])}
<h3>Scores</h3>
{_score_chart(case)}
{score_table(comparison)}
{_failed(comparison["failed"])}
<h3>Items that were not recognised</h3>
{mistake_table(case)}
<h3>The similarity</h3>
{facts_table(spectrum["facts"])}
{_advice(spectrum["advice"], case["findings"])}
<figure>{spectrum_chart(spectrum["eigenvalues"], edge)}
<figcaption>Eigenvalues from the largest to the smallest on a square-root scale; those
below zero in red{_band_words(edge)}.</figcaption></figure>
<h3>Heat map, ordered by class</h3>
{_heat(case["heat"], case["classes"])}
<h3>Items in pseudo-Euclidean space</h3>
{_embedding(case)}
<h3>What each method got wrong</h3>
{_picker(comparison, case["classes"])}
<h3>Time</h3>
<figure>{time_chart(rows)}
<figcaption>Median time of one fit with chosen hyperparameters (dark) and one
prediction of the test part (light). Choosing them by cross-validation is not
included.</figcaption></figure>
<h3>What was run</h3>
{_run(case["run"], comparison)}
</section>"""


def _finding(text: str) -> str:
    return f'<p class="finding">{escape(_capital(text))}</p>' if text else ""


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


def _answer(comparison: dict[str, Any]) -> str:
    title = comparison["methods"][comparison["recommended"]]["title"]
    short = f"Use {title}" + ("." if comparison["clear"] else " (no clear winner).")
    why = comparison["recommendation"].removeprefix(f"Use {title}: ")
    return (
        f'<div class="answer"><p class="short">{escape(short)}</p>'
        f"<p>{escape(_capital(why))}</p></div>"
    )


def _capital(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]


def _copy(copy: dict[str, str]) -> str:
    """Python and commands for the recommended model."""
    shell = f"<pre>{escape(copy['shell'])}</pre>" if copy["shell"] else ""
    return (
        "<details><summary>Copy this: fit the recommended model and predict new items"
        f"</summary>{shell}<pre>{escape(copy['python'])}</pre></details>"
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
        f"<figure>{chart}<figcaption>Mean {escape(label)} over {case['run']['splits']} "
        "splits with 95 % intervals, corrected for overlapping training sets. The "
        f"recommended method is coloured; dashed: {escape(lines)}.</figcaption>"
        "</figure>"
    )


def _failed(failed: dict[str, str]) -> str:
    return "".join(
        f'<p class="note">{escape(name)} was left out, it failed: {escape(why)}</p>'
        for name, why in failed.items()
    )


def facts_table(facts: dict[str, str]) -> str:
    """A table of two columns."""
    rows = "".join(
        f'<tr><th scope="row">{escape(k)}</th><td>{escape(v)}</td></tr>'
        for k, v in facts.items()
    )
    return f"<table><tbody>{rows}</tbody></table>"


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


def _heat(heat: dict[str, Any], classes: list[dict[str, Any]]) -> str:
    lines = "".join(
        f'<i style="left:{100 * b:.2f}%;top:0;width:1px;height:100%"></i>'
        f'<i style="top:{100 * b:.2f}%;left:0;height:1px;width:100%"></i>'
        for b in heat["boundaries"]
    )
    order = ", ".join(c["label"] for c in classes)
    alt = f"Similarities as colours, items ordered by class: {order}"
    return (
        f'<figure><div class="heat"><img alt="{escape(alt)}" '
        f'src="{heat_png(heat["cells"])}">{lines}</div>'
        f'<span class="scale{" positive" if heat["low"] >= 0 else ""}"></span>'
        f'<div class="ends"><span>{heat["low"]:.3g} and less</span>'
        f"<span>{0.5 * (heat['low'] + heat['high']):.3g}</span>"
        f"<span>{heat['high']:.3g} and more</span></div>"
        f"<figcaption>Classes in order: {escape(order)}; thin lines part them."
        "</figcaption></figure>"
    )


def legend(labels: list[str]) -> str:
    """Which mark stands for which class."""
    marks = "".join(
        f"<li>{legend_mark(k)}{escape(label)}</li>" for k, label in enumerate(labels)
    )
    return f'<ul class="legend">{marks}</ul>'


def _embedding(case: dict[str, Any]) -> str:
    labels = [c["label"] for c in case["classes"]]
    points = case["embedding"]
    p, q, _ = case["spectrum"]["signature"]
    values = " and ".join(f"{v:.3g}" for v in points["eigenvalues"])
    hidden = f" {points['hidden']} items are not drawn." if points["hidden"] else ""
    return (
        f"{legend(labels)}"
        f"<figure>{scatter_chart(points, labels)}<figcaption>Signature ({p}, {q}): the "
        f"whole space has {p} positive and {q} negative axes. Shown are those of the "
        f"eigenvalues {values}; along a negative axis distances count negatively."
        f"{hidden}</figcaption></figure>"
    )


def _picker(comparison: dict[str, Any], classes: list[dict[str, Any]]) -> str:
    labels = [c["label"] for c in classes]
    options = "".join(
        f'<option value="{escape(name)}"'
        f"{' selected' if name == comparison['recommended'] else ''}>"
        f"{escape(method['title'])}</option>"
        for name, method in comparison["methods"].items()
    )
    parts = "".join(
        _method_part(name, method, labels)
        for name, method in comparison["methods"].items()
    )
    return (
        f'<p class="picker"><label>Method: <select class="methods">{options}</select>'
        f"</label></p>{parts}"
    )


def _method_part(name: str, method: dict[str, Any], labels: list[str]) -> str:
    head = "".join(f'<th scope="col" class="number">{escape(x)}</th>' for x in labels)
    body = ""
    for i, counts in enumerate(method["confusion"]):
        cells = "".join(
            f"<td{' class=right' if i == j else ''}>{count}</td>"
            for j, count in enumerate(counts)
        )
        body += f'<tr><th scope="row">{escape(labels[i])}</th>{cells}</tr>'
    chosen = "; ".join(
        f"{c['params'] or 'nothing to choose'} "
        f"({c['splits']} split{'s' if c['splits'] > 1 else ''})"
        for c in method["chosen"]
    )
    return (
        f'<div class="pick" data-method="{escape(name)}">'
        f"<p>{escape(method['about'])}</p>"
        f'<div class="wide"><table class="confusion"><caption>'
        f"{escape(method['title'])}: true class (rows), predicted class (columns), "
        f"counted over all test parts</caption><thead><tr><td></td>{head}</tr></thead>"
        f'<tbody>{body}</tbody></table></div><p class="note">Chosen most often: '
        f"{escape(chosen)}.</p></div>"
    )


def _run(run: dict[str, Any], comparison: dict[str, Any]) -> str:
    kind = "grouped" if run["grouped"] else "stratified"
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
        facts[f"{title}"] = f"the solver was cut short on {share:.0%} of the splits"
    command = f"<pre>{escape(run['command'])}</pre>" if run["command"] else ""
    return facts_table(facts) + command


def _glossary() -> str:
    items = "".join(
        f"<dt>{escape(word)}</dt><dd>{escape(text)}</dd>" for word, text in GLOSSARY
    )
    return f'<section id="glossary"><h2>Glossary</h2><dl>{items}</dl></section>'
