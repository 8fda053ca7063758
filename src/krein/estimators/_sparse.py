"""Fewer similarities per prediction: a sparse expansion with a stated error."""

from __future__ import annotations

import copy
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
import scipy.sparse
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _num_samples, check_is_fitted

from krein.arrays import Array
from krein.machines.prototypes import Expansion, as_new_items, sparse_expansion
from krein.similarity.memory import require_memory


class Sparsifiable:
    """`sparsify`, for every model whose outputs are linear in its similarities."""

    X_fit_: Any
    dual_coef_: Array
    intercept_: Array
    support_: np.ndarray
    dense_coef_: Array
    dense_intercept_: Array
    sparse_error_: float
    labels_changed_: int
    _precomputed: Any
    _approximation: Any
    _similarities: Any
    _add_polynomial: Any
    _labels: Any
    _refuse_diverged: Any

    def _is_fitted(self) -> bool:
        # scikit-learn takes any unfitted estimator with a `sparsify` for a linear one.
        check_is_fitted(self, "dual_coef_")  # an AttributeError, too
        return True

    @available_if(_is_fitted)
    def sparsify(
        self,
        X: Any = None,
        *,
        tolerance: float | None = None,
        n_prototypes: int | None = None,
        held_out: Any = None,
    ) -> Self:
        """Return a copy of the model that needs similarities to few items only.

        Prototypes are chosen among the training items one by one, each as the one
        that explains most of what is left of the decision values, and coefficients
        and intercepts are fitted again. Training items count as if they were new:
        their similarity to themselves is replaced by that to their nearest other
        item.

        Parameters
        ----------
        X : array-like of shape (n, n), or items, optional
            What the model was fitted on. Needed with ``kernel="precomputed"``; other
            models keep their items.
        tolerance : float, optional
            Largest change of a decision value on the items looked at; as many
            prototypes as this takes. Give it or `n_prototypes`.
        n_prototypes : int, optional
            Number of prototypes; the change is what it is.
        held_out : array-like of shape (n_new, n), or items, optional
            Further items, without labels, on which the decision values are kept.

        Returns
        -------
        estimator
            With fewer items in `support_`; `sparse_error_` is the largest change of a
            decision value on the items looked at, `labels_changed_` (classifiers) how
            many of them have another label, `dense_coef_` and `dense_intercept_` are
            those of the model it came from, to which `result_` belongs.
        """
        self._check_sparsify(tolerance, n_prototypes)
        dense = self._before_sparsify()
        parts = [dense._seen_as_new(X)]
        if held_out is not None:
            parts.append((held_out, dense_array(dense._similarities(held_out))))
        columns = np.vstack([block for _, block in parts])
        found = expanded(
            columns,
            dense.dual_coef_[:, dense.support_],
            dense.intercept_,
            tolerance=tolerance,
            most=n_prototypes,
        )
        sparse = dense._with_expansion(found)
        if hasattr(self, "_labels") and not (
            self._precomputed and hasattr(self, "poly_coef_")
        ):
            changed = [sparse._changed_labels(*part, found) for part in parts]
            sparse.labels_changed_ = sum(changed)
        return sparse

    def _refuse_without_expansion(self, what: str) -> None:
        self._refuse_diverged()
        reason = self._no_expansion()
        if reason is None and self._approximation is not None:
            reason = (
                "with landmarks prediction needs similarities to the landmarks only; "
                "lower n_components of the approximation"
            )
        if reason is not None:
            raise ValueError(f"{type(self).__name__} cannot {what}: {reason}")

    def _check_sparsify(self, tolerance: Any, n_prototypes: Any) -> None:
        self._refuse_without_expansion("be made sparse")
        if (tolerance is None) == (n_prototypes is None):
            raise ValueError(
                "give tolerance= (largest change of a decision value) or "
                "n_prototypes= (number of items to keep), one of them"
            )
        if tolerance is not None and not (
            isinstance(tolerance, Real) and 0 < float(tolerance) < np.inf
        ):
            raise ValueError(f"tolerance must be a positive number, got {tolerance!r}")
        if n_prototypes is not None and not (
            isinstance(n_prototypes, Integral) and int(n_prototypes) >= 1
        ):
            raise ValueError(
                f"n_prototypes must be a positive integer, got {n_prototypes!r}"
            )

    def _no_expansion(self) -> str | None:
        """Say why the outputs are not linear in similarities; None where they are."""
        return None

    def _before_sparsify(self) -> Self:
        """Return a copy with the coefficients of the fit."""
        dense = copy.copy(self)
        if hasattr(self, "dense_coef_"):
            dense.dual_coef_, dense.intercept_ = self.dense_coef_, self.dense_intercept_
            dense.support_ = np.flatnonzero(np.any(self.dense_coef_ != 0.0, axis=0))
        return dense

    def _seen_as_new(self, X: Any) -> tuple[Any, Array]:
        """Training items, and their similarities to the support as if they were new."""
        items = self.X_fit_ if X is None else X
        if items is None:
            raise ValueError(
                "with kernel='precomputed' pass the training similarities first: "
                "sparsify(K, ...)"
            )
        n = self.dual_coef_.shape[1]
        if _num_samples(items) != n:
            raise ValueError(
                f"X has {_num_samples(items)} items, the model was fitted on {n}; "
                "further items are given as held_out"
            )
        return items, as_new_items(
            dense_array(self._similarities(items)), self.support_
        )

    def _with_expansion(self, found: Expansion) -> Self:
        """Return a copy with other coefficients, which remembers its own."""
        sparse = copy.copy(self)
        sparse.dense_coef_, sparse.dense_intercept_ = self.dual_coef_, self.intercept_
        sparse.support_ = self.support_[found.chosen]
        sparse.dual_coef_ = np.zeros_like(self.dual_coef_)
        sparse.dual_coef_[:, sparse.support_] = found.coef
        sparse.intercept_ = found.intercept
        sparse.sparse_error_ = found.error
        return sparse

    def _changed_labels(self, items: Any, columns: Array, found: Expansion) -> int:
        """How many items have another label than in the model before."""
        places = np.flatnonzero(np.any(self.dense_coef_ != 0.0, axis=0))
        before = columns @ self.dense_coef_[:, places].T + self.dense_intercept_
        after = found.values(columns)
        before, after = (self._add_polynomial(v, items) for v in (before, after))
        return int(np.sum(self._labels(before) != self._labels(after)))


def expanded(
    columns: Array,
    coef: Array,
    intercept: Array,
    *,
    tolerance: float | None,
    most: int | None = None,
    weight: Array | None = None,
) -> Expansion:
    """A sparse expansion of known coefficients; they themselves where none is found."""
    count = columns.shape[1] if most is None else min(int(most), columns.shape[1])
    found = None
    if tolerance is not None or count < columns.shape[1]:
        outputs = columns @ coef.T + intercept
        found = sparse_expansion(
            columns,
            outputs,
            tolerance=float(tolerance or 0.0),
            most=count,
            weight=weight,
        )
    if found is None or (tolerance is not None and not found.error <= tolerance):
        return Expansion(np.arange(columns.shape[1]), coef, intercept, 0.0)
    return found


def dense_array(K: Any) -> Array:
    if not scipy.sparse.issparse(K):
        return np.asarray(K, dtype=float)
    require_memory(
        8.0 * K.shape[0] * K.shape[1], "sparsify", "Sparse rows stay as they are."
    )
    return K.toarray()
