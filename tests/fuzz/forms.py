"""One matrix in many forms and storages is one model."""

import tempfile
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse
from sklearn.base import clone

from krein import (
    KreinLogisticRegression,
    KreinNystroem,
    KreinSVC,
    ProxySVC,
    SpectrumOneClassSVM,
    SpectrumSVC,
    SpectrumSVR,
)
from krein.scale import fit as fit_in_tiles

from . import TrialError

CLOSE = 1e-8  # of the largest output


def matrix(rng, n):
    """Regular or singular, full or with few entries, at several scales."""
    rank = int(rng.choice([n, rng.integers(2, n)]))
    F = rng.standard_normal((n, rank))
    F *= rng.random(F.shape) < rng.choice([1.0, 0.4])
    K = (F * rng.choice([-1.0, 1.0], rank, p=[0.3, 0.7])) @ F.T
    return 0.5 * (K + K.T) * 10.0 ** rng.integers(-3, 4)


def problem(rng):
    n = int(rng.integers(10, 31))
    K = matrix(rng, n)
    y = np.append([0, 1], rng.integers(0, 2, n - 2))
    new = rng.standard_normal((20, n)) * max(np.abs(K).max(), 1e-300)
    return K, y, new


def machine(rng, K):
    """A model whose outputs are determined by its optimality conditions."""
    scale = float(np.abs(np.linalg.eigvalsh(K)).max()) or 1.0
    C = float(10.0 ** rng.uniform(-1, 2)) / scale
    which = rng.integers(3)
    if which == 0:
        lam_neg = float(rng.choice([0.5, 2.0]))
        return KreinSVC(C, lam_pos=0.5, lam_neg=lam_neg, tol=1e-12)
    return SpectrumSVC(str(rng.choice(["clip", "flip"])), C=C, tol=1e-12)


def outputs(model, new):
    if hasattr(model, "decision_function"):
        return model.decision_function(new)
    return model.predict(new)


def fitted(what, model, X, y, fit=None):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return model.fit(X, y) if fit is None else fit(model, X, y)
        except Exception as error:
            text = f"{what}: {type(error).__name__}: {error}"
            raise TrialError(text) from error


# Two answers whose relative gap is 1e-12 may differ by the root of it, since the
# penalty is quadratic; how far they do depends on the rounding of the machine's BLAS.
ROOT_OF_GAP = 1e-6


def compare(what, K, expected, found):
    """Raise if outputs differ by more than rounding in a kernel of this condition."""
    values = np.abs(np.linalg.eigvalsh(K)) / (np.linalg.norm(K, 2) or 1.0)
    smallest = values[values > 1e-13].min(initial=1.0)
    close = max(CLOSE, ROOT_OF_GAP, 8 * np.finfo(float).eps / smallest)
    size = np.abs(expected).max()
    apart = np.abs(found - expected).max()
    if not apart <= close * size:
        raise TrialError(f"{what}: outputs differ by {apart / size:.2g} of their size")


def forms(seed):
    """Dense, compressed rows, landmarks of full rank and tiles are one model."""
    rng = np.random.default_rng([seed, 5])
    K, y, new = problem(rng)
    model = machine(rng, K)
    what = f"{' '.join(repr(model).split())}, n = {len(K)}"
    dense = fitted(what, clone(model), K, y)
    if not _is_determined(dense):
        return
    expected = outputs(dense, new)
    sparse = fitted(f"{what}, sparse", clone(model), scipy.sparse.csr_array(K), y)
    compare(f"{what}, sparse", K, expected, outputs(sparse, new))
    model.set_params(approximation=KreinNystroem(len(K), random_state=0))
    landmarks = fitted(f"{what}, landmarks", clone(model), K, y)
    compare(f"{what}, landmarks", K, expected, outputs(landmarks, new))
    tiles = fitted(f"{what}, tiles", clone(model), K, y, fit_in_tiles)
    compare(f"{what}, tiles", K, expected, outputs(tiles, new))


def _is_determined(model):
    """Whether a variable between its bounds determines the intercept."""
    a = model.alpha_
    return bool(((a > 1e-6 * model.C) & (a < (1 - 1e-6) * model.C)).any(axis=1).all())


# ----------------------------------------------------------------------------- storages


def duplicated(rng, K):
    """Entries in two halves, in any order."""
    K = scipy.sparse.coo_array(K)
    order = rng.permutation(2 * K.nnz)
    values, rows, columns = (
        np.concatenate([part, part])[order] for part in (0.5 * K.data, K.row, K.col)
    )
    return scipy.sparse.coo_array((values, (rows, columns)), shape=K.shape)


def duplicated_rows(rng, K):
    """Compressed rows with every entry in two halves."""
    K = scipy.sparse.csr_array(K)
    indices, data = np.repeat(K.indices, 2), np.repeat(0.5 * K.data, 2)
    return scipy.sparse.csr_array((data, indices, 2 * K.indptr), shape=K.shape)


def unsorted(rng, K):
    K = scipy.sparse.csr_array(K)
    for i in range(K.shape[0]):
        row = slice(K.indptr[i], K.indptr[i + 1])
        order = rng.permutation(row.stop - row.start)
        K.indices[row], K.data[row] = K.indices[row][order], K.data[row][order]
    K.has_sorted_indices = False
    return K


def explicit_zeros(rng, K):
    stored = scipy.sparse.csr_array(np.ones(K.shape))
    stored.data = K.ravel().copy()
    return stored


def wide_indices(rng, K):
    K = scipy.sparse.csr_array(K)
    K.indices, K.indptr = K.indices.astype(np.int64), K.indptr.astype(np.int64)
    return K


def memory_map(rng, K):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "K.npy"
        np.save(path, K)
        return np.load(path, mmap_mode="r")


def read_only(rng, K):
    K = K.copy()
    K.flags.writeable = False
    return K


def read_only_sparse(rng, K):
    K = scipy.sparse.csr_array(K)
    for part in (K.data, K.indices, K.indptr):
        part.flags.writeable = False
    return K


def unaligned(rng, K):
    raw = np.zeros(K.nbytes + 1, dtype=np.uint8)[1:].view(np.float64)
    raw[:] = K.ravel()
    return raw.reshape(K.shape)


STORAGES = {
    "CSR": lambda rng, K: scipy.sparse.csr_array(K),
    "CSR matrix": lambda rng, K: scipy.sparse.csr_matrix(K),
    "CSC": lambda rng, K: scipy.sparse.csc_array(K),
    "COO": lambda rng, K: scipy.sparse.coo_array(K),
    "LIL": lambda rng, K: scipy.sparse.lil_array(K),
    "DOK": lambda rng, K: scipy.sparse.dok_array(K),
    "BSR": lambda rng, K: scipy.sparse.bsr_array(K),
    "COO with duplicates": duplicated,
    "CSR with duplicates": duplicated_rows,
    "unsorted": unsorted,
    "explicit zeros": explicit_zeros,
    "64-bit indices": wide_indices,
    "read-only CSR": read_only_sparse,
    "big-endian": lambda rng, K: K.astype(">f8"),
    "Fortran order": lambda rng, K: np.asfortranarray(K),
    "memory map": memory_map,
    "read-only": read_only,
    "unaligned": unaligned,
    "strided": lambda rng, K: np.kron(K, np.ones((2, 2)))[::2, 1::2],
    "reversed": lambda rng, K: K[::-1, ::-1].copy()[::-1, ::-1],
    "long double": lambda rng, K: K.astype(np.longdouble),
    "objects": lambda rng, K: K.astype(object),
    "list": lambda rng, K: K.tolist(),
}
# Of small integers, so that nothing is lost.
INTEGERS = {
    "int8": np.int8,
    "uint8": np.uint8,
    "big-endian int16": ">i2",
    "float16": np.float16,
    "float32": np.float32,
    "big-endian float32": ">f4",
}
MODELS = [
    SpectrumSVR("flip"),
    SpectrumOneClassSVM(),
    KreinLogisticRegression(alpha=1.0),
    ProxySVC(),
]


def storages(seed):
    """Whatever the numbers lie in, the model is that of the plain array."""
    rng = np.random.default_rng([seed, 6])
    K, y, new = problem(rng)
    K /= np.abs(K).max() or 1.0
    models = [*MODELS, machine(rng, K), machine(rng, K)]
    model = clone(models[rng.integers(len(models))])
    which = rng.integers(4)
    if which == 0:
        name = str(rng.choice(list(INTEGERS)))
        K = np.abs(np.round(10 * K)) + np.eye(len(K))
        stored = K.astype(INTEGERS[name])
    elif which == 1 and rng.integers(4) == 0:
        name, K = "0-stride", np.ones(K.shape)
        stored = np.broadcast_to(np.float64(1.0), K.shape)
    else:
        name = str(rng.choice(list(STORAGES)))
        stored = STORAGES[name](rng, K)
    what = f"{' '.join(repr(model).split())}, {name}, n = {len(K)}"
    plain = fitted(what, clone(model), K.copy(), y)
    other = _fitted_or_refused(what, clone(model), stored, y)
    if other is None or not _has_one_output(plain, K):
        return
    compare(what, K, outputs(plain, new), outputs(other, new))
    rows = (STORAGES | {"0-stride": read_only}).get(name, read_only)(rng, K)
    compare(f"{what}, prediction", K, outputs(plain, K), outputs(plain, rows))


def _has_one_output(model, K):
    """Not if one class has the origin inside: then all outputs are rounding."""
    if hasattr(model, "nu"):
        return np.abs(outputs(model, K)).max() > 1e-12 * np.abs(K).max()
    return not hasattr(model, "alpha_") or _is_determined(model)


def _fitted_or_refused(what, model, X, y):
    """None if a class takes no sparse matrices, and says so."""
    try:
        return fitted(what, model, X, y)
    except TrialError as error:
        if "TypeError" in str(error) and "sparse" in str(error).lower():
            return None
        raise
