"""Candidates of a pool: a kernel, a conversion, and what the search says of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from krein.arrays import Array
from krein.estimators._pool_sources import form_of
from krein.selection.spectra import Settings
from krein.similarity.conversions import (
    AS_GIVEN,
    Conversion,
    SettledConversion,
    Source,
    as_conversion,
    median_distance,
    name_of,
)
from krein.similarity.matrix import Matrix, Similarities
from krein.similarity.sparse import as_matrix
from krein.spectrum.decomposition import Spectrum
from krein.spectrum.fixes import power
from krein.training import Training

# Conversions that are pooled unless others are given. Of similarities also "as given".
OF_DISTANCES = ("exponential", "wide exponential", "gaussian", "wide gaussian", "local")
# Fixes of the family that have a name of their own.
_PLAIN = {
    power(0.0, 1.0).name: "clip",
    power(1.0, 1.0).name: "flip",
    power(1.0, 2.0).name: "square",
}


@dataclass(frozen=True)
class PoolTraining(Training):
    """Training samples seen through several kernels, each a source of conversions.

    Attributes
    ----------
    sources : tuple of Source
        The kernels.
    numbers : tuple of (ndarray of shape (n, n) or Matrix)
        Similarities or distances of the samples, one matrix a source.
    """

    sources: tuple[Source, ...] = ()
    numbers: tuple[Any, ...] = ()
    # What conversions of the same distances share, and what each has settled.
    _medians: dict[int, float] = field(default_factory=dict)
    _settled: dict[Any, SettledConversion] = field(default_factory=dict)

    def settled(self, pair: Pair, D: Array) -> SettledConversion:
        """Settle a conversion on the distances of its source, once."""
        key = pair.place, pair.conversion
        if key not in self._settled:
            if pair.place not in self._medians:
                self._medians[pair.place] = median_distance(D)
            assert pair.conversion is not None
            median = self._medians[pair.place]
            self._settled[key] = pair.conversion.settle(D, median)
        return self._settled[key]

    def converted(self, K: Matrix) -> Training:
        """Return the samples with the similarity of one candidate."""
        return Training(K, self.weight, None, self.size)


@dataclass(frozen=True)
class Pair:
    """A kernel and a conversion, with what training items have settled.

    Attributes
    ----------
    place : int
        Position of the source.
    source : Source
        The kernel.
    conversion : Conversion or None
        None: the similarity as it is given.
    """

    place: int
    source: Source
    conversion: Conversion | None

    @property
    def names(self) -> dict[str, str]:
        """Its part of a candidate, in words."""
        return {"kernel": self.source.name, "conversion": name_of(self.conversion)}

    def similarity(self, training: PoolTraining) -> tuple[Matrix, Any]:
        """Similarities of the training items, and the settled conversion."""
        numbers = training.numbers[self.place]
        if self.conversion is None:
            return as_matrix(numbers), None
        D = self.source.distances(numbers, self.source.own)
        settled = training.settled(self, D)
        return Similarities(settled.similarities(D)), settled


@dataclass(frozen=True)
class Member:
    """A pair that was searched: its fitted model and what it says out of fold."""

    pair: Pair
    settled: SettledConversion | None
    model: Any
    held: Array


@dataclass
class Screened:
    """What the screen says of a pair: settings to train, and the best score of any.

    Attributes
    ----------
    settings : Settings or None
        None: not screened.
    score : float
        Larger is better.
    spectrum : Spectrum or None
        Of its similarity, as long as it is kept.
    """

    settings: Settings | None
    score: float
    spectrum: Spectrum | None = None


# ------------------------------------------------------------- conversions of a kernel


def conversions_of(
    source: Source, given: Sequence[Any] | None
) -> list[Conversion | None]:
    """Conversions of one kernel: those given, or the default ones it can have."""
    if given is None:
        return _default_conversions(source)
    if not len(given):
        raise ValueError("conversions is empty; give at least one, or None")
    found = [_possible(as_conversion(one), source) for one in given]
    return list(dict.fromkeys(found))


def _default_conversions(source: Source) -> list[Conversion | None]:
    """The similarity as it is given, where there is one, and what distances allow."""
    found: list[Conversion | None] = []
    if not source.is_distance:
        found.append(None)
    elif (form := form_of(source.kernel)) is not None:
        found.append(form)
    if source.has_distances:
        found += [as_conversion(name) for name in OF_DISTANCES]
    return list(dict.fromkeys(found))


def _possible(given: Conversion | None, source: Source) -> Conversion | None:
    """Refuse what a kernel cannot have."""
    if given is None and source.is_distance:
        form = form_of(source.kernel)
        if form is None:
            raise ValueError(
                f"conversions has {AS_GIVEN!r}, but {source.name} holds distances, "
                "which are no similarity: choose among the others"
            )
        return form
    if given is not None and not source.has_distances:
        raise ValueError(
            f"conversions has {name_of(given)!r}, which needs distances, and those "
            f"in {source.name} are not known for new items: its diagonal is not "
            "constant (or it is a sparse table). Pass distances with "
            f"kind='distance', a kernel on items, or conversions=[{AS_GIVEN!r}]"
        )
    return given


# ---------------------------------------------------------------------------- in words


def in_words(conversion: str) -> str:
    return conversion if conversion == AS_GIVEN else f"by {conversion} conversion"


def machines(members: Sequence[Member]) -> Iterator[dict[str, Any]]:
    """Every machine that is averaged: its candidate, weight and certificates."""
    for member in members:
        machines = member.model.members_
        for one in machines:
            params = {k: v for k, v in one.items() if k != "results"}
            yield {
                **candidate(member.pair, params),
                "weight": 1.0 / len(members) / len(machines),
                "results": one["results"],
            }


def candidate(pair: Pair, params: dict[str, Any]) -> dict[str, Any]:
    """Parameters of a candidate, the fix by its own word."""
    rest = {name: value for name, value in params.items() if name != "method"}
    fix = params["method"]
    return {**pair.names, "fix": _PLAIN.get(fix, fix), **rest}
