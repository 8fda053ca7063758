"""Labels of new items without all of their similarities."""

from __future__ import annotations

import copy
from numbers import Real
from typing import Any, Self

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _num_samples, check_is_fitted

from krein.arrays import Array
from krein.estimators._base import KernelModel
from krein.estimators._early import ByBounds, Early, Rule, early_classes
from krein.estimators._sparse import Sparsifiable, dense_array
from krein.estimators._stages import ByStages, Stages, calibrated
from krein.items import take
from krein.kernels.blocks import kernel_matrix
from krein.kernels.items import same_items
from krein.kernels.registry import Kernel

__all__ = ["EarlyExit"]


class EarlyExit(KernelModel):
    """`predict_early` and `calibrate_early`, for classifiers on a kernel."""

    classes_: np.ndarray
    kernel_: Any
    stage_coef_: Array
    stage_intercept_: Array
    stage_threshold_: Array
    expected_share_: float
    expected_change_: float
    predict: Any
    _labels: Any
    _pairs_vote: Any

    def predict_early(
        self, X: Any, *, return_counts: bool = False
    ) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
        """Class labels of `predict`, from as few similarities as they need.

        Similarities to training items are computed a few at a time, those first that
        can change most. An item is left when the bounds that the kernel declares for
        the others (`krein.Kernel.bounds`) cannot change its label. Worth it where one
        similarity costs more than some microseconds. Where no bounds are known, with
        ``kernel="precomputed"`` and for the training items themselves (where half of
        the pairs are enough) this is `predict`. A model of `calibrate_early` leaves
        items when they are probably clear instead, with any kernel: labels may differ
        from those of `predict` on the share of the items that it states.

        Parameters
        ----------
        X : items as in fit
        return_counts : bool
            Return also how many similarities were computed.

        Returns
        -------
        labels : ndarray of shape (n_new,)
        counts : ndarray of shape (n_new,)
            Similarities computed for each item, of `support_.size`; only with
            `return_counts`.

        Examples
        --------
        >>> from krein import SpectrumSVC
        >>> words = ["anna", "anne", "ann", "bernhard", "bernard", "bernd"]
        >>> model = SpectrumSVC(kernel="edit").fit(words, [0, 0, 0, 1, 1, 1])
        >>> model.predict_early(["hanna", "gerhard", "ah"], return_counts=True)
        (array([0, 1, 0]), array([4, 4, 4]))
        """
        found = self._early(X)
        if found is None:
            labels = self.predict(X)
            counts = np.full(labels.shape[0], self.support_.size)
            return (labels, counts) if return_counts else labels
        labels = self.classes_[found.classes]
        open_rows = found.classes < 0
        if np.any(open_rows):
            # The products of `predict`, so that ties fall as they do there.
            values = self.row_values(self._support_coef, found.similarities)
            values = self._with_constants(values, X)
            labels[open_rows] = self._labels(values)[open_rows]
        return (labels, found.counts) if return_counts else labels

    def _early(self, X: Any) -> Early | None:
        """Similarities by need; None where `predict` is all there is."""
        check_is_fitted(self, "dual_coef_")
        self._refuse_diverged()
        if self._no_expansion() is not None or self.support_.size == 0:
            return None
        if self._precomputed:
            if not hasattr(self, "stage_coef_"):
                return None
            K = dense_array(self._similarities(X))
            return early_classes(self._by_stages(X), lambda *some: K[np.ix_(*some)])
        new, items = self._check_items(X, reset=False), self._support_items()
        rule = None if same_items(new, items) else self._early_rule(X, new, items)
        if rule is None:
            return None
        return early_classes(
            rule,
            lambda rows, columns: kernel_matrix(
                self.kernel_, take(new, rows), take(items, columns)
            ),
        )

    def _early_rule(self, X: Any, new: Any, items: Any) -> Rule | None:
        if hasattr(self, "stage_coef_"):
            return self._by_stages(X)
        kernel = self.kernel_
        bounds = kernel.bounds(new, items) if isinstance(kernel, Kernel) else None
        if bounds is None:
            return None
        base = self._with_constants(self._zero_rows(X), X)
        low, high = (np.array(end, dtype=float) for end in bounds)
        pairs_vote = self._pairs_vote(self.classes_.size)
        return ByBounds(self._support_coef, base, low, high, pairs_vote)

    def _by_stages(self, X: Any) -> Rule:
        further = self._add_polynomial(self._zero_rows(X), X)
        return ByStages(
            self.stage_coef_[:, :, self.support_],
            self.stage_intercept_[:, None] + further,
            self.stage_threshold_,
            self._class_numbers,
            self._pairs_vote(self.classes_.size),
        )

    def _zero_rows(self, X: Any) -> Array:
        return np.zeros((_num_samples(X), self.dual_coef_.shape[0]))

    def _class_numbers(self, values: Array) -> np.ndarray:
        return self._labels(values, np.arange(self.classes_.size))

    @available_if(Sparsifiable._is_fitted)
    def calibrate_early(
        self, X: Any = None, *, share: float | None = None, change: float | None = None
    ) -> Self:
        """Return a copy whose `predict_early` leaves items that are probably clear.

        Similarities are computed to more and more prototypes, each stage with its own
        coefficients (`sparsify` is one such stage), and an item is left when the stage
        is clear about its label; items that never are have all similarities and the
        label of `predict`. How clear is enough follows from training items, taken as
        new (as `sparsify` does) and left out of the coefficients in turn; the model is
        not fitted again.

        Parameters
        ----------
        X : array-like of shape (n, n), or items, optional
            What the model was fitted on. Needed with ``kernel="precomputed"``; other
            models keep their items.
        share : float, optional
            Largest mean share of the similarities; as few labels change as can be.
            Give it or `change`.
        change : float, optional
            Largest share of labels that are not those of `predict`; as few
            similarities as can be.

        Returns
        -------
        estimator
            `expected_share_` and `expected_change_` say what was found; what was asked
            for is kept with two standard errors to spare. `predict` and its
            certificate are as before.

        Examples
        --------
        >>> import numpy as np
        >>> from krein import SpectrumSVC
        >>> series = np.sin(np.outer(np.arange(60) % 2 + 1, np.arange(9)) / 3)
        >>> series += 0.3 * np.random.default_rng(0).standard_normal(series.shape)
        >>> model = SpectrumSVC(kernel="msm").fit(series[:40], np.arange(40) % 2)
        >>> quick = model.calibrate_early(share=0.2)
        >>> labels, counts = quick.predict_early(series[40:], return_counts=True)
        >>> bool(counts.mean() < 0.25 * 40), int(np.sum(labels != np.arange(20) % 2))
        (True, 0)
        """
        self._check_early(share, change)
        items, columns = self._seen_as_new(X)
        outputs = columns @ self._support_coef.T + self.intercept_
        stages = calibrated(
            columns,
            outputs,
            self._add_polynomial(self._zero_rows(items), items),
            one_vs_one=self._pairs_vote(self.classes_.size),
            share=share,
            change=change,
        )
        return self._with_stages(stages)

    def _check_early(self, share: Any, change: Any) -> None:
        self._refuse_without_expansion("leave items early")
        if self._precomputed and hasattr(self, "poly_coef_"):
            raise ValueError(
                "with kernel='precomputed' the polynomials of new items are not known "
                "here; fit on items with a kernel"
            )
        if (share is None) == (change is None):
            raise ValueError(
                "give share= (largest mean share of the similarities) or change= "
                "(largest share of other labels than those of predict), one of them"
            )
        for name, value in (("share", share), ("change", change)):
            if value is not None and not (
                isinstance(value, Real) and 0 < float(value) < 1
            ):
                raise ValueError(f"{name} must be between 0 and 1, got {value!r}")

    def _with_stages(self, stages: Stages) -> Self:
        quick = copy.copy(self)
        shape = (len(stages.expansions), *self.dual_coef_.shape)
        quick.stage_coef_ = np.zeros(shape)
        for coef, found in zip(quick.stage_coef_, stages.expansions, strict=True):
            coef[:, self.support_[found.chosen]] = found.coef
        quick.stage_intercept_ = np.array([e.intercept for e in stages.expansions])
        quick.stage_threshold_ = stages.thresholds
        quick.expected_share_ = stages.share
        quick.expected_change_ = stages.changed
        return quick
