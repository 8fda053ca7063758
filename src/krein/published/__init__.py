"""The papers' own algorithms, to be called on a matrix and labels.

Here belong algorithms that a paper prints, faithful to it: source, equation numbers,
objective, signs and scaling are in the docstrings, deviations too. krein's own solvers
are in `krein.machines`, and are faster; the estimators reach both by ``solver=``.
Nothing here is needed to fit a model with the defaults.

Four words mean the same in every function that can have them: ``x0`` (where the run
starts; moved into the feasible set), ``tol`` (what the certificate has to reach),
``max_iter`` (largest number of steps), ``callback(iterate)`` (called with the start and
after every step; a true answer stops the run). Each function returns a `krein.Result`:
``x``, ``value``, ``certificate``, ``status``, ``history``. Labels are -1 and +1; the
estimators handle names, several classes, weights and new items.

Defaults are those of the papers where they state any, with these exceptions:

- ``stop="gap"`` asks for a certified gap. The papers' rule, a small change of the
  objective, is ``stop="change"``; it ends a run early.
- ``equations="corrected"`` in the procedures of Liu et al.: their (10) and (12) are no
  gradients of the objective. ``equations="printed"`` runs them as they stand.
- ``reset_eta=True`` in the same: every outer step starts from eta again. In Algorithm 1
  as printed, ``reset_eta=False``, eta only shrinks.
- ``tol`` of `tdca` and `dc_primal` is on stationarity; as published they watch steps.
"""

from __future__ import annotations

from krein.published.algorithm_1 import walder_algorithm_1
from krein.published.logistic import (
    cccp_gd,
    ccicp_gd,
    ccicp_sgd,
    convergence_condition,
    krein_gd,
)
from krein.published.proxy_svm import accpm, mkl, siqclp, smm, spgm
from krein.published.raw_kernel import dc_primal, tdca

__all__ = [
    "accpm",
    "cccp_gd",
    "ccicp_gd",
    "ccicp_sgd",
    "convergence_condition",
    "dc_primal",
    "krein_gd",
    "mkl",
    "siqclp",
    "smm",
    "spgm",
    "tdca",
    "walder_algorithm_1",
]


def __dir__() -> list[str]:
    return sorted({*(name for name in globals() if name.startswith("__")), *__all__})
