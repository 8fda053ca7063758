"""Cases -> one HTML file without network access."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from html import escape
from pathlib import Path
from typing import Any

from krein.report.data import Case
from krein.report.page import page, words
from krein.report.section import section
from krein.store.files import atomic_write, check_writable
from krein.store.shared_work import is_sharing, shared_work


def write_report(
    comparison: Any,
    path: str | Path,
    *,
    force: bool = False,
    title: str = "Comparison",
    about: str = "",
    command: str = "",
    names: Any = None,
    diagnosis: Any = None,
    findings: Any = None,
    source: Mapping[str, Any] | None = None,
    finding: str = "",
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
    title, about, command, names, diagnosis, findings, source, finding
        As in `krein.report.data.Case`.

    Returns
    -------
    Path
    """
    path = check_writable(path, overwrite=force)
    # One eigendecomposition for the diagnosis and the pictures.
    with nullcontext() if is_sharing() else shared_work():
        case = Case(
            comparison,
            title=title,
            about=about,
            command=command,
            names=names,
            diagnosis=diagnosis,
            findings=findings,
            source=source,
            finding=finding,
        )
        text = render([case])
    with atomic_write(path, overwrite=force, text=True) as file:
        file.write(text)
    return path


def render(
    cases: Sequence[Case],
    *,
    title: str = "",
    headline: str = "",
    intro: str = "",
    footer: str = "",
) -> str:
    """Return the HTML page of some cases.

    Parameters
    ----------
    cases : sequence of Case
        What was found.
    title, headline : str
        Those of the first case unless given.
    intro, footer : str
        Text above and below.
    """
    sections = [section(case, i, len(cases)) for i, case in enumerate(cases)]
    return page(
        "\n".join([*sections, _glossary()]),
        _contents(cases),
        title=title or f"krein: {cases[0].title}",
        headline=headline or cases[0].headline,
        intro=intro,
        footer=footer,
    )


def _contents(cases: Sequence[Case]) -> str:
    """Links to the cases, if there are several, and to the glossary."""
    links = []
    if len(cases) > 1:
        links = [(f"case{i}", case.title) for i, case in enumerate(cases)]
    links.append(("glossary", "Glossary"))
    items = [f'<li><a href="#{at}">{escape(title)}</a></li>' for at, title in links]
    return f'<nav aria-label="Contents"><ul>{"".join(items)}</ul></nav>'


def _glossary() -> str:
    terms = [
        f"<dt>{escape(term)}</dt><dd>{escape(meaning)}</dd>"
        for term, meaning in words()["glossary"].items()
    ]
    meanings = f"<h2>Glossary</h2><dl>{''.join(terms)}</dl>"
    return f'<section id="glossary">{meanings}</section>'
