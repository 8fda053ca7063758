"""Facts about the spectrum: all of it, or both ends and estimates of the rest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
import scipy.sparse.linalg

from krein.arrays import Array
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
    z, the mean of |z|^2 e1' f(T) e1 over their Lanczos matrices T estimates tr f(K).
    """
    n = K.shape[0]
    rng = np.random.default_rng(seed)
    values, vectors = scipy.sparse.linalg.eigsh(
        K, k=2 * _ENDS, which="BE", v0=rng.standard_normal(n)
    )
    order = np.argsort(values)
    nodes, weights = _lanczos_quadrature(K, vectors, rng)
    nodes = np.concatenate([nodes, values])
    weights = np.concatenate([weights, np.ones_like(values)])
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


def _lanczos_quadrature(
    K: Array, known: Array, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Nodes and weights that stand for the spectrum beside the known eigenvectors.

    The known ends are taken out of the probes: they would dominate the variance.
    """
    n = K.shape[0]
    Z = rng.choice([-1.0, 1.0], (n, _PROBES))
    Z -= known @ (known.T @ Z)
    norms = np.linalg.norm(Z, axis=0)
    diagonals, offs = _lanczos(K, Z / norms, known)
    nodes, weights = [], []
    for probe in range(_PROBES):
        theta, Q = scipy.linalg.eigh_tridiagonal(diagonals[probe], offs[probe])
        nodes.append(theta)
        weights.append(norms[probe] ** 2 * Q[0] ** 2 / _PROBES)
    return np.concatenate(nodes), np.concatenate(weights)


def _lanczos(K: Array, Z: Array, known: Array) -> tuple[Array, Array]:
    """Tridiagonal matrices of all probes at once, fully reorthogonalised.

    One product with the matrix serves every probe, so the matrix is read once a step.
    """
    n, probes = Z.shape
    steps = min(_LANCZOS_STEPS, n - known.shape[1])
    diagonals = np.zeros((probes, steps))
    offs = np.zeros((probes, steps - 1))
    basis = np.empty((steps, n, probes))
    basis[0] = Z
    for step in range(steps):
        W = K @ basis[step]
        diagonals[:, step] = np.einsum("np,np->p", basis[step], W)
        if step == steps - 1:
            break
        for _ in range(2):
            W -= known @ (known.T @ W)
            overlap = np.einsum("snp,np->sp", basis[: step + 1], W)
            W -= np.einsum("snp,sp->np", basis[: step + 1], overlap)
        norms = np.linalg.norm(W, axis=0)
        offs[:, step] = norms
        basis[step + 1] = W / np.where(norms > 0, norms, 1.0)
    return diagonals, offs
