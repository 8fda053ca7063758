"""A fitted model with its training problem, and the attributes that predict."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse

Array = np.ndarray

EPS = float(np.finfo(float).eps)
_SAMPLED = 200  # rows of similarities that are computed again from the stored items


def norm(v: Array) -> float:
    """Euclidean norm that neither overflows nor underflows."""
    largest = float(np.abs(v).max(initial=0.0))
    return largest * float(np.linalg.norm(v / largest)) if largest > 0.0 else 0.0


def results_of(model: Any) -> list[Any]:
    """Return one result per row."""
    return model.result_ if isinstance(model.result_, list) else [model.result_]


class Fit:
    """A model and its samples of positive weight.

    Attributes
    ----------
    model, X, P
        As given to `check_certificate`.
    results : list of Result
        One per row.
    raw : ndarray or csr_array
        Kernel of all samples.
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
        self.model, self.X, self.P, self.results = model, X, P, results_of(model)
        K = self.raw = self._raw_kernel()
        total = K.shape[0]
        targets = np.zeros(total) if y is None else np.asarray(y)
        if targets.shape == (total, 1):
            targets = targets.ravel()
        if targets.shape != (total,):
            text = f"got shape {targets.shape} for {total} samples in X"
            raise ValueError(f"y must have one entry per sample of fit, {text}")
        if hasattr(model, "classes_"):
            targets = class_numbers(model.classes_, targets)
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
        if name == "alpha" and not chosen and hasattr(self.model, "best_alpha_"):
            return self.model.best_alpha_
        value = chosen[name] if name in chosen else getattr(self.model, name, 1.0)
        return (
            self.model.alpha_used_
            if isinstance(value, str) and value == "auto"
            else value
        )

    def row(self, name: str, row: int = 0) -> Array:
        """Return a row of `dual_coef_` or `alpha_`, samples of positive weight only."""
        return getattr(self.model, name)[row, self.kept]

    def coefficients(self, row: int = 0) -> Array:
        """Coefficients on the kernel trained on; NaN if their shape is wrong."""
        v = np.asarray(self.results[row].x, dtype=float)
        return v if v.shape == (self.n,) else np.full(self.n, np.nan)

    def dense(self) -> Array:
        """Return the kernel as an array."""
        return self.K.toarray() if scipy.sparse.issparse(self.K) else self.K

    def _raw_kernel(self) -> Any:
        if hasattr(self.model, "weights_"):
            return sum(self.stack())
        if not is_precomputed(self.model):
            items = plain(self.X)
            return np.asarray(self.model.kernel_(items, items), dtype=float)
        K = numbers(self.X)
        if K.ndim != 2 or K.shape[0] != K.shape[1]:
            text = f"the model was fitted on, got {K.shape}"
            raise ValueError(f"X must be the square matrix {text}")
        return K

    def stack(self) -> list[Any]:
        """Return the kernels of an MKLSVC on all samples."""
        if self.model.kernels is not None:
            items = plain(self.X)
            return [np.asarray(k(items, items), float) for k in self.model.kernels_]
        if isinstance(self.X, list | tuple):
            return [np.asarray(K, dtype=float) for K in self.X]
        return list(np.moveaxis(np.asarray(self.X, dtype=float), 2, 0))

    def _weights(self, codes: Array, sample_weight: Any) -> Array:
        """Sample weight times class weight."""
        by_class, n = getattr(self.model, "class_weight", None), codes.size
        weight = np.ones(n) if sample_weight is None else np.asarray(sample_weight)
        if by_class is None:
            return weight.astype(float)
        classes = self.model.classes_
        if isinstance(by_class, str):  # balanced
            counts = np.bincount(codes, minlength=len(classes))
            return weight * (n / (len(classes) * counts))[codes]
        return (
            weight * np.array([by_class.get(k, 1.0) for k in classes.tolist()])[codes]
        )

    def signs(self) -> Iterator[tuple[Array, Array]]:
        """Items and labels -1 / +1 of each row: against the rest, or pair by pair."""
        n, items = len(self.model.classes_), np.arange(self.n)
        if getattr(self.model, "multi_class", "ovr") != "ovo" or n == 2:
            for k in [1] if n == 2 else range(n):
                yield items, np.where(self.y == k, 1.0, -1.0)
            return
        for first, second in zip(*np.triu_indices(n, 1), strict=True):
            pair = items[(self.y == first) | (self.y == second)]
            yield pair, np.where(self.y[pair] == second, 1.0, -1.0)

    def prediction_faults(self) -> list[str]:
        """Check that `predict` uses the certified rows, on the training items."""
        model, n, rows = self.model, self.raw.shape[0], len(self.results)
        shapes = {"dual_coef_": (rows, n), "intercept_": (rows,), "alpha_": (rows, n)}
        for name in ("weights_", "poly_coef_"):
            shapes[name] = (rows, *np.shape(getattr(model, name, [[]]))[1:])
        for name, shape in shapes.items():
            values = np.asarray(getattr(model, name, np.zeros(shape)))
            if values.shape != shape:
                return [f"{name} has shape {values.shape}, expected {shape}"]
            if not np.isfinite(values).all():
                return [f"{name} is not finite"]
        used, known = np.any(model.dual_coef_ != 0.0, axis=0), np.unique(model.support_)
        faults = []
        if np.any(np.delete(used, self.kept)):
            faults.append("dual_coef_ is not 0 on items of weight 0")
        if known.size < model.support_.size or np.any(np.delete(used, known)):
            faults.append("support_ does not list the items with a coefficient")
        elif known.size == n and not np.array_equal(known, model.support_):
            faults.append("support_ lists all items in another order")
        stored = getattr(model, "X_fit_", None)
        return faults if stored is None else faults + self._item_faults(stored)

    def _item_faults(self, stored: Any) -> list[str]:
        """Compare similarities to the stored items with those to the items given."""
        model, n, items = self.model, self.raw.shape[0], plain(self.X)
        if len(stored) != n:
            return [f"X_fit_ has {len(stored)} items, the model was fitted on {n}"]
        rows = np.unique(np.linspace(0, n - 1, min(n, _SAMPLED)).astype(int))
        some = items[rows] if hasattr(items, "shape") else [items[i] for i in rows]
        kernels = getattr(model, "kernels_", None) or [model.kernel_]
        seen = sum(np.asarray(k(some, stored), dtype=float) for k in kernels)
        if np.abs(seen - self.raw[rows]).max() <= 1e-9 * np.abs(self.raw).max():
            return []
        return ["X_fit_ does not hold the items that the model was fitted on"]


def numbers(X: Any) -> Any:
    """An array of floats, or a sparse array in compressed rows."""
    sparse = scipy.sparse.issparse(X)
    return scipy.sparse.csr_array(X, dtype=float) if sparse else np.asarray(X, float)


def is_precomputed(model: Any) -> bool:
    """Whether a model is given similarities, not items."""
    return isinstance(model.kernel, str) and model.kernel == "precomputed"


def plain(X: Any) -> Any:
    """Rows of a frame, or the items as they are."""
    return X.to_numpy() if hasattr(X, "to_numpy") else X


def class_numbers(classes: Array, y: Array) -> Array:
    """Places of labels among the classes; every label must be one of them."""
    codes = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
    if not np.array_equal(classes[codes], y):
        raise ValueError("y holds labels that the model was not fitted on")
    return codes
