"""A transformer of distances: similarities, settled on training items."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin

from krein.arrays import Array
from krein.declarations import (
    CONSTRAINTS,
    COUNT,
    POSITIVE,
    Fitted,
    declares_parameters,
    replaces_state,
)
from krein.estimators.transformers import SquareInput
from krein.similarity.conversions import FORMS, NEIGHBORS, Conversion, SettledConversion
from krein.sklearn_internals import StrOptions


def _is_local(model: DistanceTransformer) -> bool:
    return model.similarity == "local"


@declares_parameters
class DistanceTransformer(ClassNamePrefixFeaturesOutMixin, SquareInput):
    """Turn distances into similarities; what depends on data is settled in `fit`.

    ``fit`` takes the square distances of the training items, ``transform`` rows of
    distances from new items to them, so that it can stand before any estimator with
    ``kernel="precomputed"`` in a pipeline. Distances between all training items may
    also be the condensed vector of ``scipy.spatial.distance.pdist``, scikit-bio's
    ``DistanceMatrix`` or a frame.

    Parameters
    ----------
    similarity : {"exponential", "gaussian", "inverse", "negative", "local", \
"centred", "max"}
        exp(-gamma d), exp(-gamma d^2), 1 / (1 + gamma d), -gamma d;
        exp(-gamma d^2 / (s s')) with s the distance of an item to its 7th nearest
        training item (local scaling); double centring of squared distances around the
        training items (classical scaling), times gamma; gamma (largest training
        distance - d).
    gamma : float or str
        Factor of the distance. ``"median"`` makes the width of the similarity the
        median distance between training items: 1 / median, 1 / (2 median^2) for
        "gaussian"; ``"3 median"`` makes it three medians. "local", "centred" and "max"
        have a scale of their own: 1 there.
    neighbors : int
        For "local". Copies of an item do not count as its neighbours.
    symmetrize : bool
        Use (D + D') / 2 instead of refusing asymmetric distances.

    Attributes
    ----------
    gamma_ : float
        The factor that was settled.
    squared_means_ : ndarray of shape (n,)
        Mean squared distance of each training item, for "centred".
    largest_ : float
        Largest distance between training items, for "max".
    local_scales_ : ndarray of shape (n,)
        Scale of each training item, for "local".
    distinct_items_ : ndarray of int
        Training items that are no copy of an earlier one, for "local".

    References
    ----------
    Gower (1968), Biometrika 55, for new items in classical scaling; Zelnik-Manor,
    Perona (2004), "Self-tuning spectral clustering", for local scaling.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.pipeline import make_pipeline
    >>> from krein import DistanceTransformer, KreinSVC
    >>> D = np.abs(np.subtract.outer([0.0, 1.0, 5.0, 6.0], [0.0, 1.0, 5.0, 6.0]))
    >>> model = make_pipeline(DistanceTransformer(), KreinSVC())
    >>> model.fit(D, ["low", "low", "high", "high"]).predict([[0.5, 0.5, 4.5, 5.5]])
    array(['low'], dtype='<U4')
    """

    similarity: str = "exponential"
    _: KW_ONLY
    gamma: Any = "median"
    neighbors: int = NEIGHBORS

    _kind = "distance"
    _fitted_state = Fitted.state(
        Fitted("gamma_", "number"),
        Fitted("squared_means_", "numbers", "n"),
        Fitted("largest_", "number"),
        Fitted("local_scales_", "numbers", "n", needed=_is_local),
        Fitted("distinct_items_", "integers", "d", needed=_is_local),
    )

    _parameter_constraints = CONSTRAINTS | {
        "similarity": [StrOptions(set(FORMS))],
        "gamma": [POSITIVE, str],
        "neighbors": [COUNT],
    }

    @replaces_state
    def fit(self, X: Any, y: Any = None) -> Self:
        """Settle gamma, scales, means and the largest distance on training items.

        Parameters
        ----------
        X : array-like of shape (n, n), or of shape (n (n - 1) / 2,)
            Distances between training items, in any of the forms named above.
        y : ignored
            For the common interface.

        Returns
        -------
        self
        """
        D = self._check_square(X, least=2)
        settled = Conversion(self.similarity, self.gamma, self.neighbors).settle(D)
        self.gamma_ = settled.gamma
        self.squared_means_ = np.mean(D**2, axis=1)
        self.largest_ = float(D.max())
        if settled.scales is not None:
            self.local_scales_ = settled.scales
            self.distinct_items_ = settled.distinct
        self._n_features_out = D.shape[0]
        return self

    def _settled(self) -> SettledConversion:
        """Return the conversion with the attributes that `fit` has set."""
        of_max = self.largest_ if self.similarity == "max" else None
        return SettledConversion(
            self.similarity,
            self.gamma_,
            squared_means=self.squared_means_,
            largest=of_max,
            distinct=getattr(self, "distinct_items_", None),
            scales=getattr(self, "local_scales_", None),
            neighbors=self.neighbors,
        )

    def transform(self, X: Any) -> Array:
        """Turn rows of distances to the training items into similarities.

        Parameters
        ----------
        X : array-like of shape (n_new, n_train)
            Distances; of the training items themselves, in any form that `fit` takes.

        Returns
        -------
        ndarray of shape (n_new, n_train)
        """
        return self._settled().similarities(self._check_rows(X))
