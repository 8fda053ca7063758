"""A mixin of classifiers whose probabilities make sets of classes."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from krein.declarations import available_when
from krein.selection.calibration import thresholds


def _has_sets(model: Any) -> bool:
    if getattr(model, "probability", False) or getattr(model, "_makes_sets", False):
        return True
    name = type(model).__name__
    instead = (
        f"{name}(probability=True)"
        if hasattr(model, "probability")
        else ("SpectrumSVCCV, or SpectrumSVC(probability=True)")
    )
    raise AttributeError(
        f"this {name} keeps no out-of-fold probabilities, which predict_set needs: fit "
        f"{instead} instead"
    )


class PredictionSets:
    """A mixin of classifiers that keep `conformity_`."""

    @available_when(_has_sets)
    def predict_set(self, X: Any, coverage: float = 0.9) -> np.ndarray:
        """Sets of classes that hold the true class with frequency `coverage`.

        For each class by itself, the true class is left out for about 1 - `coverage` of
        new items like the training items, whatever the probabilities are worth. A set
        with several classes says that the item lies between them, an empty one that it
        is unlike all of them: items to look at.

        Parameters
        ----------
        X : array-like of shape (n_new, n_train) or items as in fit
        coverage : float
            Between 0 and 1.

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
        model: Any = self
        least = thresholds(table, model.classes_.size, coverage)
        return model.predict_proba(X) >= least
