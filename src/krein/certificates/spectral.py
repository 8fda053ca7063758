"""Spectrum fixes: the kernel trained on, and the map to coefficients on the raw one.

``W^1/2 K0 W^1/2 = U diag(l) U'``; the fix trains on ``K~ = W^-1/2 U diag(f(l)) U'
W^-1/2`` and predicts with ``c = W^1/2 U diag(g(l)) U' W^-1/2 v``, so that ``K0 c``
equals ``K~ v`` on the training items.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from krein.certificates.data import Data, Given, read, rows_of
from krein.certificates.report import EPS, Claim, Verdict, judge, norm
from krein.certificates.svm import Trained, classify, intercept_fault

Array = np.ndarray

__all__ = ["Fix", "check_svc", "fix_of"]


# Diffusion gives directions of at most this share of the largest eigenvalue no map.
SPAN = 1e-2


@dataclass(frozen=True)
class Fix:
    """A spectrum and what a fix makes of it.

    Attributes
    ----------
    data : Data
        Raw kernel and weights.
    eigenvalues, eigenvectors : ndarray
        Of W^1/2 K0 W^1/2.
    f : ndarray of shape (n,)
        The eigenvalues that are trained on.
    g : ndarray of shape (n,) or None
        The map along each direction; None: new rows stay raw.
    shift : float or None
        Where the fix only adds to the diagonal: what it adds (over the weights).
    edge : float
        Eigenvalue at which the map jumps.
    """

    data: Data
    eigenvalues: Array
    eigenvectors: Array
    f: Array
    g: Array | None = None
    shift: float | None = None
    edge: float = 0.0

    @property
    def root(self) -> Array:
        """Square roots of the weights."""
        return np.sqrt(self.data.weight)

    def trained(self) -> Trained:
        """Return the kernel that the machine saw."""
        root, d = self.root, np.abs(self.eigenvalues)
        size = float(np.abs(self.f).max(initial=0.0))
        if self.shift is None:
            U = self.eigenvectors
            K = (U * self.f) @ U.T / root / root[:, None]
        else:
            K = self.data.K + np.diag(self.shift / self.data.weight)
            size = max(size, float(d.max(initial=0.0)))
        convex = bool(self.f.min(initial=0.0) >= -8 * d.size * EPS * size)
        return Trained(K, convex, size, root, self.data.asymmetry)

    def map_fault(self, c: Array, v: Array) -> list[str]:
        """Check that c is the map of v, direction by direction, rounding counted."""
        if self.g is None:
            return [] if np.array_equal(c, v) else ["dual_coef_ is not y * alpha_"]
        U, d = self.eigenvectors, np.abs(self.eigenvalues)
        inside, wanted = U.T @ (c / self.root), self.g * (U.T @ (v / self.root))
        steepest = float(np.abs(self.g).max(initial=0.0)) or 1.0
        reach = steepest * norm(v / self.root)
        largest = float(d.max(initial=0.0))
        noise = d.size * EPS * largest
        null = d < 1e-3 * noise
        edgy = np.abs(d - self.edge) <= 1e3 * noise
        unclear = edgy & ~null  # on either side of the edge, by rounding
        # Rounding turns an eigenvector by its share of the distance to the next group;
        # for null vectors those may be the unclear ones.
        smallest = float(np.abs(d[~edgy] - self.edge).min(initial=largest))
        smallest = min(smallest, float(d[d > 1e3 * noise].min(initial=largest)))
        nearest = min(smallest, float(d[unclear].min(initial=largest)))
        allowed = 64 * (d.size + 8) * EPS * largest * reach
        allowed = allowed / np.maximum(np.where(null, nearest, smallest), 1e-300)
        off = np.where(unclear, 0.0, np.abs(inside - wanted))
        if np.all(off <= allowed + 1e-300):
            return []
        worst = float(off.max() / max(reach, 1e-300))
        return [f"dual_coef_ is not the map of alpha_: off by {worst:.3g} of its size"]


def spectrum_of(data: Data) -> tuple[Array, Array]:
    """Eigenvalues and eigenvectors of W^1/2 K0 W^1/2."""
    root = np.sqrt(data.weight)
    return np.linalg.eigh(root[:, None] * data.K * root)


def fix_of(data: Data, method: Any, t: float = 1.0) -> Fix:
    """Apply a method given by name, or the user's own record or function."""
    d, U = spectrum_of(data)
    largest = float(np.abs(d).max(initial=0.0))
    edge = d.size * EPS * largest
    kept = np.abs(d) > edge
    if not isinstance(method, str):
        return _own(data, d, U, method, t)
    if method == "none":
        return Fix(data, d, U, d, shift=0.0)
    if method == "shift":
        eta = max(0.0, -float(d.min(initial=0.0)))
        return Fix(data, d, U, d + eta, shift=eta)
    if method == "square":
        return Fix(data, d, U, d * d, d)
    if method in ("diffusion", "exponential"):
        scaled = method == "diffusion"
        f = np.exp(t * d / ((largest or 1.0) if scaled else 1.0))
        edge = SPAN * largest if scaled else edge
        return Fix(data, d, U, f, _quotient(f, d, np.abs(d) > edge), edge=edge)
    f = np.where(kept, np.maximum(d, 0.0) if method != "flip" else np.abs(d), 0.0)
    return Fix(data, d, U, f, _quotient(f, d, kept), edge=edge)


def _own(data: Data, d: Array, U: Array, method: Any, t: float) -> Fix:
    """Read a record or a function; what it does is the user's word, not krein's."""
    edge = d.size * EPS * float(np.abs(d).max(initial=0.0))
    if not hasattr(method, "target"):
        f = np.asarray(method(d), dtype=float)
        return Fix(data, d, U, f, _quotient(f, d, np.abs(d) > edge), edge=edge)
    f = np.asarray(method.target(d, edge, t), dtype=float)
    if method.gain is not None:
        return Fix(data, d, U, f, np.asarray(method.gain(d, edge, t)), edge=edge)
    if method.new_rows == "raw":
        shift = float(np.mean(f - d))
        return Fix(data, d, U, f, shift=shift if np.allclose(f, d + shift) else None)
    return Fix(data, d, U, f, _quotient(f, d, np.abs(d) > edge), edge=edge)


def _quotient(f: Array, d: Array, kept: Array) -> Array:
    return np.where(kept, f / np.where(kept, d, 1.0), 0.0)


def check_svc(given: Given, claims: list[Claim]) -> list[Verdict]:
    """SpectrumSVC and KreinSVC."""
    model, data = given.model, read(given)
    if hasattr(model, "lam_pos"):
        flip = fix_of(data, "flip")
        strength = np.where(flip.eigenvalues > 0, model.lam_pos, model.lam_neg)
        fix = replace(flip, f=flip.f / strength, g=flip.g / strength)
    else:
        fix = fix_of(data, model.method, model.t)
    trained = fix.trained()
    upper = model.C * data.weight
    verdicts = []
    for row, (items, y) in enumerate(rows_of(model, data.y)):
        part, bounds = trained.part(items), upper[items]
        a, v = model.alpha_[row, data.kept[items]], np.zeros(data.n)
        v[items] = y * a
        found = classify(part, y, bounds, a)
        elsewhere = np.delete(model.alpha_[row], data.kept[items])
        if np.any(elsewhere):
            found.faults.append("alpha_ is not 0 on items that the row does not see")
        found.faults += fix.map_fault(model.dual_coef_[row, data.kept], v)
        outputs, error = part.outputs(y * a)
        found.faults += intercept_fault(
            float(model.intercept_[row]), a, y, bounds, outputs,
            float(found.residual or 0.0) + float(error.max()),
        )  # fmt: skip
        if not trained.convex:
            found.notes.append(
                "the kernel trained on is indefinite (smallest eigenvalue "
                f"{fix.f.min():.3g}): other stationary points may be better"
            )
        verdicts.append(judge(claims[row], found))
    return verdicts
