"""Eigendecompositions are made once per fold; numbers do not change by sharing."""

import numpy as np
import pytest
import scipy.linalg

from krein import KreinSVC, SpectrumSVC, compare, sigmoid_kernel
from krein.comparison.contenders import select_contenders
from krein.spectrum.decomposition import Spectrum
from krein.store.shared_work import digest, once, shared_work


@pytest.fixture
def problem(rng):
    X = rng.standard_normal((60, 5))
    return sigmoid_kernel(X), (X[:, 0] + 0.3 * X[:, 1] > 0).astype(int)


@pytest.fixture
def count_eigh(monkeypatch):
    calls = []
    original = scipy.linalg.eigh

    def counted(A, *args, **kwargs):
        calls.append(A.shape)
        return original(A, *args, **kwargs)

    monkeypatch.setattr(scipy.linalg, "eigh", counted)
    return calls


def test_one_eigendecomposition_per_fold_for_all_methods(problem, count_eigh):
    K, y = problem
    # The averaged model searches by itself, on folds of its own.
    applicable = select_contenders(None)
    methods = [m.name for m in applicable if m.estimator != "SpectrumSVCCV"]
    comparison = compare(K, y, methods=methods, cv=3)
    spectral = {"svc", "clip", "flip", "shift", "square", "diffusion", "krein"}
    assert spectral <= set(comparison.completed)
    assert comparison.failed == {}
    # Three splits, each with five inner folds and the fit on the whole training part.
    assert len(count_eigh) == 3 * (5 + 1)


def test_without_sharing_every_fit_decomposes(problem, count_eigh):
    K, y = problem
    for model in (SpectrumSVC("clip"), SpectrumSVC("shift"), KreinSVC()):
        model.fit(K, y)
    assert len(count_eigh) == 3


@pytest.mark.parametrize("method", ["clip", "flip", "shift", "square", "diffusion"])
def test_sharing_changes_no_number(problem, method):
    K, y = problem
    alone = SpectrumSVC(method).fit(K, y)
    with shared_work():
        SpectrumSVC("flip", C=3.0).fit(K, y)
        shared = SpectrumSVC(method).fit(K, y)
    np.testing.assert_allclose(shared.dual_coef_, alone.dual_coef_, atol=1e-9)


def test_different_matrices_and_weights_are_kept_apart(problem):
    K, _ = problem
    weight = np.linspace(1, 2, 60)
    with shared_work() as work:
        first = Spectrum.exact(K)
        assert Spectrum.exact(K.copy()) is first
        assert work.saved > 0
        assert Spectrum.exact(K, weight) is not first
        changed = K.copy()
        changed[0, 0] += 1e-12
        assert Spectrum.exact(changed) is not first
    assert Spectrum.exact(K) is not first


def test_a_matrix_that_can_change_is_looked_at_again(problem):
    K = problem[0].copy()
    view = K[:]
    view.flags.writeable = False  # its numbers can change through K
    with shared_work():
        first = digest(K), digest(view)
        K[0, 0] += 1.0
        assert digest(K) != first[0]
        assert digest(view) != first[1]
        K.flags.writeable = False
        assert digest(K) == digest(K) != digest(K.copy())


def test_shared_arrays_cannot_be_changed():
    with shared_work():
        array = once(lambda: "key", lambda: np.zeros(3))
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0
