"""Rows of a support vector machine, on whatever kernel it is trained."""

from __future__ import annotations

from typing import Any

from krein.domain import BalancedBox
from krein.estimators._training import Row
from krein.matrices.matrix import TrainedKernel
from krein.solvers.interior_point import linear_svm
from krein.solvers.libsvm import svm_dual

__all__ = ["svm_row"]

# The interior-point method stops by the relative gap, LIBSVM by the violation of the
# KKT conditions; decision values err like the root of the gap at worst.
_GAP_PER_VIOLATION = 1e-2


def svm_row(
    trained: TrainedKernel,
    domain: BalancedBox,
    *,
    tol: float,
    max_iter: int,
    options: dict[str, Any],
) -> Row:
    """Solve one row, by LIBSVM where the kernel is formed, else on its features."""
    if trained.dense is not None:
        result, intercept = svm_dual(
            trained.dense,
            domain,
            tol=tol,
            max_iter=max_iter,
            psd=trained.psd,
            **options,
        )
    else:
        assert trained.features is not None
        gap = tol * _GAP_PER_VIOLATION
        result, _, intercept = linear_svm(
            trained.features, domain, tol=gap, max_iter=max_iter
        )
    return Row(trained.to_raw(domain.y * result.x), intercept, result, result.x)
