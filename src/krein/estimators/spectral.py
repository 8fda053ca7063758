"""Spectrum fixes and LIBSVM in one estimator: classification, regression, novelty."""

from __future__ import annotations

from dataclasses import KW_ONLY, replace
from typing import Any, Self

import numpy as np
from sklearn.base import OutlierMixin
from sklearn.utils.validation import _num_samples

from krein.arrays import Array, product_and_error
from krein.declarations import (
    COEFFICIENTS,
    RESULTS,
    Fitted,
    declares_parameters,
    replaces_state,
    state,
)
from krein.estimators._base import KernelModel
from krein.estimators._svm_rows import TreatedSVC, solved_row
from krein.estimators._tasks import KernelRegressor
from krein.estimators._training import FittedRows, Training, Values
from krein.machines.svm_dual import SVMDual
from krein.similarity.treated import TreatedKernel
from krein.validation import check_weights


@declares_parameters
class SpectrumSVC(TreatedSVC):
    """SVM on a similarity whose spectrum is made positive, with mapped new rows.

    The training similarity is decomposed once, ``K0 = U diag(l) U'``; its eigenvalues
    are changed by `method`, LIBSVM is trained on the result, and the coefficients are
    moved back to the raw kernel, ``dual_coef_ = P (y * alpha)``. A new row of raw
    similarities is thereby treated by the same linear map as the training rows; without
    it (raw test rows on a clipped model) the error on the protein similarities of Chen
    et al. (2009) is 39 % instead of 4 %.

    Parameters
    ----------
    method : {"clip", "flip", "shift", "square", "diffusion", "none"} \
or Method
        What becomes of an eigenvalue l: ``clip`` max(l, 0); ``flip``
        abs(l); ``shift`` l - min(l), new rows stay raw; ``square`` l^2, a linear model
        on the similarities as features; ``diffusion`` ``exp(t l / max|l|)``, where new
        rows are mapped along the eigenvectors with ``|l| > max|l| / 100``;
        ``none`` l, LIBSVM on the raw matrix as everybody does it. A record of
        `krein.methods` is taken too; the certificate is a gap if no eigenvalue it
        gives is negative.
    C : float
        Upper bound of the dual variables.
    t : float
        Time of the diffusion.
    kernel : "precomputed", str, Kernel or callable
        See `krein.list_kernels`.
    kernel_params : dict, optional
        Parameters of a kernel given by name.
    symmetrize : bool
        Use (K + K') / 2 instead of refusing an asymmetric similarity.
    class_weight : dict or "balanced", optional
        Weights by class; they multiply the sample weights.
    probability : bool
        Offer `predict_proba`: a sigmoid on out-of-fold scores (five more fits).
    multi_class : {"ovr", "ovo"}
        With three or more classes: one row per class against the rest, or one per pair
        of classes (``decision_function`` has a column per pair, (0, 1), (0, 2), ...,
        positive for the second; the majority decides). Not with `probability` or
        `approximation`.
    solver_options : dict, optional
        None here: LIBSVM has no options that matter.
    tol : float
        Certified gap to reach, relative to the objective; where the kernel trained on
        is indefinite, the largest violation of the KKT conditions.
    max_iter : int
        Largest number of iterations, LIBSVM's and those that follow.
    approximation : KreinNystroem, optional
        Train on landmarks: time n m^2, memory n m, and prediction needs similarities
        to the m landmarks only. The kernel is that of the estimator.
    random_state : int, RandomState or None
        Seed of the folds of `probability`.
    verbose : int
        Report every row on standard error.

    Attributes
    ----------
    classes_ : ndarray
        Class labels.
    dual_coef_ : ndarray of shape (n_rows, n_train)
        Coefficients on the raw kernel.
    intercept_ : ndarray of shape (n_rows,)
        Intercepts.
    alpha_ : ndarray of shape (n_rows, n_train)
        Variables in the box.
    support_ : ndarray
        Training items with a coefficient that is not zero.
    duality_gap_ : ndarray of shape (n_rows,)
        Certified gap of the SVM (``residual_``, the maximal violating pair, where the
        kernel trained on has a negative eigenvalue, as for ``method="none"``: that
        problem is not convex).
    result_ : Result or list of Result
        Full account of the fit.
    approximation_error_ : float
        With `approximation`: estimated relative error of the similarity.

    Notes
    -----
    With K~ the treated kernel, w the sample weights and f = K~ v + b, each row solves::

        primal  min over v, b of  v'K~v / 2 + C sum_i w_i max(0, 1 - y_i f_i)
        dual    max over a of  sum_i a_i - v'K~v / 2,  0 <= a_i <= C w_i,  y'a = 0

    with the link v = y * a. `duality_gap_` is their difference at (v, b), rounding
    counted; prediction uses ``dual_coef_ = P v`` on the raw kernel.

    References
    ----------
    Chen, Garcia, Gupta, Rahimi, Cazzanti (2009), JMLR 10; Wu, Chang, Zhang (2005).

    Examples
    --------
    >>> import numpy as np
    >>> from krein import SpectrumSVC, load_dataset, sigmoid_kernel
    >>> sonar = load_dataset("sonar")
    >>> X = (sonar.data - sonar.data.mean(0)) / sonar.data.std(0)
    >>> K = sigmoid_kernel(X)
    >>> model = SpectrumSVC(method="flip", C=10.0).fit(K, sonar.target)
    >>> bool(model.score(K, sonar.target) > 0.9)
    True
    """

    method: Any = "clip"
    _: KW_ONLY
    t: float = 1.0

    def treated(self, training: Training) -> TreatedKernel:
        """Return what the method makes of the similarity."""
        return training.K.treated(self.method, self.t, training.weight)


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
    With K~ the treated kernel, w the sample weights and f = K~ v + b it solves::

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

    def fit_rows(self, training: Training, target: Values) -> FittedRows:
        """Fit the one row; see `KernelModel.fit_rows`."""
        trained = training.K.treated(self.method, self.t, training.weight)
        K, upper = trained.kernel(), training.upper(self.C)
        problem = SVMDual.regression(
            K, target.y, upper, epsilon=self.epsilon, psd=trained.psd
        )
        return FittedRows([solved_row(trained, problem, self)])


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
    With K~ the treated kernel and w the sample weights it solves::

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

    _fitted_state = state(
        *COEFFICIENTS,
        *RESULTS,
        Fitted("offset_", "number"),
    )

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
        weight = check_weights(_num_samples(items), sample_weight)
        training = self._prepared(items, getattr(X, "dtype", None), weight)
        self._store(self.fit_rows(training, None), training)
        return self

    def fit_rows(self, training: Training, target: None) -> FittedRows:
        """Fit the one row; see `KernelModel.fit_rows`."""
        trained = training.K.treated(self.method, self.t, training.weight)
        K, upper = trained.kernel(), training.upper(1.0)
        problem = SVMDual.one_class(K, upper, nu=self.nu, psd=trained.psd)
        row = solved_row(trained, problem, self)
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
        scores, error = product_and_error(training.K.dense(), coef)
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
