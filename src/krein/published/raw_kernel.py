"""SVMs on a raw indefinite matrix and labels: the methods that Liu et al. compare."""

from __future__ import annotations

from typing import Any

from krein.published import difference_of_convex as dc
from krein.published.checks import check, check_start, matrix_and_labels
from krein.published.proxy_svm import Callback, box_of
from krein.result import Result
from krein.threads import threads_by_size


@threads_by_size
def tdca(
    K: Any,
    y: Any,
    *,
    C: float = 1.0,
    block: int = 64,
    mu: float = 1e-6,
    x0: Any = None,
    tol: float = 1e-4,
    max_iter: int = 10_000,
    callback: Callback | None = None,
) -> Result:
    """Truncated DCA by blocks (TDCASVM) for the SVM dual on a raw indefinite kernel.

    Akoa (2008): ``max e'a - a'YKYa / 2`` over 0 <= a <= C, y'a = 0. On a block B of the
    most violating pairs, ``Q_BB = (Q_BB + rI) - rI`` with ``r = max(0, -lmin(Q_BB)) +
    mu lmax``, one DCA step is done. Liu et al. compare with it; details that they do
    not state are reconstructed.

    Parameters
    ----------
    K : array-like of shape (n, n)
        Similarity, symmetric, of any signature.
    y : array-like of shape (n,)
        Labels -1 and +1.
    C : float
        Upper bound of dual variables; weight of losses.
    block : int
        Size of B, at least 2, which is SMO.
    mu : float
        Strong convexity that is added, relative to the largest eigenvalue of Q_BB.
    x0 : array-like of shape (n,), optional
        Start, projected onto the box; 0 unless given.
    tol : float
        On the maximal violating pair of the KKT conditions.
    max_iter : int
        Largest number of blocks.
    callback : callable, optional
        As in `spgm`.

    Returns
    -------
    Result
        ``x`` is a, in the box; a KKT point, not an optimum, where K is indefinite.
        ``value`` is the maximised dual, the certificate the maximal violating pair or,
        where that is more, the distance from the box.

    Examples
    --------
    >>> import krein
    >>> K = [[1.0, 0.9, -0.8], [0.9, 1.0, 0.7], [-0.8, 0.7, 1.0]]
    >>> krein.published.tdca(K, [1, 1, -1]).status
    'converged'
    """
    check(C=C, block=block, mu=mu, tol=tol, max_iter=max_iter, callback=callback)
    K, y = matrix_and_labels(K, y)
    return dc.tdca(
        dc.IndefiniteDual(K, box_of(y, C)),
        check_start(x0, y.size, "the dual variables a"),
        block=block,
        mu=mu,
        tol=tol,
        max_iter=max_iter,
        callback=callback,
    )


@threads_by_size
def dc_primal(
    K: Any,
    y: Any,
    *,
    C: float = 1.0,
    x0: Any = None,
    tol: float = 1e-4,
    max_iter: int = 300,
    callback: Callback | None = None,
) -> Result:
    """IKSVM-DC: DCA on the SVM primal with a raw indefinite kernel, and extrapolation.

    Xu, Xue, Chen, Wang (2017): minimise
    ``F = gamma/2 b'Kb + 1/2 sum_i max(0, 1 - y_i (Kb + b0)_i)^2`` with gamma = 1 / C,
    which may be unbounded below.

    Parameters
    ----------
    K, y
        As in `tdca`.
    C : float
        Weight of losses, 1 / gamma.
    x0 : array-like of shape (n + 1,), optional
        Start, b and, last, b0; 0 unless given.
    tol : float
        On the norm of the gradient, relative to that at the origin. (As published the
        method stops when a step is shorter than the root of 1e-3.)
    max_iter : int
        Largest number of DCA steps.
    callback : callable, optional
        As in `spgm`.

    Returns
    -------
    Result
        ``x`` holds b and, last, b0; the certificate is the norm of the gradient.
        Status "diverged": a direction was found along which F is unbounded below
        (as soon as F < 0, or before).

    Examples
    --------
    >>> import krein
    >>> K = [[1.0, 0.9, -0.8], [0.9, 1.0, 0.7], [-0.8, 0.7, 1.0]]
    >>> krein.published.dc_primal(K, [1, 1, -1]).status
    'diverged'
    >>> K = [[1.0, 0.9, -0.2], [0.9, 1.0, -0.4], [-0.2, -0.4, 1.0]]
    >>> krein.published.dc_primal(K, [1, 1, -1]).status
    'converged'
    """
    check(C=C, tol=tol, max_iter=max_iter, callback=callback)
    K, y = matrix_and_labels(K, y)
    return dc.dc_primal(
        dc.PrimalDC(K, y, 1.0 / C),
        check_start(x0, y.size + 1, "the coefficients b and, last, b0"),
        tol=tol,
        max_iter=max_iter,
        callback=callback,
    )
