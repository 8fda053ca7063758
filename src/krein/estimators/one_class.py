"""Novelty on a similarity made positive."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import OutlierMixin
from sklearn.utils.validation import _num_samples

from krein.arrays import Array
from krein.estimators._base import KernelModel
from krein.estimators._parameters import declares_parameters
from krein.estimators._svm_rows import with_slack
from krein.estimators._training import FittedRows, Row, Training
from krein.labels import check_weights
from krein.machines.libsvm import one_class_dual
from krein.store.state import COEFFICIENTS, RESULTS, Fitted, State, replaces_state


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

    _fitted_state: ClassVar[State] = (
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
        result, intercept = one_class_dual(
            trained.kernel(),
            training.weight,
            nu=self.nu,
            tol=self.tol,
            max_iter=self.max_iter,
            psd=trained.psd,
        )
        result = with_slack(result, trained.slack, self.tol)
        coef = trained.to_raw(result.x)
        # Free support vectors lie on the boundary exactly; it counts as inside.
        offset = -intercept - 1e-9 * abs(intercept)
        offset = min(offset, self._highest_offset(training, coef))
        return FittedRows([Row(coef, -offset, result)], {"offset_": offset})

    def _highest_offset(self, training: Training, coef: Array) -> float:
        """Offset with at most nu of the training items, by weight, below it.

        The optimality conditions promise that of the kernel trained on. Decisions are
        rounded, all of them where the origin is inside, and rows that the method
        leaves raw or blind have others.
        """
        K = training.K.dense()
        scores = K @ coef
        weight = np.ones_like(scores) if training.weight is None else training.weight
        order = np.argsort(scores, kind="stable")
        reached = np.cumsum(weight[order])
        over = np.flatnonzero(reached > self.nu * reached[-1])
        if over.size == 0:
            return np.inf
        first = order[over[0]]
        rounding = np.finfo(float).eps * (2.0 + np.sqrt(scores.size))
        return float(scores[first] - 4.0 * rounding * (np.abs(K[first]) @ np.abs(coef)))

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
