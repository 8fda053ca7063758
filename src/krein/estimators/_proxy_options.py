"""What can be chosen for the proxy-kernel SVM: solvers, options, candidates."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from krein.arrays import Array
from krein.machines.box import BalancedBox
from krein.machines.proxy import ProxySVM
from krein.machines.second_order import balanced_ray, second_order
from krein.published.cutting_planes import accpm
from krein.published.gradient_methods import smm, spgm
from krein.published.semi_infinite import siqclp
from krein.result import Result
from krein.spectrum.decomposition import Spectrum
from krein.training import Classes

# Name of the paper's method -> solver(problem, x0, *, tol, max_iter, ...).
SOLVERS: dict[str, Callable[..., Result]] = {
    "accpm": accpm,
    "auto": second_order,
    "siqclp": siqclp,
    "smm": smm,
    "spgm": spgm,
}

# Options that the estimator reads itself; the others go to the solver.
_OWN_OPTIONS = {"init": None, "oracle": "quadrature"}
_PASSED = {"problem", "x0", "tol", "max_iter", "callback"}


def split_options(
    solver: str, options: dict[str, Any] | None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Options of the estimator and those of the solver; others are errors."""
    given = dict(options or {})
    own = {name: given.pop(name, default) for name, default in _OWN_OPTIONS.items()}
    known = set(inspect.signature(SOLVERS[solver]).parameters) - _PASSED
    known |= set() if solver == "auto" else {"stop"}
    unknown = sorted(set(given) - known)
    if unknown:
        allowed = ", ".join(sorted(known | set(_OWN_OPTIONS)))
        raise ValueError(
            f"solver_options has {unknown[0]!r}, which solver={solver!r} does not "
            f"know; it knows: {allowed}"
        )
    if own["oracle"] not in ("quadrature", "eigh"):
        raise ValueError(
            "solver_options['oracle'] must be 'quadrature' or 'eigh', got "
            f"{own['oracle']!r}"
        )
    return own, given


def default_grid(
    spectrum: Spectrum, target: Classes, weight: Array | None = None
) -> tuple[Array, Array]:
    """Grids of C and rho in the units of the similarity.

    C: 0.1 to 100 over the mean positive eigenvalue, so that C K0 is of order one.
    rho: what the proxy adds to K0 is vv' / (4 rho), of norm ||v||^2 / (4 rho). With the
    v of a first, crude SVM (one ray, at the middle C), the smallest rho makes this norm
    as large as the largest eigenvalue of K0, where the labels reshape the kernel
    altogether; each further value is a hundred times larger, the last one close to
    clip.

    Parameters
    ----------
    spectrum : Spectrum
        Of the training similarity.
    target : Classes
        Classes of the samples.
    weight : ndarray of shape (n,), optional
        Sample weights.

    Returns
    -------
    Cs : ndarray of shape (4,)
    rhos : ndarray of shape (3,)
    """
    d = spectrum.eigenvalues
    mean = float(np.maximum(d, 0.0).sum()) / spectrum.n or 1.0
    Cs = np.logspace(-1, 2, 4) / mean
    largest = float(np.abs(d).max()) or 1.0
    upper = Cs[2] * (np.ones(spectrum.n) if weight is None else weight)
    signs = next(target.signs())
    # rho so large that the ray is that of the clipped kernel.
    rho = 1e6 * float(upper @ upper) / largest
    problem = ProxySVM(spectrum, BalancedBox(upper, signs), rho)
    v = problem.scale * balanced_ray(problem)
    start = float(v @ v) / (4.0 * largest)
    return Cs, start * np.logspace(0, 4, 3)
