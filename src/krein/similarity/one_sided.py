"""Spectrum methods that multiply most of a spectrum by one number.

Clip and flip leave positive eigenvalues as they are; negative ones they multiply by 0
and -1, and those that are zero to rounding by 0. With c one of these numbers, U has the
eigenpairs that get another one (`krein.similarity.treated`), for the c that leaves the
fewest. One reduction to a tridiagonal matrix gives all eigenvalues, so that nothing
depends on a guess. Besides K one n x n array is alive, in which K is reduced and K~ is
formed afterwards, and U; all eigenvectors by divide and conquer take three.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import scipy.linalg
from scipy.linalg import cython_lapack, lapack

from krein.arrays import Array, power_of_two, require_for
from krein.methods import Method
from krein.similarity.spectrum import add_outer, most_common_factor, weighted_product
from krein.similarity.treated import TreatedKernel

_EPS = float(np.finfo(np.float64).eps)
_ROWS = 256  # of N that are multiplied at once
_SOUND = 1e3  # times eps n: what eigenpairs may err by
_PROBES = 8


def one_sided(
    source: Any, record: Method, *, t: float = 1.0, weight: Array | None = None
) -> TreatedKernel | None:
    """Fit a method by as few eigenpairs as it needs.

    Parameters
    ----------
    source : Matrix
        A dense similarity; not changed.
    record : Method
        What becomes of the eigenvalues.
    t : float
        Parameter of the method.
    weight : ndarray of shape (n,), optional
        Sample weights.

    Returns
    -------
    TreatedKernel or None
        None where the eigenvectors found are not good enough, or LAPACK cannot be
        called.
    """
    if not all(map(_as_expected, _ARGUMENTS)):
        return None
    K, n = source.dense(), source.n
    require_for("a one-sided spectrum", n, "Use landmarks (krein.KreinNystroem).")
    scale = power_of_two(max(float(K.max()), -float(K.min())))
    root = None if weight is None else np.sqrt(weight)
    A = _weighted(K, root, scale)
    reduced = _Tridiagonal.of(A)
    d = reduced.eigenvalues * scale
    norm = float(np.abs(d).max(initial=0.0))
    target, gain = record.apply(d, n * _EPS * norm, t)
    base, rest = most_common_factor(d, target)
    other = np.flatnonzero(rest)
    N = reduced.vectors(other)
    if N is None:
        return None
    _orthonormalise(N, A)
    turned, off = _errors(weighted_product(K, weight), N, d[other])
    if max(turned * norm, off) > _SOUND * _EPS * n * norm:
        return None
    added = rest[other]
    np.multiply(K, base, out=A)
    add_outer(A, N, added, root)
    psd = bool(target.min(initial=0.0) >= 0.0)
    least = 1.0 if weight is None else float(weight.min())
    size = float(np.abs(np.append(added, d[other])).max(initial=0.0))
    slack = (n * _EPS * norm + 2.0 * (turned * size + off)) / least
    return TreatedKernel(
        source, base, keep=base, vectors=N, added=added,
        gain=gain[other] - base, weight=weight, psd=psd, slack=slack, ready=A,
    )  # fmt: skip


def _weighted(K: Array, root: Array | None, scale: float) -> Array:
    A = np.divide(K, scale, order="C")  # whatever that of K is: LAPACK works in it
    if root is not None:
        A *= root
        A *= root[:, None]
    return A


def _orthonormalise(N: Array, memory: Array) -> None:
    """N <- N (3 I - N'N) / 2, one step of Newton and Schulz, in place.

    dstemr leaves vectors of clusters orthogonal to 1e-11; the error is squared. Of
    `memory`, a contiguous n x n array, a part is overwritten by N'N.
    """
    n, k = N.shape
    S = memory.reshape(-1)[: k * k].reshape(k, k)
    np.matmul(N.T, N, out=S)
    S *= -0.5
    S[np.diag_indices_from(S)] += 1.5
    for i in range(0, n, _ROWS):
        N[i : i + _ROWS] = N[i : i + _ROWS] @ S


def _errors(
    product: Callable[[Array], Array], N: Array, values: Array
) -> tuple[float, float]:
    """How far N is from orthonormal, and ``K0 N`` from ``N diag(values)``.

    In Frobenius' norm, from a few random vectors: the square of what a matrix makes of
    one has its squared norm as expectation, and all of them are ten times too small
    with probability 1e-8.
    """
    if values.size == 0:
        return 0.0, 0.0
    X = np.random.default_rng(0).standard_normal((values.size, _PROBES))
    Y = N @ X
    turned = np.linalg.norm(N.T @ Y - X, axis=0)
    off = np.linalg.norm(product(Y) - N @ (values[:, None] * X), axis=0)
    return 10.0 * float(turned.max()), 10.0 * float(off.max())


# --------------------------------------------------------------------------------------
# LAPACK. SciPy's wrapper of dstemr makes an n x n array of zeros however few vectors
# are asked for, and it has none of dormtr: both are called by their address.


# Kinds of their arguments: a character, an int of C, a double.
_ARGUMENTS = {"dormtr": "ccciididdidii", "dstemr": "cciddddiiiddiiiidiiii"}


def _signature(name: str) -> bytes:
    python = ctypes.pythonapi
    python.PyCapsule_GetName.restype = ctypes.c_char_p
    python.PyCapsule_GetName.argtypes = [ctypes.py_object]
    return python.PyCapsule_GetName(cython_lapack.__pyx_capi__[name])


@cache
def _as_expected(name: str) -> bool:
    """Whether SciPy declares what is passed; other builds may have wider integers."""
    kinds = {"char *": "c", "int *": "i"}
    given = _signature(name).decode().partition("(")[2].rstrip(")").split(", ")
    found = [kinds.get(one, "d" if one.endswith("_d *") else "?") for one in given]
    return "".join(found) == _ARGUMENTS[name]


def _routine(name: str) -> Callable[..., None]:
    python = ctypes.pythonapi
    python.PyCapsule_GetPointer.restype = ctypes.c_void_p
    python.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    capsule = cython_lapack.__pyx_capi__[name]
    return ctypes.CFUNCTYPE(None)(
        python.PyCapsule_GetPointer(capsule, _signature(name))
    )


def _call(name: str, *arguments: Any) -> int:
    """Call a routine of Fortran by reference; its last argument, info, is returned."""
    info = ctypes.c_int(0)
    kept = [_pointer(value) for value in arguments]
    _routine(name)(*(pointer for _, pointer in kept), ctypes.byref(info))
    return info.value


def _pointer(value: Any) -> tuple[Any, Any]:
    """What has to stay alive, and its address."""
    if isinstance(value, np.ndarray):
        return value, ctypes.c_void_p(value.ctypes.data)
    if isinstance(value, bytes):
        return value, ctypes.c_char_p(value)
    kind = ctypes.c_double if isinstance(value, float) else ctypes.c_int
    number = kind(value)
    return number, ctypes.byref(number)


@dataclass(frozen=True)
class _Tridiagonal:
    """A symmetric matrix reduced to a tridiagonal one, reflectors in its place."""

    reflectors: Array  # in the order of Fortran, below the diagonal
    tau: Array
    diagonal: Array
    beside: Array
    eigenvalues: Array

    @classmethod
    def of(cls, A: Array) -> _Tridiagonal:
        """Reduce A, which is overwritten."""
        n = A.shape[0]
        size = int(lapack.dsytrd_lwork(n, lower=1)[0])
        # A.T is A in the order of LAPACK, which would copy A otherwise.
        a, d, e, tau, _ = lapack.dsytrd(A.T, lower=1, lwork=size, overwrite_a=1)
        values = scipy.linalg.eigvalsh_tridiagonal(d, e, lapack_driver="sterf")
        return cls(a, tau, d, e, values)

    def vectors(self, chosen: np.ndarray) -> Array | None:
        """Eigenvectors of the eigenvalues at `chosen`; None if that failed."""
        n, k = self.diagonal.size, chosen.size
        Z = np.zeros((n, k), order="F")
        if k == 0:
            return Z
        runs = np.split(np.arange(k), 1 + np.flatnonzero(np.diff(chosen) > 1))
        for run in runs:
            first, last = int(chosen[run[0]]), int(chosen[run[-1]])
            if not self._run(first, last, Z[:, run[0] : run[-1] + 1]):
                return None
        work = np.empty(64 * k)
        failed = _call(
            "dormtr", b"L", b"L", b"N", n, k, self.reflectors, n, self.tau, Z, n,
            work, work.size,
        )  # fmt: skip
        return None if failed else Z

    def _run(self, first: int, last: int, Z: Array) -> bool:
        """Eigenvectors of the tridiagonal matrix, from `first` to `last`, into Z."""
        n, k = Z.shape
        found, values = np.zeros(1, dtype=np.intc), np.empty(n)
        work, iwork = np.empty(18 * n), np.empty(10 * n, dtype=np.intc)
        failed = _call(
            "dstemr", b"V", b"I", n, self.diagonal.copy(), np.append(self.beside, 0.0),
            0.0, 0.0, first + 1, last + 1, found, values, Z, n, k,
            np.empty(2 * k, dtype=np.intc), np.ones(1, dtype=np.intc),
            work, work.size, iwork, iwork.size,
        )  # fmt: skip
        return not failed and int(found[0]) == k
