"""The Krein SVM as Loosli, Canu and Ong (2016) write it, step by step."""

import numpy as np
from sklearn.svm import SVC

from krein import KreinSVC


def problem(with_spectrum, rng):
    K = with_spectrum(np.r_[-np.linspace(0.5, 3.0, 15), np.linspace(0.2, 6.0, 35)])
    return K, np.where(rng.random(50) < 0.5, 1.0, -1.0)


def test_the_published_algorithm_gives_the_same_machine(with_spectrum, rng):
    """G = YKY = U D U', SVM with U|D|U', a = U sign(D) U' a~."""
    K, y = problem(with_spectrum, rng)
    D, U = np.linalg.eigh(y[:, None] * K * y)
    flipped = y[:, None] * ((U * np.abs(D)) @ U.T) * y
    svc = SVC(C=2.0, kernel="precomputed", tol=1e-11)
    svc.fit(0.5 * (flipped + flipped.T), y)
    mapped = np.zeros(50)
    mapped[svc.support_] = np.abs(svc.dual_coef_[0])
    a = U @ (np.sign(D) * (U.T @ mapped))
    new = rng.standard_normal((9, 50))
    published = new @ (y * a) + svc.intercept_[0]
    model = KreinSVC(C=2.0, tol=1e-9).fit(K, y)
    np.testing.assert_allclose(model.decision_function(new), published, atol=5e-6)
    # The KKT conditions hold for alpha_, not for the coefficients on the raw kernel.
    assert np.all((model.alpha_ >= 0) & (model.alpha_ <= 2.0))
    raw = y * model.dual_coef_[0]
    assert np.mean((raw < -1e-6) | (raw > 2.0 + 1e-6)) > 0.1


def test_two_strengths_are_the_published_kernel_and_coefficients(with_spectrum, rng):
    """Oglic and Gaertner: K_r = U diag(|l| / lam) U', w = K^+ K_r (y * b)."""
    K, y = problem(with_spectrum, rng)
    values, U = np.linalg.eigh(K)
    strength = np.where(values > 0, 0.5, 4.0)
    K_r = (U * (np.abs(values) / strength)) @ U.T
    svc = SVC(kernel="precomputed", tol=1e-11).fit(0.5 * (K_r + K_r.T), y)
    signed = np.zeros(50)
    signed[svc.support_] = svc.dual_coef_[0]
    w = np.linalg.solve(K, K_r @ signed)
    model = KreinSVC(lam_pos=0.5, lam_neg=4.0, tol=1e-9).fit(K, y)
    np.testing.assert_allclose(model.dual_coef_[0], w, atol=1e-6)
    np.testing.assert_allclose(
        K @ model.dual_coef_[0] + model.intercept_[0],
        svc.decision_function(K_r),
        atol=5e-6,
    )
