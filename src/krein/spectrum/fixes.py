"""Fixes of a spectrum: what eigenvalues become, and what a new row gets. One table.

A fix is a record. Everything else (the estimators, landmarks, the referee, the
tables of the documentation, the tests) reads the record and never a name; only the
words that `compare` has for a fix are elsewhere (comparison/contenders.py). A
certificate follows from what the record makes of the eigenvalues: where one of them
would be negative, no gap can be claimed.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np

from krein.arrays import Array

Rule = Callable[[Array, float, float], Array]

# Directions whose eigenvalue is at most this share of the largest are outside of the
# span for methods that divide by it: the map is bounded by the inverse.
SPAN = 1e-2


@dataclass(frozen=True)
class Fix:
    """What becomes of a spectrum, and how new rows follow.

    Parameters
    ----------
    name : str
        Name, as given to an estimator.
    target : callable
        ``target(l, tolerance, t)``: the eigenvalues that are trained on. Eigenvalues of
        at most `tolerance` in magnitude are zero to rounding; t is the parameter of
        the method, if it has one.
    formula : str
        The target as a formula, for tables.
    gain : callable, optional
        ``gain(l, tolerance, t)``: what the map for new rows multiplies by along each
        eigenvector. By default target / l, and 0 where l is zero.
    psd : bool or None
        Whether no target is negative; None: seen from the eigenvalues at hand. The
        certificate of a machine is a gap if so, and a stationarity residual if not.
    keeps_zero : bool
        Whether a zero stays zero. Only then is the training kernel the map of its own
        raw rows, and only then does the method have a low-rank form.
    new_rows : {"mapped", "raw"}
        ``raw``: new rows stay as they are.
    needs : {"spectrum", "smallest", "nothing"}
        What has to be known of the similarity.
    on_positive : pair of float, optional
        (a, b) where the target of every positive eigenvalue is ``a l + b l^2``: then
        the method keeps a sparse similarity sparse but for its negative eigenpairs.

    Examples
    --------
    >>> import numpy as np
    >>> from krein.spectrum.fixes import FIXES
    >>> FIXES["flip"].target(np.array([-2.0, 0.0, 3.0]), 1e-12, 1.0)
    array([2., 0., 3.])
    """

    name: str
    target: Rule
    formula: str = ""
    gain: Rule | None = None
    psd: bool | None = None
    keeps_zero: bool = True
    new_rows: Literal["mapped", "raw"] = "mapped"
    needs: Literal["spectrum", "smallest", "nothing"] = "spectrum"
    on_positive: tuple[float, float] | None = None

    def apply(self, values: Array, tolerance: float, t: float) -> tuple[Array, Array]:
        """Targets and gains of eigenvalues; a record that promises too much is refused.

        Parameters
        ----------
        values : ndarray of shape (r,)
            Eigenvalues.
        tolerance : float
            Eigenvalues of at most this magnitude are zero.
        t : float
            Parameter of the method.

        Returns
        -------
        target, gain : ndarray of shape (r,)
        """
        target = np.asarray(self.target(values, tolerance, t), dtype=np.float64)
        if target.shape != values.shape or not np.isfinite(target).all():
            raise ValueError(
                f"method {self.name!r} must give one finite number for each of the "
                f"{values.size} eigenvalues, got {target!r}"
            )
        if self.psd and values.size and target.min() < 0.0:
            raise ValueError(
                f"method {self.name!r} says psd=True, but gives the eigenvalue "
                f"{target.min():.3g}: say psd=False, or psd=None to have it seen"
            )
        if self.gain is not None:
            return target, self.gain(values, tolerance, t)
        if self.new_rows == "raw":
            return target, np.ones_like(values)
        return target, _quotient(target, values, np.abs(values) > tolerance)

    @property
    def has_low_rank_form(self) -> bool:
        """Whether landmarks can stand for it: what they do not see stays zero."""
        return self.keeps_zero and self.psd is not False and self.new_rows == "mapped"


def _quotient(target: Array, values: Array, kept: np.ndarray) -> Array:
    return np.where(kept, target / np.where(kept, values, 1.0), 0.0)


def _clip(values: Array, tol: float, t: float) -> Array:
    return np.where(values > tol, values, 0.0)


def _flip(values: Array, tol: float, t: float) -> Array:
    return np.where(np.abs(values) > tol, np.abs(values), 0.0)


def _square(values: Array, tol: float, t: float) -> Array:
    return values * values


def _shift(values: Array, tol: float, t: float) -> Array:
    return values + max(0.0, -float(values.min(initial=0.0)))


def _same(values: Array, tol: float, t: float) -> Array:
    return values.copy()


def _diffusion(values: Array, tol: float, t: float) -> Array:
    return np.exp(t * values / (float(np.abs(values).max(initial=0.0)) or 1.0))


def _diffusion_gain(values: Array, tol: float, t: float) -> Array:
    span = np.abs(values) > SPAN * float(np.abs(values).max(initial=0.0))
    return _quotient(_diffusion(values, tol, t), values, span)


FIXES: dict[str, Fix] = {
    method.name: method
    for method in (
        Fix("clip", _clip, "max(l, 0)", psd=True, on_positive=(1.0, 0.0)),
        Fix("flip", _flip, "|l|", psd=True, on_positive=(1.0, 0.0)),
        Fix(
            "square", _square, "l^2", gain=_same, psd=True, on_positive=(0.0, 1.0),
        ),
        Fix(
            "shift", _shift, "l + max(0, -min l)", psd=True, keeps_zero=False,
            new_rows="raw", needs="smallest",
        ),
        Fix(
            "diffusion", _diffusion, "exp(t l / max|l|)", _diffusion_gain, psd=True,
            keeps_zero=False,
        ),
        Fix(
            "none", _same, "l", psd=False, new_rows="raw", needs="nothing",
            on_positive=(1.0, 0.0),
        ),
    )
}  # fmt: skip


def weighted_flip(positive: float, negative: float) -> Fix:
    """Return flip with the two parts of the space divided by their penalties.

    This is the Krein SVM (Loosli, Canu, Ong, 2016, with the two regularisers of Oglic
    and Gaertner, 2019): ``|l| / lam_sign``.
    """
    rule = partial(_weighted_flip, positive, negative)
    slopes = (1.0 / positive, 0.0)
    return Fix("krein", rule, "|l| / lam", psd=True, on_positive=slopes)


def _weighted_flip(
    positive: float, negative: float, values: Array, tol: float, t: float
) -> Array:
    return _flip(values, tol, t) / np.where(values > 0, positive, negative)


_POWER = re.compile(r"power\(w=([0-9.e+-]+), p=([0-9.e+-]+)\)")


def power(negative: float, exponent: float) -> Fix:
    """Return the family ``|l|^p`` for l > 0 and ``w |l|^p`` for l < 0.

    It contains clip (w = 0, p = 1), flip (1, 1) and square (1, 2). Its name says what
    it is, ``power(w=0.3, p=1.5)``, and stands for it wherever a method is given.

    Parameters
    ----------
    negative : float
        w, the weight of the negative part.
    exponent : float
        p.
    """
    name = f"power(w={negative:g}, p={exponent:g})"
    return Fix(name, partial(_power, negative, exponent), "w |l|^p", psd=True)


def _power(
    negative: float, exponent: float, values: Array, tol: float, t: float
) -> Array:
    size = np.where(np.abs(values) > tol, np.abs(values), 0.0) ** exponent
    return np.where(values > 0, size, negative * size)


def as_fix(given: Any) -> Fix:
    """Return a record itself, or the one of a name or function.

    Parameters
    ----------
    given : str, Fix or callable
        Name of a fix, its record, or a function of the eigenvalues that returns the
        eigenvalues to train on. Of a function nothing is promised: whether the kernel
        is positive semidefinite is seen from the eigenvalues at hand.
    """
    if isinstance(given, Fix):
        return given
    if isinstance(given, str):
        if given in FIXES:
            return FIXES[given]
        found = _POWER.fullmatch(given)
        if found:
            return power(float(found[1]), float(found[2]))
    elif callable(given):
        name = getattr(given, "__name__", type(given).__name__)
        return Fix(name, partial(_of_function, given), f"{name}(l)")
    hint = f" ({_FORMER[given]})" if isinstance(given, str) and given in _FORMER else ""
    raise ValueError(
        f"method={given!r} is not known{hint}; choose one of "
        f"{', '.join(sorted(FIXES))}, a krein.spectrum.fixes.Fix or a function of the "
        "eigenvalues"
    )


# Names of earlier releases, and what to write instead.
_FORMER = {"denoise": "it is 'clip' now", "exponential": "it is 'diffusion' now"}


def _of_function(
    function: Callable[[Array], Array], values: Array, tol: float, t: float
) -> Array:
    return np.asarray(function(values), dtype=np.float64)
