"""Facts about the matrix: its spectrum, its order, its distances, its labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse.linalg
from sklearn.utils.validation import check_array

from krein.arrays import Array
from krein.kernels.distances import median_distance
from krein.similarity.spectrum import Spectrum

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


# --------------------------------------------------- conditional positive definiteness


def cpd_order(K: Array, facts: SpectrumFacts, X: Any = None) -> int | None:
    """Smallest order m <= 3 at which K is PSD beside polynomials of degree m - 1.

    Order 1 needs constants only; orders 2 and 3 need coordinates X for the linear and
    the quadratic polynomials.
    """
    if facts.signature[1] == 0:
        return 0
    if not facts.exact:
        return None
    for order, P in enumerate(_polynomials(K.shape[0], X), start=1):
        Q = np.linalg.qr(P)[0]
        KQ = K @ Q
        projected = K - KQ @ Q.T - Q @ (KQ.T - (Q.T @ KQ) @ Q.T)
        values = np.linalg.eigvalsh(0.5 * (projected + projected.T))
        if values[0] >= -K.shape[0] * 1e-15 * float(np.abs(facts.eigenvalues).max()):
            return order
    return None


def _polynomials(n: int, X: Any) -> list[Array]:
    """Columns of degree 0, then up to 1, then up to 2, where X is given."""
    ones = np.ones((n, 1))
    if X is None:
        return [ones]
    X = check_array(X, dtype=np.float64, input_name="X")
    X = (X - X.mean(axis=0)) / (X.std(axis=0) + np.finfo(float).tiny)
    i, j = np.triu_indices(X.shape[1])
    spaces = [ones, np.hstack([ones, X]), np.hstack([ones, X, X[:, i] * X[:, j]])]
    return [P for P in spaces if P.shape[1] < n]


# --------------------------------------------------------------------------- distances


_MAX_ITEMS = 400  # triples of a random subset beyond that: 64 million checks


def triangle_violations(D: Array, seed: int = 0) -> float:
    """Share of triples with D_ij > D_ik + D_kj, over all or a subset of items."""
    n = D.shape[0]
    if n > _MAX_ITEMS:
        items = np.random.default_rng(seed).choice(n, _MAX_ITEMS, replace=False)
        D = D[np.ix_(items, items)]
        n = _MAX_ITEMS
    if n < 3:
        return 0.0
    slack = 1e-10 * float(D.max())
    count = sum(int(np.sum(D > D[:, [k]] + D[[k], :] + slack)) for k in range(n))
    return count / (n * (n - 1) * (n - 2))


def similarity_forms(D: Array) -> dict[str, float]:
    """Negative mass of the usual similarities made from a distance."""
    s = D / median_distance(D)
    forms = {
        "exp(-d/med)": np.exp(-s),
        "exp(-d^2/2med^2)": np.exp(-0.5 * s**2),
        "1/(1+d/med)": 1.0 / (1.0 + s),
        "-d, centred": centre(-s),
        "-d^2/2, centred": centre(-0.5 * s**2),
    }
    return {name: rounded_mass(S) for name, S in forms.items()}


def rounded_mass(S: Array) -> float:
    """Negative mass with eigenvalues within rounding of zero left out."""
    values = np.linalg.eigvalsh(S)
    tolerance = S.shape[0] * np.finfo(float).eps * float(np.abs(values).max(initial=0))
    return negative_mass(np.where(np.abs(values) <= tolerance, 0.0, values))


def centre(K: Array) -> Array:
    """Double centring J K J, J = I - 11'/n."""
    means = K.mean(axis=0)
    return K - means - means[:, None] + means.mean()


# ------------------------------------------------------------------------------ labels

_ITEMS = 1000  # a random subset beyond that: a relation shows in fewer
_PERMUTATIONS = 99


def centred_indicators(y: np.ndarray) -> Array:
    """Class indicators (n, n_classes) with column means taken out."""
    codes = np.unique(y, return_inverse=True)[1]
    Z = np.eye(codes.max() + 1)[codes]
    return Z - Z.mean(axis=0)


def label_p_value(K: Array, y: np.ndarray, seed: int = 0) -> float:
    """Smaller of two permutation p-values of a relation between K and y.

    One statistic is the energy ``|J K J Z|^2`` of the centred class indicators Z, to
    which positive and negative eigenvalues contribute alike; the other the share of
    items whose most similar other item has the same label.
    """
    rng = np.random.default_rng(seed)
    if K.shape[0] > _ITEMS:
        items = rng.choice(K.shape[0], _ITEMS, replace=False)
        K, y = K[np.ix_(items, items)], y[items]
    codes = np.unique(y, return_inverse=True)[1]
    Z = centred_indicators(codes)
    means = K.mean(axis=0)
    scale = float(np.abs(K).max()) or 1.0
    centred = (K - means - means[:, None] + means.mean()) / scale
    others = np.where(np.eye(K.shape[0], dtype=bool), -np.inf, K)
    nearest = np.argmax(others, axis=1)

    def statistics(order: np.ndarray) -> tuple[float, float]:
        energy = float(np.sum((centred @ Z[order]) ** 2))
        return energy, float(np.mean(codes[order] == codes[order][nearest]))

    observed = np.array(statistics(np.arange(codes.size)))
    permuted = [statistics(rng.permutation(codes.size)) for _ in range(_PERMUTATIONS)]
    at_least = np.sum(np.array(permuted) >= observed * (1 - 1e-12), axis=0)
    return float((1 + at_least.min()) / (1 + _PERMUTATIONS))
