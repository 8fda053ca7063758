"""Kernels and conversions, pooled: what `SimilarityClassifier` and -Regressor share.

A candidate is (kernel, conversion, fix, C). Each pair of a kernel and a conversion is
one similarity, with one decomposition: its fixes and C are ranked in closed form on all
training items, the best few pairs are searched on the same folds, and the models of
these are averaged.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, replace
from functools import partial
from numbers import Integral
from typing import Any, ClassVar, Protocol, cast

import numpy as np
import scipy.sparse

from krein.arrays import Array, as_square
from krein.declarations import (
    COEFFICIENTS,
    CONSTRAINTS,
    COUNT,
    RESULTS,
    Fitted,
    declares_parameters,
)
from krein.estimators._pool_candidates import (
    Member,
    Pair,
    PoolTraining,
    Screened,
    candidate,
    conversions_of,
    in_words,
    machines,
)
from krein.estimators._pool_sources import (
    is_stack,
    numbers_of,
    of_kernels,
    of_matrices,
    positive,
)
from krein.items import take
from krein.kernels.blocks import kernel_matrix
from krein.kernels.registry import Kernel, as_kernel
from krein.selection.folds import Fold
from krein.selection.scores import SEARCHED, cv_results, split_scores, store_results
from krein.similarity.conversions import Source, refuse_no_distances
from krein.similarity.matrix import as_views
from krein.similarity.sparse import SparseSimilarity, as_matrix, check_sparse_similarity
from krein.sklearn_internals import num_samples
from krein.training import positive_part
from krein.validation import check_similarity


class _KernelModel(Protocol):
    """What the mixin uses of the kernel model that it is part of."""

    kernel_params: dict[str, Any] | None
    symmetrize: bool
    verbose: int
    n_features_in_: int
    n_kernels_in_: int
    n_iter_: Any
    sources_: list[Source]
    ranking_: list[dict[str, Any]]
    X_fit_: Any

    @property
    def _precomputed(self) -> bool: ...


@declares_parameters
class SimilarityPool:
    """A mixin of models that choose among kernels and conversions."""

    kernel: Any = "precomputed"
    _: KW_ONLY
    kind: str = "similarity"
    conversions: Any = None
    top: int = 3
    Cs: Any = None
    fixes: Any = None
    cv: Any = None
    n_jobs: int | None = None

    fits_rows: ClassVar[bool] = False
    _fitted_state = Fitted.state(
        *(replace(entry, needed=False) for entry in (*COEFFICIENTS, *RESULTS)),
        *SEARCHED,
        Fitted("X_fit_", "items"),
        Fitted("n_kernels_in_", "integer", needed=False),
        Fitted("kept_", "integers", needed=False),
        Fitted("sources_", "anything"),
        Fitted("source_of_", "integers", "m"),
        Fitted("conversions_", "anything"),
        Fitted("models_", "anything"),
        Fitted("members_", "anything"),
        Fitted("weights_", "numbers", "w"),
        Fitted("ranking_", "anything"),
        Fitted("kernel_", "kernel", needed=False),
    )
    _parameter_constraints = CONSTRAINTS | {
        "kernel": [str, callable, Kernel, list, tuple],
        "conversions": [list, tuple, None],
        "top": [COUNT],
    }

    # ------------------------------------------------------------------------- input

    @property
    def _kernels(self) -> list[Any]:
        """The kernels that were given, as callables."""
        given = self.kernel if isinstance(self.kernel, list | tuple) else [self.kernel]
        if not given:
            raise ValueError("kernel is an empty list; give at least one kernel")
        if "precomputed" in [k for k in given if isinstance(k, str)]:
            raise ValueError(
                "kernel='precomputed' stands alone: for several matrices pass them as "
                "X, a stack of shape (n, n, n_kernels)"
            )
        params = cast(_KernelModel, self).kernel_params
        if params is not None and len(given) > 1:
            raise ValueError(
                "kernel_params is for a single kernel: in a list use "
                "krein.Kernel(name, ...) for one with parameters"
            )
        return [as_kernel(kernel, params) for kernel in given]

    @property
    def _items_kernel(self) -> Any:
        if isinstance(self.kernel, list | tuple):
            return self._kernels[0]
        return self.kernel

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        distances = self.kind == "distance"
        precomputed = cast(_KernelModel, self)._precomputed
        tags.input_tags.sparse = precomputed and not distances
        tags.input_tags.positive_only = precomputed and distances
        return tags

    def _check_items(self, X: Any, *, reset: bool) -> Any:
        """Validate items or a matrix; a stack of matrices becomes views of them."""
        model = cast(_KernelModel, self)
        if reset and self.kind == "distance" and model._precomputed:
            X = as_square(X)
        if not (model._precomputed and is_stack(X)):
            if not reset and getattr(self, "n_kernels_in_", None) is not None:
                raise ValueError(
                    f"X must be a stack of shape (n_new, {model.n_features_in_}, "
                    f"{model.n_kernels_in_}), as in fit"
                )
            items = super()._check_items(X, reset=reset)  # type: ignore[misc]
            if self.kind == "distance" and model._precomputed:
                refuse_no_distances(items, type(self).__name__)
            return items
        views = as_views(X)
        n = views.shape[1]
        if reset:
            model.n_features_in_ = n
            model.n_kernels_in_ = len(views.parts)
        known = getattr(self, "n_kernels_in_", None)
        if (n, len(views.parts)) != (model.n_features_in_, known):
            raise ValueError(
                f"X must have shape (n_new, {model.n_features_in_}, {known or 1}), got "
                f"{len(views.parts)} matrices of shape {views.shape}"
            )
        if self.kind == "distance":
            for part in views.parts:
                refuse_no_distances(part, type(self).__name__)
        return views

    def _prepared(self, items: Any, dtype: Any, weight: Array | None) -> PoolTraining:
        """Numbers of every kernel for the samples of positive weight."""
        model = cast(_KernelModel, self)
        weight, kept = positive_part(weight)
        n = num_samples(items) if not hasattr(items, "parts") else items.n
        if model._precomputed:
            sources, numbers = self._given(items, dtype)
            if kept is not None:
                sources, numbers = positive(sources, numbers, kept)
            facts: dict[str, Any] = {"X_fit_": None}
        else:
            items = items if kept is None else take(items, kept)
            check = self._checked
            sources, numbers = of_kernels(self._kernels, items, self.kind, check)
            facts = {"X_fit_": items}
        if kept is not None:
            facts["kept_"] = kept
        facts["sources_"] = sources
        return PoolTraining(
            as_matrix(numbers[0]),
            weight,
            kept,
            n,
            facts=facts,
            sources=tuple(sources),
            numbers=tuple(numbers),
        )

    def _given(self, items: Any, dtype: Any) -> tuple[list[Source], list[Any]]:
        """Sources and numbers of precomputed matrices."""
        check = partial(self._checked, dtype=dtype)
        if scipy.sparse.issparse(items):
            symmetrize = cast(_KernelModel, self).symmetrize
            sparse = check_sparse_similarity(items, symmetrize=symmetrize)
            return [Source("precomputed")], [SparseSimilarity(sparse)]
        if not hasattr(items, "parts"):
            return of_matrices([items], ["precomputed"], self.kind, check)
        names = [f"matrix {i}" for i in range(len(items.parts))]
        return of_matrices(items.parts, names, self.kind, check)

    def _checked(self, M: Any, name: str, dtype: Any = None) -> Array:
        symmetrize = cast(_KernelModel, self).symmetrize
        return check_similarity(M, name=name, symmetrize=symmetrize, given=dtype)

    # ------------------------------------------------------------------- the candidates

    def _pairs(self, training: PoolTraining) -> list[Pair]:
        """All pairs of a kernel and a conversion that it can have."""
        pairs = []
        for place, source in enumerate(training.sources):
            pairs += [
                Pair(place, source, conversion)
                for conversion in conversions_of(source, self.conversions)
            ]
        return pairs

    # ---------------------------------------------------------------------- the search

    def _machine_search(self) -> Any:
        """Return the unfitted model of one pair."""
        raise NotImplementedError

    def _fit_pool(
        self, training: PoolTraining, target: Any, folds: Sequence[Fold], groups: Any
    ) -> list[Member]:
        """Search the best pairs; return their models, the best by the folds first."""
        random = groups is None and (self.cv is None or isinstance(self.cv, Integral))
        pairs = self._pairs(training)
        searched = partial(self._searched, training, target, folds, random)
        members: list[Member] = []
        scores = np.full(len(pairs), np.nan)
        if random and len(pairs) > self.top:
            screens = self._screens(pairs, training, target)
            scores = np.array([screen.score for screen in screens])
            for i in _highest_first(scores)[: self.top]:
                members.append(searched(pairs[i], screens[i]))
        else:
            for pair in pairs:
                members.append(searched(pair, None))
                members.sort(key=_score_of)
                del members[self.top :]
        members.sort(key=_score_of)
        kept = [member.pair for member in members]
        cast(_KernelModel, self).ranking_ = [
            {
                **pairs[i].names,
                "screen_score": None if np.isnan(scores[i]) else float(scores[i]),
                "chosen": pairs[i] in kept,
            }
            for i in _highest_first(scores)
        ]
        return members

    def _screens(
        self, pairs: Sequence[Pair], training: PoolTraining, target: Any
    ) -> list[Screened]:
        """Rank all pairs by leave-one-out least squares.

        Of the best one the decomposition is kept: it is searched first.
        """
        found: list[Screened] = []
        best = 0
        for pair in pairs:
            K, _ = pair.similarity(training)
            part = training.converted(K)
            spectrum = K.spectrum(part.weight)
            settings, score = self._machine_search().settings(
                part, target, spectrum, screened=True
            )
            found.append(Screened(settings, score))
            if len(found) == 1 or score > found[best].score:
                found[best].spectrum = None
                best = len(found) - 1
                found[best].spectrum = spectrum
        return found

    def _searched(
        self,
        training: PoolTraining,
        target: Any,
        folds: Sequence[Fold],
        random: bool,
        pair: Pair,
        screen: Screened | None,
    ) -> Member:
        K, settled = pair.similarity(training)
        model = self._machine_search()
        known = screen or Screened(None, np.nan)
        spectrum = known.spectrum
        known.spectrum = None
        held = model.fit_on(
            training.converted(K),
            target,
            folds,
            screened=random,
            settings=known.settings,
            spectrum=spectrum,
        )
        model.X_fit_ = None
        model.n_features_in_ = training.size
        return Member(pair, settled, model, held)

    def _store_pool(self, training: PoolTraining, members: Sequence[Member]) -> None:
        """Set the fitted attributes."""
        model = cast(_KernelModel, self)
        for name, fact in training.facts.items():
            setattr(model, name, fact)
        self.models_ = [member.model for member in members]
        self.conversions_ = [member.settled for member in members]
        self.source_of_ = np.array([member.pair.place for member in members])
        self.members_ = list(machines(members))
        self.weights_ = np.array([one["weight"] for one in self.members_])
        model.n_iter_ = np.max([member.model.n_iter_ for member in members], axis=0)
        grid = []
        weight = []
        for member in members:
            for params, share in zip(
                member.model.cv_results_["params"],
                member.model.cv_results_["weight"],
                strict=True,
            ):
                grid.append(candidate(member.pair, params))
                weight.append(share / len(members))
        scores = np.vstack([split_scores(member.model) for member in members])
        table = cv_results(grid, scores) | {"weight": np.array(weight)}
        store_results(self, table, int(np.argmax(table["mean_test_score"])))
        if model.verbose:
            sys.stderr.write(f"{type(self).__name__}: {self.text_}\n")

    # --------------------------------------------------------------------- prediction

    def _outputs_of_members(self, X: Any) -> Iterator[tuple[Any, Array]]:
        """Yield each member's model and its decision values (n_new, n_rows)."""
        numbers: dict[int, Any] = {}
        for place, model in enumerate(self.models_):
            rows = self._converted_rows(X, place, numbers)
            support = model.support_
            coef = model.dual_coef_[:, support]
            columns = rows if support.size == rows.shape[1] else rows[:, support]
            yield model, model.row_values(coef, columns) + model.intercept_

    def _converted_rows(self, X: Any, place: int, known: dict[int, Any]) -> Any:
        """Rows of similarities that the model at `place` works on."""
        model = cast(_KernelModel, self)
        i = int(self.source_of_[place])
        if i not in known:
            known[i] = self._new_numbers(X, i)
        settled = self.conversions_[place]
        if settled is None:
            return known[i]
        source = model.sources_[i]
        return settled.similarities(source.distances(known[i], self._own(X, source)))

    def _new_numbers(self, X: Any, i: int) -> Any:
        """Similarities or distances of checked new items to the training items."""
        model = cast(_KernelModel, self)
        source = model.sources_[i]
        if source.kernel is not None:
            return numbers_of(source.kernel, source.is_distance, X, model.X_fit_)
        rows = X.parts[i] if hasattr(X, "parts") else X
        kept = getattr(self, "kept_", None)
        return rows if kept is None else rows[:, kept]

    def _own(self, X: Any, source: Source) -> Array | None:
        """Similarities of new items to themselves, where they have to be computed."""
        if source.is_distance or source.constant is not None:
            return None
        one = (take(X, [i]) for i in range(num_samples(X)))
        return np.array([kernel_matrix(source.kernel, x, x)[0, 0] for x in one])

    def converted(self, X: Any, place: int = 0) -> Any:
        """Return the rows of similarities that one of `models_` works on.

        Parameters
        ----------
        X : array-like of shape (n_new, n_train) or items as in fit
        place : int
            Position in `models_`.

        Returns
        -------
        ndarray of shape (n_new, n_train)
            So that ``models_[place].predict(converted(X, place))`` is what that model
            says, and its certificate can be checked.
        """
        items = self._check_items(X, reset=False)
        return self._converted_rows(items, place, {})

    def _no_expansion(self) -> str:
        return "it averages models on several similarities"

    # ------------------------------------------------------------------------- in words

    @property
    def text_(self) -> str:
        """What was chosen, in a sentence."""
        parts = [
            f"{pair['kernel']} {in_words(pair['conversion'])} "
            f"({pair['fix']}, C = {pair['C']:.3g})"
            for pair in self._best_of_each()
        ]
        count = len(self.members_)
        average = "1 machine" if count == 1 else f"the average of {count} machines"
        return f"{average} on {'; '.join(parts)}"

    def _best_of_each(self) -> list[dict[str, Any]]:
        seen: dict[tuple[str, str], dict[str, Any]] = {}
        for one in self.members_:
            seen.setdefault((one["kernel"], one["conversion"]), one)
        return list(seen.values())

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        plain = super().__repr__(N_CHAR_MAX)  # type: ignore[call-arg]
        return f"{plain}  # {self.text_}" if hasattr(self, "members_") else plain


def _score_of(member: Member) -> float:
    """What members are sorted by: the best first."""
    return -member.model.best_score_


def _highest_first(scores: Array) -> np.ndarray:
    """Positions of scores, the highest first; those that are not defined last."""
    return np.argsort(-np.nan_to_num(scores, nan=-np.inf), kind="stable")
