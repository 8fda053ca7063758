"""Spectrum fix and C by cross-validation, the near-best averaged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY
from functools import partial
from typing import Any, Self

import numpy as np

from krein.arrays import Array
from krein.declarations import Fitted, declares_parameters, replaces_state
from krein.estimators._spectrum_search import SPECTRUM_SEARCHED, SpectrumSearch
from krein.estimators._tasks import KernelClassifier, KernelRegressor
from krein.estimators.spectral import REGRESSION, loose_machines, loosely, svm_rows
from krein.estimators.spectral_svr import solved_row
from krein.machines.svm_dual import SVMDual, svm_path
from krein.selection.calibration import conformity, probabilities, temperatures
from krein.selection.folds import Fold, cv_folds
from krein.selection.scores import setting_scores, split_scores, with_threshold
from krein.selection.search import FoldValues
from krein.selection.spectra import Path, Screen, Settings
from krein.spectrum.decomposition import Spectrum
from krein.spectrum.fixed_kernel import FixedKernel
from krein.training import Classes, FittedRows, Training, Values
from krein.validation import warn_if_nearly_diagonal


@declares_parameters
class SpectrumSVCCV(SpectrumSearch, KernelClassifier):
    """`SpectrumSVC` with C and the method chosen by cross-validation.

    Clip, flip and square are three points of one family, ``|l|^p`` for positive and
    ``w |l|^p`` for negative eigenvalues l. All of them, with all C, are ranked by least
    squares, whose leave-one-out values have a closed form. A quarter of them, of the
    five best methods, is trained on folds, with one eigendecomposition per fold. Every
    machine is linear in the raw similarities, so the average of the near-best ones is
    again one `dual_coef_` and one `intercept_`: it costs nothing at prediction, and is
    steadier than the best alone.

    Parameters
    ----------
    Cs : array-like, optional
        Grid of C, for a transformed kernel divided by the mean of its diagonal; six
        values from 0.1 to 562.
    fixes : list, optional
        Names or records of `krein.spectrum.fixes`. Default: w in 0, 0.3, 1 and
        p in 0.5, 1, 1.5, 2. Those that have the same effect on the training
        spectrum count once.
    gains : list, optional
        The name of `fixes` in krein 0.2; deprecated.
    cv : int, splitter or iterable, optional
        As in `sklearn.model_selection.GridSearchCV`; five shuffled stratified folds
        by default, fewer if a class has fewer items. With a splitter of your own, or
        with groups, all settings are trained, and the best 30 % averaged: leaving out
        single items would keep their relatives in the training part.
    scoring : str or callable, optional
        As in `GridSearchCV`. By default the log-loss of probabilities calibrated on
        the folds, which tells settings apart where accuracy cannot.
    combine : {"average", "best"}
        Average the decision functions of the best quarter of the settings trained, or
        take the best one.
    multi_class : {"ovr", "ovo"}
        With three or more classes: one machine per class against the rest, or one per
        pair of classes, whose majority decides, as in `SpectrumSVC`. Against the rest
        has the lower mean error (benchmarks/many_classes.py).
    n_jobs : int, optional
        Folds that run at the same time (joblib).
    kind : {"similarity", "distance"}
        What a precomputed matrix holds. Distances d become exp(-d / median), as by
        ``DistanceTransformer()`` in front; `SimilarityClassifier` chooses the form.
    kernel, kernel_params, symmetrize, class_weight, tol, max_iter, random_state
        As in `SpectrumSVC`; `random_state` seeds the default folds.
    verbose : int
        1 prints the chosen settings and their scores on standard error.

    Attributes
    ----------
    best_params_ : dict
        "method" and "C" of the best setting: ``SpectrumSVC(**best_params_)``.
    cv_results_ : dict
        Per setting that was trained: "params" (as in `best_params_`), "param_method",
        "param_C", "relative_C" (as in `Cs`), "split0_test_score", ...,
        "mean_test_score", "std_test_score", "rank_test_score" and "weight" (its share
        in the model).
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
    (18, True)
    """

    Cs: Any = None
    _: KW_ONLY
    scoring: Any = None
    multi_class: str = "ovr"

    _fitted_state = Fitted.state(*SPECTRUM_SEARCHED, Fitted("temperature_", "number"))

    _makes_sets = True

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
        held = self.fit_on(training, target, folds, screened=self._random_folds(groups))
        # Weights may well put all items into the class that weighs most.
        if training.weight is None and not training.K.is_sparse:
            tests = [test for _, test in folds]
            warn_if_nearly_diagonal(
                training.K.dense(), held, tests, type(self).__name__
            )
        return self

    def fit_on(
        self,
        training: Training,
        target: Classes,
        folds: Sequence[Fold],
        *,
        screened: bool,
        settings: Settings | None = None,
        spectrum: Spectrum | None = None,
    ) -> Array:
        """Fit to samples that are checked already; `classes_` must be set.

        Parameters
        ----------
        training, target
            The samples.
        folds : sequence of (train, test)
            Positions among them.
        screened : bool
            As in `fit_search`.
        settings, spectrum : optional
            As in `fit_search`.

        Returns
        -------
        ndarray of shape (n, n_classes)
            Probabilities by models that did not see the sample; NaN where no fold
            tests it.
        """
        values, best = self.fit_search(
            training,
            target,
            folds,
            screened=screened,
            settings=settings,
            spectrum=spectrum,
        )
        weight = _weights(training)
        means = [part[best].mean(axis=0) for part in self._by_class(values, target)]
        mean = np.concatenate(means)
        tested = np.concatenate(values.tests)
        codes = target.codes[tested]
        weight = weight[tested]
        self.temperature_ = float(temperatures(mean[None], codes, weight)[0])
        proba = self._held_probabilities(values, target, _weights(training))
        self.conformity_ = conformity(proba, codes, weight)
        everywhere = np.full((training.size, target.n), np.nan)
        everywhere[tested] = proba
        return everywhere

    def _held_probabilities(
        self, values: FoldValues, target: Classes, weight: Array
    ) -> Array:
        """Probabilities of the items of all folds, one fold after the other.

        The settings and the temperature are chosen without the fold that is judged:
        those chosen with it know its items, and prediction sets would be too small.
        """
        parts = self._by_class(values, target)
        tests = values.tests
        scores = split_scores(self)
        size = int(np.sum(self.cv_results_["weight"] > 0))
        found = []
        for f, part in enumerate(parts):
            others = [g for g in range(len(parts)) if g != f] or [f]
            known = scores[:, others] if scores.shape[1] == len(parts) else scores
            best = np.argsort(-np.nanmean(known, axis=1), kind="stable")[:size]
            items = np.concatenate([tests[g] for g in others])
            mean = np.concatenate([parts[g][best].mean(axis=0) for g in others])
            temperature = temperatures(mean[None], target.codes[items], weight[items])
            found.append(probabilities(part[best].mean(axis=0), float(temperature[0])))
        return np.concatenate(found)

    def _by_class(self, values: FoldValues, target: Classes) -> list[Array]:
        """Values (n_settings, n_test, n_classes) of each fold; one column for two."""
        return [
            np.stack([self.class_values(one, target.n) for one in part])
            for part in values.stacked()
        ]

    def _scores(
        self,
        parts: Sequence[Array],
        tests: Sequence[np.ndarray],
        training: Training,
        target: Classes,
    ) -> Array:
        weight = _weights(training)
        return setting_scores(parts, tests, target, weight, self.classes_, self.scoring)

    def _fold_scores(
        self, values: FoldValues, training: Training, target: Classes
    ) -> Array:
        parts = self._by_class(values, target)
        return self._scores(parts, values.tests, training, target)

    def _screen(self, training: Training, target: Classes) -> tuple[Array, Screen]:
        weight = _weights(training)
        everything = np.arange(training.size)

        def screen(values: Array) -> Array:
            seen = with_threshold(values, target.codes, weight)
            return self._scores([seen], [everything], training, target)[:, 0]

        return np.column_stack(list(target.signs())), screen

    def _path(self) -> Path:
        return partial(loose_machines, pairs=self.multi_class == "ovo")

    def _machine(self, C: float, target: Any, weight: Array | None) -> dict[str, float]:
        return {"C": C}

    def _rows(
        self,
        training: Training,
        target: Classes,
        trained: FixedKernel,
        params: dict[str, Any],
        starts: Sequence[Array],
    ) -> FittedRows:
        rows = svm_rows(
            trained,
            training.upper(params["C"]),
            target,
            tol=self.tol,
            max_iter=self.max_iter,
            pairs=self.multi_class == "ovo",
            starts=starts,
        )
        return FittedRows(rows)

    def predict_proba(self, X: Any) -> Array:
        """Class probabilities: softmax of the scores over `temperature_`.

        Parameters
        ----------
        X : array-like of shape (n_new, n_train) or items as in fit

        Returns
        -------
        ndarray of shape (n_new, n_classes)
        """
        values = self.class_values(self._decision_rows(X), self.classes_.size)
        return probabilities(values, self.temperature_)


@declares_parameters
class SpectrumSVRCV(SpectrumSearch, KernelRegressor):
    """`SpectrumSVR` with C and the method chosen by cross-validation.

    The search of `SpectrumSVCCV` with the mean squared error in place of the log-loss:
    all fixes ``|l|^p``, ``w |l|^p`` of the spectrum and all C on one
    eigendecomposition per fold, the near-best averaged into one `dual_coef_`.

    Parameters
    ----------
    Cs : array-like, optional
        Grid of C, for a transformed kernel divided by the mean of its diagonal and
        targets divided by their standard deviation; six values from 0.1 to 562.
    epsilon : float
        Half the width of the tube, in standard deviations of the targets.
    fixes, gains, combine, n_jobs, kind
        As in `SpectrumSVCCV`.
    cv : int, splitter or iterable, optional
        As in `sklearn.model_selection.GridSearchCV`; five shuffled folds by default.
    kernel, kernel_params, symmetrize, tol, max_iter, random_state
        As in `SpectrumSVR`; `random_state` seeds the default folds.
    verbose : int
        1 prints the chosen settings and their scores on standard error.

    Attributes
    ----------
    best_params_ : dict
        Of the best setting: ``SpectrumSVR(**best_params_)``.
    cv_results_ : dict
        As in `SpectrumSVCCV`; scores are negative mean squared errors.
    members_ : list of dict
        The machines that were averaged, the best first: parameters of `SpectrumSVR`
        and "results".
    dual_coef_, intercept_, support_
        As in `SpectrumSVR`; means over the members.
    duality_gap_ : ndarray of shape (1,)
        The largest certified gap of the members.
    n_iter_ : ndarray of shape (n_rows,)
        The largest number of iterations of the members.

    References
    ----------
    Smola, Schoelkopf (2004) for the machine; Chen, Garcia, Gupta, Rahimi, Cazzanti
    (2009) for the transforms; Breiman (1996) for averages of models.

    Examples
    --------
    >>> import numpy as np
    >>> from krein import SpectrumSVRCV, tl1_kernel
    >>> X = np.linspace(0, 1, 30)[:, None]
    >>> K = tl1_kernel(X)
    >>> model = SpectrumSVRCV().fit(K, np.sin(3 * X[:, 0]))
    >>> bool(model.score(K, np.sin(3 * X[:, 0])) > 0.9)
    True
    """

    Cs: Any = None
    _: KW_ONLY
    epsilon: float = 0.1

    _fitted_state = SPECTRUM_SEARCHED

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
            Targets.
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
        self.fit_on(training, target, folds, screened=self._random_folds(groups))
        return self

    def fit_on(
        self,
        training: Training,
        target: Values,
        folds: Sequence[Fold],
        *,
        screened: bool,
        settings: Settings | None = None,
        spectrum: Spectrum | None = None,
    ) -> Array:
        """Fit to samples that are checked already; see `SpectrumSVCCV.fit_on`.

        Returns
        -------
        ndarray of shape (n, 1)
            Values by models that did not see the sample.
        """
        values, best = self.fit_search(
            training,
            target,
            folds,
            screened=screened,
            settings=settings,
            spectrum=spectrum,
        )
        everywhere = np.full((training.size, 1), np.nan)
        for test, part in zip(values.tests, values.stacked(), strict=True):
            everywhere[test] = part[best].mean(axis=0)
        return everywhere

    def _path(self) -> Path:
        return partial(_regression_path, epsilon=self.epsilon)

    def _screen(self, training: Training, target: Values) -> tuple[Array, Screen]:
        y = target.y
        weight = training.weight
        mean, spread = _mean_and_spread(y, weight)

        def screen(values: Array) -> Array:
            return _errors(spread * values[:, :, 0] + mean - y, weight, slice(None))

        return (y[:, None] - mean) / spread, screen

    def _fold_scores(
        self, values: FoldValues, training: Training, target: Values
    ) -> Array:
        return np.column_stack(
            [
                _errors(part[:, :, 0] - target.y[test], training.weight, test)
                for part, test in zip(values.stacked(), values.tests, strict=True)
            ]
        )

    def _machine(
        self, C: float, target: Values, weight: Array | None
    ) -> dict[str, float]:
        _, spread = _mean_and_spread(target.y, weight)
        return {"C": C * spread, "epsilon": self.epsilon * spread}

    def _rows(
        self,
        training: Training,
        target: Values,
        trained: FixedKernel,
        params: dict[str, Any],
        starts: Sequence[Array],
    ) -> FittedRows:
        problem = SVMDual.regression(
            trained.kernel(), target.y, training.upper(params["C"]),
            epsilon=params["epsilon"], psd=trained.psd, noise=trained.noise(),
        )  # fmt: skip
        row = solved_row(trained, problem, self, starts[0] if starts else None)
        return FittedRows([row])


def _weights(training: Training) -> Array:
    return np.ones(training.size) if training.weight is None else training.weight


def _regression_path(
    K: Array, target: Values, Cs: Array, weight: Array | None, *, epsilon: float
) -> tuple[Array, Array]:
    """Machines of all C, on targets of mean 0 and standard deviation 1."""
    mean, spread = _mean_and_spread(target.y, weight)
    t = (target.y - mean) / spread
    limits = loosely(K.shape[0], REGRESSION)
    coef, intercept = svm_path(K, t, Cs, weight, epsilon=epsilon, **limits)
    return spread * coef[:, None], mean + spread * intercept[:, None]


def _mean_and_spread(y: Array, weight: Array | None) -> tuple[float, float]:
    """Mean and standard deviation; 1 where all targets are the same."""
    scale = float(np.abs(y).max()) or 1.0  # squares of y need not be finite
    mean = float(np.average(y / scale, weights=weight))
    variance = float(np.average((y / scale - mean) ** 2, weights=weight))
    return mean * scale, (variance**0.5 if variance > 1e-24 else 1.0) * scale


def _errors(errors: Array, weight: Array | None, test: Any) -> Array:
    """Negative mean squared errors of all settings on a fold."""
    return -np.average(
        errors**2, axis=1, weights=None if weight is None else weight[test]
    )
