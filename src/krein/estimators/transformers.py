"""Transformers of a square similarity: make it PSD, or give it coordinates."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from krein.arrays import Array, as_square
from krein.declarations import (
    CONSTRAINTS,
    COUNT,
    Documented,
    Fitted,
    declares_parameters,
    replaces_state,
)
from krein.items import columns_of_rows
from krein.plotting import plot_map
from krein.similarity.matrix import Similarities
from krein.spectrum.decomposition import Spectrum, zero_tolerance
from krein.spectrum.fixed_kernel import FixedKernel
from krein.spectrum.fixes import Fix, as_fix
from krein.threads import threads_for
from krein.validation import (
    check_order,
    check_similarity,
    numbers_that_fit,
    refuse_odd_arrays,
    warn_if_distances,
)
from krein.words import warn_user

_MUCH_LEFT_OUT = 0.5  # of the norm of a transformed training matrix


@declares_parameters
class SquareInput(TransformerMixin, Documented):
    """A transformer whose input is a square similarity in fit, rows later."""

    _: KW_ONLY
    symmetrize: bool = False

    _kind = "similarity"  # what the numbers are; or "distance"
    _warns = True  # of numbers of the wrong direction; `PCoA` refuses them

    _fitted_state = Fitted.state(
        Fitted("n_features_in_", "integer", needed=False),
        Fitted("feature_names_in_", "labels", needed=False),
        Fitted("n_features_out", "integer", attribute="_n_features_out"),
    )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = True
        tags.input_tags.positive_only = self._kind == "distance"
        return tags

    def _check_square(self, X: Any, least: int = 1) -> Array:
        X = columns_of_rows(as_square(X) if self._kind == "distance" else X)
        refuse_odd_arrays(X)
        check_order(X)
        given = getattr(X, "dtype", None)
        with numbers_that_fit("X"):
            X = validate_data(self, X, dtype=np.float64, ensure_min_samples=least)
        K = check_similarity(X, name="X", symmetrize=self.symmetrize, given=given)
        self._refuse_negative(K)
        if self._warns:
            warn_if_distances(K, "X", self._kind)
        return K

    def _check_rows(self, X: Any) -> Array:
        check_is_fitted(self)
        X = self._square_of_training_items(X) if self._kind == "distance" else X
        X = columns_of_rows(X, getattr(self, "feature_names_in_", ()))
        refuse_odd_arrays(X)
        X = validate_data(self, X, reset=False, dtype=np.float64)
        self._refuse_negative(X)
        return X

    def _square_of_training_items(self, X: Any) -> Any:
        """Take what `fit` took; a list of distances among others holds none to them.

        The distances of one new item are left to scikit-learn, which asks for a row.
        """
        row = getattr(X, "shape", None) == (self.n_features_in_,)
        if row and self.n_features_in_ != 3:  # three items have three pairs
            return X
        square = as_square(X)
        if square is X or len(square) == self.n_features_in_:
            return square
        raise ValueError(
            f"X has the distances among {len(square)} items: transform takes those "
            f"from new items (rows) to the {self.n_features_in_} training items "
            "(columns), e.g. scipy.spatial.distance.cdist(new, training)"
        )

    def _refuse_negative(self, D: Array) -> None:
        smallest = float(D.min())
        if self._kind == "distance" and smallest < 0.0:
            # scikit-learn's checks look for its first words.
            raise ValueError(
                f"Negative values in data passed to {type(self).__name__}: the "
                f"smallest is {smallest:.3g}, and no distance is negative. If large "
                "means similar, these are similarities: use them as they are, or "
                "PseudoEuclideanEmbedding for coordinates"
            )


@declares_parameters
class SpectrumTransformer(ClassNamePrefixFeaturesOutMixin, SquareInput):
    """Make a similarity positive semidefinite, and map new rows the same way.

    ``fit`` takes the square training similarity, ``transform`` maps rows of raw
    similarities by the map P fitted there, so that it can stand before
    ``SVC(kernel="precomputed")`` in a pipeline. For ``"shift"`` and ``"diffusion"``
    ``fit_transform(K)`` returns the transformed training matrix, which differs from
    ``transform(K)`` (new rows of the same items): the shift and exp(0) = 1 belong to
    training items only. For the diffusion no bounded map agrees: exp(t l / max|l|) / l
    grows without bound as l falls to zero, so that new rows get nothing along the
    eigenvectors with ``|l| <= max|l| / 100``. `left_out_` is the size of that; above
    one half a warning says so.

    Parameters
    ----------
    method : str
        As in `SpectrumSVC`.
    t : float
        Time of the diffusion.
    symmetrize : bool
        Use (K + K') / 2 instead of refusing an asymmetric similarity.

    Attributes
    ----------
    transform_ : FixedKernel
        The fitted map.
    eigenvalues_ : ndarray
        Eigenvalues of the training similarity (None for "shift" and "none").
    left_out_ : float
        Of the transformed training matrix, the share (of its Frobenius norm) that
        `transform` leaves out for new rows; above zero for "diffusion" only.

    References
    ----------
    Chen, Garcia, Gupta, Rahimi, Cazzanti (2009), JMLR 10.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.svm import SVC
    >>> from krein import SpectrumTransformer
    >>> K = np.array([[1.0, 0.9, -0.8], [0.9, 1.0, 0.7], [-0.8, 0.7, 1.0]])
    >>> model = make_pipeline(SpectrumTransformer("flip"), SVC(kernel="precomputed"))
    >>> model.fit(K, [0, 0, 1]).predict(K).shape
    (3,)
    """

    method: Any = "clip"
    _: KW_ONLY
    t: float = 1.0

    _fitted_state = Fitted.state(
        Fitted("transform_", "transform"),
        Fitted("eigenvalues_", "numbers", "n", needed=False),
        Fitted("left_out_", "number", needed=False),
    )

    @replaces_state
    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the map on the square training similarity.

        Parameters
        ----------
        X : array-like of shape (n, n)
            Raw similarities of the training items.
        y : ignored
            For the common interface.

        Returns
        -------
        self
        """
        self._fit(X)
        return self

    def _fit(self, X: Any) -> FixedKernel:
        K = self._check_square(X)
        matrix = Similarities(K)
        record = as_fix(self.method)
        spectrum = matrix.spectrum() if record.needs == "spectrum" else None
        fixed_kernel = matrix.fixed_kernel(record, self.t, spectrum=spectrum)
        self.transform_ = fixed_kernel.stored()
        self.eigenvalues_ = None if spectrum is None else spectrum.eigenvalues
        self._n_features_out = K.shape[0]
        self.left_out_ = self._share_left_out(record)
        return fixed_kernel

    def _share_left_out(self, record: Fix) -> float:
        """Norm of the training matrix along eigenvectors that new rows do not see.

        A fix whose map would not be bounded there (diffusion) gives such rows nothing.
        """
        if self.eigenvalues_ is None or not self.eigenvalues_.any():
            return 0.0
        values = self.eigenvalues_ / np.abs(self.eigenvalues_).max()
        target, gain = record.apply(values, zero_tolerance(values), self.t)
        sizes = target / (np.abs(target).max() or 1.0)  # nothing overflows
        unseen = gain == 0.0
        share = float(np.linalg.norm(sizes[unseen]) / (np.linalg.norm(sizes) or 1.0))
        if share > _MUCH_LEFT_OUT:
            warn_user(
                f"{record.name} of new rows leaves out {share:.0%} of the transformed "
                f"training matrix (by Frobenius norm): the map is not bounded along "
                f"{int(np.sum(unseen))} of {unseen.size} eigenvectors, whose "
                "eigenvalues are small. transform(K) differs from fit_transform(K) by "
                "as much; method='clip', 'flip' or 'square' treat both alike"
            )
        return share

    @replaces_state
    def fit_transform(self, X: Any, y: Any = None) -> Array:
        """Fit, and return the transformed training similarity.

        Parameters
        ----------
        X : array-like of shape (n, n)
            Raw similarities of the training items.
        y : ignored
            For the common interface.

        Returns
        -------
        ndarray of shape (n, n)
        """
        return self._fit(X).kernel().copy()

    def transform(self, X: Any) -> Array:
        """Map rows of raw similarities to the training items.

        Parameters
        ----------
        X : array-like of shape (n_new, n_train)
            Raw similarities of new items.

        Returns
        -------
        ndarray of shape (n_new, n_train)
        """
        check_is_fitted(self, "transform_")
        K = self._check_rows(X)
        with threads_for(*K.shape):
            return self.transform_.rows(K)


@declares_parameters
class PseudoEuclideanEmbedding(ClassNamePrefixFeaturesOutMixin, SquareInput):
    """Coordinates whose signed inner products give the similarity back.

    ``F = U |l|^1/2`` with ``signature_ = sign(l)``, so that
    ``F diag(signature_) F'`` is the similarity (its best approximation of rank
    `n_components` by magnitude). New items are placed by their raw similarities.

    Parameters
    ----------
    n_components : int, optional
        Number of coordinates, by magnitude of the eigenvalue; all that are not zero
        to rounding when not given.
    center : bool
        Put the origin at the mean of the training items, as kernel PCA does: J K J
        with J = I - 11'/n in place of K. Without it the first axis of a map is often
        the level that all similarities have in common.
    symmetrize : bool
        Use (K + K') / 2 instead of refusing an asymmetric similarity.

    Attributes
    ----------
    signature_ : ndarray of shape (n_components,)
        +1 or -1 per coordinate.
    eigenvalues_ : ndarray of shape (n_components,)
        By falling magnitude.
    proportion_explained_ : ndarray of shape (n_components,)
        Magnitude of the eigenvalue over the sum of the magnitudes of all.

    References
    ----------
    Goldfarb (1984); Pekalska, Duin (2005), The Dissimilarity Representation.

    Examples
    --------
    >>> import numpy as np
    >>> from krein import PseudoEuclideanEmbedding
    >>> K = np.array([[1.0, 2.0], [2.0, 1.0]])
    >>> embedding = PseudoEuclideanEmbedding()
    >>> F = embedding.fit_transform(K)
    >>> np.round((F * embedding.signature_) @ F.T, 12) + 0.0
    array([[1., 2.],
           [2., 1.]])
    """

    n_components: int | None = None
    _: KW_ONLY
    center: bool = False

    _fitted_state = Fitted.state(
        Fitted("eigenvalues_", "numbers", "k"),
        Fitted("proportion_explained_", "numbers", "k", needed=False),
        Fitted("signature_", "integers", "k"),
        Fitted("projection_", "numbers", "nk"),
        Fitted("origin_", "numbers", "k", needed=False),
    )

    _parameter_constraints = CONSTRAINTS | {"n_components": [COUNT, None]}

    @replaces_state
    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit on the square training similarity.

        Parameters
        ----------
        X : array-like of shape (n, n)
            Raw similarities of the training items.
        y : ignored
            For the common interface.

        Returns
        -------
        self
        """
        K = self._check_square(X)
        means = K.mean(axis=1)
        if self.center:
            K = (K + means.mean()) - (means[:, None] + means)
        spectrum = Spectrum.exact(K)
        values = spectrum.eigenvalues
        order = np.argsort(-np.abs(values), kind="stable")
        order = order[np.abs(values[order]) > spectrum.tolerance]
        if self.n_components is not None:
            if self.n_components > spectrum.n:
                raise ValueError(
                    f"n_components={self.n_components} is larger than the number of "
                    f"items, {spectrum.n}"
                )
            order = order[: self.n_components]
        self.eigenvalues_ = values[order]
        self.signature_ = np.sign(self.eigenvalues_).astype(int)
        root = np.sqrt(np.abs(self.eigenvalues_))
        # New coordinates: s U sign(l) |l|^-1/2, which is U |l|^1/2 on training rows.
        self.projection_ = spectrum.eigenvectors[:, order] * (self.signature_ / root)
        # Axes of a centred matrix are orthogonal to 1: of the centring of a new row
        # only the means of the training items are left.
        self.origin_ = means @ self.projection_ if self.center else np.zeros(order.size)
        total = float(np.abs(values).sum()) or 1.0
        self.proportion_explained_ = np.abs(self.eigenvalues_) / total
        self._n_features_out = order.size
        return self

    def transform(self, X: Any) -> Array:
        """Coordinates of items from their raw similarities to the training items.

        Parameters
        ----------
        X : array-like of shape (n_new, n_train)
            Raw similarities.

        Returns
        -------
        ndarray of shape (n_new, n_components)
        """
        K = self._check_rows(X)
        with threads_for(*K.shape):
            # Files of models written before there was an origin do not have one.
            return K @ self.projection_ - getattr(self, "origin_", 0.0)

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
        # (U s / |l|^1/2) |l| s is U |l|^1/2, the coordinates of training items.
        F = self.projection_ * self.eigenvalues_
        return plot_map(F, self.proportion_explained_, labels, ax)


def transductive_kernel(
    K: Any,
    train: Any,
    method: Any = "clip",
    *,
    t: float = 1.0,
    symmetrize: bool = False,
) -> tuple[Array, Array]:
    """Fix the matrix of all items together, then cut it into training and new rows.

    **Transductive**: the new items take part in the eigendecomposition, without their
    labels. They must all be known when the model is trained, and what one of them gets
    depends on the others. An accuracy measured so is not that of a model which meets
    its items later: compare it with mapped rows (`SpectrumSVC`, `SpectrumTransformer`).
    Papers on indefinite kernels rarely say which of the two they measured.

    Parameters
    ----------
    K : array-like of shape (n, n)
        Raw similarities among all items.
    train : array-like
        Indices of the training items, or a mask of length n. All others are new.
    method : str or `krein.spectrum.fixes.Fix`
        What becomes of the eigenvalues, as in `SpectrumTransformer`.
    t : float
        Parameter of the method, as in `SpectrumTransformer`.
    symmetrize : bool
        Use (K + K') / 2 instead of refusing an asymmetric matrix.

    Returns
    -------
    K_train : ndarray of shape (n_train, n_train)
        For ``SpectrumSVC("none").fit`` or any estimator of precomputed kernels, in the
        order of `train`.
    K_new : ndarray of shape (n - n_train, n_train)
        Rows of the other items, in their order: for ``predict``, as they are.

    References
    ----------
    Luss, d'Aspremont (2007), NIPS 20: training and new points projected together.
    Chen, Ye (2008), ICML: their Table 1 does not tell it from mapped rows.

    Examples
    --------
    >>> import numpy as np
    >>> from krein import SpectrumSVC, transductive_kernel
    >>> K = np.array([[1.0, 0.9, -0.8], [0.9, 1.0, 0.7], [-0.8, 0.7, 1.0]])
    >>> K_train, K_new = transductive_kernel(K, [0, 2], "flip")
    >>> SpectrumSVC("none").fit(K_train, ["a", "b"]).predict(K_new)
    array(['a'], dtype='<U1')
    """
    fixed = SpectrumTransformer(method, t=t, symmetrize=symmetrize).fit_transform(K)
    everything = np.arange(len(fixed))
    rows = everything[np.asarray(train)]
    if rows.ndim != 1 or not 0 < rows.size == np.unique(rows).size:
        raise ValueError(
            f"train must be a mask of length {len(fixed)} or distinct indices of at "
            f"least one training item, got an array of shape {np.shape(train)}"
        )
    new = np.setdiff1d(everything, rows)
    return fixed[np.ix_(rows, rows)], fixed[np.ix_(new, rows)]
