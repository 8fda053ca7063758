"""A transformer of distances: similarities, settled on training items."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin

from krein.arrays import Array
from krein.declarations import (
    CONSTRAINTS,
    POSITIVE,
    Fitted,
    declares_parameters,
    replaces_state,
)
from krein.estimators.transformers import SquareInput
from krein.kernels.distances import FITTED, POINTWISE, median_gamma
from krein.sklearn_internals import StrOptions


@declares_parameters
class DistanceTransformer(ClassNamePrefixFeaturesOutMixin, SquareInput):
    """Turn distances into similarities; what depends on data is settled in `fit`.

    ``fit`` takes the square distances of the training items, ``transform`` rows of
    distances from new items to them, so that it can stand before any estimator with
    ``kernel="precomputed"`` in a pipeline.

    Parameters
    ----------
    similarity : {"exponential", "gaussian", "inverse", "negative", "centred", "max"}
        exp(-gamma d), exp(-gamma d^2), 1 / (1 + gamma d), -gamma d; double centring
        of squared distances around the training items (classical scaling), times
        gamma; gamma (largest training distance - d).
    gamma : float or "median"
        Factor of the distance; ``"median"`` is 1 / median distance between training
        items (1 / (2 median^2) for "gaussian").
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

    References
    ----------
    Gower (1968), Biometrika 55, for new items in classical scaling.

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

    _kind = "distance"
    _fitted_state = Fitted.state(
        Fitted("gamma_", "number"),
        Fitted("squared_means_", "numbers", "n"),
        Fitted("largest_", "number"),
    )

    _parameter_constraints = CONSTRAINTS | {
        "similarity": [StrOptions({*POINTWISE, *FITTED})],
        "gamma": [POSITIVE, StrOptions({"median"})],
    }

    @replaces_state
    def fit(self, X: Any, y: Any = None) -> Self:
        """Settle gamma, means and the largest distance on training items.

        Parameters
        ----------
        X : array-like of shape (n, n)
            Distances between training items.
        y : ignored
            For the common interface.

        Returns
        -------
        self
        """
        D = self._check_square(X, least=2)
        self.gamma_ = float(self._gamma(D))
        self.squared_means_ = np.mean(D**2, axis=1)
        self.largest_ = float(D.max())
        self._n_features_out = D.shape[0]
        return self

    def _gamma(self, D: Array) -> float:
        if self.gamma != "median":
            return self.gamma
        # A factor changes neither the shape of a centred matrix nor that of max - d.
        if self.similarity in FITTED:
            return 1.0
        return median_gamma(D, self.similarity)

    def transform(self, X: Any) -> Array:
        """Turn rows of distances to the training items into similarities.

        Parameters
        ----------
        X : array-like of shape (n_new, n_train)
            Distances.

        Returns
        -------
        ndarray of shape (n_new, n_train)
        """
        D = self._check_rows(X)
        if self.similarity in POINTWISE:
            return POINTWISE[self.similarity](D, self.gamma_)
        if self.similarity == "max":
            return self.gamma_ * (self.largest_ - D)
        means = self.squared_means_
        rows = np.mean(D**2, axis=1)[:, None]
        # Row and column means are added first: the sum is symmetric to the last bit.
        return self.gamma_ * 0.5 * ((rows + means) - D**2 - means.mean())
