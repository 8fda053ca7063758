"""The columns of a comparison, described once for every place that shows them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["ABOUT_P", "COLUMNS", "FEWEST_SPLITS", "SCORES", "Column", "shown_columns"]


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
FEWEST_SPLITS = 5  # with fewer no p-value can be small
ABOUT_P = (
    "p: how often splits alone would make a difference to the best as large as this "
    "(corrected resampled t-test, adjusted by Holm for the number of methods); above "
    "0.05 the two cannot be told apart."
)
SCORES = {column.scoring: column for column in COLUMNS if column.scoring}


def shown_columns(n_splits: int) -> list[Column]:
    """Columns of a table for people; p-values only where they can be small."""
    judged = n_splits >= FEWEST_SPLITS
    return [c for c in COLUMNS if c.shown and (judged or c.key != "p_value")]
