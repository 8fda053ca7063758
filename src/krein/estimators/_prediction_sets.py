"""A mixin of classifiers whose probabilities make sets of classes."""

from __future__ import annotations

from typing import Any, Protocol, cast

import numpy as np
from sklearn.utils.validation import check_is_fitted

from krein.arrays import Array
from krein.declarations import available_when
from krein.selection.calibration import threshold, thresholds


def _has_sets(model: Any) -> bool:
    if getattr(model, "probability", False) or getattr(model, "_makes_sets", False):
        return True
    name = type(model).__name__
    instead = "SpectrumSVCCV, or SpectrumSVC(probability=True)"
    if hasattr(model, "probability"):
        instead = f"{name}(probability=True)"
    raise AttributeError(
        f"this {name} keeps no out-of-fold probabilities, which predict_set needs: fit "
        f"{instead} instead"
    )


class _ProbabilisticClassifier(Protocol):
    """What the mixin uses of the classifier that it is part of."""

    classes_: np.ndarray

    def predict_proba(self, X: Any) -> Array: ...


class PredictionSets:
    """A mixin of classifiers that keep `conformity_`."""

    @available_when(_has_sets)
    def predict_set(
        self, X: Any, coverage: float = 0.9, *, by_class: bool = True, min_size: int = 0
    ) -> np.ndarray:
        """Sets of classes that hold the true class with frequency `coverage`.

        For each class by itself, the true class is left out for about 1 - `coverage` of
        new items like the training items, however the probabilities are scaled. That
        is measured, not proved: the probabilities that set the thresholds are those of
        the models of the folds, which know fewer items.

        A set with several classes says that the item lies between them. An empty one
        says that for no class the item looks like nine tenths (at coverage 0.9) of its
        members. Where nearly all items are recognised, most of the tenth that is left
        out has empty sets, and most of these items are ordinary ones.

        Parameters
        ----------
        X : array-like of shape (n_new, n_train) or items as in fit
        coverage : float
            Between 0 and 1.
        by_class : bool
            Every class is covered as often as asked for. With False only all items
            together are: rare classes may be left out more often, and their few items
            do not make sets large.
        min_size : {0, 1}
            With 1 an empty set gets the most probable class.

        Returns
        -------
        ndarray of bool of shape (n_new, n_classes)
            Columns as in `classes_`.

        References
        ----------
        Vovk, Gammerman, Shafer (2005), Algorithmic Learning in a Random World.
        """
        check_is_fitted(self)
        if not 0.0 < coverage < 1.0:
            raise ValueError(f"coverage must be between 0 and 1, got {coverage!r}")
        table = getattr(self, "conformity_", None)
        if table is None:
            raise ValueError(
                f"this {type(self).__name__} has no out-of-fold probabilities, which "
                "prediction sets rest on: fit it again with this version of krein and "
                "probability=True (CPDSVC: with another loss than 'logistic')"
            )
        if min_size not in (0, 1):
            raise ValueError(f"min_size must be 0 or 1, got {min_size!r}")
        model = cast(_ProbabilisticClassifier, self)
        proba = model.predict_proba(X)
        if by_class:
            sets = proba >= thresholds(table, model.classes_.size, coverage)
        else:
            sets = proba >= threshold(table, coverage)
        if min_size:
            empty = ~sets.any(axis=1)
            sets[empty, proba[empty].argmax(axis=1)] = True
        return sets
