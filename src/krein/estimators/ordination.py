"""Principal coordinates of distances, with a place for new items."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
import scipy.linalg
from sklearn.base import ClassNamePrefixFeaturesOutMixin
from sklearn.utils.validation import check_is_fitted

from krein.arrays import Array
from krein.declarations import (
    CONSTRAINTS,
    COUNT,
    Fitted,
    declares_parameters,
    replaces_state,
)
from krein.estimators.transformers import SquareInput
from krein.plotting import plot_map
from krein.sklearn_internals import StrOptions
from krein.spectrum.decomposition import Spectrum, is_psd
from krein.threads import threads_for
from krein.validation import ROUNDING, looks_like_similarities


@declares_parameters
class PCoA(ClassNamePrefixFeaturesOutMixin, SquareInput):
    """Principal coordinates analysis (classical MDS), with a place for new items.

    Distances in, coordinates out. ``fit`` takes the square distances of the training
    items, for instance Levenshtein, Jaccard, Gower, Bray-Curtis, UniFrac or DTW
    distances; ``transform`` takes rows of distances from new items to the training
    items and places each new item by itself, whatever else is in the batch. So
    clusterers and classifiers of scikit-learn that need coordinates work on distances:
    ``make_pipeline(PCoA(5), KMeans(3))`` labels new items too.

    With ``B = -J D^2 J / 2 = U diag(l) U'``, J = I - 11'/n, the coordinates are
    ``U l^1/2`` of the largest eigenvalues. Negative eigenvalues say that no points have
    these distances; `negative_mass_` is their share, and a correction removes them.

    Parameters
    ----------
    n_components : int or None
        Number of coordinates; None means one for each positive eigenvalue. Coordinates
        beyond the positive eigenvalues are zero.
    correction : {"none", "lingoes", "cailliez"}
        ``"lingoes"`` adds a constant to all squared distances between different items,
        ``"cailliez"`` one to all distances, each the smallest that leaves no negative
        eigenvalue.
    symmetrize : bool
        Use (D + D') / 2 instead of refusing asymmetric distances.

    Attributes
    ----------
    eigenvalues_ : ndarray of shape (n,)
        All eigenvalues of B (after the correction), largest first.
    proportion_explained_ : ndarray of shape (n_components,)
        ``l_k / sum |l|``: with negative eigenvalues the denominator counts them too, so
        that the proportions do not pretend to explain what no coordinates can.
    negative_mass_ : float
        Sum of the magnitudes of negative eigenvalues over that of all, after the
        correction.
    correction_ : float
        The constant that was added (to squared distances for "lingoes", where it is
        2c; to distances for "cailliez"); 0 without a correction.

    Notes
    -----
    A new item gets the correction to every training item, as different items do in
    training. A distance of exactly zero says that the new item *is* that training item
    (the first of them if several): it is left at zero, so that ``transform`` gives
    training rows their training coordinates. Items with an exact twin are the
    exception: with a correction the twins are apart in training, and ``transform``
    places both rows where the first one is. Without a correction ``fit_transform`` and
    ``transform`` agree for all rows.

    scikit-bio's ``pcoa`` has the same coordinates (the signs are arbitrary); it divides
    by the trace, or by the sum of the positive eigenvalues, which leaves the negative
    ones out. In R: ``cmdscale``, ``ape::pcoa``, ``vegan::wcmdscale``.

    References
    ----------
    Gower (1966, 1968), Biometrika 53 and 55; Lingoes (1971), Psychometrika 36; Cailliez
    (1983), Psychometrika 48.

    Examples
    --------
    >>> import numpy as np
    >>> from krein import PCoA
    >>> places = np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 4.0], [3.0, 4.0]])
    >>> D = np.linalg.norm(places[:, None] - places[None], axis=2)
    >>> model = PCoA(2).fit(D)
    >>> model.transform([[2.5, 2.5, 2.5, 2.5]]).round(9) + 0.0  # the middle
    array([[0., 0.]])
    >>> model.proportion_explained_.round(2)
    array([0.64, 0.36])
    """

    n_components: int | None = 2
    _: KW_ONLY
    correction: str = "none"

    _kind = "distance"
    _warns = False
    _fitted_state = Fitted.state(
        Fitted("eigenvalues_", "numbers", "n"),
        Fitted("proportion_explained_", "numbers", "k"),
        Fitted("negative_mass_", "number"),
        Fitted("correction_", "number"),
        Fitted("squared_means_", "numbers", "n"),
        Fitted("projection_", "numbers", "nk"),
    )

    _parameter_constraints = CONSTRAINTS | {
        "n_components": [COUNT, None],
        "correction": [StrOptions({"none", "lingoes", "cailliez"})],
    }

    metric = "precomputed"  # scikit-learn's word for distances as input

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the axes.

        Parameters
        ----------
        X : array-like or frame of shape (n, n)
            Distances between the training items; or a condensed vector of ``pdist``,
            or a ``DistanceMatrix`` of scikit-bio.
        y : ignored
            For the common interface.

        Returns
        -------
        self
        """
        self.fit_transform(X)
        return self

    @replaces_state
    def fit_transform(self, X: Any, y: Any = None) -> Array:
        """Find the axes, and return the coordinates of the training items.

        Parameters
        ----------
        X : array-like or frame of shape (n, n)
            Distances between the training items.
        y : ignored
            For the common interface.

        Returns
        -------
        ndarray of shape (n, n_components)
        """
        D = _check_distances(self._check_square(X))
        constant = _CORRECTIONS[self.correction](D)
        squares = _corrected(D, ~np.eye(len(D), dtype=bool), constant, self.correction)
        means = squares.mean(axis=1)
        spectrum = Spectrum.exact(_centred(squares, means, means))
        values = spectrum.eigenvalues[::-1]
        vectors = spectrum.eigenvectors[:, ::-1]
        positive = int(np.sum(values > spectrum.tolerance))
        wanted = positive if self.n_components is None else self.n_components
        if wanted > len(D):
            raise ValueError(
                f"n_components={wanted} is larger than the number of items, {len(D)}"
            )
        used = np.maximum(np.where(np.arange(len(D)) < positive, values, 0.0), 0.0)
        used = used[:wanted]
        axes = _with_sign(vectors[:, :wanted])
        total = float(np.abs(values).sum()) or 1.0
        self.eigenvalues_ = values.copy()
        self.proportion_explained_ = used / total
        negative = values[values < -spectrum.tolerance]
        self.negative_mass_ = float(np.abs(negative).sum()) / total
        self.correction_ = constant
        self.squared_means_ = means
        root = np.sqrt(used)
        self.projection_ = axes * np.divide(1.0, root, where=root > 0, out=0.0 * root)
        self._n_features_out = wanted
        return axes * root

    def transform(self, X: Any) -> Array:
        """Coordinates of items from their distances to the training items.

        Parameters
        ----------
        X : array-like or frame of shape (n_new, n_train)
            Distances of new items (rows) to the training items (columns).

        Returns
        -------
        ndarray of shape (n_new, n_components)
        """
        D = self._check_rows(X)
        other = np.ones(D.shape, dtype=bool)
        nearest = D.argmin(axis=1)
        other[np.arange(len(D)), nearest] = D.min(axis=1) > 0.0
        squares = _corrected(D, other, self.correction_, self.correction)
        B = _centred(squares, squares.mean(axis=1), self.squared_means_)
        with threads_for(*B.shape):
            return B @ self.projection_

    def plot(self, labels: Any = None, ax: Any = None) -> Any:
        """Draw the training items on the first two axes.

        Parameters
        ----------
        labels : array-like of shape (n,), optional
            A colour for each class, with a legend; numbers get a scale of colours.
        ax : matplotlib Axes, optional
            Where to draw; made when not given.

        Returns
        -------
        matplotlib Axes
        """
        check_is_fitted(self)
        # U l^-1/2 times l is U l^1/2, the coordinates of the training items.
        F = self.projection_ * self.eigenvalues_[: self._n_features_out]
        return plot_map(F, self.proportion_explained_, labels, ax)


def _check_distances(D: Array) -> Array:
    """Return distances with a zero diagonal, or say what else was given."""
    own = float(D.diagonal().max())
    if looks_like_similarities(D):
        raise ValueError(
            "X looks like similarities, not distances: items have the largest number "
            "with themselves, where a distance is zero. Make distances of them, "
            "sqrt(K_ii + K_jj - 2 K_ij), or use PseudoEuclideanEmbedding"
        )
    if own > ROUNDING * float(D.max()):
        raise ValueError(
            f"the diagonal of X goes up to {own:.3g}, but the distance of an item to "
            "itself is zero. If that is how X was measured, set it: "
            "np.fill_diagonal(X, 0)"
        )
    D = D.copy()
    np.fill_diagonal(D, 0.0)
    return D


def _centred(squares: Array, row_means: Array, means: Array) -> Array:
    """Return ``-J D^2 J / 2``; for new rows around the training items."""
    # Row and column means are added first: the sum is symmetric to the last bit.
    return 0.5 * ((row_means[:, None] + means) - squares - means.mean())


def _corrected(D: Array, other: np.ndarray, constant: float, correction: str) -> Array:
    """Squared distances, with the constant added where items are different."""
    if correction == "cailliez":
        return (D + constant * other) ** 2
    return D**2 + constant * other


def _double_centred(S: Array) -> Array:
    means = S.mean(axis=1)
    return _centred(S, means, means)


def _lingoes(D: Array) -> float:
    """Return what to add to squared distances: minus twice the least eigenvalue."""
    spectrum = Spectrum.exact(_double_centred(D**2))
    return max(-2.0 * float(spectrum.eigenvalues[0]), 0.0)


def _cailliez(D: Array) -> float:
    """Largest real eigenvalue of [[0, 2 B1], [-I, -4 B2]]; 0 for Euclidean distances.

    The matrix of twice the size has no symmetry: some 100 times the cost of `eigh`.
    """
    B1 = _double_centred(D**2)
    B2 = _double_centred(D)
    values: Array = np.linalg.eigvalsh(B1).astype(np.float64, copy=False)
    if is_psd(values):
        return 0.0
    zero = np.zeros_like(D)
    one = np.eye(len(D))
    found = scipy.linalg.eigvals(np.block([[zero, 2.0 * B1], [-one, -4.0 * B2]]))
    real = found.real[np.abs(found.imag) <= 1e-8 * np.abs(found).max()]
    return max(float(real.max(initial=0.0)), 0.0)


_CORRECTIONS = {"none": lambda D: 0.0, "lingoes": _lingoes, "cailliez": _cailliez}


def _with_sign(vectors: Array) -> Array:
    """Give each axis the sign that makes its largest entry positive."""
    largest = np.abs(vectors).argmax(axis=0)
    return vectors * np.where(vectors[largest, np.arange(len(largest))] < 0, -1.0, 1.0)
