"""What all estimators share: checks of parameters, a link to the documentation."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import update_wrapper
from types import MethodType
from typing import Any

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


class available_when:  # noqa: N801  a decorator
    """Decorate a method that some settings do not have: `hasattr` is False there.

    As scikit-learn's ``available_if``, but the error that users see is the one that
    the check raises, which says what to do, not only that there is no such attribute.

    Parameters
    ----------
    check : callable
        Takes the estimator; raises AttributeError if the method is not available.
    """

    def __init__(self, check: Callable[[Any], Any]):
        self.check = check

    def __call__(self, method: Callable[..., Any]) -> Any:
        """Take the method."""
        self.method = method
        update_wrapper(self, method)
        return self

    def __get__(self, estimator: Any, owner: Any = None) -> Any:
        """Return the bound method if it is available."""
        if estimator is None:
            return self.method
        self.check(estimator)
        return MethodType(self.method, estimator)
