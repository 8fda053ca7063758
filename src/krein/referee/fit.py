"""A fitted model with its training problem, and the attributes that predict."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse

from krein.referee.evidence import EPS, HINGE, Array, Problem
from krein.referee.report import Claim, faults_of

_SAMPLED = 200  # rows of similarities that are computed again from the stored items


class Row(NamedTuple):
    """What a model has for one row, on the samples of positive weight.

    Labels +1 and -1, or 0 for items that it does not see; `alpha_` and `dual_coef_`;
    the intercept; and whether a gap is claimed, not only a stationary point.
    """

    y: Array
    a: Array
    c: Array
    b: float
    claims_gap: bool


class Fit:
    """A model and its samples of positive weight.

    Attributes
    ----------
    model, X, P
        As given to `check_certificate`.
    results, certificates : list
        One of each per row.
    functions : list of callable
        Similarities of items; none with a matrix.
    stack : list of ndarray or csr_array
        Kernels of all samples: several for an `MKLSVC`.
    raw : ndarray or csr_array
        Their sum.
    K : ndarray or csr_array of shape (n, n)
        Kernel of the samples of positive weight, made exactly symmetric.
    asymmetry : float
        Largest |K_ij - K_ji| / 2 before that; 0 if the model was asked to symmetrise.
    y, weight, root, kept : ndarray of shape (n,)
        Class numbers or targets; sample weight times class weight, and its square
        root; places of these samples among all.
    spread : float
        Relative rounding of a product with the kernel.
    """

    def __init__(self, model: Any, X: Any, y: Any, sample_weight: Any, P: Any):
        self.model, self.X, self.P, result = model, plain(X), P, model.result_
        self.results = result if isinstance(result, list) else [result]
        self.certificates = [result.certificate for result in self.results]
        self.functions = getattr(model, "kernels_", None) or []
        if getattr(model, "kernel", "precomputed") != "precomputed":
            self.functions = [model.kernel_]
        self.stack = self._kernels()
        K = self.raw = sum(self.stack[1:], self.stack[0])
        total = K.shape[0]
        targets = np.zeros(total) if y is None else np.asarray(y)
        if targets.shape not in [(total,), (total, 1)]:
            text = f"got shape {targets.shape} for {total} samples in X"
            raise ValueError(f"y must have one entry per sample of fit, {text}")
        classes, targets = getattr(model, "classes_", None), targets.ravel()
        targets = targets if classes is None else class_numbers(classes, targets)
        weight = self._weights(targets, sample_weight)
        self.kept = np.flatnonzero(weight > 0)
        self.y, self.weight = targets[self.kept], weight[self.kept]
        self.n, self.root = self.kept.size, np.sqrt(self.weight)
        self.spread = 8 * (self.n + 8) * EPS
        K = K[self.kept][:, self.kept] if self.n < total else K
        symmetrize = getattr(model, "symmetrize", False)
        self.asymmetry = 0.0 if symmetrize else 0.5 * float(abs(K - K.T).max())
        self.K = 0.5 * K + 0.5 * K.T if symmetrize or self.asymmetry else K

    def __getitem__(self, name: str) -> Any:
        """Return a parameter, as chosen where the model has searched for it."""
        chosen = getattr(self.model, "best_params_", {})
        value = chosen.get(name, getattr(self.model, name, 1.0))
        automatic = isinstance(value, str) and value == "auto"
        return self.model.alpha_used_ if automatic else value

    def hinge(self, y: Array) -> Problem:
        """Return the problem of an SVM with these labels."""
        return Problem(HINGE, y, np.ones(self.n), self["C"] * self.weight * np.abs(y))

    def rows(self) -> Iterator[Row]:
        """Return the rows of the model."""
        C, b = self.model.dual_coef_[:, self.kept], self.model.intercept_
        A = getattr(self.model, "alpha_", self.model.dual_coef_)[:, self.kept]
        for row, y in enumerate(self.signs()):
            gap = self.certificates[row].kind == "gap"
            yield Row(y, A[row], C[row], float(b[row]), gap)

    def coefficients(self, row: int = 0) -> Array:
        """Coefficients on the kernel trained on; NaN if their shape is wrong."""
        v = np.asarray(self.results[row].x, dtype=float)
        return v if v.shape == (self.n,) else np.full(self.n, np.nan)

    def claims(self) -> Iterator[Claim]:
        """Return what the model claims of each row."""
        for result, known in zip(self.results, self.certificates, strict=True):
            yield known.kind, known.value, result.value, result.status, self.model.tol

    def dense(self) -> Array:
        """Return the kernel as an array."""
        return self.K.toarray() if scipy.sparse.issparse(self.K) else self.K

    def scaled(self) -> Array:
        """R K R as an array, R the square roots of the weights."""
        return self.root[:, None] * self.dense() * self.root

    def times(self, x: Array) -> Array:
        """R K R x."""
        return self.root * (self.K @ (self.root * np.ravel(x)))

    def size(self) -> float:
        """Bound of the norm of R K R: its largest sum of magnitudes in a row."""
        return float((self.root * (abs(self.K) @ self.root)).max())

    def _kernels(self) -> list[Any]:
        X: Any = [self.X]
        if self.functions:
            X = [function(self.X, self.X) for function in self.functions]
        elif hasattr(self.model, "weights_"):
            several = isinstance(self.X, list | tuple)
            X = self.X if several else np.moveaxis(np.asarray(self.X), 2, 0)
        sparse = scipy.sparse.issparse
        found = [scipy.sparse.csr_array(K) if sparse(K) else np.asarray(K) for K in X]
        shapes = {K.shape for K in found}
        if len(shapes) > 1 or any(len(s) != 2 or s[0] != s[1] for s in shapes):
            text = f"the model was fitted on, got {', '.join(map(str, shapes))}"
            raise ValueError(f"X must be the square matrix {text}")
        return [K.astype(float, copy=False) for K in found]

    def polynomials(self) -> Array:
        """P of a c.p.d. kernel, on the samples of positive weight."""
        if self.functions:
            return np.asarray(self.model.kernel_.polynomials(self.X))[self.kept]
        P = np.ones((len(self.raw), 1)) if self.P is None else np.asarray(self.P, float)
        if P.shape[1] != self.model.n_polynomials_:
            expected = f"{self.model.n_polynomials_} polynomial columns of fit"
            raise ValueError(f"P must have the {expected}, got {P.shape[1]}")
        return P[self.kept]

    def _weights(self, codes: Array, sample_weight: Any) -> Array:
        """Sample weight times class weight."""
        by_class, n = getattr(self.model, "class_weight", None), codes.size
        weight = np.array(np.ones(n) if sample_weight is None else sample_weight, float)
        if isinstance(by_class, str):  # balanced
            weight *= n / len(self.model.classes_) / np.bincount(codes)[codes]
        elif by_class is not None:
            names = self.model.classes_.tolist()
            weight *= np.array([by_class.get(name, 1.0) for name in names])[codes]
        return weight

    def signs(self) -> Iterator[Array]:
        """Labels of each row: against the rest, or pair by pair; +1 without classes."""
        n = len(getattr(self.model, "classes_", ()))
        pairs: Any = [(0, 1)] if n == 2 else [(None, k) for k in range(n)]
        if getattr(self.model, "multi_class", "ovr") == "ovo":
            pairs = zip(*np.triu_indices(n, 1), strict=True)
        for first, second in pairs:
            other = self.y != second if first is None else self.y == first
            yield 1.0 * (self.y == second) - other
        if n == 0:
            yield np.ones(self.n)

    # ------------------------------------------------------------- what predicts

    def prediction_faults(self) -> list[str]:
        """Check that the model's attributes are those of its results, and its items."""
        model, rows = self.model, len(self.results)
        whole = rows, self.raw.shape[0]
        shapes = {"dual_coef_": whole, "alpha_": whole, "intercept_": whole[:1]}
        for name in (*shapes, "weights_", "poly_coef_"):
            values = np.asarray(getattr(model, name, np.zeros(whole)))
            shape = shapes.get(name, (rows, *values.shape[1:]))
            if values.shape != shape or not np.isfinite(values).all():
                return [f"{name} is not of shape {shape}, or not finite"]
        faults = self._support_faults() + self._item_faults()
        for name in ("duality_gap_", "residual_", "kkt_gap_", "objective_"):
            parts = self.results if name == "objective_" else self.certificates
            own = [part.value for part in parts]
            same = np.array_equal(getattr(model, name, own), own, equal_nan=True)
            faults += faults_of((same, f"{name} is not that of result_"))
        return faults

    def _support_faults(self) -> list[str]:
        """Check which items predict, and intercepts that are not free."""
        model, support = self.model, self.model.support_
        known, used = np.unique(support), np.any(model.dual_coef_ != 0.0, axis=0)
        listed = known.size == support.size and not np.any(np.delete(used, known))
        ordered = known.size < used.size or np.array_equal(known, support)
        seen = not np.any(np.delete(used, self.kept))
        free = getattr(model, "fit_intercept", True) or not np.any(model.intercept_)
        b = getattr(model, "dense_intercept_", model.intercept_)[0]  # before sparsify
        return faults_of(
            (free, "intercept_ is not zero with fit_intercept=False"),
            (getattr(model, "offset_", -b) == -b, "intercept_ is not -offset_"),
            (seen, "dual_coef_ is not 0 on items of weight 0"),
            (listed, "support_ does not list the items with a coefficient"),
            (ordered, "support_ lists all items in another order"),
        )

    def _item_faults(self) -> list[str]:
        """Compare similarities to the stored items with those to the items given."""
        n, items = self.raw.shape[0], self.X
        stored = getattr(self.model, "X_fit_", None)
        if stored is None:
            return []
        if len(stored) != n:
            return [f"X_fit_ has {len(stored)} items, the model was fitted on {n}"]
        rows = np.unique(np.linspace(0, n - 1, min(n, _SAMPLED)).astype(int))
        some = items[rows] if hasattr(items, "shape") else [items[i] for i in rows]
        seen = sum(np.asarray(k(some, stored), dtype=float) for k in self.functions)
        same = np.abs(seen - self.raw[rows]).max() <= 1e-9 * np.abs(self.raw).max()
        text = "X_fit_ does not hold the items that the model was fitted on"
        return faults_of((same, text))


def plain(X: Any) -> Any:
    """Rows of a frame, or the items as they are."""
    return X.to_numpy() if hasattr(X, "to_numpy") else X


def class_numbers(classes: Array, y: Array) -> Array:
    """Places of labels among the classes; every label must be one of them."""
    codes = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
    if not np.array_equal(classes[codes], y):
        raise ValueError("y holds labels that the model was not fitted on")
    return codes
