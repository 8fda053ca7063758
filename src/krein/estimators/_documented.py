"""What all estimators share: checks of parameters, a link to the documentation."""

from __future__ import annotations

import os

from sklearn.base import BaseEstimator

from krein.validation import check_parameters


class Documented(BaseEstimator):
    """Base of all estimators: numbers are checked, and notebooks link to the page.

    The environment variable ``KREIN_DOCS`` says where the documentation is, e.g.
    ``https://docs.example.org/krein`` or ``file:///home/me/krein/docs/_build/html``.
    Without it there is no link.
    """

    def _validate_params(self) -> None:
        check_parameters(self.get_params(deep=False))
        super()._validate_params()

    @property
    def _doc_link_module(self) -> str:
        return "krein" if os.environ.get("KREIN_DOCS") else "(not published)"

    @property
    def _doc_link_template(self) -> str:
        address = os.environ.get("KREIN_DOCS", "").rstrip("/")
        return f"{address}/api/generated/krein.{{estimator_name}}.html"
