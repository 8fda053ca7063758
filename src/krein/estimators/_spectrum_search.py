"""The search of `SpectrumSVCCV` and `SpectrumSVRCV`, as a mixin of kernel models."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, replace
from functools import partial
from numbers import Integral
from typing import Any, ClassVar, Protocol, cast

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from krein.arrays import Array, as_square
from krein.declarations import RESULTS, Fitted, declares_parameters
from krein.result import Result
from krein.selection.folds import Fold
from krein.selection.scores import SEARCHED, cv_results, store_results
from krein.selection.search import CS, FoldValues, check_grid, defined_folds, search
from krein.selection.spectra import (
    SEARCHED_FIXES,
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
from krein.similarity.conversions import Conversion, refuse_no_distances
from krein.similarity.matrix import Matrix, Similarities
from krein.spectrum.decomposition import Spectrum
from krein.spectrum.fixed_kernel import FixedKernel
from krein.spectrum.fixes import Fix
from krein.training import FittedRows, Training
from krein.validation import check_similarity, warn_if_distances
from krein.words import warn_user


def _is_one(model: Any) -> bool:
    return model.combine == "best"


def _of_distances(model: Any) -> bool:
    return model.kind == "distance"


SPECTRUM_SEARCHED = Fitted.state(
    # An average has the certificates of its members.
    *(replace(entry, needed=_is_one) for entry in RESULTS if entry.needed is True),
    *SEARCHED,
    Fitted("members_", "anything"),
    Fitted("duality_gap_", "numbers", "r"),
    Fitted("conversion_", "anything", needed=_of_distances),
)


class _KernelModel(Protocol):
    """What the mixin uses of the kernel model that it is part of."""

    Cs: Any
    members_: list[dict[str, Any]]
    duality_gap_: Array
    n_iter_: Array

    @property
    def _precomputed(self) -> bool: ...
    def _store(self, fitted: FittedRows, training: Training) -> None: ...
    def _complaints(self, results: list[Result]) -> Iterable[str]: ...


@declares_parameters
class SpectrumSearch:
    """What classification and regression share; a mixin of kernel models."""

    _: KW_ONLY
    fixes: Any = None
    gains: Any = None  # the name of `fixes` in krein 0.2
    cv: Any = None
    combine: str = "average"
    n_jobs: int | None = None
    kind: str = "similarity"

    fits_rows: ClassVar[bool] = False

    # ----------------------------------------------------------------------- distances

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        if self.kind == "distance":
            tags.input_tags.positive_only = True
            tags.input_tags.sparse = False
        return tags

    def _check_items(self, X: Any, *, reset: bool) -> Any:
        """Validate items, or a matrix of what `kind` says."""
        model = cast(_KernelModel, self)
        if reset and self.kind == "distance" and model._precomputed:
            X = as_square(X)
        items = super()._check_items(X, reset=reset)  # type: ignore[misc]
        if self.kind == "distance":
            if not model._precomputed:
                raise ValueError(
                    "kind='distance' is for kernel='precomputed': a kernel on items "
                    "says itself what it makes of distances (similarity=, gamma=)"
                )
            refuse_no_distances(items, type(self).__name__)
        return items

    def _training_kernel(
        self, X: Any, dtype: Any = None, kept: np.ndarray | None = None
    ) -> tuple[Matrix, dict]:
        """Similarities of the training items; of distances, with the conversion."""
        if self.kind == "similarity":
            return super()._training_kernel(X, dtype, kept)  # type: ignore[misc]
        symmetrize = self.symmetrize  # type: ignore[attr-defined]
        D = check_similarity(X, name="X", symmetrize=symmetrize, given=dtype)
        warn_if_distances(D, "X", self.kind)
        known = D if kept is None else D[np.ix_(kept, kept)]
        settled = Conversion().settle(known)
        facts = {"X_fit_": None, "conversion_": settled}
        return Similarities(settled.similarities(D)), facts

    def _similarities(self, X: Any) -> Array:
        """Similarities of items to those training items that matter."""
        columns = super()._similarities(X)  # type: ignore[misc]
        if self.kind == "similarity":
            return columns
        # It needs nothing but the distance, so that columns may be converted alone.
        return self.conversion_.similarities(columns)  # type: ignore[attr-defined]

    def _no_expansion(self) -> str | None:
        if self.kind == "similarity":
            return super()._no_expansion()  # type: ignore[misc]
        return (
            "its columns are distances; put DistanceTransformer() in front of a model "
            "of similarities, and make that sparse"
        )

    # ---------------------------------------------------------------------- the search

    def _searched_fixes(self) -> Sequence[Any]:
        """Return the fixes to search, under their new name or the old one."""
        if self.gains is None:
            return self.fixes or SEARCHED_FIXES
        if self.fixes is not None:
            raise ValueError("gains is the old name of fixes: give fixes only")
        warn_user("gains is deprecated; use fixes", FutureWarning)
        return self.gains or SEARCHED_FIXES

    def fit_search(
        self,
        training: Training,
        target: Any,
        folds: Sequence[Fold],
        *,
        screened: bool,
        settings: Settings | None = None,
        spectrum: Spectrum | None = None,
    ) -> tuple[FoldValues, np.ndarray]:
        """Score the settings on the folds and fit the best ones to all samples.

        Parameters
        ----------
        training, target
            The samples.
        folds : sequence of (train, test)
            Positions among them.
        screened : bool
            Rank all settings by least squares first, and train the best of them only.
            Leave-one-out values mislead where folds keep relatives together.
        settings : Settings, optional
            Those to train, where `settings` has chosen them already.
        spectrum : Spectrum, optional
            Of the similarity and the weights, where it is known already.

        Returns
        -------
        FoldValues
            Of the settings that were trained.
        ndarray of int
            Those whose mean is the model, the best first.
        """
        if spectrum is None:
            spectrum = training.K.spectrum(training.weight)
        if settings is None:
            settings, _ = self.settings(training, target, spectrum, screened=screened)
        ask = partial(fold_values, self._path(), settings, training, target)
        values = search(ask, folds, n_jobs=self.n_jobs)
        scores = self._fold_scores(values, training, target)
        best = self._take_best(training, target, settings, spectrum, scores)
        return values, best

    def settings(
        self, training: Training, target: Any, spectrum: Spectrum, *, screened: bool
    ) -> tuple[Settings, float]:
        """Return the settings to train, and the best score of the screen.

        The score is minus infinity where there was no need of a screen.
        """
        Cs = cast(_KernelModel, self).Cs
        Cs = check_grid(CS if Cs is None else Cs, "Cs")
        settings = all_settings(spectrum, self._searched_fixes(), Cs)
        if not screened:
            return settings, -np.inf
        targets, screen = self._screen(training, target)
        return screened_settings(spectrum, settings, targets, screen)

    def _random_folds(self, groups: Any) -> bool:
        """Whether folds take no notice of which items are related."""
        return groups is None and (self.cv is None or isinstance(self.cv, Integral))

    # What is different for classes and numbers.

    def _path(self) -> Path:
        """Return what trains machines of all C loosely."""
        raise NotImplementedError

    def _screen(self, training: Training, target: Any) -> tuple[Array, Screen]:
        """Return what least squares fits (n, n_rows), and scores of left-out values."""
        raise NotImplementedError

    def _fold_scores(
        self, values: FoldValues, training: Training, target: Any
    ) -> Array:
        """Return scores (n_settings, n_folds), larger is better."""
        raise NotImplementedError

    def _machine(self, C: float, target: Any, weight: Array | None) -> dict[str, float]:
        """Return parameters of one machine, in units of the targets."""
        raise NotImplementedError

    def _rows(
        self,
        training: Training,
        target: Any,
        trained: FixedKernel,
        params: dict[str, Any],
        starts: Sequence[Array],
    ) -> FittedRows:
        """Fit certified rows of one setting."""
        raise NotImplementedError

    def _take_best(
        self,
        training: Training,
        target: Any,
        settings: Settings,
        spectrum: Spectrum,
        scores: Array,
    ) -> np.ndarray:
        """Fit the best settings on all data, keep their mean; return which they are."""
        kernels = Kernels(training, spectrum)
        sizes: dict[Fix, float] = {}
        grid = []
        for method, C in settings:
            if method not in sizes:
                sizes[method] = kernels.size(method)
            machine = self._machine(C / sizes[method], target, training.weight)
            grid.append({"method": named(method), **machine})
        table = cv_results(grid, defined_folds(scores))
        table["relative_C"] = np.array([C for _, C in settings])
        average = self.combine == "average"
        best = near_best(settings, table["rank_test_score"], average)
        fit = partial(self._rows, training, target)
        found = members(fit, grid, settings, best, kernels)
        model = cast(_KernelModel, self)
        model._store(mean_rows([rows for _, rows in found]), training)
        model.members_ = [member for member, _ in found]
        weight = np.zeros(len(grid))
        weight[best] = 1.0 / best.size
        store_results(self, {**table, "weight": weight}, int(best[0]))
        of_members = [member["results"] for member in model.members_]
        gaps = [[result.certificate.value for result in rows] for rows in of_members]
        steps = [[result.n_iter for result in rows] for rows in of_members]
        model.duality_gap_ = np.max(gaps, axis=0)
        model.n_iter_ = np.max(steps, axis=0)
        if len(found) > 1:
            results = [result for rows in of_members for result in rows]
            for message in model._complaints(results):
                warn_user(message, ConvergenceWarning)
        return best
