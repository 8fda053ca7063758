"""From hits to a similarity, alike for training and new items."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
import scipy.sparse
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted

from krein.arrays import Array, compressed_rows
from krein.declarations import (
    CONSTRAINTS,
    Documented,
    Fitted,
    declares_parameters,
    replaces_state,
)
from krein.files.hit_table import checked_scores
from krein.files.sources import Named
from krein.sklearn_internals import StrOptions

_RULES = ("max", "mean", "min")


@declares_parameters
class HitSimilarity(TransformerMixin, Documented):
    """A sparse symmetric similarity made of directed hits.

    A hit of score s between items with the self scores a and b becomes
    ``s / sqrt(a b)``, so that an item is as similar to itself as 1. Where a self hit
    is missing, the self score is the median of those known, or the best score of the
    item if that is larger: the same rule for training and for new items.

    Parameters
    ----------
    symmetrize : {"max", "mean", "min"}
        What the two directions of a pair amount to; an absent hit counts as 0. New
        items whose hits are known in one direction only have that one for both.
    normalize : bool
        Divide by the roots of the self scores.

    Attributes
    ----------
    self_scores_ : ndarray of shape (n_train,)
        Counted from the floor; imputed ones included.
    n_imputed_ : int
        How many of them were imputed.
    typical_score_ : float
        Median of the self scores known.
    names_ : list of str or None
        Names of the training items, where hits with names were given.

    References
    ----------
    Schoelkopf, Tsuda, Vert (2004), Kernel Methods in Computational Biology, MIT Press.

    Examples
    --------
    >>> import scipy.sparse
    >>> from krein import HitSimilarity
    >>> hits = scipy.sparse.csr_array([[100.0, 50.0], [0.0, 100.0]])
    >>> HitSimilarity().fit_transform(hits).toarray().tolist()
    [[1.0, 0.5], [0.5, 1.0]]
    """

    symmetrize: str = "max"
    _: KW_ONLY
    normalize: bool = True

    _fitted_state = Fitted.state(
        Fitted("n_features_in_", "integer"),
        Fitted("names_", "names", needed=False),
        Fitted("typical_score_", "number", needed=lambda model: model.normalize),
        Fitted("n_imputed_", "integer", needed=lambda model: model.normalize),
        Fitted("self_scores_", "numbers", "n", needed=lambda model: model.normalize),
    )

    _parameter_constraints = CONSTRAINTS | {
        "symmetrize": [StrOptions(set(_RULES))],
        "normalize": ["boolean"],
    }

    def __sklearn_tags__(self):
        """Declare a square matrix to splitters, sparse or not."""
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = True
        tags.input_tags.sparse = tags.input_tags.positive_only = True
        return tags

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the self scores.

        Parameters
        ----------
        X : Named, or sparse array of shape (n, n)
            Hits of training items among themselves.
        y : ignored
            For the common interface.

        Returns
        -------
        self
        """
        self.fit_transform(X)
        return self

    @replaces_state
    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Learn the self scores, and return the similarity of the training items.

        Parameters
        ----------
        X : Named, or sparse array of shape (n, n)
            Hits of training items among themselves.
        y : ignored
            For the common interface.

        Returns
        -------
        csr_array of shape (n, n)
        """
        hits = self._counted(X)
        if hits.shape[0] != hits.shape[1]:
            raise ValueError(
                f"X must hold hits of training items among themselves, got shape "
                f"{hits.shape}; new items go to transform"
            )
        self.names_ = X.names if isinstance(X, Named) else None
        self.n_features_in_ = hits.shape[0]
        other = scipy.sparse.csr_array(hits.T)
        if self.normalize:
            self._learn(hits.diagonal(), hits, other)
        both = self._joined(hits, other)
        del hits, other  # of large tables two thirds of the memory
        if not self.normalize:
            return both
        return _divided(both, self.self_scores_, self.self_scores_)

    def _learn(self, known: Array, hits: Any, other: Any) -> None:
        if not (known > 0).any():
            raise ValueError(
                "no item has a hit of itself, so that scores cannot be divided by self "
                "scores; let the search report them, or pass normalize=False"
            )
        self.typical_score_ = float(np.median(known[known > 0]))
        self.n_imputed_ = int(np.sum(known <= 0))
        self.self_scores_ = self._imputed(known, hits, other)

    def transform(self, X: Any, back: Any = None, self_scores: Any = None) -> Any:
        """Similarities of new items (rows) to the training items (columns).

        Parameters
        ----------
        X : Named, or sparse array of shape (n_new, n_train)
            Hits of new items (queries) among the training items (targets); columns
            with names may stand in any order.
        back : sparse array of shape (n_train, n_new), optional
            Hits of training items among the new ones.
        self_scores : array-like of shape (n_new,), optional
            Scores of the new items against themselves; NaN or 0 where not known.

        Returns
        -------
        csr_array of shape (n_new, n_train)
        """
        check_is_fitted(self, "n_features_in_")
        hits = self._counted(_in_order(X, self.names_))
        if hits.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {hits.shape[1]} features, but {type(self).__name__} is "
                f"expecting {self.n_features_in_} features as input: one column per "
                "training item, in the order of fit"
            )
        other = hits if back is None else scipy.sparse.csr_array(self._counted(back).T)
        if other.shape != hits.shape:
            raise ValueError(
                f"back must have the shape {hits.shape[::-1]} (training items in rows, "
                f"new ones in columns), got {other.shape[::-1]}"
            )
        both = self._joined(hits, other)
        if not self.normalize:
            return both
        known = _checked_self_scores(self_scores, hits.shape[0])
        new = self._imputed(known, hits, other)
        return _divided(both, new, self.self_scores_)

    def new_items(self, hits, names=None):
        """Take the part about new items from a table that may hold training items too.

        Parameters
        ----------
        hits : Named
            As `read_hits` returns them, the rows and columns of one list of items.
            Hits on items that are neither new nor training items are left out.
        names : list of str, optional
            The new items, also those that the table does not mention. By default the
            queries that are no training items, or all queries if there are none such.

        Returns
        -------
        dict
            ``X`` (Named), ``back`` and ``self_scores``, as `transform` and the methods
            of `HitClassifier` take them: ``model.predict(**parts)``.
        """
        check_is_fitted(self, "n_features_in_")
        if self.names_ is None:
            raise ValueError(
                "the training items have no names to find them by; fit on hits with "
                "names (as read_hits returns them), or pass n_new x n_train hits"
            )
        matrix = scipy.sparse.csr_array(hits.data)
        if names is None:
            queries = [hits.names[k] for k in np.flatnonzero(np.diff(matrix.indptr))]
            own = set(self.names_)
            names = [name for name in queries if name not in own] or queries
        place = {name: k for k, name in enumerate(hits.names)}
        new = np.array([place.get(name, -1) for name in names], dtype=int)
        old = np.array([place.get(name, -1) for name in self.names_], dtype=int)
        scores = np.append(matrix.diagonal(), 0.0)
        return {
            "X": Named(_block(matrix, new, old), list(names), self.names_),
            "back": _block(matrix, old, new),
            "self_scores": scores[new],
        }

    def _counted(self, X: Any) -> scipy.sparse.csr_array:
        """Scores that are finite and not negative."""
        data = check_array(
            X.data if isinstance(X, Named) else X,
            accept_sparse="csr",
            dtype=np.float64,
            ensure_all_finite=False,  # told below, in words about hits
            input_name="X",
        )
        if data.min() < 0:
            raise ValueError(
                f"Negative values in data passed to {type(self).__name__}: the lowest "
                f"is the negative score {data.min():g}; scores of hits are 0 or more"
            )
        return checked_scores(data, copy=False)

    def _joined(self, hits: Any, other: Any) -> scipy.sparse.csr_array:
        if self.symmetrize == "max":
            both = hits.maximum(other)
        elif self.symmetrize == "min":
            both = hits.minimum(other)
        else:
            both = (hits + other) * 0.5
        both = compressed_rows(both)
        both.eliminate_zeros()
        both.sort_indices()
        return both

    def _imputed(self, known: Array, hits: Any, other: Any) -> Array:
        best = np.maximum(_row_max(hits), _row_max(other))
        return np.where(known > 0, known, np.maximum(self.typical_score_, best))


def _checked_self_scores(self_scores: Any, n: int) -> Array:
    """Scores of n new items against themselves, 0 where not known."""
    if self_scores is None:
        return np.zeros(n)
    scores = np.asarray(self_scores, dtype=np.float64)
    if scores.shape != (n,):
        raise ValueError(
            f"self_scores must have shape ({n},), one per new item, got {scores.shape}"
        )
    if np.isinf(scores).any() or (scores < 0).any():
        place = int(np.flatnonzero(np.isinf(scores) | (scores < 0))[0])
        raise ValueError(
            f"self_scores[{place}] is {scores[place]:g}; expected a finite score of 0 "
            "or more, or NaN where it is not known"
        )
    return np.nan_to_num(scores)


def _block(matrix: Any, rows: np.ndarray, columns: np.ndarray) -> Any:
    """Rows and columns by position; -1 is an empty one."""
    n = matrix.shape[0]
    wider = scipy.sparse.csr_array(matrix, copy=True)
    wider.resize((n + 1, n + 1))
    return compressed_rows(wider[rows][:, columns])


def _row_max(matrix: Any) -> Array:
    return matrix.max(axis=1).toarray().ravel()


def _divided(matrix: Any, rows: Array, columns: Array) -> scipy.sparse.csr_array:
    """Divide entries by the roots of the self scores of row and column, in place."""
    matrix.data *= np.repeat(1.0 / np.sqrt(rows), np.diff(matrix.indptr))
    matrix.data *= (1.0 / np.sqrt(columns))[matrix.indices]
    return matrix


def _in_order(hits: Any, names: list[str] | None) -> Any:
    """Columns in the order of the training items, where both have names."""
    if not isinstance(hits, Named) or names is None:
        return hits
    columns = hits.names if hits.columns is None else hits.columns
    if columns is None or columns == names:
        return hits
    place = {name: k for k, name in enumerate(columns)}
    missing = [name for name in names if name not in place]
    if missing:
        raise ValueError(
            f"X has no column for the training item {missing[0]!r} ({len(missing)} "
            "items in all); read the hits with against=names of the training items"
        )
    order = [place[name] for name in names]
    return Named(scipy.sparse.csr_array(hits.data)[:, order], hits.names, names)
