"""A sparse expansion: how far its outputs are from those of the certified model."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np

from krein.certificates.data import Array, Given, raw_kernel, read
from krein.certificates.report import EPS, CertificateReport

__all__ = ["check_sparse"]

_OWN = ("dense_coef_", "dense_intercept_", "sparse_error_", "labels_changed_")


def check_sparse(
    given: Given, check: Callable[[Any], CertificateReport]
) -> CertificateReport:
    """Report on the model before, and on the change that the expansion claims.

    The coefficients that predict are not those of any optimum, so that the kind is
    "none"; what is claimed and recomputed is the largest change of an output on the
    training items, each taken as new: its similarity to itself, and to its copies, is
    that to its nearest other item.
    """
    model = given.model
    dense = copy(model)
    dense.dual_coef_, dense.intercept_ = model.dense_coef_, model.dense_intercept_
    dense.support_ = np.flatnonzero(np.any(model.dense_coef_ != 0, axis=0))
    for name in _OWN:
        dense.__dict__.pop(name, None)
    before = check(dense)
    claimed, (found, slack) = float(model.sparse_error_), _change(given, dense)
    holds = found <= claimed * (1 + 1e-9) + slack
    text = (
        f"{type(model).__name__}: a sparse expansion on {model.support_.size} of "
        f"{dense.support_.size} items; the certificate is that of the model before. "
        f"Outputs on training items taken as new change by at most {found:.6g}, "
        f"claimed {claimed:.6g}: {'holds' if holds else 'does not hold'}\n"
        f"before: {before.text}"
    )
    return replace(
        before,
        holds=False if not holds else before.holds,
        kind="none",
        claimed=np.array([claimed]),
        recomputed=np.array([found]),
        text=text,
    )


def _change(given: Given, dense: Any) -> tuple[float, float]:
    """Largest change of an output, and what rounding can make of it."""
    model, kept = given.model, read(given).kept
    K = raw_kernel(model, given.X)
    choices = [K, 0.5 * K + 0.5 * K.T] if model.symmetrize else [K]
    found = [_largest(_as_new(L, dense.support_)[kept], model, dense) for L in choices]
    return min(found)


def _as_new(K: Array, support: Array) -> Array:
    seen = np.full(K.shape, -np.inf)
    seen[:, support] = K[:, support]
    size = 1e-12 * float(np.abs(K).max(initial=0.0))
    for i, row in enumerate(seen):
        near = support[np.abs(K[support, support] - K[i, support]) <= size]
        off = np.abs(K[np.ix_(near, support)] - K[i, support]).max(axis=1, initial=0.0)
        own = near[off <= size]
        others = np.setdiff1d(support, own)
        if others.size:
            row[own] = K[i, others].max()
    seen[:, np.setdiff1d(np.arange(K.shape[1]), support)] = 0.0
    return seen


def _largest(K: Array, model: Any, dense: Any) -> tuple[float, float]:
    c, d = model.dual_coef_, dense.dual_coef_
    off = K @ (c - d).T + (model.intercept_ - dense.intercept_)
    size = np.abs(K) @ (np.abs(c) + np.abs(d)).T
    size += np.abs(model.intercept_) + np.abs(dense.intercept_)
    return float(np.abs(off).max()), 4 * EPS * K.shape[1] * float(size.max())
