"""C and the spectrum method by cross-validation, and the average of the near-best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import ceil
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from krein.arrays import Array
from krein.estimators._classifier import KernelClassifier
from krein.estimators._landscape import Landscape, probabilities
from krein.estimators._search import cv_folds, inner_folds
from krein.estimators._svm_rows import svm_rows
from krein.estimators._training import Classes, FittedRows, Row, Training
from krein.matrices.matrix import TrainedKernel
from krein.methods import Method, as_method, power
from krein.notices import warn_user
from krein.solvers.svm_path import svm_path
from krein.spectrum import Spectrum
from krein.store.state import RESULTS, Fitted, State
from krein.transform import Transform

__all__ = ["GAINS", "SpectrumSVCCV"]

GAINS = tuple(power(w, p) for w in (0.0, 0.3, 1.0) for p in (0.5, 1.0, 1.5, 2.0))
CS = tuple(float(c) for c in 10.0 ** np.array([-1.0, -0.25, 0.5, 1.25, 2.0, 2.75]))
_SHARE = 0.3  # of the settings are averaged
_SEARCH_TOL = 1e-2  # of LIBSVM, in units of the margin


def _is_one(model: Any) -> bool:
    return model.combine == "best"


class SpectrumSVCCV(KernelClassifier):
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
        Not used here; kept for a common interface.

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
        # An average has the certificates of its members.
        *(replace(entry, needed=_is_one) for entry in RESULTS if entry.needed is True),
        Fitted("best_params_", "table"),
        Fitted("cv_results_", "table"),
        Fitted("members_", "anything"),
        Fitted("duality_gap_", "numbers", "r"),
        Fitted("temperature_", "number"),
    )

    _parameter_constraints: dict = {  # noqa: RUF012
        **{
            name: constraint
            for name, constraint in KernelClassifier._parameter_constraints.items()
            if name != "probability"
        },
        "Cs": ["array-like", None],
        "gains": [list, tuple, None],
        "cv": ["cv_object"],
        "scoring": [str, callable, None],
        "combine": [StrOptions({"average", "best"})],
        "n_jobs": [Integral, None],
        "tol": [Interval(Real, 0, None, closed="neither")],
    }

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

    @_fit_context(prefer_skip_nested_validation=True)
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
            Integer weights equal repetition.
        groups : array-like of shape (n,), optional
            For group splitters.

        Returns
        -------
        self
        """
        training, target = self._start(X, y, sample_weight)
        Cs = check_grid(CS if self.Cs is None else self.Cs, "Cs")
        if self.cv is None:
            folds = inner_folds(target.codes, self.random_state, "SpectrumSVCCV")
        else:
            folds = cv_folds(self.cv, training, target, groups)
        spectrum = training.K.spectrum(training.weight)
        methods = distinct_methods(self.gains or GAINS, spectrum)
        landscape = self._search(training, target, folds, methods, Cs)
        scores = landscape.scores(self.scoring)
        order = np.argsort(-np.round(scores.mean(axis=1), 12), kind="stable")
        count = 1 if self.combine == "best" else ceil(_SHARE * order.size)
        settings = [(methods[s // Cs.size], Cs[s % Cs.size]) for s in order[:count]]
        members = self._members(training, target, spectrum, settings)
        self._store(mean_rows([rows for _, rows in members]), training)
        self._store_members([member for member, _ in members])
        self.cv_results_ = cv_results(methods, Cs, scores, order[:count])
        self.temperature_ = landscape.combined(order[:count])
        return self

    def _search(
        self,
        training: Training,
        target: Classes,
        folds: Sequence[Any],
        methods: Sequence[Method],
        Cs: Array,
    ) -> Landscape:
        """Out-of-fold decision values of all settings, one eigh per fold."""
        parts = Parallel(n_jobs=self.n_jobs)(
            delayed(fold_values)(methods, Cs, training, target, fold) for fold in folds
        )
        weight = np.ones(training.size) if training.weight is None else training.weight
        return Landscape.join(
            parts,
            [target.codes[test] for _, test in folds],
            self.classes_,
            [weight[test] for _, test in folds],
        )

    def _members(
        self,
        training: Training,
        target: Classes,
        spectrum: Spectrum,
        settings: Sequence[tuple[Method, float]],
    ) -> list[tuple[dict[str, Any], FittedRows]]:
        """Certified machines of the chosen settings."""
        kernels = {}
        for method, _ in settings:
            if method.name not in kernels:
                kernels[method.name] = unit_kernel(training, method, spectrum)
        found = []
        for method, unit_C in settings:
            trained, scale = kernels[method.name]
            C = float(unit_C) / scale
            rows = FittedRows(
                svm_rows(
                    trained,
                    training.upper(C),
                    target,
                    tol=self.tol,
                    max_iter=self.max_iter,
                    options={},
                )
            )
            member = {"method": by_name(method), "C": C, "results": rows.results}
            found.append((member, rows))
        return found

    def _store_members(self, members: list[dict[str, Any]]) -> None:
        self.members_ = members
        self.best_params_ = {name: members[0][name] for name in ("method", "C")}
        gaps = [[r.certificate.value for r in one["results"]] for one in members]
        self.duality_gap_ = np.max(gaps, axis=0)
        if len(members) > 1:
            results = [result for one in members for result in one["results"]]
            for message in self._complaints(results):
                warn_user(message, ConvergenceWarning)

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

    def plot(self, ax: Any = None) -> Any:
        """Draw the landscape: the mean score of every method and C, members marked.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; made when not given.

        Returns
        -------
        matplotlib Axes
        """
        check_is_fitted(self, "cv_results_")
        from krein.plotting import plot_landscape

        return plot_landscape(self.cv_results_, ax=ax)


def unit_kernel(
    training: Training, method: Method, spectrum: Spectrum
) -> tuple[TrainedKernel, float]:
    """Return what a method makes of K, and the mean of its diagonal."""
    transform = Transform.fit(None, method, weight=training.weight, spectrum=spectrum)
    kernel = transform.kernel(training.K.dense())
    diagonal = np.abs(np.diagonal(kernel))
    scale = float(np.average(diagonal, weights=training.weight)) or 1.0
    return TrainedKernel(transform.psd, transform.coef, kernel), scale


def fold_values(
    methods: Sequence[Method],
    Cs: Array,
    training: Training,
    target: Classes,
    fold: tuple[np.ndarray, np.ndarray],
) -> Array:
    """Decision values (n_settings, n_test, n_rows) of every method and C.

    The machines are solved well enough for an order of them.
    """
    train, test = fold
    part, known = training.subset(train), target.subset(train)
    spectrum = part.K.spectrum(part.weight)
    new = training.K.seen(test, train)
    found = []
    for method in methods:
        trained, scale = unit_kernel(part, method, spectrum)
        assert trained.dense is not None
        unit = trained.dense / scale
        columns = []
        for signs in known.signs():
            v, b = svm_path(unit, signs, Cs, part.weight, tol=_SEARCH_TOL)
            columns.append(new @ (trained.to_raw(v.T) / scale) + b)
        found.append(np.stack(columns, axis=-1).transpose(1, 0, 2))
    return np.concatenate(found)


def distinct_methods(given: Sequence[Any], spectrum: Spectrum) -> list[Method]:
    """Leave out methods that make the same of the spectrum as an earlier one."""
    kept: list[Method] = []
    seen: list[Array] = []
    for method in map(as_method, given):
        target, gain = method.apply(spectrum.eigenvalues, spectrum.tolerance, 1.0)
        made = np.concatenate([target, gain])
        if not any(np.allclose(made, other, rtol=1e-9, atol=0.0) for other in seen):
            kept.append(method)
            seen.append(made)
    return kept


def by_name(method: Method) -> str | Method:
    """The name of a method where it stands for it: a name can be kept in files."""
    try:
        as_method(method.name)
    except ValueError:
        return method
    return method.name


def mean_rows(models: Sequence[FittedRows]) -> FittedRows:
    """Average models row by row; a single model keeps its certificate."""
    if len(models) == 1:
        return models[0]
    coef = np.mean([model.coef for model in models], axis=0)
    intercept = np.mean([model.intercept for model in models], axis=0)
    return FittedRows([Row(v, float(b)) for v, b in zip(coef, intercept, strict=True)])


def cv_results(
    methods: Sequence[Method], Cs: Array, scores: Array, chosen: np.ndarray
) -> dict[str, Any]:
    """The table of the search, in the form of `GridSearchCV`."""
    params = [{"method": m.name, "C": float(C)} for m in methods for C in Cs]
    mean = scores.mean(axis=1)
    weight = np.zeros(len(params))
    weight[chosen] = 1.0 / chosen.size
    return {
        "params": params,
        "param_method": np.array([p["method"] for p in params], dtype=object),
        "param_C": np.array([p["C"] for p in params]),
        **{f"split{f}_test_score": scores[:, f] for f in range(scores.shape[1])},
        "mean_test_score": mean,
        "std_test_score": scores.std(axis=1),
        "rank_test_score": 1 + np.array([int(np.sum(mean > m + 1e-12)) for m in mean]),
        "weight": weight,
    }


def check_grid(grid: Any, name: str) -> Array:
    """Positive numbers, ascending."""
    values = np.asarray(grid, dtype=np.float64).ravel()
    if values.size == 0 or not np.all(np.isfinite(values) & (values > 0)):
        raise ValueError(f"{name} must hold positive numbers, got {grid!r}")
    return np.sort(values)
