"""Probabilities from an indefinite similarity: kernel logistic regression."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, replace
from typing import Any, ClassVar

import numpy as np
from scipy.special import expit, softmax
from sklearn.utils import check_random_state

from krein.arrays import Array, extended_product, product_and_error
from krein.declarations import CONSTRAINTS, COUNT, declares_parameters
from krein.estimators._logistic_plan import (
    MAX_ITER,
    PAPER,
    PLAN_STATE,
    Plan,
    check_options,
    initial,
    least_alpha,
    penalty,
    split_rows,
)
from krein.estimators._tasks import KernelClassifier
from krein.machines.logistic import IndefiniteLogistic, uniqueness_threshold
from krein.machines.newton_logistic import krein_gd, newton_logistic
from krein.published.concave_convex import CCCP_DEFAULTS, cccp_logistic
from krein.result import Result
from krein.similarity.low_rank import Factored
from krein.sklearn_internals import StrOptions
from krein.spectrum.decomposition import norm_bound
from krein.spectrum.fixed_kernel import unit_of
from krein.training import Classes, FittedRows, Row, Training

# Of a search, for a similarity whose mean diagonal entry is one.
_ALPHAS = tuple(float(alpha) for alpha in np.logspace(1, -4, 6))
_NEVER = -700.0  # decision value of a class that was not trained on: exp is a number


@declares_parameters
class LogisticModel(KernelClassifier):
    """What the model and its search share: everything but where alpha comes from."""

    alpha: ClassVar[float]
    _: KW_ONLY
    fit_intercept: bool = True
    solver: str = "newton"
    multi_class: str = "multinomial"
    indefinite: str = "raise-alpha"
    solver_options: dict[str, Any] | None = None
    tol: float = 1e-8
    max_iter: Any = None

    _fitted_state = PLAN_STATE
    _parameter_constraints = CONSTRAINTS | {
        "solver": [StrOptions(set(MAX_ITER))],
        "multi_class": [StrOptions({"multinomial", "ovr"})],
        "indefinite": [StrOptions({"raise-alpha", "flip", "allow"})],
        "max_iter": [COUNT, None],
    }

    def grid(self, training: Training, target: Classes) -> list[dict]:
        """Penalties in units of the similarity; see `KernelModel.grid`.

        Those that `indefinite` would raise are one candidate.
        """
        unit = unit_of(training.K.fixed_kernel("none"), training.weight)
        alphas = unit * np.array(_ALPHAS)
        if self.indefinite == "raise-alpha":
            columns = target.n if self._joint(target.n) else 1
            smallest = training.K.lowest_eigenvalue(training.weight)
            alphas = np.maximum(
                alphas, least_alpha(smallest, training.total_weight, columns)
            )
        return [{"alpha": float(alpha)} for alpha in dict.fromkeys(alphas)]

    def fit_path(
        self, training: Training, target: Classes, grid: Sequence[dict]
    ) -> list[FittedRows]:
        """Fit from large penalties to small ones, each from the one before.

        See `KernelModel.fit_path`. A class that a fold's training part lacks has no
        rows there.
        """
        present = np.unique(target.codes)
        part = Classes(np.searchsorted(present, target.codes), present.size)
        # Two rows of a joint model differ by the one of two classes.
        share = 0.5 if self._joint(target.n) else 1.0
        found: dict[int, FittedRows] = {}
        options = dict(self.solver_options or {})
        for i in sorted(range(len(grid)), key=lambda i: -grid[i]["alpha"]):
            model = self.candidate({**grid[i], "solver_options": options})
            fitted = model.fit_rows(training, part)
            if training.landmarks is None:
                start = np.vstack([result.x for result in fitted.results])
                options = {**options, "init": start}
            found[i] = _with_all_classes(fitted, present, target, share)
        return [found[i] for i in range(len(grid))]

    def _joint(self, n_classes: int) -> bool:
        return self.multi_class == "multinomial" and n_classes > 2

    def _plan(self, training: Training, target: Classes) -> Plan:
        """Settle kernel and penalty; says what had to be changed."""
        K = training.K
        weight = training.weight
        columns = target.n if self._joint(target.n) else 1
        spectrum = None
        if self.solver in PAPER:
            spectrum = K.spectrum(weight)
            smallest = float(spectrum.eigenvalues[0])
        else:
            threshold = uniqueness_threshold(self.alpha, training.total_weight, columns)
            smallest = K.lowest_eigenvalue(weight, atol=0.005 * threshold)
        alpha, ratio = penalty(
            self.alpha, self.indefinite, smallest, training.total_weight, columns
        )
        if self.indefinite != "flip" or ratio < 1.0:
            return Plan(K, alpha, ratio, None, spectrum)
        flipped, flip = K.flipped(weight, spectrum)
        spectrum = None if spectrum is None else spectrum.map(np.abs)
        return Plan(flipped, alpha, ratio, flip, spectrum, flipped=True)

    def fit_rows(self, training: Training, target: Classes) -> FittedRows:
        """Solve all rows, jointly or one by one; see `KernelModel.fit_rows`."""
        check_options(self.solver, self.solver_options)
        if np.unique(target.codes).size < target.n:
            raise ValueError(
                "y must contain samples of positive weight of every class: a class has "
                "only samples of zero weight"
            )
        if training.landmarks is not None and self.solver in PAPER:
            raise ValueError(
                f"solver={self.solver!r} needs all eigenvectors and goes not with "
                "approximation=; use solver='newton' or 'krein-gd'"
            )
        plan = self._plan(training, target)
        operand = plan.K.operand()
        to_raw = plan.fixed_kernel.to_raw if plan.fixed_kernel else None
        if isinstance(operand, Factored):
            to_raw = operand.to_landmarks
        init = (self.solver_options or {}).get("init", "zeros")
        start = initial(init, training, target.n_rows, self.random_state)
        rows: list[Row] = []
        for targets in self._targets(target):
            part = start[:, len(rows) : len(rows) + targets.shape[1]]
            result = self._solve(plan, operand, training, targets, part)
            rows += split_rows(result, to_raw)
        facts = {
            "alpha_used_": plan.alpha,
            "unique_": plan.unique,
            "flipped_": plan.flipped,
            "ratio_": np.full(target.n_rows, plan.ratio),
        }
        if training.landmarks is not None:  # as for other models on landmarks
            rows = [
                replace(row, result=replace(row.result, x=row.coef))
                for row in rows
                if row.result is not None
            ]
        return FittedRows(rows, facts)

    def _targets(self, target: Classes) -> list[Array]:
        """One joint problem, or one with one column per row."""
        if self._joint(target.n):
            return [np.eye(target.n)[target.codes]]
        return [(row[:, None] > 0).astype(float) for row in target.signs()]

    def _solve(
        self, plan: Plan, operand: Any, training: Training, targets: Array, start: Array
    ) -> Result:
        problem = IndefiniteLogistic(
            operand, targets, plan.alpha, training.weight, self.fit_intercept
        )
        result = self._run(problem, plan, start)
        if result.status == "diverged":
            return result
        b = result.info["intercept"]
        H, error = product_and_error(problem.K, result.x)
        # What a flipped kernel is off by, since its eigenpairs are rounded.
        noise = None if plan.fixed_kernel is None else plan.fixed_kernel.noise()
        if noise is not None:
            off = noise[:, None] * np.linalg.norm(noise[:, None] * result.x, axis=0)
            error = error + off
        found = problem.certificate(result.x, b, H, error)
        if found.relative > self.tol and isinstance(problem.K, np.ndarray):
            H, error = extended_product(problem.K, result.x)
            error = error if noise is None else error + off
            found = problem.certificate(result.x, b, H, error)
        return result.certified(found, self.tol)

    def _run(self, problem: IndefiniteLogistic, plan: Plan, start: Array) -> Result:
        options = {k: v for k, v in (self.solver_options or {}).items() if k != "init"}
        limit = self.max_iter or MAX_ITER[self.solver]
        common: dict[str, Any] = {"tol": self.tol, "max_iter": limit}
        if self.solver == "newton":
            return newton_logistic(problem, start, **common)
        if self.solver == "krein-gd":
            largest = norm_bound(problem.K, problem.weight)
            return krein_gd(problem, start, largest=largest, **common)
        settings = replace(CCCP_DEFAULTS[self.solver], **options)
        random = check_random_state(self.random_state)
        spectrum = plan.spectrum or plan.K.spectrum(problem.weight)
        return cccp_logistic(
            problem, spectrum, settings, start, random_state=random, **common
        )

    def _complaints(self, results: Sequence[Result]) -> list[str]:
        steps = [result.n_iter for result in results if result.status == "diverged"]
        if not steps:
            return super()._complaints(results)
        reason = "the step eta is too long for this kernel"
        if self.ratio_[0] > 1e-10 and not self.flipped_:
            reason = "the kernel has negative eigenvalues: its objective is unbounded"
        return [
            f"{type(self).__name__}(solver={self.solver!r}) diverged after "
            f"{min(steps)} steps: {reason}. It is not a model; use solver='newton'"
        ]

    def predict_proba(self, X: Any) -> Array:
        """Class probabilities: the model's own, no calibration on top.

        Parameters
        ----------
        X : array-like of shape (n_new, n_train) or items as in fit

        Returns
        -------
        ndarray of shape (n_new, n_classes)
        """
        return self._probabilities(self._decision_rows(X))

    def _probabilities(self, values: Array) -> Array:
        if values.shape[1] == 1:
            return np.hstack([expit(-values), expit(values)])
        if self._joint(values.shape[1]):
            return softmax(values, axis=1)
        # In logarithms, so that rows of tiny sigmoids can be normalised.
        return softmax(-np.logaddexp(0.0, -values), axis=1)

    def predict_log_proba(self, X: Any) -> Array:
        """Logarithms of `predict_proba`.

        Parameters
        ----------
        X : array-like of shape (n_new, n_train) or items as in fit

        Returns
        -------
        ndarray of shape (n_new, n_classes)
        """
        return np.log(np.maximum(self.predict_proba(X), np.finfo(float).tiny))


@declares_parameters
class KreinLogisticRegression(LogisticModel):
    """Kernel logistic regression with a kernel that need not be positive.

    Solves the stationarity equation of ``(1/n) sum log(1 + exp(-y f)) + alpha/2 a'Ka``
    in the Krein space of the kernel. The objective has no minimum when the kernel
    has a negative eigenvalue; the stationary point exists always and is unique if
    ``|mu_min| < 4 n alpha`` (two classes; ``2 n alpha`` for the multinomial model). The
    quotient of both sides is `ratio_`. Above 1 solutions are several and useless for
    learning, so `indefinite` states what to do then.

    With weights w of sum n, f = Ka + b, p = 1 / (1 + exp(-f)), labels t of 0 and 1 and
    the entropy h(p) the dual is ``(1/n) sum_i w_i h(p_i) - alpha/2 a'Ka``, ``sum_i a_i
    = 0``; the link ``alpha n a_i = w_i (t_i - p_i)`` is the stationarity equation, and
    `residual_` what is left of it.

    Parameters
    ----------
    alpha : float
        Penalty, the lambda of the paper. Choose it by log-loss, see
        `KreinLogisticRegressionCV`.
    fit_intercept : bool
        Unpenalised intercept; the model of the paper is False.
    solver : {"newton", "krein-gd", "cccp-gd", "ccicp-gd", "ccicp-sgd"}
        ``newton`` solves the equation to rounding; ``krein-gd`` is the first-order
        method that converges to the same point; the others are the algorithms of the
        paper with corrected formulas. They descend on an objective without minimum
        and are reported with the residual they have, which is not small.
    multi_class : {"multinomial", "ovr"}
        For three or more classes: one joint model or one against the rest.
    indefinite : {"raise-alpha", "flip", "allow"}
        When ``ratio >= 1`` at the given alpha: raise alpha to 1.05 times the
        smallest value that makes the solution unique; solve with the flipped kernel;
        or go on. Each of them warns.
    kernel : "precomputed", str, Kernel or callable
        As in `SpectrumSVC`.
    kernel_params, symmetrize, class_weight, random_state, verbose
        As in `SpectrumSVC`.
    approximation : KreinNystroem, optional
        Train on landmarks, as in `SpectrumSVC`, with the solvers newton and krein-gd.
        `residual_` is that of the problem on the approximated similarity.
    solver_options : dict, optional
        ``init``: starting coefficients, "zeros", "ones", "minus-ones", "uniform" (those
        of the paper's Table VI) or an array (n_rows, n_train). The paper's solvers:
        ``epsilon`` (1 with ccicp-sgd is the paper's SGD-I), ``eta, decay, reset_eta,
        step, tau, max_inner, batch``, and ``equations`` ("corrected" or, as a study of
        the paper, "printed"), see `krein.published.concave_convex.CCCPSettings`.
    tol : float
        On the stationarity residual, rounding counted. Newton's method ends before
        where the residual is the rounding of its own products.
    max_iter : int, optional
        Steps; by default 100 (newton), 100 000 (krein-gd), 20 (the paper's k_max).

    Attributes
    ----------
    classes_ : ndarray
        Class labels.
    dual_coef_ : ndarray of shape (n_rows, n_train)
        Coefficients on the raw kernel, at most w_i / (N alpha) in magnitude.
    intercept_ : ndarray of shape (n_rows,)
        Intercepts.
    residual_ : ndarray of shape (n_rows,)
        Largest violation of the stationarity equation, with an intercept also
        ``|sum of coefficients|``.
    ratio_ : ndarray of shape (n_rows,)
        ``|mu_min|`` over the uniqueness threshold, at `alpha_used_`.
    unique_ : bool
        The problem solved has one solution.
    alpha_used_ : float
        The penalty used.
    flipped_ : bool
        The flipped kernel was used.
    result_, n_iter_, objective_, support_
        As in `SpectrumSVC`; ``objective_`` is the value of the (unbounded) objective.

    References
    ----------
    Liu, Huang, Peng, Yang, Suykens, "Indefinite Kernel Logistic Regression with
    Concave-inexact-convex Procedure", eq. (5), IEEE TNNLS.

    Examples
    --------
    >>> import numpy as np
    >>> from krein import KreinLogisticRegression
    >>> K = np.array([[1.0, 0.9, -0.8], [0.9, 1.0, 0.7], [-0.8, 0.7, 1.0]])
    >>> model = KreinLogisticRegression(alpha=0.1).fit(K, ["a", "a", "b"])
    >>> model.predict(K), bool(model.residual_[0] < 1e-9)
    (array(['a', 'a', 'b'], dtype='<U1'), True)
    """

    alpha: float = 0.01  # type: ignore[misc]
    _: KW_ONLY
    approximation: Any = None


def _with_all_classes(
    fitted: FittedRows, present: np.ndarray, target: Classes, share: float
) -> FittedRows:
    """Rows of very small values for classes that the samples lack."""
    if present.size == target.n:
        return fitted
    none = Row(np.zeros_like(fitted.rows[0].coef), _NEVER)
    rows = [none] * target.n
    if present.size == 2:
        (row,) = fitted.rows
        for k, sign in zip(present, (-share, share), strict=True):
            rows[k] = replace(row, coef=sign * row.coef, intercept=sign * row.intercept)
    else:
        for k, row in zip(present, fitted.rows, strict=True):
            rows[k] = row
    return FittedRows(rows, fitted.facts)
