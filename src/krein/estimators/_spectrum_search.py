"""The search of `SpectrumSVCCV` and `SpectrumSVRCV`, as a mixin of kernel models."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, replace
from functools import partial
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from krein.arrays import Array
from krein.declarations import RESULTS, Fitted, declares_parameters
from krein.selection.folds import Fold
from krein.selection.scores import SEARCHED, cv_results, store_results
from krein.selection.search import CS, FoldValues, check_grid, defined_folds, search
from krein.selection.spectra import (
    FEW_SETTINGS,
    SEARCHED_FIXES,
    Fit,
    Kernels,
    Path,
    Screen,
    Settings,
    all_settings,
    fold_values,
    mean_rows,
    members,
    named,
    near_best,
    screened_settings,
)
from krein.spectrum.decomposition import Spectrum
from krein.training import Training
from krein.words import warn_user


def _is_one(model: Any) -> bool:
    return model.combine == "best"


SPECTRUM_SEARCHED = Fitted.state(
    # An average has the certificates of its members.
    *(replace(entry, needed=_is_one) for entry in RESULTS if entry.needed is True),
    *SEARCHED,
    Fitted("members_", "anything"),
    Fitted("duality_gap_", "numbers", "r"),
)


@declares_parameters
class SpectrumSearch:
    """What classification and regression share; a mixin of kernel models."""

    _: KW_ONLY
    fixes: Any = None
    gains: Any = None  # the name of `fixes` in krein 0.2
    cv: Any = None
    combine: str = "average"
    n_jobs: int | None = None

    fits_rows: ClassVar[bool] = False

    def _searched_fixes(self) -> Sequence[Any]:
        """Return the fixes to search, under their new name or the old one."""
        if self.gains is None:
            return self.fixes or SEARCHED_FIXES
        if self.fixes is not None:
            raise ValueError("gains is the old name of fixes: give fixes only")
        warn_user("gains is deprecated; use fixes", FutureWarning)
        return self.gains or SEARCHED_FIXES

    def _settings(
        self, spectrum: Spectrum, targets: Array, screen: Screen, groups: Any
    ) -> Settings:
        """Return the settings to train: the best by least squares if folds are random.

        ``screen(values)`` scores left-out values (n_C, n, n_rows); `targets` (n,
        n_rows) are what least squares fits.
        """
        model: Any = self
        Cs = check_grid(CS if model.Cs is None else model.Cs, "Cs")
        settings = all_settings(spectrum, self._searched_fixes(), Cs)
        random = groups is None and (model.cv is None or isinstance(model.cv, Integral))
        if not random or settings.kept.size <= FEW_SETTINGS:
            return settings
        return screened_settings(spectrum, settings, targets, screen)[0]

    def _out_of_fold(
        self,
        path: Path,
        settings: Settings,
        training: Training,
        target: Any,
        folds: Sequence[Fold],
    ) -> FoldValues:
        """Values (n_test, n_rows) of every setting on every fold."""
        ask = partial(fold_values, path, settings, training, target)
        return search(ask, folds, n_jobs=self.n_jobs)

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
        average = model.combine == "average"
        best = near_best(settings, table["rank_test_score"], average)
        found = members(fit, grid, settings, best, kernels)
        model._store(mean_rows([rows for _, rows in found]), training)
        model.members_ = [member for member, _ in found]
        weight = np.zeros(len(grid))
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
