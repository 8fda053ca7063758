"""The settings of one spectrum: fixes and C, screened, tried on folds, and averaged.

All fixes of a fold share its eigendecomposition, and kernels that differ by the
weight of the negative part share both of their halves. What is trained on a kernel,
for classes or numbers, comes as two functions: loosely for all C, certified for one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import ceil
from typing import Any

import numpy as np

from krein.arrays import Array
from krein.spectrum.decomposition import Spectrum
from krein.spectrum.fixed_kernel import FixedKernel, by_spectrum, unit_of
from krein.spectrum.fixes import FIXES, Fix, as_fix, power
from krein.training import FittedRows, Row, Training

# The fixes that are searched unless others are given.
SEARCHED_FIXES = tuple(
    power(w, p) for w in (0.0, 0.3, 1.0) for p in (0.5, 1.0, 1.5, 2.0)
)
_SAME = 1e-13  # relative difference of two targets that are one
# Settings are ranked by least squares. Of the five best methods a quarter of all
# settings is trained and scored on the folds, and a quarter of that is averaged: no
# higher error than 30 % of all settings trained (benchmarks/screen.py). Where folds are
# not random, nothing is left out unseen.
FIXES_KEPT = 5
SHARE_KEPT = 0.25  # of all settings: these are trained on the folds
SHARE_OF_KEPT = 0.25  # of those: these are averaged
SHARE_OF_ALL = 0.3  # averaged where all settings were trained
FEW_SETTINGS = 12  # so many are all trained

# path(K, target, Cs, weight): coefficients (n_C, n_rows, n) and intercepts (n_C,
# n_rows) on a kernel of mean diagonal one, solved well enough for an order of them.
Path = Callable[[Array, Any, Array, Array | None], tuple[Array, Array]]
# fit(trained, params, starts): certified rows. `starts` are the solutions for the C
# before, if any.
Fit = Callable[[FixedKernel, dict[str, Any], Sequence[Array]], FittedRows]


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

    @property
    def screened(self) -> bool:
        """Whether some settings were left out before any was trained."""
        return self.kept.size < len(self.methods) * self.Cs.size

    def of_method(self, m: int) -> tuple[np.ndarray, Array]:
        """Return the places in `kept` that have the m-th method, and their C."""
        places = np.flatnonzero(self.kept // self.Cs.size == m)
        return places, self.Cs[self.kept[places] % self.Cs.size]


Screen = Callable[[Array], Array]  # left-out values (n_C, n, n_rows) -> scores (n_C,)


def all_settings(spectrum: Spectrum, fixes: Sequence[Any], Cs: Array) -> Settings:
    """All pairs of a fix and a C; fixes that do the same to the spectrum count once."""
    methods = distinct_methods(fixes, spectrum)
    return Settings(methods, Cs, np.arange(len(methods) * Cs.size))


def screened_settings(
    spectrum: Spectrum, settings: Settings, targets: Array, screen: Screen
) -> tuple[Settings, float]:
    """Keep the settings that are best by least squares; return the best score too.

    Parameters
    ----------
    spectrum : Spectrum
        Of the training similarity.
    settings : Settings
        All of them.
    targets : ndarray of shape (n, n_rows)
        What least squares fits.
    screen : callable
        Scores left-out values.

    Returns
    -------
    Settings
        At most a quarter of them, of the five best fixes; all where they are few.
    float
        Score of the best setting; larger is better.
    """
    methods = settings.methods
    Cs = settings.Cs
    values = left_out(spectrum, methods, Cs, targets)
    if targets.shape[1] == 1:  # all at once, where they are few numbers
        values = iter([np.concatenate(list(values))])
    scores = np.concatenate([screen(v) for v in values])
    ranked = np.nan_to_num(scores, nan=-np.inf)  # undefined: last
    if settings.kept.size <= FEW_SETTINGS:
        return settings, float(ranked.max())
    order = np.argsort(-ranked, kind="stable")
    best = list(dict.fromkeys(order // Cs.size))[:FIXES_KEPT]
    order = order[np.isin(order // Cs.size, best)]
    kept = np.sort(order[: ceil(SHARE_KEPT * settings.kept.size)])
    return replace(settings, kept=kept), float(ranked.max())


def near_best(settings: Settings, ranks: np.ndarray, average: bool) -> np.ndarray:
    """Positions of the settings that make the model, the best first."""
    order = np.argsort(ranks, kind="stable")
    share = SHARE_OF_KEPT if settings.screened else SHARE_OF_ALL
    return order[: ceil(share * order.size) if average else 1]


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
        weight = self.training.weight
        spectrum = self.spectrum
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
        del self._halves[:-1]  # before the new one is formed: two are alive at a time
        matrix = replace(self.spectrum, eigenvalues=shape).formed()
        self._halves.append((shape, matrix))
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
    V = spectrum.eigenvectors
    root = spectrum.sqrt_weight
    root = np.ones(spectrum.n) if root is None else root
    squares = V * V
    turned = V.T @ (root[:, None] * np.insert(targets, 0, 1.0, axis=1))
    ones = turned[:, 0]
    for method in methods:
        target, _ = method.apply(spectrum.eigenvalues, spectrum.tolerance, 1.0)
        height = np.maximum(target, 0.0)
        unit = float(height.sum()) / float(root @ root) or 1.0
        inverse = 1.0 / (height[:, None] / unit + 1.0 / Cs)
        weight = ones**2 @ inverse
        diagonal = squares @ inverse
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
) -> list[Array]:
    """Decision values (n_test, n_rows) of every setting."""
    part = training.subset(train)
    known = target.subset(train)
    spectrum = part.K.spectrum(part.weight)
    kernels = Kernels(part, spectrum)
    new = training.K.seen(test, train)
    found: list[Any] = [None] * settings.kept.size
    for m in by_half(settings, spectrum):
        places, Cs = settings.of_method(m)
        trained, scale = kernels.unit(settings.methods[m])
        coef, b = path(trained.kernel() / scale, known, Cs, part.weight)
        raw = trained.to_raw(coef.reshape(-1, train.size).T) / scale
        values = (new @ raw).reshape(test.size, *b.shape) + b
        for place, one in zip(places, values.transpose(1, 0, 2), strict=True):
            found[place] = one
    return found


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
        del trained
    return [found[s] for s in best]


def mean_rows(models: Sequence[FittedRows]) -> FittedRows:
    """Average models row by row; a single model keeps its certificate."""
    if len(models) == 1:
        return models[0]
    coef = np.mean([model.coef for model in models], axis=0)
    intercept = np.mean([model.intercept for model in models], axis=0)
    return FittedRows([Row(v, float(b)) for v, b in zip(coef, intercept, strict=True)])
