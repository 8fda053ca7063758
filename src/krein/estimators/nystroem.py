"""Landmark features in a Krein space: the switch from n x n to n x m."""

from __future__ import annotations

from numbers import Real
from typing import Any, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from krein.arrays import Array
from krein.declarations import CONSTRAINTS, Fitted, replaces_state
from krein.estimators._base import KernelModel, landmark_columns
from krein.items import take
from krein.similarity.landmarks import (
    LANDMARKS,
    Approximation,
    choose_landmarks,
    estimated_error,
    landmark_block,
)
from krein.similarity.low_rank import LowRank, Range, Sample
from krein.similarity.matrix import Matrix, Similarities, evaluate
from krein.similarity.tiles import TiledMatrix
from krein.sklearn_internals import Interval, StrOptions
from krein.threads import rows_of, threads_for
from krein.validation import check_similarity
from krein.words import warn_user


class KreinNystroem(ClassNamePrefixFeaturesOutMixin, TransformerMixin, KernelModel):
    """Features from similarities to m landmarks, for kernels that are not PSD.

    From the block ``C = K(., landmarks)`` (n x m) it makes orthogonal features F with
    signs, such that ``F diag(signature_) F'`` approximates the similarity: a model on
    all columns of F is flip, a model on the columns with ``signature_ > 0`` is clip.
    Time grows as n m^2, memory as n m, and new items need only their similarities to
    the landmarks.

    The core between the two factors C is fitted on ``oversampling * m`` rows. The
    textbook core, the pseudo-inverse of the landmarks' own similarities, has poles
    where an eigenvalue of these is near zero; on an indefinite kernel its error can
    exceed that of the zero matrix.

    Parameters
    ----------
    n_components : int
        Number of landmarks m. If there are fewer items, all of them are landmarks,
        with a warning.
    kernel : "precomputed", str, Kernel or callable
        See `krein.list_kernels`.
    kernel_params : dict, optional
        Parameters of a kernel given by name.
    landmarks : {"random", "leverage", "kmeans"} or array-like of int
        How landmarks are chosen: at random; by approximate ridge leverage scores;
        nearest to the centres of k-means (k-means++ seeds where items are no
        vectors); or row numbers (then `n_components` is not used).
    core : {"oversampled", "textbook"}
        The rule for the core.
    oversampling : float
        Rows that the core is fitted on, per landmark. Half of the additional rows are
        those with the largest leverage, half are random.
    symmetrize : bool
        Use (K + K') / 2 instead of refusing an asymmetric similarity.
    random_state : int, RandomState or None
        Seed of landmarks and rows.

    Attributes
    ----------
    landmarks_ : ndarray of shape (m,)
        Row numbers of the landmarks, sorted.
    landmark_items_ : array-like or None
        The landmarks themselves; None for a precomputed similarity.
    signature_ : ndarray of shape (n_features_out,)
        +1 or -1 per feature.
    eigenvalues_ : ndarray of shape (n_features_out,)
        Of the approximation, by falling magnitude.
    projection_ : ndarray of shape (m, n_features_out)
        ``F = K(., landmarks) @ projection_``.
    approximation_error_ : float
        Relative error of the approximation in the Frobenius norm, estimated on the
        similarities of up to 256 random items.

    References
    ----------
    Wang, Luo, Zhang (2016), JMLR 17(49), the fast core; Nakatsukasa, Park (2023),
    SIAM J. Matrix Anal. Appl. 44, why the textbook core fails; Oglic, Gaertner (2019),
    ICML, landmarks in Krein spaces.

    Examples
    --------
    >>> import numpy as np
    >>> from krein import KreinNystroem
    >>> X = np.random.default_rng(0).random((300, 5))
    >>> nystroem = KreinNystroem(100, "tl1", random_state=0)
    >>> F = nystroem.fit_transform(X)
    >>> K = nystroem.kernel_(X)
    >>> error = np.linalg.norm((F * nystroem.signature_) @ F.T - K) / np.linalg.norm(K)
    >>> bool(error < 0.01), bool(nystroem.approximation_error_ < 0.01)
    (True, True)
    """

    _fitted_state = Fitted.state(
        Fitted("landmarks_", "integers", "m"),
        Fitted("landmark_items_", "items"),
        Fitted("approximation_error_", "number"),
        Fitted("eigenvalues_", "numbers", "k"),
        Fitted("signature_", "integers", "k"),
        Fitted("projection_", "numbers", "mk"),
        Fitted("n_features_out", "integer", attribute="_n_features_out"),
    )

    _on_one_thread = True

    _parameter_constraints = CONSTRAINTS | {
        "landmarks": [StrOptions(set(LANDMARKS)), "array-like"],
        "core": [StrOptions({"oversampled", "textbook"})],
        "oversampling": [Interval(Real, 1, None, closed="left")],
    }

    def __init__(
        self,
        n_components=100,
        kernel="precomputed",
        *,
        kernel_params=None,
        landmarks="random",
        core="oversampled",
        oversampling=3,
        symmetrize=False,
        random_state=None,
    ):
        self.n_components = n_components
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.landmarks = landmarks
        self.core = core
        self.oversampling = oversampling
        self.symmetrize = symmetrize
        self.random_state = random_state

    # --------------------------------------------------------------------------- fit

    @replaces_state
    def fit(self, X: Any, y: Any = None) -> Self:
        """Choose landmarks and fit the core.

        Parameters
        ----------
        X : array-like of shape (n, n), or items
            Items for a named kernel, the square matrix for ``kernel="precomputed"``.
        y : ignored
            For the common interface.

        Returns
        -------
        self
        """
        self._fit(X)
        return self

    @replaces_state
    def fit_transform(self, X: Any, y: Any = None) -> Array:
        """Fit, and return the features of X without computing a similarity twice.

        Parameters
        ----------
        X, y
            As in `fit`.

        Returns
        -------
        ndarray of shape (n, n_features_out)
        """
        return self._fit(X) @ self.projection_

    def _fit(self, X: Any) -> TiledMatrix:
        """Set the fitted attributes; return the block of similarities."""
        given = X
        X = self._check_items(X, reset=True)
        if self._precomputed:
            source, _ = self._training_kernel(X, getattr(given, "dtype", None))
            found = self.approximate(source)
        else:
            self.kernel_ = self._settled_kernel(X)
            found = self.approximate(Similarities(X, self.kernel_))
        self.landmarks_ = found.landmarks
        self.landmark_items_ = None if self._precomputed else take(X, found.landmarks)
        self.approximation_error_ = found.error
        values = found.low_rank.eigenvalues
        order = np.argsort(-np.abs(values), kind="stable")
        self.eigenvalues_ = values[order]
        self.signature_ = np.sign(self.eigenvalues_).astype(int)
        root = np.sqrt(np.abs(self.eigenvalues_))
        self.projection_ = found.low_rank.basis[:, order] * root
        self._n_features_out = order.size
        return found.low_rank.columns

    def approximate(
        self, source: Matrix, *, weight: Array | None = None
    ) -> Approximation:
        """Approximate similarities; for estimators that train at low rank.

        Parameters
        ----------
        source : Matrix
            The items.
        weight : ndarray of shape (n,), optional
            Sample weights, all positive.

        Returns
        -------
        Approximation
        """
        rng = check_random_state(self.random_state)
        m = int(self.n_components)
        if isinstance(self.landmarks, str) and m > source.n:
            warn_user(
                f"n_components={m} is larger than the number of items, n_samples="
                f"{source.n}: all items are landmarks, and nothing is approximated"
            )
            m = source.n
        landmarks = choose_landmarks(self.landmarks, source, m, rng)
        columns = landmark_block(source, landmarks)
        space = Range.fit(columns, weight)
        if self.core == "textbook":
            K = self._symmetric(columns.rows(landmarks))
            sample = Sample(landmarks, K)
        else:
            sample = self._sample(source, landmarks, columns, space, rng)
        low_rank = LowRank.fit(
            columns, sample, core=self.core, weight=weight, space=space
        )
        return Approximation(
            landmarks, low_rank, estimated_error(source, low_rank, rng)
        )

    def _sample(
        self,
        source: Matrix,
        landmarks: np.ndarray,
        columns: TiledMatrix,
        space: Range,
        rng: np.random.RandomState,
    ) -> Sample:
        """Landmarks and further rows, with their similarities to each other."""
        others = self._further_rows(landmarks, columns, space, rng)
        rows = np.concatenate([landmarks, others])
        to_landmarks = columns.rows(rows)
        m = landmarks.size
        K = np.empty((rows.size, rows.size))
        K[:, :m] = to_landmarks
        K[:m, m:] = to_landmarks[m:].T
        if others.size:
            K[m:, m:] = source.block(others, others)
        return Sample(rows, self._symmetric(K))

    def _further_rows(
        self,
        landmarks: np.ndarray,
        columns: TiledMatrix,
        space: Range,
        rng: np.random.RandomState,
    ) -> np.ndarray:
        """Rows with the largest leverage, so that no direction goes unseen, and random.

        An item unlike all landmarks has a direction of its own in the range of C;
        the core is undetermined there unless its row is sampled.
        """
        n = columns.shape[0]
        size = min(n, round(self.oversampling * landmarks.size)) - landmarks.size
        rest = np.setdiff1d(np.arange(n), landmarks, assume_unique=True)
        if size == rest.size:
            return rest
        scores = space.leverage(columns)[rest]
        ranked = np.argsort(-scores, kind="stable")
        leading = rest[ranked[: size // 2]]
        remaining = rest[ranked[size // 2 :]]
        chance = rng.choice(remaining, size=size - leading.size, replace=False)
        return np.sort(np.concatenate([leading, chance]))

    def _symmetric(self, K: Array) -> Array:
        return check_similarity(
            K, name="kernel(X, X)", symmetrize=self.symmetrize or self._precomputed
        )

    # --------------------------------------------------------------------- transform

    def transform(self, X: Any) -> Array:
        """Features of items.

        Parameters
        ----------
        X : array-like of shape (n_new, n_train) or (n_new, m), or items as in fit
            For ``kernel="precomputed"`` raw similarities to all training items or to
            the landmarks only.

        Returns
        -------
        ndarray of shape (n_new, n_features_out)
        """
        check_is_fitted(self)
        if hasattr(self, "kernel_") == self._precomputed:
            raise ValueError(
                "kernel was changed after fit, from similarities to items or back: fit "
                "this KreinNystroem again, or set the kernel back"
            )
        with threads_for(rows_of(X), self.projection_.shape[0]):
            if self._precomputed:
                return landmark_columns(self, X, self.landmarks_) @ self.projection_
            X = self._check_items(X, reset=False)
            return evaluate(self.kernel_, X, self.landmark_items_) @ self.projection_
