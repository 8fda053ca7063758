"""Treatment of the spectrum and C by cross-validation, the near-best averaged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from krein.arrays import Array
from krein.estimators._classifier import KernelClassifier
from krein.estimators._folds import cv_folds
from krein.estimators._gains import (
    SEARCH_CONSTRAINTS,
    SPECTRUM_SEARCHED,
    SpectrumSearch,
    loosely,
)
from krein.estimators._landscape import Landscape, probabilities
from krein.estimators._svm_rows import loose_machines, svm_rows
from krein.estimators._training import Classes, FittedRows, Training
from krein.similarity.treated import TreatedKernel
from krein.store.state import Fitted, State, replaces_state


class SpectrumSVCCV(SpectrumSearch, KernelClassifier):
    """`SpectrumSVC` with C and the method chosen by cross-validation.

    Clip, flip and square are three points of one family, ``|l|^p`` for positive and
    ``w |l|^p`` for negative eigenvalues l. All of it is tried, with all C, on one
    eigendecomposition per fold. Every machine is linear in the raw similarities, so
    the average of the near-best ones is again one `dual_coef_` and one `intercept_`:
    it costs nothing at prediction, and is steadier than the best alone.

    Parameters
    ----------
    Cs : array-like, optional
        Grid of C, for a transformed kernel divided by the mean of its diagonal; six
        values from 0.1 to 562.
    gains : list, optional
        Methods: names, `krein.methods.Method` records or functions of the
        eigenvalues. Default: w in 0, 0.3, 1 and p in 0.5, 1, 1.5, 2. Those that
        make the same of the training spectrum count once.
    cv : int, splitter or iterable, optional
        As in `sklearn.model_selection.GridSearchCV`; five shuffled stratified folds
        by default, fewer if a class has fewer items.
    scoring : str or callable, optional
        As in `GridSearchCV`. By default the log-loss of probabilities calibrated on
        the folds, which tells settings apart where accuracy cannot.
    combine : {"average", "best"}
        Average the decision functions of the best 30 % of the settings, or take the
        best one.
    n_jobs : int, optional
        Folds that run at the same time (joblib).
    kernel, kernel_params, symmetrize, class_weight, tol, max_iter, random_state
        As in `SpectrumSVC`; `random_state` seeds the default folds.
    verbose : int
        1 tells the chosen settings and their scores on standard error.

    Attributes
    ----------
    best_params_ : dict
        "method" and "C" of the best setting: ``SpectrumSVC(**best_params_)``.
    cv_results_ : dict
        Per setting: "param_method", "param_C" (as in `Cs`), "params",
        "split0_test_score", ..., "mean_test_score", "std_test_score",
        "rank_test_score" and "weight" (its share in the model).
    members_ : list of dict
        The machines that were averaged, the best first: "method" and "C", so that
        ``SpectrumSVC(method, C=C)`` is the same machine, and "results", one per row,
        each with its certificate.
    classes_, dual_coef_, intercept_, support_
        As in `SpectrumSVC`; means over the members.
    duality_gap_ : ndarray of shape (n_rows,)
        The largest certified gap of the members.
    n_iter_ : ndarray of shape (n_rows,)
        The largest number of iterations of the members.
    temperature_ : float
        ``predict_proba`` is the softmax of scores over it, fitted out of fold.

    References
    ----------
    Wu, Chang, Zhang (2005) and Chen, Garcia, Gupta, Rahimi, Cazzanti (2009) for the
    transforms; Breiman (1996), "Stacked regressions", for averages of models.

    Examples
    --------
    >>> import numpy as np
    >>> from krein import SpectrumSVCCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((40, 2))
    >>> K, y = np.tanh(X @ X.T), (X[:, 0] > 0).astype(int)
    >>> model = SpectrumSVCCV().fit(K, y)
    >>> len(model.cv_results_["params"]), bool(model.score(K, y) > 0.8)
    (72, True)
    """

    _fitted_state: State = (
        *SPECTRUM_SEARCHED,
        Fitted("temperature_", "number"),
    )

    _parameter_constraints: dict = {  # noqa: RUF012
        **{
            name: constraint
            for name, constraint in KernelClassifier._parameter_constraints.items()
            if name != "probability"
        },
        **SEARCH_CONSTRAINTS,
        "scoring": [str, callable, None],
    }

    _makes_sets = True

    def __init__(
        self,
        Cs=None,
        *,
        gains=None,
        cv=None,
        scoring=None,
        combine="average",
        n_jobs=None,
        kernel="precomputed",
        kernel_params=None,
        symmetrize=False,
        class_weight=None,
        tol=1e-6,
        max_iter=1_000_000,
        random_state=None,
        verbose=0,
    ):
        self.Cs = Cs
        self.gains = gains
        self.cv = cv
        self.scoring = scoring
        self.combine = combine
        self.n_jobs = n_jobs
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.symmetrize = symmetrize
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose

    @replaces_state
    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None
    ) -> Self:
        """Score all settings on the folds, then fit the best ones on all data.

        Parameters
        ----------
        X : array-like of shape (n, n) or (n, n_features), or list of objects
            Raw similarities for ``kernel="precomputed"``, items otherwise.
        y : array-like of shape (n,)
            Class labels.
        sample_weight : array-like of shape (n,), optional
            Integer weights equal repetition in the fits and scores of the search and
            in the members. The folds are those of the samples given: copies of a
            sample would fall into several folds, so that a search on repeated samples
            may choose other settings.
        groups : array-like of shape (n,), optional
            For group splitters.

        Returns
        -------
        self
        """
        training, target = self._start(X, y, sample_weight)
        folds = cv_folds(self, training, target, groups)
        settings, values = self._out_of_fold(_path, training, target, folds)
        weight = np.ones(training.size) if training.weight is None else training.weight
        landscape = Landscape.join(
            values,
            [target.codes[test] for _, test in folds],
            self.classes_,
            [weight[test] for _, test in folds],
        )
        scores = landscape.scores(self.scoring)
        best = self._take_best(self._rows, training, target, settings, scores)
        self.temperature_, self.conformity_ = landscape.combined(best)
        return self

    def _rows(
        self,
        trained: TreatedKernel,
        training: Training,
        target: Classes,
        C: float,
        starts: Sequence[Array],
    ) -> tuple[dict[str, float], FittedRows]:
        rows = svm_rows(
            trained,
            training.upper(C),
            target,
            tol=self.tol,
            max_iter=self.max_iter,
            options={},
            starts=starts,
        )
        return {"C": C}, FittedRows(rows)

    def predict_proba(self, X: Any) -> Array:
        """Class probabilities: softmax of the scores over `temperature_`.

        Parameters
        ----------
        X : array-like of shape (n_new, n_train) or items as in fit

        Returns
        -------
        ndarray of shape (n_new, n_classes)
        """
        return probabilities(self._decision_rows(X), self.temperature_)


def _path(
    K: Array, target: Classes, Cs: Array, weight: Array | None
) -> tuple[Array, Array]:
    """Machines of all rows and C."""
    return loose_machines(K, target, Cs, weight, **loosely(K.shape[0]))
