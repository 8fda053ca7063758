"""SVMs that keep the indefinite kernel as it is: difference-of-convex algorithms."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions

from krein.arrays import Array
from krein.domain import BalancedBox
from krein.estimators._classifier import KernelClassifier
from krein.estimators._training import Row, Training
from krein.problems.dc import IndefiniteDual, PrimalDC
from krein.result import Result
from krein.solvers.dca import dc_primal, tdca
from krein.solvers.libsvm import svm_dual

__all__ = ["DCSVC"]

# On an indefinite kernel LIBSVM may crawl; blocks go on from where it is.
_LIBSVM_ITERATIONS = 200_000
_MAX_ITER = {"tdca": 500, "dc-primal": 300}
_OPTIONS = {"tdca": ("init", "block", "mu"), "dc-primal": ("published_stop",)}


class DCSVC(KernelClassifier):
    """SVM on the raw indefinite kernel: a certified KKT point, not an optimum.

    ``"tdca"`` works on the dual, whose variables live in a box: KKT points exist, there
    are many, and the one found depends on the start (LIBSVM's answer by default, which
    is then improved until the certificate holds). A positive kernel gives the SVC.
    ``"dc-primal"`` works on the primal with a squared hinge, which can be unbounded
    below; then `unbounded_` is True, a warning is given and the coefficients are those
    of the point with the smallest gradient.

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
        ``mu`` (added convexity). dc-primal: ``published_stop``.
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

    _parameter_constraints: dict = {  # noqa: RUF012
        **KernelClassifier._parameter_constraints,
        "C": [Interval(Real, 0, None, closed="neither")],
        "solver": [StrOptions(set(_MAX_ITER))],
        "solver_options": [dict, None],
        "max_iter": [Interval(Integral, 1, None, closed="left"), None],
    }

    def __init__(
        self,
        C=1.0,
        *,
        solver="tdca",
        kernel="precomputed",
        kernel_params=None,
        symmetrize=False,
        class_weight=None,
        probability=False,
        solver_options=None,
        tol=1e-6,
        max_iter=None,
        random_state=None,
        verbose=0,
    ):
        self.C = C
        self.solver = solver
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.symmetrize = symmetrize
        self.class_weight = class_weight
        self.probability = probability
        self.solver_options = solver_options
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose

    def _share(self, training: Training) -> dict[str, Any]:
        options = dict(self.solver_options or {})
        for name in options:
            if name not in _OPTIONS[self.solver]:
                raise ValueError(
                    f"solver_options has {name!r}, which solver={self.solver!r} does "
                    f"not know; it knows {', '.join(_OPTIONS[self.solver])}"
                )
        if options.get("init", "libsvm") not in ("libsvm", "zeros"):
            raise ValueError(
                "solver_options['init'] must be 'libsvm' or 'zeros', got "
                f"{options['init']!r}"
            )
        return {
            **options,
            "tol": self.tol,
            "max_iter": self.max_iter or _MAX_ITER[self.solver],
        }

    def _fit_row(self, shared: dict[str, Any], training: Training, signs: Array) -> Row:
        if self.solver == "tdca":
            return self._fit_dual(dict(shared), training, signs)
        problem = PrimalDC(training.K, signs, 1.0 / self.C, training.weight)
        result = dc_primal(problem, **shared)
        return Row(problem.root * result.x[:-1], float(result.x[-1]), result)

    def _fit_dual(self, options: dict[str, Any], training: Training, y: Array) -> Row:
        domain = BalancedBox(training.upper(self.C), y)
        problem = IndefiniteDual(training.K, domain)
        start, before = None, 0
        if options.pop("init", "libsvm") == "libsvm":
            # A tenth of the tolerance: LIBSVM judges by a slightly stale gradient.
            found, _ = svm_dual(
                training.K,
                domain,
                tol=0.1 * self.tol,
                max_iter=_LIBSVM_ITERATIONS,
                psd=False,
            )
            start, before = domain.project(found.x), found.n_iter
        result = tdca(problem, start, **options)
        result = replace(result, n_iter=before + result.n_iter)
        coef = y * result.x
        outputs = y * (1.0 - problem.gradient(result.x))
        return Row(coef, domain.intercept(result.x, outputs), result, result.x)

    def _store_rows(self, rows: Sequence[Row], training: Training) -> None:
        super()._store_rows(rows, training)
        results = [row.result for row in rows if row.result is not None]
        self.kkt_gap_ = self.residual_
        self.unbounded_ = np.array([r.status == "diverged" for r in results])

    def _warn_unconverged(self, results: Sequence[Result]) -> None:
        unbounded = [result for result in results if result.status == "diverged"]
        if unbounded:
            warnings.warn(
                f"DCSVC(solver={self.solver!r}): the objective is unbounded below for "
                f"{len(unbounded)} of {len(results)} rows; the coefficients kept are "
                "those of the smallest gradient. Use solver='tdca' or a smaller C",
                ConvergenceWarning,
                stacklevel=4,
            )
            results = [result for result in results if result.status != "diverged"]
        bad = [result for result in results if result.status == "max_iter"]
        if bad:
            worst = max(bad, key=lambda result: result.certificate.relative)
            warnings.warn(
                f"DCSVC(solver={self.solver!r}) did not reach tol={self.tol:g}: "
                f"certificate {worst.certificate.relative:.2g} after {worst.n_iter} "
                "steps. Raise max_iter or tol",
                ConvergenceWarning,
                stacklevel=4,
            )
