"""Dict -> one HTML file without network access. Every text is escaped."""

from __future__ import annotations

from html import escape
from importlib import resources
from string import Template
from typing import Any

from krein.report.charts import error_chart, spectrum_chart

__all__ = ["render"]


def render(report: dict[str, Any]) -> str:
    """Return the HTML page of a report.

    Parameters
    ----------
    report : dict
        ``title``, ``intro``, ``footer`` and ``cases``, a list of
        `krein.report.data.case`.
    """
    page = (resources.files("krein.report") / "template.html").read_text("utf-8")
    return Template(page).substitute(
        title=escape(report["title"]),
        intro=escape(report["intro"]),
        footer=escape(report["footer"]),
        cases="\n".join(_section(case) for case in report["cases"]),
    )


def _section(case: dict[str, Any]) -> str:
    names = [row["method"] for row in case["scores"]]
    errors = [row["error"] for row in case["scores"]]
    return f"""<section>
<h2>{escape(case["title"])}</h2>
<p>{escape(case["about"])}</p>
<p class="verdict"><b>Verdict:</b> {escape(case["verdict"])}</p>
{_table(_facts(case))}
<h3>Spectrum</h3>
<p>Eigenvalues from the largest to the smallest, on a square-root scale; negative ones
in red.</p>
{spectrum_chart(case["spectrum"]["eigenvalues"])}
<h3>Error by method</h3>
<p>Support vector machine with C = {case["C"]:g}, 5-fold cross-validation repeated five
times, the same folds for all; each fix is fitted on the training part of a fold and its
map is applied to the test part.</p>
{error_chart(names, errors)}
</section>"""


def _facts(case: dict[str, Any]) -> dict[str, str]:
    spectrum = case["spectrum"]
    positive, negative, zero = spectrum["signature"]
    return {
        "items": f"{case['n']}",
        "classes": ", ".join(f"{k}: {v}" for k, v in case["classes"].items()),
        "eigenvalues": f"{positive} positive, {negative} negative, {zero} zero",
        "smallest, largest": f"{spectrum['smallest']:.3g}, {spectrum['largest']:.3g}",
        "negative mass": f"{spectrum['negative_mass']:.4f}",
    }


def _table(facts: dict[str, str]) -> str:
    rows = (
        f"<tr><th>{escape(k)}</th><td>{escape(v)}</td></tr>" for k, v in facts.items()
    )
    return f"<table>{''.join(rows)}</table>"
