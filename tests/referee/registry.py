"""Every estimator that carries a certificate, with data to fit it on.

A case makes an unfitted model and a random problem of a given size. `kind` is the
strongest statement that the model may make. What is listed here is judged by the
referee, lied about, and challenged by other points.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from krein import (
    CPDSVC,
    DCSVC,
    MKLSVC,
    CPDRegressor,
    KreinLogisticRegression,
    KreinRidge,
    KreinSVC,
    ProxySVC,
    ProxySVCCV,
    SpectrumOneClassSVM,
    SpectrumSVC,
    SpectrumSVR,
)
from krein.spectrum.fixes import Fix, power


@dataclass(frozen=True)
class Problem:
    X: Any
    y: Any
    weight: Any


@dataclass(frozen=True)
class Case:
    name: str
    make: Callable[[np.random.Generator], Any]
    kind: str
    data: str = "similarity"  # or "vectors", "targets", "outliers", "kernels"

    def problem(self, rng, n=10, weighted=False, n_classes=2):
        return _PROBLEMS[self.data](rng, n, weighted, n_classes)

    def fit(self, rng, problem):
        model = self.make(rng)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(problem.X, problem.y, sample_weight=problem.weight)
        return model


def labels(rng, n, n_classes):
    return np.append(np.arange(n_classes), rng.integers(0, n_classes, n - n_classes))


def weights(rng, n, weighted):
    """Zeros among them, but not for the first samples: every class keeps one."""
    if not weighted:
        return None
    return np.where(np.arange(n) < 4, 1.0, rng.integers(0, 4, n) * rng.choice([1, 0.3]))


def indefinite(rng, n):
    """Full, low rank, integer or nearly singular; some far from unit scale."""
    A = rng.standard_normal((n, n))
    K = A + A.T
    which = rng.integers(4)
    if which == 1:
        F = rng.standard_normal((n, 3))
        K = (F * [1.0, 1.0, -1.0]) @ F.T
    elif which == 2:
        K = np.round(K)
    return (K + K.T) * 10.0 ** rng.integers(-2, 3)


def _similarity(rng, n, weighted, n_classes):
    y = labels(rng, n, n_classes)
    return Problem(indefinite(rng, n), y, weights(rng, n, weighted))


def _vectors(rng, n, weighted, n_classes):
    y = labels(rng, n, n_classes)
    X = rng.standard_normal((n, 2)) + y[:, None]
    return Problem(X, y, weights(rng, n, weighted))


def _targets(rng, n, weighted, n_classes):
    y = rng.standard_normal(n) * 10.0 ** rng.integers(-1, 2)
    return Problem(indefinite(rng, n), y, weights(rng, n, weighted))


def _spline(rng, n, weighted, n_classes):
    X = rng.standard_normal((n, 2))
    return Problem(X, rng.standard_normal(n), weights(rng, n, weighted))


def _outliers(rng, n, weighted, n_classes):
    return Problem(indefinite(rng, n), None, weights(rng, n, weighted))


def _kernels(rng, n, weighted, n_classes):
    stack = [np.cov(rng.standard_normal((n, 2 * n))) for _ in range(3)]
    return Problem(stack, labels(rng, n, n_classes), weights(rng, n, weighted))


_PROBLEMS = {
    "similarity": _similarity,
    "vectors": _vectors,
    "targets": _targets,
    "spline": _spline,
    "outliers": _outliers,
    "kernels": _kernels,
}


def C(rng):
    return float(10.0 ** rng.uniform(-2, 2))


def svc(method, kind="gap"):
    name = method if isinstance(method, str) else method.name
    return Case(f"svc-{name}", lambda rng: SpectrumSVC(method, C=C(rng)), kind)


SQUARE_ROOT = Fix("square_root", lambda values, tol, t: np.sqrt(np.abs(values)))
TANH = Fix("tanh", lambda values, tol, t: np.tanh(values))


def logistic(name, **params):
    def make(rng):
        return KreinLogisticRegression(alpha=C(rng), **params)

    return Case(f"logistic-{name}", make, "stationarity")


def cpd(name, **params):
    return Case(
        f"cpd-{name}", lambda rng: CPDSVC(alpha=C(rng), **params), "gap", "vectors"
    )


CASES = [
    *(svc(m) for m in ("clip", "flip", "shift", "square", "diffusion", SQUARE_ROOT)),
    *(svc(m, "stationarity") for m in ("none", TANH)),
    Case("svc-record", lambda rng: SpectrumSVC(power(0.5, 1.5), C=C(rng)), "gap"),
    Case("svc-ovo", lambda rng: SpectrumSVC(C=C(rng), multi_class="ovo"), "gap"),
    Case("krein", lambda rng: KreinSVC(C(rng), lam_pos=2.0, lam_neg=0.5), "gap"),
    Case("proxy", lambda rng: ProxySVC(C(rng), rho=C(rng)), "gap"),
    Case(
        "proxy-raw", lambda rng: ProxySVC(C(rng), rho=C(rng), new_points="raw"), "gap"
    ),
    Case(
        "proxy-project",
        lambda rng: ProxySVC(C(rng), rho=C(rng), new_points="project"),
        "gap",
    ),
    Case(
        "proxy-luss", lambda rng: ProxySVC(C(rng), rho=C(rng), new_points="luss"), "gap"
    ),
    Case(
        "proxy-cv", lambda rng: ProxySVCCV(Cs=[C(rng)], rhos=[0.1, 10.0], cv=2), "gap"
    ),
    Case("dc-dual", lambda rng: DCSVC(C(rng)), "stationarity"),
    Case("dc-primal", lambda rng: DCSVC(C(rng), solver="dc-primal"), "stationarity"),
    logistic("multinomial"),
    logistic("plain", fit_intercept=False),
    logistic("ovr", multi_class="ovr"),
    logistic("flip", indefinite="flip"),
    Case("ridge", lambda rng: KreinRidge(C(rng)), "stationarity", "targets"),
    Case("ridge-flip", lambda rng: KreinRidge(C(rng), method="flip"), "gap", "targets"),
    Case("svr", lambda rng: SpectrumSVR(C=C(rng)), "gap", "targets"),
    Case("svr-flip", lambda rng: SpectrumSVR("flip", C=C(rng)), "gap", "targets"),
    Case(
        "one-class",
        lambda rng: SpectrumOneClassSVM(nu=rng.uniform(0.1, 1.0)),
        "gap",
        "outliers",
    ),
    Case(
        "svr-none", lambda rng: SpectrumSVR("none", C=C(rng)), "stationarity", "targets"
    ),
    cpd("hinge"),
    cpd("logistic", loss="logistic", exponent=1),
    cpd("squared", loss="squared", exponent=1),
    cpd("zero", polynomial="zero", exponent=1),
    cpd("zero-logistic", polynomial="zero", exponent=1, loss="logistic"),
    cpd("basis", n_basis=5, exponent=1, random_state=0),
    cpd("gaussian", kernel="rbf", polynomial="zero"),
    Case("spline", lambda rng: CPDRegressor(C(rng), exponent=1), "gap", "spline"),
    Case("mkl", lambda rng: MKLSVC(C(rng)), "gap", "kernels"),
    Case("mkl-target", lambda rng: MKLSVC(C(rng), rho=0.1, target=0), "gap", "kernels"),
]
