"""What the proxy-kernel SVM says about points it was not trained on.

The proxy is known on training points only, so a rule is needed. Three rules are linear
maps of the raw row of similarities, that is coefficients on the raw kernel; the rule of
Luss and d'Aspremont is not, and depends on the similarities among the new points.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
from sklearn.utils.validation import check_array

from krein.arrays import Array
from krein.machines.box import BalancedBox
from krein.machines.proxy import ProxySVM
from krein.spectrum.decomposition import Spectrum
from krein.spectrum.fixed_kernel import by_spectrum
from krein.spectrum.fixes import FIXES

RULES = ("clip", "raw", "project", "luss")


@dataclass(frozen=True)
class Proxy:
    """What the learned kernels of a fitted model are made of.

    Attributes
    ----------
    spectrum : Spectrum
        Of the (weighted) training similarity.
    signs : ndarray of shape (n_rows, m)
        Labels -1 / +1 of each row, on the samples of positive weight.
    rho : float
        Price of the distance between proxy and similarity.
    kept : ndarray of shape (m,) or None
        Positions of these samples among all; None when all were kept.
    K0 : ndarray of shape (m, m) or None
        Raw similarities, for the rule of Luss and d'Aspremont only.
    """

    spectrum: Spectrum
    signs: Array
    rho: float
    kept: np.ndarray | None = None
    K0: Array | None = None

    def kernel(self, alpha: Array, row: int) -> Array:
        """Return the proxy of one row (m x m) at the variables `alpha`."""
        return self._problem(row).proxy_kernel(self._kept(alpha)[row])

    def outputs(
        self, alpha: Array, K_new: Array, among: Any, diagonal: Array | None
    ) -> Array:
        """Decision values without intercept by the rule of Luss, (n_new, n_rows)."""
        assert self.K0 is not None
        K_new = self._kept(K_new)
        columns = []
        for row, a in enumerate(self._kept(alpha)):
            problem = self._problem(row)
            if diagonal is not None:
                columns.append(single_outputs(problem, a, K_new, diagonal))
            else:
                columns.append(batch_outputs(problem, self.K0, a, K_new, among))
        return np.column_stack(columns)

    def _problem(self, row: int) -> ProxySVM:
        signs = self.signs[row]
        box = BalancedBox(np.full(signs.size, np.inf), signs)
        return ProxySVM(self.spectrum, box, self.rho)

    def _kept(self, columns: Array) -> Array:
        return columns if self.kept is None else columns[:, self.kept]


def checked_batch(m: int, K_new_new: Any, k_diag: Any) -> tuple[Any, Array | None]:
    """How m new items relate: similarities among them, or each to itself."""
    if K_new_new is not None:
        return _checked("K_new_new", K_new_new, (m, m)), None
    if k_diag is not None:
        return None, _checked("k_diag", k_diag, (m,))
    raise ValueError(
        "new_points='luss' on precomputed similarities needs K_new_new (those "
        "among the new items) or k_diag (of each new item to itself): "
        "decision_function(K_new, K_new_new=...) or (K_new, k_diag=...)"
    )


def _checked(name: str, numbers: Any, shape: tuple[int, ...]) -> Array:
    found = check_array(numbers, dtype=np.float64, ensure_2d=False, input_name=name)
    if found.shape != shape:
        raise ValueError(f"{name} must have shape {shape}, got {found.shape}")
    return found


def linear_coef(problem: ProxySVM, a: Array, rule: str) -> Array:
    """Coefficients c on the raw kernel: decision values are ``K0_new c + b``.

    ``clip``: the map of K0's positive eigenspace, ``c = P v``; ``raw`` (and ``luss``,
    whose values are not linear): c = v; ``project``: the positive eigenspace of
    ``K0 + vv' / (4 rho)``.
    """
    v = problem.box.y * a
    if rule == "clip":
        return by_spectrum(None, FIXES["clip"], problem.spectrum).to_raw(v)
    if rule == "project":
        z, direction = problem.coordinates(a)
        p = problem.part.range_projection(z)
        c = problem.spread * problem.from_coordinates(p, direction)
        root = problem.spectrum.sqrt_weight
        return c if root is None else c * root
    return v


def batch_outputs(
    problem: ProxySVM, K0: Array, a: Array, K_new: Array, K_new_new: Array
) -> Array:
    """Decision values without intercept by the rule of Luss and d'Aspremont (2007).

    The raw matrix of training and new points together, plus vv' / (4 rho) in the
    training block, is projected on the PSD cone; its (new, train) block times v.
    One eigendecomposition of size n + n_new; the answer depends on the batch.
    """
    n = K0.shape[0]
    m = K_new.shape[0]
    root = problem.spectrum.sqrt_weight
    v = problem.scale * a
    M = np.empty((n + m, n + m))
    M[:n, :n] = K0 if root is None else K0 * root * root[:, None]
    M[:n, :n] += np.outer(v, v / (4.0 * problem.rho))
    M[n:, :n] = K_new if root is None else K_new * root
    M[:n, n:] = M[n:, :n].T
    M[n:, n:] = K_new_new
    values, U = scipy.linalg.eigh(
        M.T, driver="evd", overwrite_a=True, check_finite=False
    )
    return U[n:] @ (np.maximum(values, 0.0) * (U[:n].T @ v))


def single_outputs(problem: ProxySVM, a: Array, K_new: Array, k_diag: Array) -> Array:
    """Return the same with every new point as a batch of its own, in O(n) a point.

    Only the similarity of the new point to itself is needed, and the answer does not
    depend on the other new points.
    """
    root = problem.spectrum.sqrt_weight
    rows = K_new if root is None else K_new * root
    z, direction = problem.coordinates(a)
    borders = rows @ problem.spectrum.eigenvectors
    if direction is not None:
        borders = np.column_stack([borders, rows @ direction])
    return problem.spread * problem.part.bordered_product(z, borders, k_diag)
