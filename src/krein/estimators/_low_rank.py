"""Rows of a model trained at low rank: a linear SVM in the transformed features."""

from __future__ import annotations

from dataclasses import dataclass

from krein.arrays import Array
from krein.domain import BalancedBox
from krein.estimators._training import Row, Training
from krein.matrices.low_rank import LowRank
from krein.matrices.tiles import DenseTiles, TiledMatrix
from krein.methods import METHODS, Method
from krein.solvers.interior_point import linear_svm
from krein.solvers.libsvm import svm_dual

__all__ = ["LowRankSVM"]

# Up to this many items the kernel of the features is formed and LIBSVM's polished
# solution taken, which does not depend on whether landmarks were used.
_DENSE_ITEMS = 2000
# The interior-point method stops by the relative gap, LIBSVM by the violation of the
# KKT conditions; decision values err like the root of the gap at worst.
_GAP_PER_VIOLATION = 1e-2


@dataclass(frozen=True)
class LowRankSVM:
    """What the rows of a low-rank SVM share.

    Attributes
    ----------
    features : TiledMatrix of shape (n, r)
        Coordinates whose inner products are the transformed similarity.
    to_landmarks : ndarray of shape (m, r)
        Turns weights of features into coefficients on the landmarks.
    """

    features: TiledMatrix
    to_landmarks: Array

    @classmethod
    def share(cls, low_rank: LowRank, method: Method, t: float = 1.0) -> LowRankSVM:
        """Prepare the features whose inner products are the transformed similarity."""
        return cls(*low_rank.features(low_rank_sizes(low_rank, method, t)))

    def fit_row(
        self,
        training: Training,
        signs: Array,
        *,
        C: float,
        tol: float,
        max_iter: int,
    ) -> Row:
        """Fit one row; its coefficients are those on the landmarks."""
        domain = BalancedBox(training.upper(C), signs)
        features = self.features
        if isinstance(features, DenseTiles) and domain.n <= _DENSE_ITEMS:
            K = features.A @ features.A.T
            result, b = svm_dual(K, domain, tol=tol, max_iter=max_iter)
            w = features.transpose_dot(signs * result.x)
        else:
            gap = tol * _GAP_PER_VIOLATION
            result, w, b = linear_svm(features, domain, tol=gap, max_iter=max_iter)
        return Row(self.to_landmarks @ w, b, result, result.x)


def low_rank_sizes(low_rank: LowRank, method: Method, t: float) -> Array:
    """Transformed eigenvalues; refused for a method that has no low-rank form."""
    if not method.has_low_rank_form:
        known = sorted(name for name, m in METHODS.items() if m.has_low_rank_form)
        raise ValueError(
            f"method={method.name!r} has no low-rank form: it moves the eigenvalues "
            "that landmarks leave at zero, or leaves negative ones. With "
            f"approximation= choose one of {', '.join(known)}"
        )
    sizes, _ = method.apply(low_rank.eigenvalues, low_rank.tolerance, t)
    if sizes.min(initial=0.0) < 0.0:
        raise ValueError(
            f"method={method.name!r} gives the negative eigenvalue {sizes.min():.3g}, "
            "and landmarks need features: leave approximation=None"
        )
    return sizes
