"""Rows of a support vector machine, on whatever kernel it is trained."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Any

import numpy as np

from krein.arrays import Array
from krein.domain import BalancedBox
from krein.estimators._training import Classes, Row, pairs_of
from krein.matrices.sparse import SparseSimilarity
from krein.matrices.treated import TreatedKernel
from krein.result import Result, Status
from krein.solvers.interior_point import linear_svm
from krein.solvers.libsvm import svm_dual
from krein.solvers.sparse_svm import sparse_svm_dual

__all__ = ["solver_of", "svm_pairs", "svm_rows", "with_slack"]

# The interior-point method stops by the relative gap, LIBSVM by the violation of the
# KKT conditions; decision values err like the root of the gap at worst.
_GAP_PER_VIOLATION = 1e-2
# Up to this many items a sparse kernel is formed and solved to rounding, so that
# results do not depend on whether the similarity was given as a sparse array.
_DENSE_ITEMS = 2000


def solver_of(model: Any, target: Classes) -> Callable[..., list[Row]]:
    """Return the scheme for several classes that a model asks for."""
    if model.multi_class == "ovr" or target.n == 2:
        return svm_rows
    if model.probability:
        raise ValueError(
            "multi_class='ovo' has no probabilities: its rows are not about one class. "
            "Use multi_class='ovr' with probability=True"
        )
    return svm_pairs


def is_only_multiplied(trained: TreatedKernel) -> bool:
    """Whether a kernel is too large to be formed, and sparse enough not to be."""
    sparse = isinstance(trained.source, SparseSimilarity)
    return sparse and trained.psd and trained.source.n > _DENSE_ITEMS  # type: ignore[union-attr]


def svm_rows(
    trained: TreatedKernel,
    upper: Array,
    target: Classes,
    *,
    tol: float,
    max_iter: int,
    options: dict[str, Any],
    starts: Sequence[Array] = (),
) -> list[Row]:
    """Solve all rows, in the way that suits the form of the kernel.

    `starts` are solutions of these rows for a smaller C, where they are known.
    """
    signs = list(target.signs())
    if is_only_multiplied(trained):
        solved = sparse_svm_dual(
            trained,
            trained.norm(),
            upper,
            np.column_stack(signs),
            tol=tol,
            max_iter=max_iter,
        )
    else:
        solved = [
            _solved(trained, BalancedBox(upper, y), tol, max_iter, options, start)
            for y, start in zip_longest(signs, starts)
        ]
    if trained.slack:
        solved = [(with_slack(r, trained.slack, tol), b) for r, b in solved]
    v = np.column_stack([y * r.x for y, (r, _) in zip(signs, solved, strict=True)])
    coef = trained.to_raw(v)
    return [Row(coef[:, k], b, r, r.x) for k, (r, b) in enumerate(solved)]


def svm_pairs(
    trained: TreatedKernel,
    upper: Array,
    target: Classes,
    *,
    tol: float,
    max_iter: int,
    options: dict[str, Any],
) -> list[Row]:
    """Solve one row per pair of classes, on their items; the second is positive."""
    if trained.features is not None:
        raise ValueError(
            "multi_class='ovo' and approximation= exclude each other; use 'ovr'"
        )
    K, n = trained.kernel(), upper.size
    V, rows = [], []
    for first, second in pairs_of(target.n):
        items = np.flatnonzero((target.codes == first) | (target.codes == second))
        y = np.where(target.codes[items] == second, 1.0, -1.0)
        domain = BalancedBox(upper[items], y)
        part = replace(trained, ready=K[np.ix_(items, items)])
        result, b = _solved(part, domain, tol, max_iter, options)
        result = with_slack(result, trained.slack, tol)
        alpha = np.zeros(n)
        alpha[items] = result.x
        v = np.zeros(n)
        v[items] = y * result.x
        V.append(v)
        rows.append(Row(v, b, replace(result, x=alpha), alpha))
    coef = trained.to_raw(np.column_stack(V))
    return [replace(row, coef=coef[:, k]) for k, row in enumerate(rows)]


def _solved(
    trained: TreatedKernel,
    domain: BalancedBox,
    tol: float,
    max_iter: int,
    options: dict[str, Any],
    start: Array | None = None,
) -> tuple[Result, float]:
    """Solve one row, by LIBSVM where the kernel is formed, else on its features."""
    if trained.features is None or trained.ready is not None:
        return svm_dual(
            trained.kernel(),
            domain,
            tol=tol,
            max_iter=max_iter,
            psd=trained.psd,
            start=start,
            **options,
        )
    gap = tol * _GAP_PER_VIOLATION
    result, _, intercept = linear_svm(
        trained.features, domain, tol=gap, max_iter=max_iter
    )
    return result, intercept


def with_slack(result: Result, slack: float, tol: float) -> Result:
    """Gap for the kernel with `slack` added to its diagonal, which is psd for sure.

    The dual value falls by ``slack |a|^2 / 2``; the penalty of the primal grows by as
    much, and its losses do not grow, since every margin y f grows by slack a. For
    regression and one class alike.

    Parameters
    ----------
    result : Result
        Of a machine on a kernel with no eigenvalue below -slack.
    slack : float
    tol : float
        Relative gap that counts as solved.
    """
    if slack == 0.0:
        return result
    certificate = result.certificate
    more = slack * float(result.x @ result.x)
    relative = certificate.relative + more / max(abs(result.value), 1e-300)
    wider = replace(certificate, value=certificate.value + more, relative=relative)
    missed = result.status == "converged" and relative > tol
    status: Status = "max_iter" if missed else result.status
    return replace(result, certificate=wider, status=status)
