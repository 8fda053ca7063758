"""A search over treatments of one spectrum and C, and the machines it chooses.

All treatments of a fold share its eigendecomposition, and kernels that differ by the
weight of the negative part share both of their halves. What is trained on a kernel,
for classes or numbers, comes as two functions: loosely for all C, certified for one.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from math import ceil
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from krein.arrays import Array
from krein.estimators._parameters import declares_parameters
from krein.estimators._search import (
    CS,
    SEARCHED,
    check_grid,
    cv_results,
    defined_folds,
    in_folds,
)
from krein.estimators._svm_rows import unit_of
from krein.estimators._training import FittedRows, Row, Training
from krein.methods import Method, as_method, power
from krein.notices import warn_user
from krein.similarity.spectrum import Spectrum
from krein.similarity.treated import TreatedKernel, by_spectrum
from krein.store.state import RESULTS, Fitted, State

GAINS = tuple(power(w, p) for w in (0.0, 0.3, 1.0) for p in (0.5, 1.0, 1.5, 2.0))
_SAME = 1e-13  # relative difference of two targets that are one
_SHARE = 0.3  # of the settings are averaged
_TOL, _STEPS = 1e-1, 3  # of LIBSVM in the search: in units of the margin; per sample

# path(K, target, Cs, weight): coefficients (n_C, n_rows, n) and intercepts (n_C,
# n_rows) on a kernel of mean diagonal one, solved well enough for an order of them.
Path = Callable[[Array, Any, Array, Array | None], tuple[Array, Array]]
# fit(trained, training, target, C, starts): parameters of the one machine, certified
# rows. `starts` are the solutions for the C before, if any.
Fit = Callable[
    [TreatedKernel, Training, Any, float, Sequence[Array]],
    tuple[dict[str, float], FittedRows],
]


def _is_one(model: Any) -> bool:
    return model.combine == "best"


SPECTRUM_SEARCHED: State = (
    # An average has the certificates of its members.
    *(replace(entry, needed=_is_one) for entry in RESULTS if entry.needed is True),
    *SEARCHED,
    Fitted("members_", "anything"),
    Fitted("duality_gap_", "numbers", "r"),
)


@dataclass(frozen=True)
class Settings:
    """All pairs of a method and a C, methods first.

    Attributes
    ----------
    spectrum : Spectrum
        Of the training similarity.
    methods : list of Method
        Those that differ on it.
    Cs : ndarray
        Ascending, for kernels of mean diagonal one.
    """

    spectrum: Spectrum
    methods: Sequence[Method]
    Cs: Array

    def __getitem__(self, s: int) -> tuple[Method, float]:
        return self.methods[s // self.Cs.size], float(self.Cs[s % self.Cs.size])

    def __iter__(self) -> Iterator[tuple[Method, float]]:
        return ((method, float(C)) for method in self.methods for C in self.Cs)


@declares_parameters
class SpectrumSearch:
    """What classification and regression share; a mixin of kernel models."""

    _: KW_ONLY
    gains: Any = None
    cv: Any = None
    combine: str = "average"
    n_jobs: int | None = None

    def _out_of_fold(
        self, path: Path, training: Training, target: Any, folds: Sequence[Any]
    ) -> tuple[Settings, list[Array]]:
        """Settings and their values (n_settings, n_test, n_rows) on every fold."""
        model: Any = self
        Cs = check_grid(CS if model.Cs is None else model.Cs, "Cs")
        spectrum = training.K.spectrum(training.weight)
        settings = Settings(
            spectrum, distinct_methods(model.gains or GAINS, spectrum), Cs
        )
        ask = partial(fold_values, path, settings.methods, Cs, training, target)
        return settings, list(in_folds(ask, folds, n_jobs=model.n_jobs))

    def _take_best(
        self,
        fit: Fit,
        training: Training,
        target: Any,
        settings: Settings,
        scores: Array,
    ) -> np.ndarray:
        """Fit the best settings on all data, keep their mean; return which they are."""
        model: Any = self
        table = cv_results(
            [{"method": method.name, "C": C} for method, C in settings],
            defined_folds(scores),
        )
        order = np.argsort(table["rank_test_score"], kind="stable")
        best = order[: 1 if model.combine == "best" else ceil(_SHARE * order.size)]
        found = members(fit, settings, best, training, target)
        model._store(mean_rows([rows for _, rows in found]), training)
        model.members_ = [member for member, _ in found]
        model.best_params_ = {
            name: value for name, value in found[0][0].items() if name != "results"
        }
        results = [one["results"] for one in model.members_]
        model.duality_gap_ = np.max(
            [[result.certificate.value for result in rows] for rows in results], axis=0
        )
        model.n_iter_ = np.max(
            [[result.n_iter for result in rows] for rows in results], axis=0
        )
        if len(found) > 1:
            for message in model._complaints([r for rows in results for r in rows]):
                warn_user(message, ConvergenceWarning)
        if model.verbose:
            sys.stderr.write(
                f"{type(model).__name__}: the mean of {best.size} of {order.size} "
                "settings is the model; their mean scores over the folds (higher is "
                "better):\n"
            )
            for place, (member, _) in zip(best, found, strict=True):
                chosen = {k: v for k, v in member.items() if k != "results"}
                score = table["mean_test_score"][place]
                sys.stderr.write(f"mean score {score:.4g}: {chosen}\n")
        weight = np.zeros(len(table["params"]))
        weight[best] = 1.0 / best.size
        model.cv_results_ = {**table, "weight": weight}
        model.best_index_ = int(best[0])
        model.best_score_ = float(table["mean_test_score"][best[0]])
        return best

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

        return plot_landscape(self.cv_results_, ax=ax)  # type: ignore[attr-defined]


@dataclass
class Kernels:
    """Kernels of many methods on one spectrum, each divided by its mean diagonal.

    A target is the sum of what it makes of the eigenvalues above and below zero. A
    half that differs from one of the last two by a factor is not formed again.
    """

    training: Training
    spectrum: Spectrum
    _halves: list[tuple[Array, Array]] = field(default_factory=list)

    def unit(self, method: Method) -> tuple[TreatedKernel, float]:
        """Return what a method makes of K, and the mean of its diagonal."""
        weight, spectrum = self.training.weight, self.spectrum
        treated = by_spectrum(self.training.K, method, spectrum)
        if treated.vectors is None:
            kernel = treated.kernel()
        else:
            target, _ = method.apply(spectrum.eigenvalues, spectrum.tolerance, 1.0)
            kernel = self._kernel(target)
        treated = replace(treated, ready=kernel)
        return treated, unit_of(treated, weight)

    def _kernel(self, target: Array) -> Array:
        found = None
        above = self.spectrum.eigenvalues >= 0.0
        for half in (above, ~above):
            part = np.where(half, target, 0.0)
            height = float(np.abs(part).max(initial=0.0))
            if height > 0.0:
                more = height * self._half(part / height)
                found = more if found is None else np.add(found, more, out=found)
        return np.zeros((target.size,) * 2) if found is None else found

    def _half(self, shape: Array) -> Array:
        for known, matrix in self._halves:
            if np.abs(known - shape).max() <= _SAME:
                return matrix
        matrix = replace(self.spectrum, eigenvalues=shape).formed()
        self._halves = [*self._halves[-1:], (shape, matrix)]
        return matrix


def by_half(methods: Sequence[Method], spectrum: Spectrum) -> list[int]:
    """Order of methods in which those that share the half above zero are neighbours."""
    groups: dict[bytes, list[int]] = {}
    above = spectrum.eigenvalues >= 0.0
    for m, method in enumerate(methods):
        target, _ = method.apply(spectrum.eigenvalues, spectrum.tolerance, 1.0)
        groups.setdefault(np.where(above, target, 0.0).tobytes(), []).append(m)
    return [m for group in groups.values() for m in group]


def loosely(n: int) -> dict[str, Any]:
    """Limits of LIBSVM for ranking settings only; more steps do not change the rank."""
    return {"tol": _TOL, "max_iter": _STEPS * n}


def fold_values(
    path: Path,
    methods: Sequence[Method],
    Cs: Array,
    training: Training,
    target: Any,
    train: np.ndarray,
    test: np.ndarray,
) -> Array:
    """Decision values (n_settings, n_test, n_rows) of every method and C."""
    part, known = training.subset(train), target.subset(train)
    spectrum = part.K.spectrum(part.weight)
    kernels, new = Kernels(part, spectrum), training.K.seen(test, train)
    found: list[Any] = [None] * len(methods)
    for m in by_half(methods, spectrum):
        trained, scale = kernels.unit(methods[m])
        coef, b = path(trained.kernel() / scale, known, Cs, part.weight)
        raw = trained.to_raw(coef.reshape(-1, train.size).T) / scale
        values = (new @ raw).reshape(test.size, *b.shape) + b
        found[m] = values.transpose(1, 0, 2)
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


def members(
    fit: Fit,
    settings: Settings,
    best: np.ndarray,
    training: Training,
    target: Any,
) -> list[tuple[dict[str, Any], FittedRows]]:
    """Certified machines of the best settings, each with its method and C."""
    kernels, found = Kernels(training, settings.spectrum), {}
    # Method by method: the kernel of one of them is alive at a time.
    for m in by_half(settings.methods, settings.spectrum):
        chosen = sorted(s for s in best if s // settings.Cs.size == m)
        if not chosen:
            continue
        trained, scale = kernels.unit(settings.methods[m])
        starts: list[Array] = []
        for s in chosen:  # from the smallest C up: beyond some C nothing changes
            method, unit_C = settings[s]
            params, rows = fit(trained, training, target, unit_C / scale, starts)
            starts = [result.x for result in rows.results]
            member = {"method": _by_name(method), **params, "results": rows.results}
            found[s] = member, rows
    return [found[s] for s in best]


def _by_name(method: Method) -> str | Method:
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
