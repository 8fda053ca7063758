"""Titles of columns that name the items of a table; numbers that only count them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np

from krein.files.cells import NAME_TITLES
from krein.words import warn_user

# Titles of a first column that names the items, where its entries are all different.
_ITEM_TITLES = frozenset(
    "sample samples subject patient compound molecule substance specimen no no. nr nr. "
    "code key identifier".split()
)
_IS_ID = re.compile(r"(.*[\W_])?(id|Id|ID)|.*[a-z]I[dD]")  # plot_id, Plot ID, PlotId
_FEWEST_COUNTED = 5  # rows; in fewer a column of measurements may count by chance


def is_title_of_names(title: str) -> bool:
    """Whether a first column of this title names the items, if its entries differ."""
    return title.lower() in NAME_TITLES | _ITEM_TITLES or is_title_of_ids(title)


def is_title_of_ids(title: str) -> bool:
    """Whether a title ends in the word id."""
    return _IS_ID.fullmatch(title) is not None


def warn_of_counts(columns: Mapping[str, Sequence[float]]) -> None:
    """Warn of numbers that name rows or count them, and say nothing about likeness."""
    for title, numbers in columns.items():
        whole = all(map(float.is_integer, numbers))
        if not whole or len(set(numbers)) < max(len(numbers), _FEWEST_COUNTED):
            continue
        counts = bool((np.diff(numbers) == 1).all())
        if counts or is_title_of_ids(title):
            what = "counts the rows" if counts else "has another number in each row"
            warn_user(
                f"the column {title!r} {what} and is compared like the others. If it "
                f"names the items: --id {title} (id_column={title!r}); --drop {title} "
                f"(drop=[{title!r}]) leaves it out"
            )
