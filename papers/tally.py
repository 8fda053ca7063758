"""All claims with their verdicts under every reading, and how to count them."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import mean

from papers import HERE, LEDGER, judged, tables
from papers.claims import Claim
from papers.runs import Store

__all__ = [
    "Ledger",
    "other_seeds",
    "read_ledger",
    "runs_by_version",
    "seed_folders",
    "since_second_reading",
]

COMPARED = {"holds", "differs"}
JUDGED = {*COMPARED, "diverged"}
Where = Callable[[Claim], bool]


@dataclass(frozen=True)
class Ledger:
    """Claims of all papers.

    Attributes
    ----------
    readings : list of dict
        For each claim: name of a reading -> the claim judged by it; the first is the
        verdict.
    """

    readings: list[dict[str, Claim]]

    @cached_property
    def claims(self) -> list[Claim]:
        """Every claim with its verdict."""
        return [next(iter(by.values())) for by in self.readings]

    def of(self, paper: str) -> list[Claim]:
        """Claims of one paper."""
        own = {name for name, table in tables().items() if table.paper == paper}
        return [claim for claim in self.claims if claim.table in own]

    def under(self, table: str, reading: str) -> list[Claim]:
        """Claims of a table that a reading concerns; the verdicts if it is ""."""
        if not reading:
            return [claim for claim in self.claims if claim.table == table]
        rows = [by[reading] for by in self.readings if reading in by]
        return [claim for claim in rows if claim.table == table]

    def find(self, table: str, *key: str, reading: str = "") -> Claim:
        """Return one claim by its data set, method and quantity."""
        return next(c for c in self.under(table, reading) if c.key == key)

    def holding(self, table: str, where: Where, reading: str = "") -> str:
        """How many claims hold of those that were compared: "14 of 20".

        Parameters
        ----------
        table : str
            Its name.
        where : callable
            ``where(claim)``: which claims count.
        reading : str
            Judge by this reading instead of the first.
        """
        words = [c.verdict for c in self.under(table, reading) if where(c)]
        compared = [word for word in words if word in JUDGED]
        if not compared:
            return "(not run)"
        return f"{compared.count('holds')} of {len(compared)}"

    def deviations(
        self, table: str, where: Where, readings: Sequence[str]
    ) -> list[float]:
        """Mean distance of ours from the printed numbers, for each reading.

        Of the claims that all of the readings compare; none if there are none.
        """
        rows = [
            [by[reading] for reading in readings]
            for by in self.readings
            if all(r in by and by[r].verdict in COMPARED for r in readings)
        ]
        distances = [
            [abs(float(claim.ours) - float(claim.paper)) for claim in row]
            for row in rows
            if row[0].table == table and where(row[0])
        ]
        return [mean(column) for column in zip(*distances, strict=True)]


def read_ledger(out: Path) -> Ledger:
    """Judge everything from the results in a folder."""
    return Ledger(judged(out))


def seed_folders() -> dict[str, Path]:
    """Folders of the results on other splits, by "seed N"."""
    paths = sorted(HERE.glob("seed*/"))
    return {f"seed {path.name.removeprefix('seed')}": path for path in paths}


def other_seeds() -> dict[int, Ledger]:
    """Ledgers of other splits, by the number of their seed."""
    folders = seed_folders().items()
    return {int(name.split()[1]): read_ledger(path) for name, path in folders}


def runs_by_version(folders: dict[str, Path]) -> dict[str, dict[str, int]]:
    """How many runs of which tables each version of krein made, by their stamps.

    Parameters
    ----------
    folders : dict of str to Path
        Folders of results; "" for the first splits, else what to add to a table's name.

    Returns
    -------
    dict
        version -> table -> runs, oldest version first.
    """
    found: dict[str, Counter[str]] = {}
    for splits, folder in folders.items():
        for name, table in tables().items():
            label = f"{name} ({splits})" if splits else name
            for run in Store(table, folder).load().values():
                found.setdefault(run.version, Counter())[label] += 1
    return {version: dict(found[version]) for version in sorted(found)}


def compared(first: Ledger, other: Ledger) -> Iterable[tuple[Claim, Claim]]:
    """Claims that two ledgers compare under the same reading."""
    for here, there in zip(first.readings, other.readings, strict=True):
        for label in here.keys() & there.keys():
            pair = here[label], there[label]
            if all(claim.verdict in JUDGED for claim in pair):
                yield pair


def since_second_reading(ledger: Ledger) -> tuple[Counter[str], Counter[tuple]]:
    """Compare verdicts with those of the second reading, which 0.2.0 published.

    Parameters
    ----------
    ledger : Ledger
        All claims.

    Returns
    -------
    before : Counter of str
        Verdicts of the second reading.
    changed : Counter of (str, str, str)
        How many claims of a table went from one verdict to another; "no claim" are
        those that came or went.
    """
    with open(LEDGER / "second_reading.csv", encoding="utf-8", newline="") as handle:
        rows = list(csv.DictReader(handle))
    names = ("table", "dataset", "method", "quantity")
    then = {tuple(row[name] for name in names): row["verdict"] for row in rows}
    now: dict[tuple[str, ...], str]
    now = {(claim.table, *claim.key): claim.verdict for claim in ledger.claims}
    changed: Counter[tuple] = Counter()
    for key in dict.fromkeys([*then, *now]):
        pair = then.get(key, "no claim"), now.get(key, "no claim")
        if pair[0] != pair[1]:
            changed[key[0], *pair] += 1
    return Counter(then.values()), changed
