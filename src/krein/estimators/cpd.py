"""The SVM with a conditionally positive definite kernel."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import KW_ONLY
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np

from krein.arrays import Array
from krein.declarations import (
    CONSTRAINTS,
    NOT_NEGATIVE,
    Fitted,
    available_when,
    declares_parameters,
    replaces_state,
)
from krein.estimators._cpd_model import CPDModel, CPDTraining, cpd_row, solve_path
from krein.estimators._tasks import KernelClassifier
from krein.machines.cpd_space import Polynomials
from krein.machines.losses import LOSSES
from krein.machines.separation import separable
from krein.selection.calibration import calibrated
from krein.selection.folds import inner_folds
from krein.selection.search import along, check_grid, out_of_fold
from krein.sklearn_internals import StrOptions
from krein.threads import rows_of, threads_for
from krein.training import Classes, FittedRows, Training, as_labels, ravel_rows

# Models that only score a fold are solved to this relative gap.
_FOLD_TOL = 1e-6
# What a search tries.
_ALPHAS = tuple(float(alpha) for alpha in np.logspace(2, -6, 9))
_KINDS = ("free", "zero")


@declares_parameters
class CPDClassifier(CPDModel, KernelClassifier):
    """What `CPDSVC` and `CPDSVCCV` share: everything but where alpha comes from."""

    alpha: ClassVar[float]
    _: KW_ONLY
    loss: str = "squared_hinge"
    probability: bool = False

    _fitted_state = Fitted.state(Fitted("polynomial_", "text"))
    _parameter_constraints = CONSTRAINTS | {
        "alpha": [NOT_NEGATIVE],
        "polynomial": [StrOptions({"free", "zero", "auto", "separable"})],
        "loss": [StrOptions(LOSSES.keys())],  # a view: losses may be added
        "solver": [StrOptions({"newton", "published"})],
    }

    @property
    def _on_one_thread(self) -> bool:  # type: ignore[override]
        """Few violators are decomposed, in many short products, whatever the size."""
        return self.loss == "squared_hinge"

    def fit_rows(self, training: Training, target: Classes) -> FittedRows:
        """Fit all rows on one space; see `KernelModel.fit_rows`."""
        assert isinstance(training, CPDTraining)
        polynomial = self._choose_polynomial(training, target)
        (fitted,) = self._path_rows(training, target, [self.alpha], polynomial)
        return fitted

    def _path_rows(
        self,
        training: CPDTraining,
        target: Classes,
        alphas: Sequence[float],
        polynomial: str,
        tol: float | None = None,
    ) -> list[FittedRows]:
        """Rows for each alpha, in their order; pure, as `fit_rows` is."""
        loss = LOSSES[self.loss]
        kinds = _kinds_of_rows(polynomial, training, target)
        spaces = {kind: self._space(training, kind) for kind in dict.fromkeys(kinds)}
        paths = [
            solve_path(
                spaces[kind],
                loss(signs, training.weights),
                alphas,
                tol=self.tol if tol is None else tol,
                max_iter=self.max_iter,
                training=training,
                solver=getattr(self, "solver", "newton"),
                polynomial=kind,
                rough=tol is not None,
            )
            for kind, signs in zip(kinds, target.signs(), strict=True)
        ]
        facts = {"polynomial_": kinds[0] if len(spaces) == 1 else "mixed"}
        fitted = []
        for i in range(len(alphas)):
            rows = [
                cpd_row(spaces[kind], path[i])
                for kind, path in zip(kinds, paths, strict=True)
            ]
            fitted.append(FittedRows(rows, facts))
        return fitted

    def _finish(
        self, model: CPDSVC, fitted: FittedRows, training: CPDTraining, target: Classes
    ) -> None:
        """Store what `model` has fitted, and calibrate it."""
        self._store(fitted, training)
        if self.loss == "logistic":
            n_rows = len(fitted.rows)
            self.calibration_ = np.ones(n_rows), np.zeros(n_rows)
        elif self.probability:
            kind = fitted.facts["polynomial_"]
            if self.polynomial == "separable":  # each fold by the rule
                kind = "separable"
            values = model._out_of_fold(training, target, kind, "probability=True")
            self.calibration_, self.conformity_ = calibrated(
                values, target, training.weights
            )

    def grid(self, training: Training, target: Classes) -> list[dict]:
        """Values of alpha, with both rules for polynomials if that is to be chosen."""
        kinds = _KINDS if self.polynomial == "auto" else (self.polynomial,)
        return [{"alpha": a, "polynomial": p} for p in kinds for a in _ALPHAS]

    def fit_path(
        self, training: Training, target: Classes, grid: Sequence[dict]
    ) -> list[FittedRows]:
        """Fit along alpha, sharing what can be shared; see `KernelModel.fit_path`."""
        assert isinstance(training, CPDTraining)
        tol = max(self.tol, _FOLD_TOL)
        rows = partial(self._path_rows, training, target, tol=tol)
        return along(grid, "alpha", lambda others, alphas: rows(alphas, **others))

    def _out_of_fold(
        self, training: CPDTraining, target: Classes, polynomial: str, why: str
    ) -> Array:
        """Decision values by models that did not see the sample."""
        folds = inner_folds(target.codes, self.random_state, why)
        loose = {"polynomial": polynomial, "tol": max(self.tol, _FOLD_TOL)}
        return out_of_fold(self.candidate(loose), training.dense(), target, folds)

    def _choose_polynomial(self, training: CPDTraining, target: Classes) -> str:
        """Answer "auto" by out-of-fold accuracy; free in case of a tie."""
        if self.polynomial != "auto":
            return self.polynomial
        classes = np.arange(target.n)
        scores = {}
        for kind in _KINDS:
            values = self._out_of_fold(training, target, kind, "polynomial='auto'")
            hits = as_labels(values, classes) == target.codes
            scores[kind] = float(training.weights @ hits)
        return "zero" if scores["zero"] > scores["free"] else "free"

    def decision_function(self, X: Any, P: Any = None) -> Array:
        """Signed scores: kernel part plus polynomial.

        Parameters
        ----------
        X : array-like of shape (n_new, n_features) or (n_new, n_train), or objects
            New items, or their raw kernel rows.
        P : array-like of shape (n_new, n_polynomials), optional
            Polynomials at the new items, for a precomputed kernel fitted with them.

        Returns
        -------
        ndarray of shape (n_new,) for two classes, (n_new, n_classes) otherwise
        """
        return ravel_rows(self._decision_rows(X, P=P))

    def predict(self, X: Any, P: Any = None) -> np.ndarray:
        """Class labels of new items.

        Parameters
        ----------
        X, P
            As in `decision_function`.

        Returns
        -------
        ndarray of shape (n_new,)
        """
        return self._labels(self._decision_rows(X, P=P))

    def _has_probabilities(self) -> bool:
        if self.probability or self.loss == "logistic":
            return True
        raise AttributeError("predict_proba needs probability=True or loss='logistic'")

    @available_when(_has_probabilities)
    def predict_proba(self, X: Any, P: Any = None) -> Array:
        """Class probabilities: the logistic model's, or a sigmoid fitted out of fold.

        Parameters
        ----------
        X, P
            As in `decision_function`.

        Returns
        -------
        ndarray of shape (n_new, n_classes)
        """
        return self._probabilities(self._decision_rows(X, P=P))


def _kinds_of_rows(
    polynomial: str, training: CPDTraining, target: Classes
) -> list[str]:
    """Polynomials of every row: those asked for, or the paper's rule (Section 7).

    Where the polynomials reach every function of the items they stay: without them
    only f = 0 would be left.
    """
    rows = list(target.signs())
    if polynomial != "separable":
        return [polynomial] * len(rows)
    everything = Polynomials.fit(training.P, training.weights).Q.shape[1]
    if everything == training.size:
        return ["free"] * len(rows)
    return ["zero" if separable(training.P, signs) else "free" for signs in rows]


@declares_parameters
class CPDSVC(CPDClassifier):
    """SVM with a conditionally positive definite kernel, thin-plate by default.

    Minimises ``alpha a'Phi a + sum_i w_i max(0, 1 - y_i f(x_i))^2`` over
    ``f = Phi a + P b`` with ``P'a = 0``: one parameter, no length scale. Rotating or
    moving the data does not change the classifier, dilating them by s is the same as
    ``alpha -> alpha s^exponent`` (not for ``exponent=2`` with ``polynomial="zero"``:
    r^2 log(s r) has a term in r^2 that only free polynomials take up). With l* the
    conjugate of the loss the dual is ``max over c of -sum_i w_i l*(y_i, -2 alpha c_i /
    w_i) - alpha c'Phi c``, ``P'c = 0``, and the link a = c.

    The method has no length scale to tune, so it is at its best where a Gaussian kernel
    would need one length for all directions. It fails where the polynomials alone
    separate the classes (many features, few samples): nothing is regularised then, and
    with no more samples than polynomial terms a polynomial interpolates the labels. Use
    ``polynomial="zero"`` or ``"auto"`` there, or ``exponent=1``.

    Parameters
    ----------
    alpha : float
        Regularisation, the paper's lambda; it acts on scaled data if ``scale=True``.
        0 is the limit of small alpha, least a'Phi a among functions without loss: the
        hard margin ``y_i f(x_i) >= 1`` for the squared hinge, the interpolant of labels
        -1 / +1 for the squared loss, eq. (20) (Lemma 4.3 of the paper: both exist for
        items that differ); the logistic loss has no such limit.
    kernel : "thin_plate", str, Kernel, callable or "precomputed"
        A registered kernel, positive definite ones (order 0) included; a callable
        ``k(X, Y)``, whose attribute ``order`` declares its order (0 if it has none); or
        "precomputed", with polynomials given as ``fit(Phi, y, P=P)``, constants if not.
    exponent : float
        Of ``kernel="thin_plate"``: 1 is -r, 2 is r^2 log r, 3 is r^3.
    degree : int, optional
        Degree of the polynomials; order - 1 when not given, which is the least.
    polynomial : {"free", "zero", "auto", "separable"}
        Polynomials free, left out (the paper's beta = 0, which needs the whole kernel
        matrix and its Cholesky factor), or the better of the two by five-fold
        cross-validation. "separable" is the paper's rule: left out where they alone
        separate the classes, which a linear program decides, in one-vs-rest for each
        class apart.
    n_basis : int, optional
        Expand on this many training points only, random ones; all when not given.
    scale : bool
        Divide by one number, the root mean square distance from the mean: an exact
        symmetry for free polynomials and for odd exponents, up to the value of alpha.
    loss : {"squared_hinge", "logistic", "squared"}
        ``max(0, 1 - y f)^2``, ``log(1 + exp(-y f))`` or ``(y - f)^2``.
    solver : {"newton", "published"}
        ``published``: Algorithm 1 as printed, for the squared hinge only.
    kernel_params, symmetrize, class_weight, probability, random_state, verbose
        As in `SpectrumSVC`. With ``loss="logistic"`` probabilities are the model's own.
    tol : float
        Relative certified gap, rounding counted.
    max_iter : int
        Newton steps.

    Attributes
    ----------
    classes_ : ndarray
        Class labels.
    dual_coef_ : ndarray of shape (n_rows, n_train)
        Coefficients on the kernel, ``P' dual_coef_' = 0``.
    poly_coef_ : ndarray of shape (n_rows, n_polynomials)
        Coefficients on ``kernel_.polynomials(X)`` (on P if precomputed), constant
        first; ``intercept_`` is zero.
    kernel_ : PlacedKernel
        Centring, scale, kernel: ``decision_function(X) = kernel_(X, X_train) @
        dual_coef_.T + kernel_.polynomials(X) @ poly_coef_.T``.
    polynomial_ : str
        "free" or "zero", as used; "mixed" where the rows differ ("separable"): rows
        of `poly_coef_` without polynomials are zero.
    objective_, duality_gap_ : ndarray of shape (n_rows,)
        Objective and a certified bound of its distance from the optimum; with
        ``alpha=0`` the loss that is left, of which zero is the optimum.
    support_, n_iter_, result_
        As in `SpectrumSVC`.

    Notes
    -----
    The paper is wrong in places: equation (17) exchanges P and P'; (18) has a minus
    sign too many and squares the condition number; in Appendix B the block A equals H
    exactly once p_a = 0, so that bordering the factor is enough; Algorithm 1 stops
    after damped steps (line 32), above the optimum in a few percent of random problems,
    and line 17 is singular where the polynomials depend on the violators. Definition
    5.1 with m = 2 exists for three features or fewer; polyharmonic kernels are meant.

    References
    ----------
    Walder, Chapelle (2007), "Learning with Transformation Invariant Kernels", eq. (14).

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from krein import CPDSVC
    >>> X, y = make_moons(200, noise=0.2, random_state=0)
    >>> model = CPDSVC(alpha=0.1).fit(X, y)
    >>> bool(model.score(X, y) > 0.95), bool(model.duality_gap_[0] < 1e-8)
    (True, True)
    """

    alpha: float = 1.0  # type: ignore[misc]
    _: KW_ONLY
    solver: str = "newton"

    @replaces_state
    def fit(self, X: Any, y: Any, sample_weight: Any = None, P: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like of shape (n, n_features) or (n, n), or list of objects
            Items; the raw kernel matrix for ``kernel="precomputed"``.
        y : array-like of shape (n,)
            Class labels.
        sample_weight : array-like of shape (n,), optional
            Integer weights equal repetition; a sample of weight 0 is left out.
        P : array-like of shape (n, n_polynomials), optional
            Polynomials for a precomputed kernel; constants when not given.

        Returns
        -------
        self
        """
        training, target = self._start(X, y, sample_weight, P=P)
        self._finish(self, self.fit_rows(training, target), training, target)
        return self

    @classmethod
    def path(
        cls,
        X: Any,
        y: Any,
        alphas: Any,
        *,
        sample_weight: Any = None,
        P: Any = None,
        kernel: Any = "thin_plate",
        kernel_params: dict[str, Any] | None = None,
        symmetrize: bool = False,
        exponent: float = 3,
        degree: int | None = None,
        polynomial: str = "free",
        n_basis: int | None = None,
        scale: bool = True,
        loss: str = "squared_hinge",
        class_weight: Any = None,
        probability: bool = False,
        solver: str = "newton",
        tol: float = 1e-8,
        max_iter: Any = 100,
        random_state: Any = None,
        verbose: int = 0,
    ) -> list[CPDSVC]:
        """Fit for several values of alpha, sharing everything that can be shared.

        Parameters
        ----------
        X, y, sample_weight, P
            As in `fit`.
        alphas : sequence of float
            Values of alpha, in any order.
        kernel, kernel_params, symmetrize, exponent, degree, polynomial, n_basis, scale
            As in the estimator.
        loss, class_weight, probability, solver, tol, max_iter, random_state, verbose
            As in the estimator.

        Returns
        -------
        list of CPDSVC
            Fitted estimators in the order of `alphas`.
        """
        check_grid(alphas, "alphas")
        first = cls(
            alphas[0],
            kernel=kernel,
            kernel_params=kernel_params,
            symmetrize=symmetrize,
            exponent=exponent,
            degree=degree,
            polynomial=polynomial,
            n_basis=n_basis,
            scale=scale,
            loss=loss,
            class_weight=class_weight,
            probability=probability,
            solver=solver,
            tol=tol,
            max_iter=max_iter,
            random_state=random_state,
            verbose=verbose,
        )
        first._validate_params()
        with threads_for(0 if first._on_one_thread else rows_of(X)):
            training, target = first._start(X, y, sample_weight, P=P)
            polynomial = first._choose_polynomial(training, target)
            path = first._path_rows(training, target, alphas, polynomial)
        fitted = []
        for alpha, rows in zip(alphas, path, strict=True):
            model = copy(first).set_params(alpha=alpha)
            model._finish(model, rows, training, target)
            fitted.append(model)
        return fitted
