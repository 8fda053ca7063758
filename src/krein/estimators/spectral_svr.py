"""Support vector regression and the one-class SVM on a fixed similarity."""

from __future__ import annotations

from dataclasses import KW_ONLY, replace
from typing import Any, Self, cast

import numpy as np
from sklearn.base import OutlierMixin

from krein.arrays import Array, power_of_two
from krein.declarations import (
    COEFFICIENTS,
    RESULTS,
    Fitted,
    declares_parameters,
    replaces_state,
)
from krein.estimators._base import KernelModel
from krein.estimators._tasks import KernelRegressor
from krein.estimators.spectral import in_place, with_slack
from krein.machines.box import BalancedBox
from krein.machines.libsvm import solve_dual
from krein.machines.svm_dual import SVMDual
from krein.machines.tall_svm import linear_svm
from krein.similarity.tiles import TiledMatrix
from krein.sklearn_internals import num_samples
from krein.spectrum.fixed_kernel import FixedKernel
from krein.training import FittedRows, Row, Training, Values
from krein.validation import check_weights


def tall_row(
    trained: FixedKernel, problem: SVMDual, model: Any, scale: float = 1.0
) -> Row:
    """Solve the machine on features of landmarks; `problem` has no kernel.

    Margins and variables are divided by `scale`, a power of two near the margins.
    ``result.x`` holds the coefficients on the landmarks.
    """
    domain = problem.domain
    upper = domain.upper / scale
    balance = domain.balance / scale
    result, b = linear_svm(
        cast(TiledMatrix, trained.features),
        BalancedBox(upper, domain.y, balance),
        margin=problem.margin / scale,
        tol=model.tol,
        max_iter=model.max_iter,
    )
    signed = scale * domain.y * result.x
    coef = trained.to_raw(signed.reshape(-1, problem.K.shape[0]).sum(axis=0))
    found = result.certificate
    result = replace(
        result,
        x=coef,
        value=scale**2 * result.value,
        certificate=replace(found, value=scale**2 * found.value),
    )
    return Row(coef, scale * b + problem.offset, result)


def is_tall(trained: FixedKernel) -> bool:
    """Whether the kernel is known by features only, too many to form it."""
    return trained.features is not None and trained.ready is None


def solved_row(
    trained: FixedKernel, problem: SVMDual, model: Any, start: Array | None = None
) -> Row:
    """Solve the one machine of a regression or a one-class model."""
    options = {"tol": model.tol, "max_iter": model.max_iter, "start": start}
    problem = replace(problem, precise=trained.precise())
    result, intercept = solve_dual(problem, **options)
    result = with_slack(result, trained.slack, model.tol)
    return Row(trained.to_raw(result.x), intercept, result)


def on_landmarks(row: Row, training: Training) -> Row:
    """Keep the few coefficients on landmarks as the solution, where there are any."""
    if training.landmarks is None or row.result is None:
        return row
    return replace(row, result=replace(row.result, x=row.coef))


@declares_parameters
class SpectrumSVR(KernelRegressor):
    """Support vector regression on a similarity whose spectrum is made positive.

    Parameters
    ----------
    method : str
        As in `SpectrumSVC`.
    C, epsilon : float
        As in `sklearn.svm.SVR`.
    t : float
        Time of the diffusion.
    approximation : KreinNystroem, optional
        Train on landmarks, as in `SpectrumSVC`.
    kernel, kernel_params, symmetrize, tol, max_iter, random_state, verbose
        As in `SpectrumSVC`.

    Attributes
    ----------
    dual_coef_, intercept_, support_
        As in `SpectrumSVC`.

    References
    ----------
    Smola, Schoelkopf (2004), Statistics and Computing 14.

    Notes
    -----
    With K~ the fixed kernel, w the sample weights and f = K~ v + b it solves::

        primal  min over v, b of  v'K~v / 2 + C sum_i w_i max(0, |y_i - f_i| - epsilon)
        dual    max over v of  y'v - epsilon sum_i |v_i| - v'K~v / 2,
                |v_i| <= C w_i,  sum_i v_i = 0

    with the same v in both; `duality_gap_` is their difference, rounding counted.

    Examples
    --------
    >>> import numpy as np
    >>> from krein import SpectrumSVR, tl1_kernel
    >>> X = np.linspace(0, 1, 20)[:, None]
    >>> K = tl1_kernel(X)
    >>> model = SpectrumSVR(C=100.0, epsilon=0.01).fit(K, np.sin(3 * X[:, 0]))
    >>> bool(model.score(K, np.sin(3 * X[:, 0])) > 0.99)
    True
    """

    method: Any = "clip"
    _: KW_ONLY
    C: float = 1.0
    epsilon: float = 0.1
    t: float = 1.0
    approximation: Any = None

    def fit_rows(self, training: Training, target: Values) -> FittedRows:
        """Fit the one row; see `KernelModel.fit_rows`."""
        trained = training.K.fixed_kernel(self.method, self.t, training.weight)
        upper = training.upper(self.C)
        tall = is_tall(trained)
        K, width = (np.empty((training.size, 0)), 1.0) if tall else in_place(trained)
        problem = SVMDual.regression(
            K, target.y, upper, epsilon=self.epsilon, psd=trained.psd,
            noise=trained.noise(),
        )  # fmt: skip
        problem = replace(problem, divided=width)
        if tall:
            height = power_of_two(float(np.abs(problem.margin).max(initial=0.0)))
            return FittedRows([tall_row(trained, problem, self, height)])
        row = solved_row(trained, problem, self)
        return FittedRows([on_landmarks(row, training)])


@declares_parameters
class SpectrumOneClassSVM(OutlierMixin, KernelModel):
    """One-class SVM on a similarity whose spectrum is made positive.

    Parameters
    ----------
    method : str
        As in `SpectrumSVC`.
    nu : float
        Bound on the share of outliers among the training items (by weight), in (0, 1].
    t : float
        Time of the diffusion.
    approximation : KreinNystroem, optional
        Train on landmarks, as in `SpectrumSVC`.
    kernel, kernel_params, symmetrize, tol, max_iter, random_state, verbose
        As in `SpectrumSVC`.

    Attributes
    ----------
    dual_coef_, intercept_, support_
        As in `SpectrumSVC`.
    offset_ : float
        ``decision_function = score_samples - offset_``.

    Notes
    -----
    With K~ the fixed kernel and w the sample weights it solves::

        primal  min over v, r of  v'K~v / 2 + sum_i w_i max(0, r - (K~v)_i)
                - nu r sum_i w_i
        dual    max over v of  -v'K~v / 2,  0 <= v_i <= w_i,  sum_i v_i = nu sum_i w_i

    with the same v in both and r = `offset_`; `duality_gap_` is their difference.

    References
    ----------
    Schoelkopf, Platt, Shawe-Taylor, Smola, Williamson (2001), Neural Computation 13.

    Examples
    --------
    >>> import numpy as np
    >>> from krein import SpectrumOneClassSVM, tl1_kernel
    >>> X = np.array([[0.1], [0.12], [0.11], [0.13], [0.9]])
    >>> K = tl1_kernel(X)
    >>> SpectrumOneClassSVM(nu=0.5).fit(K).predict(K)
    array([ 1,  1,  1,  1, -1])
    """

    method: Any = "clip"
    _: KW_ONLY
    nu: float = 0.5
    t: float = 1.0
    approximation: Any = None

    _fitted_state = Fitted.state(*COEFFICIENTS, *RESULTS, Fitted("offset_", "number"))

    @replaces_state
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like of shape (n, n) or items
            Raw similarities for ``kernel="precomputed"``, items otherwise.
        y : ignored
            For the common interface.
        sample_weight : array-like of shape (n,), optional
            Integer weights equal repetition.

        Returns
        -------
        self
        """
        items = self._check_items(X, reset=True)
        weight = check_weights(num_samples(items), sample_weight)
        training = self._prepared(items, getattr(X, "dtype", None), weight)
        self._store(self.fit_rows(training, None), training)
        return self

    def fit_rows(self, training: Training, target: None) -> FittedRows:
        """Fit the one row; see `KernelModel.fit_rows`."""
        trained = training.K.fixed_kernel(self.method, self.t, training.weight)
        upper = training.upper(1.0)
        tall = is_tall(trained)
        K, width = (np.empty((training.size, 0)), 1.0) if tall else in_place(trained)
        problem = SVMDual.one_class(
            K, upper, nu=self.nu, psd=trained.psd, noise=trained.noise()
        )
        problem = replace(problem, divided=width)
        row = (tall_row if tall else solved_row)(trained, problem, self)
        row = on_landmarks(row, training)
        # Free support vectors lie on the boundary exactly; it counts as inside.
        offset = -row.intercept - 1e-9 * abs(row.intercept)
        offset = min(offset, self._highest_offset(training, row.coef))
        return FittedRows([replace(row, intercept=-offset)], {"offset_": offset})

    def _highest_offset(self, training: Training, coef: Array) -> float:
        """Offset with at most nu of the training items, by weight, below it.

        The optimality conditions promise that of the kernel trained on. Decisions are
        rounded, all of them where the origin is inside, and rows that the method
        leaves raw or blind have others.
        """
        scores, error = training.K.outputs(coef)
        weight = training.upper(1.0)
        order = np.argsort(scores, kind="stable")
        reached = np.cumsum(weight[order])
        over = np.flatnonzero(reached > self.nu * reached[-1])
        if over.size == 0:
            return np.inf
        return float((scores - 4.0 * error)[order[over[0]]])

    def decision_function(self, X: Any) -> Array:
        """Signed distance to the boundary; negative for outliers.

        Parameters
        ----------
        X : array-like of shape (n_new, n_train) or items

        Returns
        -------
        ndarray of shape (n_new,)
        """
        return self._decision_rows(X)[:, 0]

    def score_samples(self, X: Any) -> Array:
        """Scores before the offset; larger is more normal.

        Parameters
        ----------
        X : array-like of shape (n_new, n_train) or items

        Returns
        -------
        ndarray of shape (n_new,)
        """
        return self.decision_function(X) + self.offset_

    def predict(self, X: Any) -> np.ndarray:
        """+1 for inliers, -1 for outliers.

        Parameters
        ----------
        X : array-like of shape (n_new, n_train) or items

        Returns
        -------
        ndarray of shape (n_new,)
        """
        return np.where(self.decision_function(X) >= 0, 1, -1)
