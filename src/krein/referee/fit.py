"""A fitted model with its training problem, and the attributes that predict."""

from __future__ import annotations

from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from sklearn.utils.class_weight import compute_sample_weight

from krein.referee.evidence import EPS, LOSSES, Array, Problem
from krein.referee.report import faults_of
from krein.sklearn_internals import check_sample_weight

_SAME = 1e-9  # difference of similarities, relative, that is rounding


class Row(NamedTuple):
    """What a model has for one row, on the samples of positive weight.

    Labels +1 and -1, or 0 for items that it does not see; coefficients on the kernel
    that it was trained on, which are NaN if their shape is wrong, and `dual_coef_`; the
    intercept.
    """

    y: Array
    v: Array
    c: Array
    b: float


class Fit:
    """A model and its samples of positive weight.

    Attributes
    ----------
    model, X, P
        As given to `check_certificate`.
    results : list
        One per row.
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
        self.model, self.P, result = model, P, model.result_
        self.X = X.to_numpy() if hasattr(X, "to_numpy") else X
        self.results = result if isinstance(result, list) else [result]
        self.functions = getattr(model, "kernels_", None) or []
        if getattr(model, "kernel", "precomputed") != "precomputed":
            self.functions = [model.kernel_]
        self.stack = self._kernels()
        K = self.raw = sum(self.stack[1:], self.stack[0])
        y = np.zeros(K.shape[0]) if y is None else np.asarray(y).ravel()
        n = np.shape(model.dual_coef_)[-1]
        if K.shape != (n, n) or y.shape != (n,):
            text = f"X and y must be the {n} samples that the model was fitted on"
            raise ValueError(f"{text}, got shapes {K.shape} and {y.shape}")
        weight = compute_sample_weight(getattr(model, "class_weight", None), y)
        weight = weight * check_sample_weight(sample_weight, y, dtype=float)
        self.kept = np.flatnonzero(weight > 0)
        self.y, self.weight = self._targets(y)[self.kept], weight[self.kept]
        self.n, self.root = self.kept.size, np.sqrt(self.weight)
        self.spread = 8 * (self.n + 8) * EPS
        K = K[self.kept][:, self.kept] if self.n < n else K
        symmetrize = getattr(model, "symmetrize", False)
        self.asymmetry = 0.0 if symmetrize else 0.5 * float(abs(K - K.T).max())
        self.K = 0.5 * K + 0.5 * K.T if symmetrize or self.asymmetry else K

    def _kernels(self) -> list[Any]:
        """Similarities as given, or of the items given to those that are stored."""
        X = self.X if hasattr(self.model, "weights_") else [self.X]
        if self.functions:
            X = [function(self.X, self.model.X_fit_) for function in self.functions]
        elif not isinstance(X, list | tuple):
            X = np.moveaxis(np.asarray(X), 2, 0)
        sparse = scipy.sparse.issparse
        found = [scipy.sparse.csr_array(K) if sparse(K) else np.asarray(K) for K in X]
        return [K.astype(float, copy=False) for K in found]

    def _targets(self, y: Array) -> Array:
        """Numbers of the classes, or the targets as they are."""
        if not hasattr(self.model, "classes_"):
            return y.astype(float)
        classes, codes = np.unique(y, return_inverse=True)
        if not np.array_equal(classes, self.model.classes_):
            raise ValueError("y holds labels that the model was not fitted on")
        return codes

    def __getitem__(self, name: str) -> Any:
        """Return a parameter, as chosen where the model has searched for it."""
        chosen = getattr(self.model, "best_params_", {})
        value = chosen.get(name, getattr(self.model, name, 1.0))
        return value if value != "auto" else self.model.alpha_used_

    def problem(self, y: Array) -> Problem:
        """Return the problem of a machine with a hinge and these labels."""
        hinge, w, model = LOSSES["hinge"], self["C"] * self.weight, self.model
        if hasattr(model, "nu"):
            total = float(model.nu) * float(self.weight.sum())
            return Problem(hinge, y, 0 * y, self.weight, total=total)
        if hasattr(model, "classes_"):
            return Problem(hinge, y, np.ones(self.n), w * np.abs(y))
        y = np.repeat([1.0, -1.0], self.n)
        target = y * np.tile(self.y, 2) - self["epsilon"]
        return Problem(hinge, y, target, np.tile(w, 2))

    def rows(self) -> list[Row]:
        """Return the rows of the model."""
        C, rows = self.model.dual_coef_[:, self.kept], []
        for k, y in enumerate(self.signs()):
            x = self.results[k].x
            if hasattr(self.model, "alpha_"):
                x = np.where(y < 0.0, -1.0, 1.0) * self.model.alpha_[k, self.kept]
            v = x if np.shape(x) == (self.n,) else np.full(self.n, np.nan)
            rows.append(Row(y, v, C[k], float(self.model.intercept_[k])))
        return rows

    def dense(self) -> Array:
        """Return the kernel as an array."""
        return self.K.toarray() if scipy.sparse.issparse(self.K) else self.K

    def scaled(self) -> Array:
        """R K R as an array, R the square roots of the weights."""
        return self.root[:, None] * self.dense() * self.root

    def product(self, K: Array, c: Array) -> tuple[Array, Array]:
        """K c, and what rounding can make of each entry."""
        error = 2 * self.spread * (abs(K) @ np.abs(c))
        return K @ c, error + self.asymmetry * float(np.abs(c).sum())

    def times(self, x: Array) -> Array:
        """R K R x."""
        return self.root * (self.K @ (self.root * np.ravel(x)))

    def size(self) -> float:
        """Bound of the norm of R K R: its largest sum of magnitudes in a row."""
        return float((self.root * (abs(self.K) @ self.root)).max())

    def polynomials(self) -> Array:
        """P of a c.p.d. kernel, on the samples of positive weight."""
        if self.functions:
            return np.asarray(self.model.kernel_.polynomials(self.X))[self.kept]
        shape = self.raw.shape[0], self.model.n_polynomials_
        P = np.ones((shape[0], 1)) if self.P is None else np.asarray(self.P, float)
        if P.shape != shape:
            text = f"P must be the polynomials of fit, of shape {shape}"
            raise ValueError(f"{text}, got {P.shape}: pass P=")
        return P[self.kept]

    def signs(self) -> list[Array]:
        """Labels of each row: against the rest, or pair by pair; +1 without classes."""
        n, y = len(getattr(self.model, "classes_", ())), self.y
        if n == 2 or getattr(self.model, "multi_class", "ovr") == "ovo":
            return [1.0 * (y == j) - (y == i) for i, j in combinations(range(n), 2)]
        against_rest = [np.where(y == k, 1.0, -1.0) for k in range(n)]
        return against_rest or [np.ones(self.n)]

    # ------------------------------------------------------------- what predicts

    def prediction_faults(self) -> list[str]:
        """Check that the model's attributes are those of its results, and its items."""
        model, whole = self.model, (len(self.results), self.raw.shape[0])
        shapes = {"dual_coef_": whole, "alpha_": whole, "intercept_": whole[:1]}
        for name, shape in shapes.items():
            if np.shape(getattr(model, name, np.empty(shape))) != shape:
                return [f"{name} is not of shape {shape}"]
        faults = self._support_faults()
        gaps = [result.certificate.value for result in self.results]
        known = dict.fromkeys(("duality_gap_", "residual_", "kkt_gap_"), gaps)
        known["objective_"] = [result.value for result in self.results]
        for name, own in known.items():
            same = np.array_equal(getattr(model, name, own), own, equal_nan=True)
            faults += faults_of((same, f"{name} is not that of result_"))
        return faults

    def _support_faults(self) -> list[str]:
        """Check which items predict, and intercepts that are not free."""
        model, support = self.model, np.unique(self.model.support_)
        used = np.any(model.dual_coef_ != 0.0, axis=0)
        missing = np.any(np.delete(used, support))
        seen = not np.any(np.delete(used, self.kept))
        free = getattr(model, "fit_intercept", True) or not np.any(model.intercept_)
        b = getattr(model, "dense_intercept_", model.intercept_)[0]  # before sparsify
        return faults_of(
            (free, "intercept_ is not zero with fit_intercept=False"),
            (getattr(model, "offset_", -b) == -b, "intercept_ is not -offset_"),
            (seen, "dual_coef_ is not 0 on items of weight 0"),
            (np.array_equal(support, model.support_) and not missing,
             "support_ does not list the items with a coefficient, in order"),
            (self._stores_items(),
             "X_fit_ does not hold the items that the model was fitted on"),
        )  # fmt: skip

    def _stores_items(self) -> bool:
        """Whether K(X, X_fit_) is symmetric, or as asymmetric as K(X, X)."""
        if not self.functions or self.asymmetry <= _SAME * np.abs(self.raw).max():
            return True
        again = sum(np.asarray(k(self.X, self.X), float) for k in self.functions)
        return bool(np.abs(again - self.raw).max() <= _SAME * np.abs(self.raw).max())
