"""The columns of a comparison, described once for every place that shows them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["COLUMNS", "SCORES", "SHOWN", "Column"]


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
        How a value is shown.
    larger_is_better : bool or None
        None where neither is better.
    scoring : str
        Name as a `scoring`, where larger is always better; "" if it is no score.
    shown : bool
        Part of tables for people, not only of JSON and data frames.
    """

    key: str
    title: str
    format: str = ".3f"
    larger_is_better: bool | None = True
    scoring: str = ""
    shown: bool = True

    def show(self, row: Mapping[str, Any]) -> str:
        """The value of this column as people read it."""
        return format(row[self.key], self.format)

    @property
    def bounds(self) -> tuple[float, float]:
        """What a score lies between."""
        return (0.0, 1.0) if self.larger_is_better else (0.0, math.inf)


COLUMNS = (
    Column("accuracy", "accuracy", scoring="accuracy"),
    Column("balanced_accuracy", "balanced accuracy", scoring="balanced_accuracy"),
    Column("log_loss", "log-loss", larger_is_better=False, scoring="neg_log_loss"),
    Column("roc_auc", "AUC", scoring="roc_auc"),
    Column("p_value", "p", ".2g", larger_is_better=None),
    Column("fit_seconds", "fit s", ".2g", larger_is_better=False),
    Column("predict_seconds", "predict s", ".2g", larger_is_better=False),
    Column("search_seconds", "search s", ".2g", larger_is_better=False, shown=False),
    Column("converged", "converged", ".0%", shown=False),
)
SHOWN = tuple(column for column in COLUMNS if column.shown)
SCORES = {column.scoring: column for column in COLUMNS if column.scoring}
