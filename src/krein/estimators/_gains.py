"""A search over fixes of one spectrum and C, and the machines it chooses.

All fixes of a fold share its eigendecomposition, and kernels that differ by the
weight of the negative part share both of their halves. What is trained on a kernel,
for classes or numbers, comes as two functions: loosely for all C, certified for one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from math import ceil
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from krein.arrays import Array
from krein.declarations import RESULTS, Fitted, declares_parameters
from krein.estimators._search import (
    CS,
    SEARCHED,
    check_grid,
    cv_results,
    defined_folds,
    in_folds,
    store_results,
)
from krein.estimators._training import FittedRows, Row, Training
from krein.estimators.spectral import unit_of
from krein.spectrum.decomposition import Spectrum
from krein.spectrum.fixed_kernel import FixedKernel, by_spectrum
from krein.spectrum.fixes import FIXES, Fix, as_fix, power
from krein.words import warn_user

GAINS = tuple(power(w, p) for w in (0.0, 0.3, 1.0) for p in (0.5, 1.0, 1.5, 2.0))
_SAME = 1e-13  # relative difference of two targets that are one
# Settings are ranked by least squares. Of the five best methods a quarter of all
# settings is trained and scored on the folds, and a quarter of that is averaged: no
# higher error than 30 % of all settings trained (benchmarks/screen.py). Where folds are
# not random, nothing is left out unseen.
_METHODS, _KEPT, _SHARE_OF_KEPT, _SHARE = 5, 0.25, 0.25, 0.3
_FEW = 12  # so many settings are all trained

# path(K, target, Cs, weight): coefficients (n_C, n_rows, n) and intercepts (n_C,
# n_rows) on a kernel of mean diagonal one, solved well enough for an order of them.
Path = Callable[[Array, Any, Array, Array | None], tuple[Array, Array]]
# fit(trained, params, starts): certified rows. `starts` are the solutions for the C
# before, if any.
Fit = Callable[[FixedKernel, dict[str, Any], Sequence[Array]], FittedRows]


def _is_one(model: Any) -> bool:
    return model.combine == "best"


SPECTRUM_SEARCHED = Fitted.state(
    # An average has the certificates of its members.
    *(replace(entry, needed=_is_one) for entry in RESULTS if entry.needed is True),
    *SEARCHED,
    Fitted("members_", "anything"),
    Fitted("duality_gap_", "numbers", "r"),
)


@dataclass(frozen=True)
class Settings:
    """Pairs of a method and a C, methods first: all of them, or those that are kept.

    Attributes
    ----------
    methods : list of Fix
        Those that differ on the training similarity.
    Cs : ndarray
        Ascending, for kernels of mean diagonal one.
    kept : ndarray of int
        Positions among all pairs, ascending.
    """

    methods: Sequence[Fix]
    Cs: Array
    kept: np.ndarray

    def __iter__(self) -> Iterator[tuple[Fix, float]]:
        for s in self.kept:
            yield self.methods[s // self.Cs.size], float(self.Cs[s % self.Cs.size])

    def of_method(self, m: int) -> tuple[np.ndarray, Array]:
        """Return the places in `kept` that have the m-th method, and their C."""
        places = np.flatnonzero(self.kept // self.Cs.size == m)
        return places, self.Cs[self.kept[places] % self.Cs.size]


@declares_parameters
class SpectrumSearch:
    """What classification and regression share; a mixin of kernel models."""

    _: KW_ONLY
    gains: Any = None
    cv: Any = None
    combine: str = "average"
    n_jobs: int | None = None

    def _settings(
        self,
        spectrum: Spectrum,
        targets: Array,
        screen: Callable[[Array], Array],
        groups: Any,
    ) -> Settings:
        """Return the settings to train: the best by least squares if folds are random.

        ``screen(values)`` scores left-out values (n_C, n, n_rows); `targets` (n,
        n_rows) are what least squares fits.
        """
        model: Any = self
        Cs = check_grid(CS if model.Cs is None else model.Cs, "Cs")
        methods = distinct_methods(model.gains or GAINS, spectrum)
        count = len(methods) * Cs.size
        random = groups is None and (model.cv is None or isinstance(model.cv, Integral))
        if not random or count <= _FEW:
            return Settings(methods, Cs, np.arange(count))
        values = left_out(spectrum, methods, Cs, targets)
        if targets.shape[1] == 1:  # all at once, where they are few numbers
            values = iter([np.concatenate(list(values))])
        scores = [screen(v) for v in values]
        ranked = np.nan_to_num(np.concatenate(scores), nan=-np.inf)  # undefined: last
        order = np.argsort(-ranked, kind="stable")
        best = list(dict.fromkeys(order // Cs.size))[:_METHODS]
        order = order[np.isin(order // Cs.size, best)]
        return Settings(methods, Cs, np.sort(order[: ceil(_KEPT * count)]))

    def _out_of_fold(
        self,
        path: Path,
        settings: Settings,
        training: Training,
        target: Any,
        folds: Sequence[Any],
    ) -> list[Array]:
        """Values (n_settings, n_test, n_rows) of the settings on every fold."""
        model: Any = self
        ask = partial(fold_values, path, settings, training, target)
        return list(in_folds(ask, folds, n_jobs=model.n_jobs))

    def _take_best(
        self,
        fit: Fit,
        scaled: Callable[[float], dict[str, float]],
        training: Training,
        settings: Settings,
        spectrum: Spectrum,
        scores: Array,
    ) -> np.ndarray:
        """Fit the best settings on all data, keep their mean; return which they are."""
        model: Any = self
        kernels = Kernels(training, spectrum)
        sizes = {m: kernels.size(m) for m in dict.fromkeys(m for m, _ in settings)}
        grid = [{"method": named(m), **scaled(C / sizes[m])} for m, C in settings]
        table = cv_results(grid, defined_folds(scores))
        table["relative_C"] = np.array([C for _, C in settings])
        order = np.argsort(table["rank_test_score"], kind="stable")
        screened = order.size < len(settings.methods) * settings.Cs.size
        share = _SHARE_OF_KEPT if screened else _SHARE
        best = order[: 1 if model.combine == "best" else ceil(share * order.size)]
        found = members(fit, grid, settings, best, kernels)
        model._store(mean_rows([rows for _, rows in found]), training)
        model.members_ = [member for member, _ in found]
        weight = np.zeros(order.size)
        weight[best] = 1.0 / best.size
        store_results(model, {**table, "weight": weight}, int(best[0]))
        results = [one["results"] for one in model.members_]
        gaps = [[result.certificate.value for result in rows] for rows in results]
        steps = [[result.n_iter for result in rows] for rows in results]
        model.duality_gap_ = np.max(gaps, axis=0)
        model.n_iter_ = np.max(steps, axis=0)
        if len(found) > 1:
            for message in model._complaints([r for rows in results for r in rows]):
                warn_user(message, ConvergenceWarning)
        return best


@dataclass
class Kernels:
    """Kernels of many methods on one spectrum, each divided by its mean diagonal.

    A target is the sum of what it makes of the eigenvalues above and below zero. A
    half that differs from one of the last two by a factor is not formed again.
    """

    training: Training
    spectrum: Spectrum
    _halves: list[tuple[Array, Array]] = field(default_factory=list)

    def unit(self, method: Fix) -> tuple[FixedKernel, float]:
        """Return what a method makes of K, and the mean of its diagonal."""
        weight, spectrum = self.training.weight, self.spectrum
        fixed_kernel = by_spectrum(self.training.K, method, spectrum)
        if fixed_kernel.vectors is None:
            kernel = fixed_kernel.kernel()
        else:
            target, _ = method.apply(spectrum.eigenvalues, spectrum.tolerance, 1.0)
            kernel = self._kernel(target)
        fixed_kernel = replace(fixed_kernel, ready=kernel)
        return fixed_kernel, unit_of(fixed_kernel, weight)

    def size(self, method: Fix) -> float:
        """Mean of the diagonal of what a method makes of K, which is not formed."""
        fixed_kernel = by_spectrum(self.training.K, method, self.spectrum)
        return unit_of(fixed_kernel, self.training.weight)

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


def by_half(settings: Settings, spectrum: Spectrum) -> list[int]:
    """Order of the methods that are kept: those that share a half are neighbours."""
    groups: dict[bytes, list[int]] = {}
    above = spectrum.eigenvalues >= 0.0
    for m in np.unique(settings.kept // settings.Cs.size):
        method = settings.methods[m]
        target, _ = method.apply(spectrum.eigenvalues, spectrum.tolerance, 1.0)
        groups.setdefault(np.where(above, target, 0.0).tobytes(), []).append(int(m))
    return [m for group in groups.values() for m in group]


def left_out(
    spectrum: Spectrum, methods: Sequence[Fix], Cs: Array, targets: Array
) -> Iterator[Array]:
    """Values (n_C, n, n_rows) that least squares gives each sample when it is left out.

    Per method, on the fixed kernel K~ of all samples, divided by its mean diagonal,
    with penalty 1 / C and an intercept: ``a = R (t - b)``, R the inverse of
    ``K~ + I / C``, and the residual of a left-out sample is ``a_i / R_ii`` (R bordered
    by the intercept). One eigendecomposition serves all methods and C, at O(n^2) each:
    a screen, before machines are trained.
    """
    V, root = spectrum.eigenvectors, spectrum.sqrt_weight
    root = np.ones(spectrum.n) if root is None else root
    squares, turned = V * V, V.T @ (root[:, None] * np.insert(targets, 0, 1.0, axis=1))
    ones = turned[:, 0]
    for method in methods:
        target, _ = method.apply(spectrum.eigenvalues, spectrum.tolerance, 1.0)
        height = np.maximum(target, 0.0)
        unit = float(height.sum()) / float(root @ root) or 1.0
        inverse = 1.0 / (height[:, None] / unit + 1.0 / Cs)
        weight, diagonal = ones**2 @ inverse, squares @ inverse
        scaled = inverse[:, :, None] * turned[:, None]
        solved = np.tensordot(V, scaled, 1)  # for all C and rows at once
        intercept = np.tensordot(ones, scaled, 1)[:, 1:] / weight[:, None]
        border = solved[:, :, 0]
        diagonal -= border**2 / weight
        a = solved[:, :, 1:] - border[:, :, None] * intercept
        a /= (diagonal * root[:, None])[:, :, None]
        yield targets - a.transpose(1, 0, 2)


def fold_values(
    path: Path,
    settings: Settings,
    training: Training,
    target: Any,
    train: np.ndarray,
    test: np.ndarray,
) -> Array:
    """Decision values (n_settings, n_test, n_rows) of every setting."""
    part, known = training.subset(train), target.subset(train)
    spectrum = part.K.spectrum(part.weight)
    kernels, new = Kernels(part, spectrum), training.K.seen(test, train)
    found: list[Any] = [None] * settings.kept.size
    for m in by_half(settings, spectrum):
        places, Cs = settings.of_method(m)
        trained, scale = kernels.unit(settings.methods[m])
        coef, b = path(trained.kernel() / scale, known, Cs, part.weight)
        raw = trained.to_raw(coef.reshape(-1, train.size).T) / scale
        values = (new @ raw).reshape(test.size, *b.shape) + b
        for place, one in zip(places, values.transpose(1, 0, 2), strict=True):
            found[place] = one
    return np.stack(found)


def distinct_methods(given: Sequence[Any], spectrum: Spectrum) -> list[Fix]:
    """Leave out methods that make the same of the spectrum as an earlier one."""
    kept: list[Fix] = []
    seen: list[Array] = []
    for method in map(as_fix, given):
        target, gain = method.apply(spectrum.eigenvalues, spectrum.tolerance, 1.0)
        made = np.concatenate([target, gain])
        if not any(np.all(np.abs(made - v) <= 1e-9 * np.abs(v)) for v in seen):
            kept.append(method)
            seen.append(made)
    return kept


def named(method: Fix) -> str | Fix:
    """Name of a method, which files can hold; the record of one without a name."""
    known = method.name in FIXES or method.name.startswith("power(")
    return method.name if known else method


def members(
    fit: Fit,
    grid: Sequence[dict[str, Any]],
    settings: Settings,
    best: np.ndarray,
    kernels: Kernels,
) -> list[tuple[dict[str, Any], FittedRows]]:
    """Certified machines of the best settings, each with its method and C."""
    found: dict[int, tuple[dict[str, Any], FittedRows]] = {}
    # Fix by method: the kernel of one of them is alive at a time.
    for m in by_half(settings, kernels.spectrum):
        chosen = [s for s in settings.of_method(m)[0] if s in best]
        if not chosen:
            continue
        trained, _ = kernels.unit(settings.methods[m])
        starts: list[Array] = []
        for s in chosen:  # from the smallest C up: beyond some nothing changes
            rows = fit(trained, grid[s], starts)
            starts = [result.x for result in rows.results]
            found[s] = {**grid[s], "results": rows.results}, rows
    return [found[s] for s in best]


def mean_rows(models: Sequence[FittedRows]) -> FittedRows:
    """Average models row by row; a single model keeps its certificate."""
    if len(models) == 1:
        return models[0]
    coef = np.mean([model.coef for model in models], axis=0)
    intercept = np.mean([model.intercept for model in models], axis=0)
    return FittedRows([Row(v, float(b)) for v, b in zip(coef, intercept, strict=True)])
