"""The training problem as a fitted model saw it: items, weights, kernel, rows.

Nothing is assumed here: what a formula needs and the model does not have is an error.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.utils.class_weight import compute_sample_weight

from krein.referee.digits import EPS, Array, Wide, product
from krein.sklearn_internals import check_sample_weight


@dataclass(frozen=True)
class Row:
    """One output of a model, on the items of positive weight.

    Attributes
    ----------
    y : ndarray of shape (n,)
        Labels +1 and -1, and 0 for items that this row does not see.
    v : ndarray of shape (n,)
        Coefficients on the kernel that it was trained on; NaN if their shape is wrong.
    c : ndarray of shape (n,)
        ``dual_coef_``, coefficients on the raw kernel.
    b : float
        The intercept.
    """

    y: Array
    v: Array
    c: Array
    b: float


@dataclass(frozen=True)
class Outputs:
    """Outputs of a row on the items it was trained on, without the intercept.

    Attributes
    ----------
    f : Wide of shape (n,)
        With 32 digits.
    unsure : ndarray of shape (n,)
        What the referee cannot settle: last digits of a kernel that had to be computed
        again. As a rule 0.
    rounding : ndarray of shape (n,)
        What doubles can make of f: so far may be off what a model derives from it.
    """

    f: Wide
    unsure: Array
    rounding: Array


class Fitted:
    """A model and its training problem, on the items of positive weight.

    Attributes
    ----------
    model, X, P
        As given to `check_certificate`.
    results : list
        One per row.
    functions : list of callable
        Similarities of items; none with a matrix.
    stack : list of ndarray or csr_array
        Kernels of all items: several for an `MKLSVC`.
    raw : ndarray or csr_array
        Their sum.
    kept : ndarray of int
        Places of the items of positive weight among all.
    n : int
        Number of these.
    y : ndarray of shape (n,)
        Class numbers, or targets.
    weight : ndarray of shape (n,)
        Sample weight times class weight.
    K : ndarray or csr_array of shape (n, n)
        Raw kernel of these items, made exactly symmetric.
    asymmetry : float
        Largest ``|K_ij - K_ji| / 2`` before; 0 if the model was asked to symmetrise.
    spread : float
        Share of the sizes of its terms that a product with the kernel can be off in
        doubles: n eps (Higham, 2002, section 3.1), twice for a decomposition.
    """

    def __init__(self, model: Any, X: Any, y: Any, sample_weight: Any, P: Any):
        self.model = model
        self.P = P
        self.X = X.to_numpy() if hasattr(X, "to_numpy") else X
        several = isinstance(model.result_, list)
        self.results = model.result_ if several else [model.result_]
        self.functions = self._functions()
        self.stack = self._kernels()
        self.raw = sum(self.stack[1:], self.stack[0])
        n_items = np.shape(model.dual_coef_)[-1]
        labels = self._labels(y, n_items)
        weight = compute_sample_weight(getattr(model, "class_weight", None), labels)
        weight = weight * check_sample_weight(sample_weight, labels, dtype=float)
        self.kept = np.flatnonzero(weight > 0)
        self.n = self.kept.size
        self.y = self._targets(labels)[self.kept]
        self.weight = weight[self.kept]
        self.spread = 2 * (self.n + 8) * EPS
        self._symmetrise()

    def _functions(self) -> list[Any]:
        if getattr(self.model, "kernel", "precomputed") != "precomputed":
            return [self.model.kernel_]
        return getattr(self.model, "kernels_", None) or []

    def _kernels(self) -> list[Any]:
        """Similarities as given, or of the items given to those that are stored."""
        if self.functions:
            known = self.model.X_fit_
            stack = [function(self.X, known) for function in self.functions]
        elif not hasattr(self.model, "weights_"):
            stack = [self.X]
        elif isinstance(self.X, list | tuple):
            stack = list(self.X)
        else:
            stack = list(np.moveaxis(np.asarray(self.X), 2, 0))
        return [_numbers(K) for K in stack]

    def _labels(self, y: Any, n_items: int) -> Array:
        """Check shapes: nothing can be said of other data than those of fit."""
        labels = np.zeros(self.raw.shape[0]) if y is None else np.asarray(y).ravel()
        if self.raw.shape != (n_items, n_items) or labels.shape != (n_items,):
            raise ValueError(
                f"X and y must be the {n_items} samples that the model was fitted on, "
                f"got shapes {self.raw.shape} and {labels.shape}"
            )
        return labels

    def _targets(self, y: Array) -> Array:
        """Numbers of the classes, or the targets as they are."""
        if not hasattr(self.model, "classes_"):
            return y.astype(float)
        classes, codes = np.unique(y, return_inverse=True)
        if not np.array_equal(classes, self.model.classes_):
            raise ValueError("y holds labels that the model was not fitted on")
        return codes

    def _symmetrise(self) -> None:
        K = self.raw
        if self.n < K.shape[0]:
            K = K[self.kept][:, self.kept]
        self.asymmetry = 0.0
        if getattr(self.model, "symmetrize", False):
            K = 0.5 * K + 0.5 * K.T
        elif abs(K - K.T).max() > 0.0:
            self.asymmetry = 0.5 * float(abs(K - K.T).max())
            K = 0.5 * K + 0.5 * K.T
        self.K = K

    def of(self, model: Any) -> Fitted:
        """Return the same training problem, of another model with as many rows."""
        other = copy(self)
        other.model = model
        other.results = model.result_
        return other

    # --------------------------------------------------------------------- parameters

    def parameter(self, name: str) -> Any:
        """Return a parameter, as chosen where the model has searched for it."""
        chosen = getattr(self.model, "best_params_", {})
        if name in chosen:
            value = chosen[name]
        elif hasattr(self.model, name):
            value = getattr(self.model, name)
        else:
            raise ValueError(
                f"{type(self.model).__name__} has no {name}, which its formula needs"
            )
        return value

    def penalty(self) -> float:
        """Alpha, which ``alpha="auto"`` has found from the data."""
        alpha = self.parameter("alpha")
        return float(self.model.alpha_used_ if alpha == "auto" else alpha)

    # --------------------------------------------------------------------------- rows

    def rows(self) -> list[Row]:
        """Return the rows of the model."""
        rows = []
        for k, y in enumerate(self.signs()):
            v = self._variables(k, y)
            c = self.model.dual_coef_[k, self.kept]
            rows.append(Row(y, v, c, float(self.model.intercept_[k])))
        return rows

    def _variables(self, k: int, y: Array) -> Array:
        """Coefficients that a row was trained with: ``y * alpha_``, or the result's."""
        if hasattr(self.model, "alpha_"):
            x = np.where(y < 0.0, -1.0, 1.0) * self.model.alpha_[k, self.kept]
        else:
            x = self.results[k].x
        if np.shape(x) != (self.n,):
            return np.full(self.n, np.nan)
        return np.asarray(x, dtype=float)

    def signs(self) -> list[Array]:
        """Labels of each row: against the rest, or pair by pair; +1 without classes."""
        if not hasattr(self.model, "classes_"):
            return [np.ones(self.n)]
        n_classes = len(self.model.classes_)
        pairs = getattr(self.model, "multi_class", "ovr") == "ovo"
        if n_classes == 2 or pairs:
            return list(self._signs_of_pairs(n_classes))
        return [np.where(self.y == k, 1.0, -1.0) for k in range(n_classes)]

    def _signs_of_pairs(self, n_classes: int) -> Iterator[Array]:
        for first, second in combinations(range(n_classes), 2):
            yield 1.0 * (self.y == second) - 1.0 * (self.y == first)

    # ------------------------------------------------------------------------- kernel

    def dense(self) -> Array:
        """Return the raw kernel as an array."""
        return self.K.toarray() if scipy.sparse.issparse(self.K) else self.K

    def outputs(self, K: Any, c: Array) -> Outputs:
        """K c for a raw kernel or one of the user's functions."""
        sizes = abs(K) @ np.abs(c)
        return Outputs(product(K, c), self.unsure(sizes, c), self.spread * sizes)

    def unsure(self, sizes: Array, c: Array) -> Array:
        """What is not known of outputs whose terms have these sizes.

        A kernel that is computed again may differ in its last digits from the one that
        the model was trained on, and of an asymmetric one either half may be meant.
        """
        again = self.spread * sizes if self.functions else 0.0 * sizes
        return again + self.asymmetry * float(np.abs(c).sum())

    def polynomials(self) -> Array:
        """P of a c.p.d. kernel."""
        if self.functions:
            return np.asarray(self.model.kernel_.polynomials(self.X))[self.kept]
        shape = (self.raw.shape[0], self.parameter("n_polynomials_"))
        P = np.ones((shape[0], 1)) if self.P is None else np.asarray(self.P, float)
        if P.shape != shape:
            raise ValueError(
                f"P must be the polynomials of fit, of shape {shape}, got {P.shape}: "
                "pass P="
            )
        return P[self.kept]


def _numbers(K: Any) -> Any:
    if scipy.sparse.issparse(K):
        return scipy.sparse.csr_array(K).astype(float, copy=False)
    return np.asarray(K).astype(float, copy=False)
