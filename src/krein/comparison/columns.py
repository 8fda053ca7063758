"""The columns of a comparison, described once for every place that shows them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


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
        if self.scoring == "r2":
            return (-math.inf, 1.0)
        return (0.0, 1.0) if self.larger_is_better else (0.0, math.inf)


_BESIDE = (
    Column("p_value_items", "p (items)", ".2g", larger_is_better=None),
    Column("p_value", "p", ".2g", larger_is_better=None),
    Column("fit_seconds", "fit s", ".2g", larger_is_better=False),
    Column("predict_seconds", "predict s", ".2g", larger_is_better=False),
    Column("search_seconds", "search s", ".2g", larger_is_better=False, shown=False),
    Column("converged", "converged", ".0%", shown=False),
)
COLUMNS = (
    Column("accuracy", "accuracy", scoring="accuracy"),
    Column("balanced_accuracy", "balanced accuracy", scoring="balanced_accuracy"),
    Column("log_loss", "log-loss", larger_is_better=False, scoring="neg_log_loss"),
    Column("roc_auc", "AUC", scoring="roc_auc"),
    *_BESIDE,
)
REGRESSION = (
    Column("r2", "R^2", scoring="r2"),
    Column(
        "mean_absolute_error",
        "mean absolute error",
        ".4g",
        larger_is_better=False,
        scoring="neg_mean_absolute_error",
    ),
    *_BESIDE,
)
NOVELTY = (Column("roc_auc", "AUC", scoring="roc_auc"), *_BESIDE)
FEWEST_SPLITS = 5  # with fewer no p-value over splits can be small
_ITEMS = (
    "the choice of items alone would make a difference to the best as large as this, "
    "paired, which decides where it is given"
)
_HOLM = (
    "adjusted by Holm for the number of methods; above 0.05 the two cannot be told "
    "apart."
)
ABOUT_P = (
    "p: how often splits alone would make a difference to the best as large as this "
    f"(corrected resampled t-test), {_HOLM} p (items): how often {_ITEMS}."
)
ABOUT_ITEMS = f"p (items): how often {_ITEMS}; {_HOLM}"
NO_P = "With so few splits no difference can be proven: p-values are left out."
SCORES = {column.scoring: column for column in COLUMNS if column.scoring}


def shown_columns(
    n_splits: int, columns: tuple[Column, ...] = COLUMNS, *, by_items: bool = False
) -> list[Column]:
    """Columns of a table for people; p-values only where they can be small."""
    hidden = {"p_value"} if n_splits < FEWEST_SPLITS else set()
    if not by_items:
        hidden.add("p_value_items")
    return [c for c in columns if c.shown and c.key not in hidden]
