"""SVMs of the indefinite kernel itself: the Krein SVM and the DC SVM.

The first flips the spectrum and maps the coefficients back, the second keeps the kernel
as it is (difference-of-convex algorithms).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, replace
from numbers import Integral, Real
from typing import Any

import numpy as np

from krein.arrays import Array, product_and_error
from krein.declarations import CONSTRAINTS, COUNT, Fitted, declares_parameters
from krein.estimators._tasks import KernelClassifier
from krein.estimators.spectral import FixedKernelSVC, svm_candidates, svm_grid
from krein.machines.box import BalancedBox
from krein.machines.libsvm import solve_dual
from krein.machines.svm_dual import SVMDual
from krein.published.difference_of_convex import (
    IndefiniteDual,
    PrimalDC,
    dc_primal,
    tdca,
)
from krein.result import Certificate, Result
from krein.selection.search import CS
from krein.sklearn_internals import StrOptions
from krein.spectrum.fixed_kernel import FixedKernel, unit_of
from krein.spectrum.fixes import weighted_flip
from krein.training import Classes, FittedRows, Row, Training

_RATIOS = (1.0, 10.0)  # of the two penalties in a search


@declares_parameters
class KreinSVC(FixedKernelSVC):
    """The Krein SVM (KSVM): the stationary point of the SVM in a Krein space.

    Trains on ``U |D| U'`` and maps the coefficients back by ``U sign(D) U'``, which is
    flip with mapped rows, exactly. With `lam_pos` and `lam_neg` the two parts of the
    space are regularised apart: ``U diag(|l| / lam_sign) U'``.

    Parameters
    ----------
    C : float
        Upper bound of the dual variables.
    lam_pos, lam_neg : float
        Regularisation of the positive and the negative part.
    kernel, kernel_params, symmetrize, class_weight, probability, multi_class, \
approximation, solver_options, tol, max_iter, random_state, verbose
        As in `SpectrumSVC`.

    Attributes
    ----------
    alpha_ : ndarray of shape (n_rows, n_train)
        Variables in the box, those of the flipped problem.
    classes_, dual_coef_, intercept_, support_, duality_gap_, result_
        As in `SpectrumSVC`.

    Notes
    -----
    Objective, dual and link are those of `SpectrumSVC` with
    ``K~ = U diag(|l| / lam_sign) U'``; the model is the stationary point of
    ``<f, f>_K / 2 + C sum_i w_i max(0, 1 - y_i f_i)`` in the Krein space of K.

    References
    ----------
    Loosli, Canu, Ong (2016), TPAMI 38; Oglic, Gaertner (2019), ICML.

    Examples
    --------
    >>> import numpy as np
    >>> from krein import KreinSVC
    >>> K = np.array([[1.0, 0.9, -0.8], [0.9, 1.0, 0.7], [-0.8, 0.7, 1.0]])
    >>> KreinSVC(C=10.0).fit(K, ["a", "a", "b"]).predict(K)
    array(['a', 'a', 'b'], dtype='<U1')
    """

    C: float = 1.0
    _: KW_ONLY
    lam_pos: float = 1.0
    lam_neg: float = 1.0

    def fixed_kernel(self, training: Training) -> FixedKernel:
        """Return the flipped kernel, both parts over their penalties."""
        method = weighted_flip(self.lam_pos, self.lam_neg)
        return training.K.fixed_kernel(method, weight=training.weight)

    def grid(self, training: Training, target: Classes) -> list[dict]:
        """C and the penalty of the negative part; see `KernelModel.grid`."""
        equal = self.candidate({"lam_neg": self.lam_pos}).fixed_kernel(training)
        machines = svm_grid(equal, training.weight)
        return [{**c, "lam_neg": r * self.lam_pos} for r in _RATIOS for c in machines]


# On an indefinite kernel LIBSVM may crawl; blocks go on from where it is.
_LIBSVM_ITERATIONS = 200_000
_MAX_ITER = {"tdca": 500, "dc-primal": 300}
# Options by solver, and what they may be.
_OPTIONS: dict[str, dict[str, Callable[[Any], bool]]] = {
    "tdca": {
        "init": lambda v: v in ("libsvm", "zeros"),
        "block": lambda v: isinstance(v, Integral) and int(v) >= 2,
        "mu": lambda v: isinstance(v, Real) and 0.0 < float(v) < np.inf,
    },
    "dc-primal": {},
}


@declares_parameters
class DCSVC(KernelClassifier):
    """SVM on the raw indefinite kernel: a certified KKT point, not an optimum.

    ``"tdca"`` works on the dual, whose variables live in a box: KKT points exist, there
    are many, and the one found depends on the start (LIBSVM's answer by default, which
    is then improved until the certificate holds). A positive kernel gives the SVC.
    ``"dc-primal"`` works on the primal with a squared hinge, which can be unbounded
    below; then `unbounded_` is True, a warning is given, `result_` has the point with
    the smallest gradient, and asking for predictions is an error.

    The dual is ``max over a of sum_i a_i - v'Kv / 2``, ``0 <= a_i <= C w_i``,
    ``y'a = 0``, v = y * a, with the raw K; the primal of ``"dc-primal"`` is
    ``x'Mx / (2 C) + sum_i max(0, e_i - y_i (Mx + e b)_i)^2 / 2`` with
    ``M = W^1/2 K W^1/2``, e = sqrt(w) and coefficients ``W^1/2 x``.

    Parameters
    ----------
    C : float
        Upper bound of the dual variables; 1 / gamma for ``"dc-primal"``.
    solver : {"tdca", "dc-primal"}
        TDCASVM of Akoa (2008), or IKSVM-DC of Xu et al. (2017).
    kernel, kernel_params, symmetrize, class_weight, probability, random_state, verbose
        As in `SpectrumSVC`.
    solver_options : dict, optional
        tdca: ``init`` ("libsvm" or "zeros"), ``block`` (size of the working set),
        ``mu`` (added convexity). dc-primal has none.
    tol : float
        On `kkt_gap_`; for dc-primal relative to the gradient at the origin.
    max_iter : int, optional
        Blocks after LIBSVM (500) or DCA steps (300, as published).

    Attributes
    ----------
    kkt_gap_ : ndarray of shape (n_rows,)
        Maximal violating pair of the KKT conditions; dc-primal: norm of the gradient.
    unbounded_ : ndarray of bool of shape (n_rows,)
        The objective was found to be unbounded below; never for tdca.
    alpha_ : ndarray of shape (n_rows, n_train)
        Variables in the box (tdca only).
    classes_, dual_coef_, intercept_, support_, result_
        As in `SpectrumSVC`.

    References
    ----------
    Akoa (2008), IEEE TNN 19; Xu, Xue, Chen, Wang (2017), AAAI.

    Examples
    --------
    >>> import numpy as np
    >>> from krein import DCSVC
    >>> K = np.array([[1.0, 0.9, -0.8], [0.9, 1.0, 0.7], [-0.8, 0.7, 1.0]])
    >>> model = DCSVC(C=10.0).fit(K, ["a", "a", "b"])
    >>> model.predict(K), bool(model.kkt_gap_[0] <= 1e-4)
    (array(['a', 'a', 'b'], dtype='<U1'), True)
    """

    C: float = 1.0
    _: KW_ONLY
    solver: str = "tdca"
    probability: bool = False
    solver_options: dict | None = None
    max_iter: Any = None

    _fitted_state = Fitted.state(
        Fitted("kkt_gap_", "numbers", "r"), Fitted("unbounded_", "flags", "r")
    )

    _parameter_constraints = CONSTRAINTS | {
        "solver": [StrOptions(set(_MAX_ITER))],
        "max_iter": [COUNT, None],
    }

    def fit_rows(self, training: Training, target: Classes) -> FittedRows:
        """Fit all rows on the raw kernel; see `KernelModel.fit_rows`."""
        options = self._checked_options()
        fit = self._fit_dual if self.solver == "tdca" else self._fit_primal
        rows = [fit(dict(options), training, signs) for signs in target.signs()]
        results = [row.result for row in rows if row.result is not None]
        facts = {
            "kkt_gap_": np.array([r.certificate.value for r in results]),
            "unbounded_": np.array([r.status == "diverged" for r in results]),
        }
        return FittedRows(rows, facts)

    def grid(self, training: Training, target: Classes) -> list[dict]:
        """Values of C in units of the similarity; see `KernelModel.grid`."""
        unit = unit_of(training.K.fixed_kernel("none"), training.weight)
        return [{"C": C / unit} for C in CS[:4]]

    def fit_path(
        self, training: Training, target: Classes, grid: Sequence[dict]
    ) -> list[FittedRows]:
        """Rank by LIBSVM's stationary points, where the solver starts from these."""
        options = self._checked_options()
        if self.solver != "tdca" or options.get("init", "libsvm") != "libsvm":
            return super().fit_path(training, target, grid)
        raw = training.K.fixed_kernel("none", weight=training.weight)
        return svm_candidates(raw, training, target, [c["C"] for c in grid])

    def _checked_options(self) -> dict[str, Any]:
        options = dict(self.solver_options or {})
        known = _OPTIONS[self.solver]
        bad = {k: v for k, v in options.items() if k not in known or not known[k](v)}
        if bad:
            raise ValueError(
                f"solver_options={bad!r} is not right for solver={self.solver!r}: it "
                f"knows {', '.join(known)} (init: 'libsvm' or 'zeros'; block: an "
                "integer of 2 or more; mu: a positive number)"
            )
        return {
            **options,
            "tol": self.tol,
            "max_iter": self.max_iter or _MAX_ITER[self.solver],
        }

    def _fit_primal(self, options: dict[str, Any], training: Training, y: Array) -> Row:
        problem = PrimalDC(training.K.dense(), y, 1.0 / self.C, training.weight)
        result = dc_primal(problem, **options)
        return Row(problem.root * result.x[:-1], float(result.x[-1]), result)

    def _fit_dual(self, options: dict[str, Any], training: Training, y: Array) -> Row:
        domain = BalancedBox(training.upper(self.C), y)
        K = training.K.dense()
        problem = IndefiniteDual(K, domain)
        start = None
        before = 0
        if options.pop("init", "libsvm") == "libsvm":
            # A tenth of the tolerance: LIBSVM judges by a slightly stale gradient.
            machine = SVMDual.classification(K, domain, psd=False)
            found, _ = solve_dual(
                machine, tol=0.1 * self.tol, max_iter=_LIBSVM_ITERATIONS
            )
            start = domain.project(found.x)
            before = found.n_iter
        result = tdca(problem, start, **options)
        a = result.x
        coef = y * result.x
        outputs, error = product_and_error(K, coef)
        worst = domain.violation(a, 1.0 - y * outputs) + 2.0 * float(error.max())
        counted = Certificate("stationarity", worst, worst)
        n_iter = before + result.n_iter
        result = replace(result.certified(counted, self.tol), n_iter=n_iter)
        return Row(coef, domain.intercept(a, outputs), result, a)

    def _complaints(self, results: Sequence[Result]) -> list[str]:
        unbounded = sum(result.status == "diverged" for result in results)
        if not unbounded:
            return super()._complaints(results)
        return [
            f"DCSVC(solver={self.solver!r}): the objective is unbounded below for "
            f"{unbounded} of {len(results)} rows, so this is not a model. Use "
            "solver='tdca' or a smaller C"
        ]
