"""The frame of a page, its templates and its words. Every text is escaped."""

from __future__ import annotations

import tomllib
from functools import cache
from html import escape
from importlib import resources
from typing import Any

import krein


def page(
    body: str,
    contents: str = "",
    *,
    title: str,
    headline: str,
    intro: str = "",
    footer: str = "",
) -> str:
    """Put HTML into the frame of a page.

    Parameters
    ----------
    body, contents : str
        HTML.
    title, headline, intro, footer : str
        Texts.
    """
    return fill(
        "template.html",
        texts={
            "title": title,
            "headline": capital(headline),
            "intro": intro,
            "footer": footer,
            "version": krein.__version__,
        },
        html={
            "body": body,
            "contents": contents,
            "style": _file("style.css"),
            "script": _file("script.js"),
        },
    )


def fill(template: str, texts: dict[str, Any], html: dict[str, str]) -> str:
    """Return a template with texts, which are escaped, and HTML in it."""
    escaped = {key: escape(str(text)) for key, text in texts.items()}
    return _file(template).format_map(escaped | html)


def _file(name: str) -> str:
    return (resources.files("krein.report") / name).read_text("utf-8")


@cache
def words() -> dict[str, Any]:
    """Words of the report by task, of the demo, the glossary and maps."""
    return tomllib.loads(_file("words.toml"))


def capital(sentence: str) -> str:
    """Return a sentence with a capital letter at its beginning."""
    return sentence[:1].upper() + sentence[1:]
