"""Facts about the spectrum: all of it, or both ends and estimates of the rest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
import scipy.sparse.linalg

from krein.result import Array
from krein.spectrum import Spectrum

__all__ = ["SpectrumFacts", "estimated_facts", "exact_facts"]

_ENDS = 20  # eigenpairs from either end when the matrix is large
_PROBES = 20
_LANCZOS_STEPS = 60


@dataclass(frozen=True)
class SpectrumFacts:
    """Eigenvalues (all, or both ends), signature and negative mass.

    `eigenvectors` belong to `eigenvalues`, ascending. With ``exact=False`` the
    signature and the negative mass are stochastic estimates.
    """

    eigenvalues: Array
    eigenvectors: Array
    signature: tuple[int, int, int]
    negative_mass: float
    exact: bool


def negative_mass(eigenvalues: Array) -> float:
    """Sum of |negative eigenvalues| over sum of |all eigenvalues|."""
    scale = float(np.abs(eigenvalues).max(initial=0.0))
    if scale == 0.0:
        return 0.0
    scaled = eigenvalues / scale
    return float(np.maximum(-scaled, 0.0).sum() / np.abs(scaled).sum())


def exact_facts(K: Array) -> SpectrumFacts:
    """Decompose the whole matrix; eigenvalues within rounding of 0 count as 0."""
    spectrum = Spectrum.exact(K)
    values = np.where(
        np.abs(spectrum.eigenvalues) <= spectrum.tolerance, 0.0, spectrum.eigenvalues
    )
    return SpectrumFacts(
        values,
        spectrum.eigenvectors,
        spectrum.signature,
        negative_mass(values),
        exact=True,
    )


def estimated_facts(K: Array, seed: int = 0) -> SpectrumFacts:
    """Both ends by Lanczos; mass and signature by stochastic Lanczos quadrature.

    Ubaru, Chen, Saad (2017), SIAM J. Matrix Anal. Appl. 38: with random sign vectors
    z, the mean of n e1' f(T) e1 over their Lanczos matrices T estimates tr f(K).
    """
    n = K.shape[0]
    rng = np.random.default_rng(seed)
    values, vectors = scipy.sparse.linalg.eigsh(
        K, k=2 * _ENDS, which="BE", v0=rng.standard_normal(n)
    )
    order = np.argsort(values)
    nodes, weights = _lanczos_quadrature(K, rng)
    tolerance = n * np.finfo(float).eps * float(np.abs(values).max())
    total = float(weights @ np.abs(nodes))
    mass = float(weights @ np.maximum(-nodes, 0.0)) / total if total else 0.0
    if values.min() >= -tolerance:
        mass = 0.0
    negative = round(float(weights[nodes < -tolerance].sum())) if mass else 0
    zero = round(float(weights[np.abs(nodes) <= tolerance].sum()))
    return SpectrumFacts(
        values[order],
        vectors[:, order],
        (n - negative - zero, negative, zero),
        mass,
        exact=False,
    )


def _lanczos_quadrature(K: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """Nodes and weights (summing to n) that stand for the spectrum of K."""
    n = K.shape[0]
    all_nodes, all_weights = [], []
    for _ in range(_PROBES):
        start = rng.choice([-1.0, 1.0], n) / np.sqrt(n)
        diagonal, off = _lanczos(K, start)
        nodes, Q = scipy.linalg.eigh_tridiagonal(diagonal, off)
        all_nodes.append(nodes)
        all_weights.append(n * Q[0] ** 2 / _PROBES)
    return np.concatenate(all_nodes), np.concatenate(all_weights)


def _lanczos(K: Array, start: Array) -> tuple[Array, Array]:
    """Tridiagonal matrix after at most `_LANCZOS_STEPS`, fully reorthogonalised."""
    basis = [start]
    diagonal, off = [], []
    for step in range(_LANCZOS_STEPS):
        w = K @ basis[-1]
        diagonal.append(float(basis[-1] @ w))
        B = np.array(basis)
        w -= B.T @ (B @ w)
        w -= B.T @ (B @ w)
        norm = float(np.linalg.norm(w))
        if step == _LANCZOS_STEPS - 1 or norm <= 1e-12 * abs(diagonal[0] or 1.0):
            break
        off.append(norm)
        basis.append(w / norm)
    return np.array(diagonal), np.array(off)
