"""The Krein SVM: flip, and the coefficients mapped back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, replace
from typing import Any

import numpy as np

from krein.estimators._classifier import KernelClassifier
from krein.estimators._parameters import declares_parameters
from krein.estimators._sparse import expanded
from krein.estimators._svm_rows import (
    svm_candidates,
    svm_grid,
    svm_rows,
    votes_in_pairs,
)
from krein.estimators._training import Classes, FittedRows, Row, Training
from krein.machines.libsvm import libsvm_options
from krein.machines.prototypes import as_new_items
from krein.methods import weighted_flip
from krein.similarity.treated import TreatedKernel

# Of sparse=True: a tenth of the margin (benchmarks/sparse.py has others).
_TOLERANCE = 0.1
_RATIOS = (1.0, 10.0)  # of the two penalties in a search


@declares_parameters
class KreinSVC(KernelClassifier):
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
    sparse : bool
        Keep few prototypes, as `sparsify` with ``tolerance=0.1`` does, so that
        prediction needs similarities to those items alone (an approximation; the exact
        coefficients of the Krein SVM are dense). `sparse_error_` and `labels_changed_`
        say what it changed.
    kernel, kernel_params, symmetrize, class_weight, probability, multi_class, \
approximation, solver_options, tol, max_iter, random_state, verbose
        As in `SpectrumSVC`; `sparse` and `approximation` exclude each other.

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
    sparse: bool = False
    probability: bool = False
    multi_class: str = "ovr"
    approximation: Any = None
    solver_options: dict | None = None

    def fit_rows(self, training: Training, target: Classes) -> FittedRows:
        """Fit all rows on one flipped kernel; see `KernelModel.fit_rows`."""
        if self.sparse and training.landmarks is not None:
            raise ValueError(
                "sparse=True and approximation= exclude each other: with landmarks "
                "prediction needs similarities to the landmarks only already"
            )
        options = libsvm_options(self.solver_options)
        rows = svm_rows(
            self._trained(training, self.lam_neg),
            training.upper(self.C),
            target,
            tol=self.tol,
            max_iter=self.max_iter,
            options=options,
            pairs=votes_in_pairs(self, target),
        )
        return self._sparse(training, rows, target) if self.sparse else FittedRows(rows)

    def _trained(self, training: Training, lam_neg: float) -> TreatedKernel:
        method = weighted_flip(self.lam_pos, lam_neg)
        return training.K.treated(method, weight=training.weight)

    def grid(self, training: Training, target: Classes) -> list[dict]:
        """C and the penalty of the negative part; see `KernelModel.grid`."""
        machines = svm_grid(self._trained(training, self.lam_pos), training.weight)
        return [{**c, "lam_neg": r * self.lam_pos} for r in _RATIOS for c in machines]

    def fit_path(
        self, training: Training, target: Classes, grid: Sequence[dict]
    ) -> list[FittedRows]:
        """Fit all C on one kernel per penalty; see `KernelModel.fit_path`."""
        found: dict[int, FittedRows] = {}
        for lam_neg in dict.fromkeys(c["lam_neg"] for c in grid):
            places = [i for i, c in enumerate(grid) if c["lam_neg"] == lam_neg]
            models = svm_candidates(
                self._trained(training, lam_neg), training, target,
                [grid[i]["C"] for i in places], votes_in_pairs(self, target),
            )  # fmt: skip
            found.update(zip(places, models, strict=True))
        return [found[i] for i in range(len(grid))]

    def _sparse(
        self, training: Training, rows: list[Row], target: Classes
    ) -> FittedRows:
        """Rows on few prototypes, found as `sparsify` does; what they were before."""
        fitted = FittedRows(rows)
        every = np.arange(training.size)
        columns = as_new_items(training.K.block(every, every), every)
        found = expanded(
            columns,
            fitted.coef,
            fitted.intercept,
            tolerance=_TOLERANCE,
            weight=training.weight,
        )
        coef = np.zeros_like(fitted.coef)
        coef[:, found.chosen] = found.coef
        before, after = (
            self._labels(columns @ c.T + b, np.arange(target.n))
            for c, b in ((fitted.coef, fitted.intercept), (coef, found.intercept))
        )
        facts = {
            "dense_coef_": training.expand_coef(fitted.coef),
            "dense_intercept_": fitted.intercept,
            "sparse_error_": found.error,
            "labels_changed_": int(np.sum(before != after)),
        }
        sparse = [
            replace(row, coef=coef[i], intercept=float(found.intercept[i]))
            for i, row in enumerate(rows)
        ]
        return FittedRows(sparse, facts)
