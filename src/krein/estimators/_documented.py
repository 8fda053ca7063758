"""The link from an estimator in a notebook to its page of the documentation."""

from __future__ import annotations

import os

from sklearn.base import BaseEstimator


class Documented(BaseEstimator):
    """An estimator whose picture in a notebook links to its page.

    The environment variable ``KREIN_DOCS`` says where the documentation is, e.g.
    ``https://docs.example.org/krein`` or ``file:///home/me/krein/docs/_build/html``.
    Without it there is no link.
    """

    @property
    def _doc_link_module(self) -> str:
        return "krein" if os.environ.get("KREIN_DOCS") else "(not published)"

    @property
    def _doc_link_template(self) -> str:
        address = os.environ.get("KREIN_DOCS", "").rstrip("/")
        return f"{address}/api/generated/krein.{{estimator_name}}.html"
