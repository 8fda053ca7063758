"""Spectrum fixes: the kernel trained on, and the map to coefficients on the raw one.

``W^1/2 K0 W^1/2 = U diag(l) U'``; the fix trains on ``K~ = W^-1/2 U diag(f(l)) U'
W^-1/2`` and predicts with ``c = W^1/2 U diag(g(l)) U' W^-1/2 v``, so that ``K0 c``
equals ``K~ v`` on the training items.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from krein.certificates.data import Data, Given, one_against_rest, read
from krein.certificates.report import EPS, Claim, Evidence, Verdict, judge
from krein.certificates.svm import Trained, classify, intercept_fault

Array = np.ndarray

__all__ = ["Fix", "check_svc", "fit_of"]


@dataclass(frozen=True)
class Fix:
    """Eigenvalues l of the weighted kernel, what they become (f) and the map (g)."""

    data: Data
    eigenvalues: Array
    eigenvectors: Array
    f: Array
    g: Array | None

    @property
    def root(self) -> Array:
        """Square roots of the weights."""
        return np.sqrt(self.data.weight)

    @property
    def tolerance(self) -> float:
        """Eigenvalues within it count as zero."""
        d = np.abs(self.eigenvalues)
        return float(d.size * EPS * d.max(initial=0.0))

    def trained(self) -> Trained:
        """Return the kernel that the machine saw."""
        size = float(np.abs(self.f).max(initial=0.0))
        U, root = self.eigenvectors, self.root
        K = (U * self.f) @ U.T / root / root[:, None]
        # With an identity as map the fix acts on the diagonal alone.
        if self.g is None:
            shift = float(np.mean(self.f - self.eigenvalues))
            K = self.data.K + np.diag(shift / self.data.weight)
            size = max(size, float(np.abs(self.eigenvalues).max(initial=0.0)))
        convex = bool(self.f.min(initial=0.0) >= -8 * self.f.size * EPS * size)
        return Trained(K, convex, size, root, self.data.asymmetry)

    def map_fault(self, c: Array, v: Array, name: str = "dual_coef_") -> list[str]:
        """Check that c is the map of v, direction by direction, rounding counted."""
        if self.g is None:
            return [] if np.array_equal(c, v) else [f"{name} is not y * alpha_"]
        U, d = self.eigenvectors, np.abs(self.eigenvalues)
        inside, wanted = U.T @ (c / self.root), self.g * (U.T @ (v / self.root))
        reach = float(np.abs(self.g).max(initial=0.0) * np.linalg.norm(v / self.root))
        spread = 64 * (d.size + 8) * EPS * d.max(initial=0.0) * reach
        kept = d > self.tolerance
        # Rounding turns an eigenvector by its share of the distance to the next group.
        smallest = float(d[kept].min()) if kept.any() else np.inf
        allowed = spread / np.maximum(d, smallest)
        off = np.abs(inside - wanted)
        border = (d > 1e-3 * self.tolerance) & (d < 1e3 * self.tolerance)
        off[border] = 0.0
        if np.all(off <= allowed + 1e-300):
            return []
        worst = float(off.max() / max(reach, 1e-300))
        return [f"{name} is not the map of alpha_: off by {worst:.3g} of its size"]


def spectrum_of(data: Data) -> tuple[Array, Array]:
    """Eigenvalues and eigenvectors of W^1/2 K0 W^1/2."""
    root = np.sqrt(data.weight)
    return np.linalg.eigh(root[:, None] * data.K * root)


def fit_of(data: Data, method: Any, t: float = 1.0) -> Fix:
    """Apply a spectrum fix by name; formulas of methods by Chen et al. (2009)."""
    d, U = spectrum_of(data)
    tolerance = float(d.size * EPS * np.abs(d).max(initial=0.0))
    if method == "none":
        return Fix(data, d, U, d, None)
    if method == "shift":
        return Fix(data, d, U, d + max(0.0, -float(d[0])), None)
    g = _GAINS[method](d, np.abs(d) > tolerance, t)
    return Fix(data, d, U, d * g, g)


def _diffusion(d: Array, kept: Array, t: float) -> Array:
    largest = float(np.abs(d).max(initial=0.0))
    if largest == 0.0:
        return np.zeros_like(d)
    safe = np.where(kept, d, 1.0)
    return np.where(kept, np.expm1(t * d / largest) / safe, t / largest)


_GAINS: dict[str, Any] = {
    "clip": lambda d, kept, t: np.where(kept & (d > 0), 1.0, 0.0),
    "denoise": lambda d, kept, t: np.where(kept & (d > 0), 1.0, 0.0),
    "flip": lambda d, kept, t: np.where(kept, np.sign(d), 0.0),
    "square": lambda d, kept, t: d,
    "diffusion": _diffusion,
}


def check_svc(given: Given, claims: list[Claim]) -> list[Verdict]:
    """SpectrumSVC and KreinSVC."""
    model, data = given.model, read(given)
    if hasattr(model, "lam_pos"):
        fix = fit_of(data, "flip")
        strength = np.where(fix.eigenvalues > 0, model.lam_pos, model.lam_neg)
        g = fix.g / strength
        fix = Fix(data, fix.eigenvalues, fix.eigenvectors, fix.eigenvalues * g, g)
    else:
        fix = fit_of(data, model.method, model.t)
    trained = fix.trained()
    upper = model.C * data.weight
    verdicts = []
    for row, y in enumerate(one_against_rest(data.y, len(model.classes_))):
        a = model.alpha_[row, data.kept]
        found = classify(trained, y, upper, a)
        found.faults += _coefficients(model, fix, row, y * a, found)
        outputs, error = trained.outputs(y * a)
        found.faults += intercept_fault(
            float(model.intercept_[row]), a, y, upper, outputs,
            float(found.residual or 0.0) + float(error.max()),
        )  # fmt: skip
        if not trained.convex:
            found.notes.append(
                "the kernel trained on is indefinite (smallest eigenvalue "
                f"{fix.f.min():.3g}): other stationary points may be better"
            )
        verdicts.append(judge(claims[row], found))
    return verdicts


def _coefficients(
    model: Any, fix: Fix, row: int, v: Array, found: Evidence
) -> list[str]:
    c = model.dual_coef_[row, fix.data.kept]
    if not getattr(model, "sparse", False):
        return fix.map_fault(c, v)
    found.notes.append(
        "sparse=True: the coefficients are a least-squares fit of the certified model "
        "on its support vectors"
    )
    columns = fix.data.K[:, np.flatnonzero(v)]
    outputs, error = fix.trained().outputs(v)
    off = np.abs(columns.T @ (fix.data.K @ c - outputs))
    allowed = np.abs(columns).T @ (1e-6 * np.abs(outputs) + error)
    if np.any(c[v == 0]) or np.any(off > allowed):
        return ["dual_coef_ is not the least-squares fit on the support vectors"]
    return []
