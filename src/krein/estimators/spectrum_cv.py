"""C and the spectrum method by cross-validation, and the average of the near-best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from numbers import Integral, Real
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import _fit_context
from sklearn.model_selection import check_cv
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _num_samples, check_is_fitted

from krein.arrays import Array
from krein.domain import BalancedBox
from krein.estimators._classifier import KernelClassifier
from krein.estimators._landscape import Landscape, probabilities
from krein.estimators._probability import inner_folds
from krein.estimators._training import (
    Row,
    Training,
    among_kept,
    keep_positive,
    one_vs_rest,
)
from krein.methods import Method, as_method, power
from krein.result import Result
from krein.solvers.libsvm import svm_dual
from krein.solvers.svm_path import svm_path
from krein.spectrum import Spectrum
from krein.transform import Transform
from krein.validation import check_classes_weigh

__all__ = ["GAINS", "Member", "SpectrumSVCCV"]

GAINS = tuple(power(w, p) for w in (0.0, 0.3, 1.0) for p in (0.5, 1.0, 1.5, 2.0))
CS = tuple(float(c) for c in 10.0 ** np.array([-1.0, -0.25, 0.5, 1.25, 2.0, 2.75]))
_SHARE = 0.3  # of the settings are averaged
_SEARCH_TOL = 1e-2  # of LIBSVM, in units of the margin


@dataclass(frozen=True)
class Member:
    """One of the machines whose average is the model.

    Attributes
    ----------
    method : Method
        What became of the spectrum.
    C : float
        In the units of the transformed kernel: ``SpectrumSVC(method, C=C)`` is the
        same machine.
    results : list of Result
        One per row, with its certificate.
    """

    method: Method
    C: float
    results: list[Result]


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
    members_ : list of Member
        The machines that were averaged, the best first, each with its certificate.
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
    def fit(self, X, y, sample_weight=None, groups=None):
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
        items = self._check_items(X, reset=True)
        codes = self._check_targets(y, _num_samples(items))
        weight = self._check_weight(items, sample_weight, self._class_weights(codes))
        check_classes_weigh(self.classes_, codes, weight)
        training = keep_positive(
            self._training_kernel(items, getattr(X, "dtype", None)), weight
        )
        folds = self._folds(codes, groups, training)
        codes = codes if training.kept is None else codes[training.kept]
        Cs = check_grid(CS if self.Cs is None else self.Cs, "Cs")
        spectrum = training.spectrum()
        methods = distinct_methods(
            [as_method(given) for given in (self.gains or GAINS)], spectrum
        )
        landscape = self._search(training, codes, folds, methods, Cs)
        scores = landscape.scores(self.scoring)
        order = np.argsort(-np.round(scores.mean(axis=1), 12), kind="stable")
        count = 1 if self.combine == "best" else ceil(_SHARE * order.size)
        self._fit_members(training, codes, spectrum, methods, Cs, order[:count])
        self.cv_results_ = cv_results(methods, Cs, scores, order[:count])
        self.temperature_ = landscape.combined(order[:count])
        return self

    def _folds(self, codes: np.ndarray, groups: Any, training: Training) -> list[Any]:
        if self.cv is None:
            folds = inner_folds(codes, self.random_state, "SpectrumSVCCV")
        else:
            cv = check_cv(self.cv, codes, classifier=True)
            folds = list(cv.split(np.zeros((codes.size, 1)), codes, groups))
        if training.kept is None:
            return folds
        return among_kept(folds, training.kept, training.n)

    def _search(
        self,
        training: Training,
        codes: np.ndarray,
        folds: list[Any],
        methods: list[Method],
        Cs: Array,
    ) -> Landscape:
        """Out-of-fold decision values of all settings, one eigh per fold."""
        parts = Parallel(n_jobs=self.n_jobs)(
            delayed(fold_values)(
                training, codes, train, test, methods, Cs, self.classes_.size
            )
            for train, test in folds
        )
        weight = np.ones(codes.size) if training.weight is None else training.weight
        return Landscape.join(
            parts,
            [codes[test] for _, test in folds],
            self.classes_,
            [weight[test] for _, test in folds],
        )

    def _fit_members(
        self,
        training: Training,
        codes: np.ndarray,
        spectrum: Spectrum,
        methods: list[Method],
        Cs: Array,
        chosen: np.ndarray,
    ) -> None:
        """Certified machines of the chosen settings; the model is their mean."""
        fitted: dict[int, tuple[Member, list[Row]]] = {}
        for m in sorted({int(s) // Cs.size for s in chosen}):
            machine = _Machine.fit(training, methods[m], spectrum)
            for s in (int(s) for s in chosen if int(s) // Cs.size == m):
                C = float(Cs[s % Cs.size]) / machine.scale
                rows = [
                    machine.row(training, signs, C, self.tol, self.max_iter)
                    for signs in one_vs_rest(codes, self.classes_.size)
                ]
                results = [row.result for row in rows if row.result is not None]
                fitted[s] = Member(methods[m], C, results), rows
        in_order = [fitted[int(s)] for s in chosen]
        self.members_ = [member for member, _ in in_order]
        self._store_rows(mean_rows([rows for _, rows in in_order]), training)
        best = self.members_[0]
        self.best_params_ = {"method": best.method, "C": best.C}
        self.duality_gap_ = np.max(
            [[r.certificate.value for r in m.results] for m in self.members_], axis=0
        )

    def predict_proba(self, X):
        """Class probabilities: softmax of the scores over `temperature_`.

        Parameters
        ----------
        X : array-like of shape (n_new, n_train) or items as in fit

        Returns
        -------
        ndarray of shape (n_new, n_classes)
        """
        return probabilities(self._decision_rows(X), self.temperature_)

    def plot(self, ax=None):
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


@dataclass(frozen=True)
class _Machine:
    """A transformed training kernel, and C in its units."""

    transform: Transform
    kernel: Array
    scale: float

    @classmethod
    def fit(cls, training: Training, method: Method, spectrum: Spectrum) -> _Machine:
        transform = Transform.fit(
            training.K, method, weight=training.weight, spectrum=spectrum
        )
        kernel = transform.kernel(training.K)
        diagonal = np.average(np.abs(np.diagonal(kernel)), weights=training.weight)
        return cls(transform, kernel, float(diagonal) or 1.0)

    def row(
        self, training: Training, signs: Array, C: float, tol: float, max_iter: int
    ) -> Row:
        """One certified row of the model."""
        result, intercept = svm_dual(
            self.kernel,
            BalancedBox(training.upper(C), signs),
            tol=tol,
            max_iter=max_iter,
            psd=self.transform.psd,
        )
        return Row(self.transform.coef(signs * result.x), intercept, result, result.x)


def fold_values(
    training: Training,
    codes: np.ndarray,
    train: np.ndarray,
    test: np.ndarray,
    methods: Sequence[Method],
    Cs: Array,
    n_classes: int,
) -> Array:
    """Decision values (n_settings, n_test, n_rows) of all settings on one fold."""
    weight = None if training.weight is None else training.weight[train]
    part = Training(training.K[np.ix_(train, train)], weight, None, train.size)
    new = training.K[np.ix_(test, train)]
    spectrum = part.spectrum()
    found = []
    for method in methods:
        machine = _Machine.fit(part, method, spectrum)
        rows = machine.transform.rows(new) / machine.scale
        unit = machine.kernel / machine.scale
        columns = []
        for signs in one_vs_rest(codes[train], n_classes):
            coef, intercept = svm_path(unit, signs, Cs, weight, tol=_SEARCH_TOL)
            columns.append(coef @ rows.T + intercept[:, None])
        found.append(np.stack(columns, axis=-1))
    return np.concatenate(found)


def distinct_methods(methods: list[Method], spectrum: Spectrum) -> list[Method]:
    """Leave out methods that make the same of the spectrum as an earlier one."""
    kept: list[Method] = []
    seen: list[Array] = []
    for method in methods:
        target, gain = method.apply(spectrum.eigenvalues, spectrum.tolerance, 1.0)
        made = np.concatenate([target, gain])
        if not any(np.allclose(made, other, rtol=1e-9, atol=0.0) for other in seen):
            kept.append(method)
            seen.append(made)
    return kept


def mean_rows(models: list[list[Row]]) -> list[Row]:
    """Average models row by row; a single model keeps its certificate."""
    if len(models) == 1:
        return models[0]
    return [
        Row(
            np.mean([row.coef for row in rows], axis=0),
            float(np.mean([row.intercept for row in rows])),
        )
        for rows in zip(*models, strict=True)
    ]


def cv_results(
    methods: list[Method], Cs: Array, scores: Array, chosen: np.ndarray
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
