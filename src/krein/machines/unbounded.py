"""Indefinite logistic regression has no minimum: what is claimed, what is so."""

from __future__ import annotations

import numpy as np

from krein.arrays import Array
from krein.similarity.spectrum import Spectrum
from krein.validation import check_similarity


def theorem1_bound(
    eigenvalues: Array, alpha: float, tau: float, n: float | None = None
) -> float:
    """Right-hand side of (15): ``alpha (||K+|| - ||K-||) - ||K||^2 / (4n)``.

    Liu et al., Theorem 1, claim that CCICP-GD converges to a stationary point if the
    inexactness is below this number. The number is reported for what it is worth: the
    proof replaces ``||K+^-1|| ||K-||`` by ``||K-|| / ||K+||``, and with
    ``K = diag(10, -1), n = 2, alpha = 5, tau = 1.1`` it is 32.5 while exact CCCP
    diverges from every starting point with a component along the negative eigenvector.

    Parameters
    ----------
    eigenvalues : ndarray
        Eigenvalues of K.
    alpha : float
        Penalty, the paper's lambda.
    tau : float
        Shift of the positive decomposition.
    n : float, optional
        Number of samples (sum of weights), the number of eigenvalues by default.

    Returns
    -------
    float
    """
    size = eigenvalues.size if n is None else n
    plus = max(0.0, float(eigenvalues.max())) + tau
    minus = max(0.0, -float(eigenvalues.min())) + tau
    norm = float(np.abs(eigenvalues).max())
    return alpha * (plus - minus) - norm**2 / (4.0 * size)


def unbounded_direction(
    K: Array, y: Array, *, spectrum: Spectrum | None = None, max_iter: int = 200
) -> Array | None:
    """Search a direction along which loss and penalty both fall without bound.

    A vector v with ``v'Kv < 0`` and ``y_i (Kv)_i > 0`` for all i: at t v the loss tends
    to 0 and the penalty to minus infinity as t grows, so the objective (5) of Liu et
    al. has no minimum, whatever the penalty. In terms of the margins m = y * Kv > 0 it
    is a vector of the positive orthant where ``m'(Y K^+ Y)m`` is negative; deciding
    that is a copositivity problem, hence a search: margins near 1 bent along negative
    eigenvectors, then projected gradient steps. The answer is verified on K.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Raw similarity.
    y : ndarray of shape (n,)
        Labels -1 and +1.
    spectrum : Spectrum, optional
        That of K without weights, if it is known already.
    max_iter : int
        Gradient steps per starting point.

    Returns
    -------
    ndarray of shape (n,) or None
        The direction, or None where none was found (which proves nothing).

    Examples
    --------
    >>> import numpy as np
    >>> from krein import unbounded_direction
    >>> K = np.array([[0.0, -1.0], [-1.0, 0.0]])
    >>> v = unbounded_direction(K, np.array([1.0, 1.0]))
    >>> bool(v @ K @ v < 0), (K @ v > 0).tolist()
    (True, [True, True])
    """
    K = check_similarity(K)
    y = np.asarray(y, dtype=float)
    if y.shape != (K.shape[0],) or not np.all(np.abs(y) == 1.0):
        raise ValueError(
            f"y must hold -1 or +1 for each of the {K.shape[0]} items, got {y!r}"
        )
    spectrum = Spectrum.exact(K) if spectrum is None else spectrum
    values, V = spectrum.eigenvalues, spectrum.eigenvectors
    kept = np.abs(values) > spectrum.tolerance
    inverse = np.where(kept, 1.0 / np.where(kept, values, 1.0), 0.0)
    # Largest 1/|mu| first: there a small bend of the margins pays most.
    negative = np.flatnonzero(kept & (values < 0))[::-1][:5]
    basis = y[:, None] * V
    for k in negative:
        bend = basis[:, k] / np.abs(basis[:, k]).max()
        for sign in (0.9, -0.9):
            m = _fall(1.0 + sign * bend, basis, inverse, max_iter)
            v = V @ (inverse * (basis.T @ m))
            image = K @ v
            if v @ image < 0 and np.all(y * image > 0):
                return v
    return None


def _fall(m: Array, basis: Array, inverse: Array, max_iter: int) -> Array:
    """Projected gradient descent of m'(B diag(inverse) B')m on the box [0.01, 2]^n."""
    step = 1.0 / float(np.abs(inverse).max())
    for _ in range(max_iter):
        inner = basis.T @ m
        if inner @ (inverse * inner) < 0:
            break
        m = np.clip(m - step * (basis @ (inverse * inner)), 0.01, 2.0)
    return m
