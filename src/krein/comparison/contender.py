"""One way to learn, as `compare` runs it: a record, listed in `contenders`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import numpy as np

import krein
from krein.comparison.large import sample_of
from krein.training import Classes, Values


class Offered(StrEnum):
    """When a contender takes part without being named."""

    ALWAYS = "always"
    UNEVEN_CLASSES = "uneven classes"
    SPARSE = "sparse similarities"
    MANY_ITEMS = "many items"


@dataclass(frozen=True)
class Contender:
    """One way to learn, as `compare` runs it.

    Attributes
    ----------
    name, title : str
        What it is called in code and in tables.
    simplicity : int
        Among contenders that cannot be told apart the smallest is recommended.
    estimator : str
        Public class of krein; "" for one of scikit-learn.
    params : mapping
        Settings that are not searched.
    about : str
        One sentence for the reader of a report.
    grid : callable, optional
        Similarities -> candidates; without it the estimator's own `grid` is searched,
        if it has one.
    make : callable, optional
        Builds the estimator where krein has none.
    rough : callable, optional
        Builds a candidate that is only ranked, where that takes less time.
    sparse : bool
        It keeps a sparse similarity sparse.
    takes_distances : bool
        Where the data are distances it is given these, and chooses what to make of
        them; others get similarities.
    offered : Offered
        When it takes part without being named.
    pairs : bool
        With three or more classes both kinds of machines are candidates: one per class
        against the rest, and one per pair of classes. All SVMs that differ by the fix
        only have this in common, so that nothing else decides between them.
    sample : int or None
        It is trained on a random sample of at most so many items.
    """

    name: str
    title: str
    simplicity: int
    estimator: str = ""
    params: Mapping[str, Any] = field(default_factory=dict)
    about: str = ""
    grid: Callable[[Any], list[dict[str, Any]]] | None = None
    make: Callable[..., Any] | None = None
    rough: Callable[..., Any] | None = None
    sparse: bool = False
    takes_distances: bool = False
    offered: Offered = Offered.ALWAYS
    pairs: bool = False
    sample: int | None = None

    @property
    def searches(self) -> bool:
        """Whether the estimator chooses by itself: it is given the inner folds."""
        if not self.estimator:
            return False
        return not getattr(getattr(krein, self.estimator), "fits_rows", True)

    def build(self, chosen: Mapping[str, Any] | None = None) -> Any:
        """Return the unfitted estimator with the chosen hyperparameters."""
        make = self.make or getattr(krein, self.estimator)
        return make(**self.params, **(chosen or {}))

    def sampled(self, target: Classes | Values) -> np.ndarray | None:
        """Positions of the items it is trained on; None for all of them."""
        return None if self.sample is None else sample_of(target, self.sample)

    def fit(self, model: Any, X: Any, y: Any, target: Classes | Values) -> Any:
        """Fit a model to the items that this contender is trained on.

        The others get the weight 0: the model takes rows of similarities to all items,
        whichever it was trained on.
        """
        some = self.sampled(target)
        if some is None:
            return model.fit(X, y)
        weight = np.zeros(target.size)
        weight[some] = 1.0
        return model.fit(X, y, **{self.weight_parameter(model): weight})

    @staticmethod
    def weight_parameter(model: Any) -> str:
        """Name of the weights in `fit`: in a pipeline the last step is the model."""
        if hasattr(model, "steps"):
            return f"{model.steps[-1][0]}__sample_weight"
        return "sample_weight"
