"""One clear error: masks, sparse answers of kernels, kernels changed after a fit."""

import numpy as np
import pytest
import scipy.sparse

from krein import (
    CPDSVC,
    MKLSVC,
    KreinLogisticRegression,
    KreinNystroem,
    KreinRidge,
    KreinSVC,
    ProxySVC,
    SpectrumSVC,
    nearest_psd,
)

RNG = np.random.default_rng(0)
X = RNG.standard_normal((20, 3))
K = X @ X.T
Y = (X[:, 0] > 0).astype(int)
NEW = RNG.standard_normal((4, 20))  # rows of similarities, or items with 20 features


def masked(values):
    mask = np.zeros(np.shape(values), dtype=bool)
    mask.flat[1] = True
    return np.ma.masked_array(values, mask=mask)


MASKED = {
    "stack": lambda: MKLSVC().fit(masked(np.stack([K, K @ K], axis=2)), Y),
    "list": lambda: MKLSVC().fit([masked(K), K], Y),
    "kernel": lambda: SpectrumSVC(kernel=lambda A, B: masked(A @ B.T)).fit(X, Y),
    "kernels": lambda: MKLSVC(kernels=[lambda A, B: masked(A @ B.T)]).fit(X, Y),
    "polynomials": lambda: CPDSVC(kernel="precomputed").fit(-K, Y, P=masked(X)),
    "k_diag": lambda: (
        KreinRidge()
        .fit(K, X[:, 0])
        .predict(K[:3], return_std=True, k_diag=masked(np.ones(3)))
    ),
    "weight": lambda: nearest_psd(K, weight=masked(np.ones(20))),
    "fixed": lambda: nearest_psd(K, fixed=masked(np.eye(20, dtype=bool))),
}


@pytest.mark.parametrize("what", sorted(MASKED))
def test_a_mask_is_not_dropped(what):
    with pytest.raises(TypeError, match="masked array with masked entries; fill them"):
        MASKED[what]()


@pytest.mark.parametrize(
    "model",
    [
        SpectrumSVC(),
        KreinSVC(),
        ProxySVC(),
        CPDSVC(),
        KreinLogisticRegression(),
        KreinNystroem(n_components=3),
    ],
    ids=lambda model: type(model).__name__,
)
def test_a_kernel_that_returns_a_sparse_matrix_is_told_what_to_return(model):
    def kernel(A, B):
        return scipy.sparse.csr_array(np.asarray(A) @ np.asarray(B).T)

    with pytest.raises(TypeError, match=r"returned a sparse matrix; .*toarray"):
        model.set_params(kernel=kernel).fit(X, Y)


def test_several_kernels_of_which_one_returns_a_sparse_matrix():
    kernels = ["rbf", lambda A, B: scipy.sparse.csr_array(A @ B.T)]
    with pytest.raises(TypeError, match="returned a sparse matrix"):
        MKLSVC(kernels=kernels).fit(X, Y)


CHANGED = {
    "items asked for": (SpectrumSVC(), K, {"kernel": "rbf"}, NEW),
    "similarities asked for": (
        SpectrumSVC(kernel="rbf"),
        X,
        {"kernel": "precomputed"},
        NEW[:, :3],
    ),
    "a spline asked for": (
        CPDSVC(kernel="precomputed"),
        -np.abs(X[:, :1] - X[:, 0]),
        {"kernel": "thin_plate"},
        NEW,
    ),
    "a matrix asked for": (CPDSVC(), X, {"kernel": "precomputed"}, NEW[:, :3]),
    "proxy": (ProxySVC(), K, {"kernel": "rbf"}, NEW),
    "no kernels": (MKLSVC(kernels=["rbf"]), X, {"kernels": None}, NEW[:, :, None]),
}


@pytest.mark.parametrize("case", sorted(CHANGED))
def test_a_kernel_changed_after_the_fit_asks_for_another(case):
    model, items, change, new = CHANGED[case]
    model.fit(items, Y).set_params(**change)
    with pytest.raises(ValueError, match="fit it again, or set the kernel back"):
        model.predict(new)


def test_landmarks_and_deviations_of_a_changed_kernel():
    nystroem = KreinNystroem(n_components=3).fit(K).set_params(kernel="rbf")
    with pytest.raises(ValueError, match="kernel was changed after fit"):
        nystroem.transform(NEW)
    ridge = KreinRidge().fit(K, X[:, 0]).set_params(kernel="rbf")
    with pytest.raises(ValueError, match="fit it again"):
        ridge.predict(NEW, return_std=True)


def test_other_parameters_may_change():
    """tol or C have no part in predictions, and a kernel set back is none."""
    model = SpectrumSVC(kernel="rbf").fit(X, Y)
    wanted = model.predict(X)
    model.set_params(C=3.0, kernel="precomputed").set_params(kernel="rbf")
    assert np.array_equal(model.predict(X), wanted)
