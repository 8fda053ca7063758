"""Columns of the table of a comparison: scores by name, p-values, seconds."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from krein.verdicts.sentences import p_value_in_words
from krein.words import seconds_in_words


@dataclass(frozen=True)
class Column:
    """One column of `Comparison.table`.

    Attributes
    ----------
    key : str
        Its name in rows, JSON and data frames.
    title : str
        Its name for people.
    format : str
        How a value is shown; "seconds" and "p": see `seconds_in_words` and
        `p_value_in_words`.
    scoring : str
        Name as a `scoring`, where larger is always better; "" if it is no score.
    shown : bool
        Part of tables for people, not only of JSON and data frames.
    """

    key: str
    title: str
    format: str = ".3f"
    scoring: str = ""
    shown: bool = True

    def show(self, row: Mapping[str, Any]) -> str:
        """The value of this column as people read it."""
        if self.format == "seconds":
            return seconds_in_words(row[self.key])
        if self.format == "p":
            return p_value_in_words(row[self.key])
        return format(row[self.key], self.format)

    @property
    def sign(self) -> float:
        """-1 for errors and losses, which are negative as a `scoring`; else 1."""
        return -1.0 if self.scoring.startswith("neg_") else 1.0

    @property
    def bounds(self) -> tuple[float, float]:
        """What a score lies between."""
        if self.scoring == "r2":
            return (-math.inf, 1.0)
        return (0.0, 1.0) if self.sign > 0 else (0.0, math.inf)


_BESIDE_SCORES = (
    Column("p_value", "p", "p"),
    Column("fit_seconds", "fit", "seconds"),
    Column("predict_seconds", "predict", "seconds"),
    Column("search_seconds", "search", "seconds", shown=False),
    Column("converged", "converged", ".0%", shown=False),
)
COLUMNS = (
    Column("accuracy", "accuracy", scoring="accuracy"),
    Column("balanced_accuracy", "balanced accuracy", scoring="balanced_accuracy"),
    Column("log_loss", "log-loss", scoring="neg_log_loss"),
    Column("roc_auc", "AUC", scoring="roc_auc"),
    *_BESIDE_SCORES,
)
REGRESSION_COLUMNS = (
    Column("r2", "R²", scoring="r2"),
    Column(
        "mean_absolute_error",
        "mean absolute error",
        ".4g",
        scoring="neg_mean_absolute_error",
    ),
    *_BESIDE_SCORES,
)
