"""The models to use when nothing else is known: kernels and conversions are chosen."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from krein.arrays import Array
from krein.declarations import declares_parameters, replaces_state
from krein.estimators._pool import SimilarityPool
from krein.estimators._tasks import KernelClassifier, KernelRegressor
from krein.estimators.spectrum_cv import SpectrumSVCCV, SpectrumSVRCV
from krein.selection.calibration import conformity, probabilities
from krein.selection.folds import cv_folds
from krein.validation import warn_if_nearly_diagonal

_LEAST = float(np.finfo(np.float64).tiny)


@declares_parameters
class SimilarityClassifier(SimilarityPool, KernelClassifier):
    """The classifier to use when nothing else is known about a similarity.

    It chooses what is fed to the machine, and the machine. Every kernel is taken by
    several conversions: as it is given, and by exponential, Gaussian (one and three
    median distances wide) and locally scaled similarities of its distances. Each has
    one eigendecomposition; all fixes of the spectrum and all C are ranked on all
    training items by the leave-one-out log-loss of least squares, which has a closed
    form. The best `top` are searched on the same folds as in `SpectrumSVCCV`, and
    their probabilities averaged.

    Parameters
    ----------
    kernel : "precomputed", str, Kernel or callable, or a list of them
        ``"precomputed"``: X is a matrix, or a stack (n, n, n_kernels) of several. Of
        a list of kernels on items all are pooled.
    kind : {"similarity", "distance"}
        What a precomputed matrix holds, or a callable returns. Distances are better
        than similarities made of them: their width is chosen here.
    conversions : list, optional
        What to choose among: "as given", "exponential", "wide exponential",
        "gaussian", "wide gaussian", "local", "negative", "inverse", "centred", "max",
        or records `krein.similarity.conversions.Conversion`. By default the first six.
    top : int
        So many pairs of a kernel and a conversion are averaged.
    Cs, fixes
        As in `SpectrumSVCCV`.
    cv : int, splitter or iterable, optional
        As in `SpectrumSVCCV`. With a splitter of your own, or with groups, every pair
        is searched on the folds, and the best by their scores are averaged: leaving
        out single items would keep their relatives in the training part.
    scoring : str or callable, optional
        As in `SpectrumSVCCV`; the log-loss by default.
    n_jobs : int, optional
        Folds that run at the same time (joblib).
    kernel_params, symmetrize, class_weight, tol, max_iter, random_state
        As in `SpectrumSVC`; `random_state` seeds the default folds.
    verbose : int
        1 prints what was chosen on standard error.

    Attributes
    ----------
    members_ : list of dict
        The machines that are averaged, of the best similarity first: "kernel",
        "conversion", "fix", "C", "weight" and "results", one per row, each with its
        certificate.
    weights_ : ndarray of shape (n_members,)
        Their shares, of sum 1.
    text_ : str
        What was chosen, in a sentence.
    ranking_ : list of dict
        Every pair that was considered, the best first: "kernel", "conversion",
        "screen_score" (by leave-one-out least squares; None without a screen) and
        "chosen".
    best_params_ : dict
        "kernel", "conversion", "fix" and "C" of the best candidate.
    best_score_ : float
        Its mean score on the folds.
    cv_results_ : dict
        Per candidate that was trained, in the form of `GridSearchCV`, with "weight".
    models_ : list of SpectrumSVCCV
        One per pair, on the similarities that ``converted(X, place)`` returns.
    classes_ : ndarray
        Class labels.
    n_iter_ : ndarray of shape (n_rows,)
        The largest number of iterations of the members.

    Notes
    -----
    What depends on data (medians, local scales, fixes, C) is settled on training items
    only. Widths and scales know no labels and are settled once, on all training items;
    whatever labels enter is settled anew in every fold.

    Distances are derived from similarities by ``d^2 = k(x, x) + k(y, y) - 2 k(x, y)``,
    which needs the similarity of a new item to itself. It is known for a kernel on
    items, and where all training items are equally similar to themselves. Other
    precomputed similarities, and sparse tables, are taken as given only.

    References
    ----------
    Zelnik-Manor, Perona (2004) for local scaling; Chen, Garcia, Gupta, Rahimi,
    Cazzanti (2009) for the fixes; Breiman (1996), "Stacked regressions", for averages.

    Examples
    --------
    >>> from krein import SimilarityClassifier
    >>> words = ["aab", "abb", "aba", "aaab", "xyy", "xxy", "yxy", "xyxy"]
    >>> model = SimilarityClassifier("edit").fit(words, ["ab"] * 4 + ["xy"] * 4)
    >>> model.predict(["abab", "yyxx"])
    array(['ab', 'xy'], dtype='<U2')
    >>> len(model.ranking_), sorted(model.best_params_)
    (5, ['C', 'conversion', 'fix', 'kernel'])
    """

    kernel: Any = "precomputed"
    _: KW_ONLY
    scoring: Any = None

    _makes_sets = True

    @replaces_state
    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None
    ) -> Self:
        """Choose kernels, conversions, fixes and C, and fit them to all data.

        Parameters
        ----------
        X : array-like of shape (n, n), (n, n, n_kernels) or (n, n_features), or items
            Similarities or distances for ``kernel="precomputed"``, items otherwise.
        y : array-like of shape (n,)
            Class labels.
        sample_weight : array-like of shape (n,), optional
            As in `SpectrumSVCCV`: integer weights equal repetition in fits and scores;
            copies of an item change no width and no local scale.
        groups : array-like of shape (n,), optional
            For group splitters.

        Returns
        -------
        self
        """
        training, target = self._start(X, y, sample_weight)
        folds = cv_folds(self, training, target, groups)
        members = self._fit_pool(training, target, folds, groups)
        self._store_pool(training, members)
        held = np.mean([member.held for member in members], axis=0)
        self.conformity_ = conformity(held, target.codes, training.weight)
        if training.weight is None:
            tests = [test for _, test in folds]
            for source, given in zip(training.sources, training.numbers, strict=True):
                if isinstance(given, np.ndarray) and not source.is_distance:
                    warn_if_nearly_diagonal(given, held, tests, type(self).__name__)
        return self

    def _machine_search(self) -> SpectrumSVCCV:
        model = SpectrumSVCCV(
            self.Cs,
            fixes=self.fixes,
            cv=self.cv,
            scoring=self.scoring,
            n_jobs=self.n_jobs,
            tol=self.tol,
            max_iter=self.max_iter,
        )
        model.classes_ = self.classes_
        return model

    def _decision_rows(self, X: Any, **further: Any) -> Array:
        """Logarithms of mean probabilities; of two classes their difference."""
        proba = np.log(np.maximum(self.predict_proba(X), _LEAST))
        if self.classes_.size == 2:
            return proba[:, 1:] - proba[:, :1]
        return proba

    def decision_function(self, X: Any) -> Array:
        """Logarithms of class probabilities; of two classes the log-odds.

        Parameters
        ----------
        X : array-like of shape (n_new, n_train) or items as in fit

        Returns
        -------
        ndarray of shape (n_new,) for two classes, (n_new, n_classes) otherwise
        """
        return super().decision_function(X)

    def predict_proba(self, X: Any) -> Array:
        """Class probabilities: the mean of those of the models.

        Parameters
        ----------
        X : array-like of shape (n_new, n_train) or items as in fit

        Returns
        -------
        ndarray of shape (n_new, n_classes)
        """
        check_is_fitted(self, "models_")
        items = self._check_items(X, reset=False)
        found = [
            probabilities(values, model.temperature_)
            for model, values in self._outputs_of_members(items)
        ]
        return np.mean(found, axis=0)


@declares_parameters
class SimilarityRegressor(SimilarityPool, KernelRegressor):
    """The regressor to use when nothing else is known about a similarity.

    `SimilarityClassifier` for numbers: kernels and conversions are ranked by the
    leave-one-out squared error of least squares, the best `top` searched as
    `SpectrumSVRCV` does, and their predictions averaged.

    Parameters
    ----------
    kernel : "precomputed", str, Kernel or callable, or a list of them
        As in `SimilarityClassifier`.
    epsilon : float
        As in `SpectrumSVRCV`.
    kind, conversions, top, cv, n_jobs
        As in `SimilarityClassifier`.
    Cs, fixes
        As in `SpectrumSVRCV`.
    kernel_params, symmetrize, tol, max_iter, random_state
        As in `SpectrumSVR`; `random_state` seeds the default folds.
    verbose : int
        1 prints what was chosen on standard error.

    Attributes
    ----------
    members_, weights_, text_, ranking_, best_params_, best_score_, cv_results_
        As in `SimilarityClassifier`; scores are negative mean squared errors.
    models_ : list of SpectrumSVRCV
        One per pair, on the similarities that ``converted(X, place)`` returns.
    n_iter_ : ndarray of shape (1,)
        The largest number of iterations of the members.

    References
    ----------
    Zelnik-Manor, Perona (2004) for local scaling; Smola, Schoelkopf (2004) for the
    machine; Breiman (1996), "Stacked regressions", for averages.

    Examples
    --------
    >>> import numpy as np
    >>> from krein import SimilarityRegressor
    >>> x = np.linspace(0, 1, 30)
    >>> D = np.abs(np.subtract.outer(x, x))
    >>> model = SimilarityRegressor(kind="distance").fit(D, np.sin(3 * x))
    >>> bool(model.score(D, np.sin(3 * x)) > 0.9)
    True
    """

    kernel: Any = "precomputed"
    _: KW_ONLY
    epsilon: float = 0.1

    @replaces_state
    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None
    ) -> Self:
        """Choose kernels, conversions, fixes and C, and fit them to all data.

        Parameters
        ----------
        X : array-like of shape (n, n), (n, n, n_kernels) or (n, n_features), or items
            Similarities or distances for ``kernel="precomputed"``, items otherwise.
        y : array-like of shape (n,)
            Targets.
        sample_weight : array-like of shape (n,), optional
            As in `SimilarityClassifier`.
        groups : array-like of shape (n,), optional
            For group splitters.

        Returns
        -------
        self
        """
        training, target = self._start(X, y, sample_weight)
        folds = cv_folds(self, training, target, groups)
        members = self._fit_pool(training, target, folds, groups)
        self._store_pool(training, members)
        return self

    def _machine_search(self) -> SpectrumSVRCV:
        return SpectrumSVRCV(
            self.Cs,
            epsilon=self.epsilon,
            fixes=self.fixes,
            cv=self.cv,
            n_jobs=self.n_jobs,
            tol=self.tol,
            max_iter=self.max_iter,
        )

    def _decision_rows(self, X: Any, **further: Any) -> Array:
        """Mean of what the models say."""
        check_is_fitted(self, "models_")
        items = self._check_items(X, reset=False)
        found = [values for _, values in self._outputs_of_members(items)]
        return np.mean(found, axis=0)
