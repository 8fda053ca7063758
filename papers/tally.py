"""All claims with their verdicts under every reading, and how to count them."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

from papers import LEDGER, PAPERS, file_claims, measured_of, tables
from papers.claims import Claim, by_reading, printed
from papers.runs import Means

__all__ = ["Ledger", "changes", "read_ledger", "since_first_reading"]

_COMPARED = {"holds", "differs"}
_JUDGED = {*_COMPARED, "diverged"}
Where = Callable[[Claim], bool]


@dataclass(frozen=True)
class Ledger:
    """Claims of all papers.

    Attributes
    ----------
    claims : list of Claim
        Judged by the first reading that was run.
    readings : list of dict
        For each claim: name of a reading -> the claim judged by it.
    measured : dict
        Table -> what was measured.
    """

    claims: list[Claim]
    readings: list[dict[str, Claim]]
    measured: dict[str, Means]

    def of(self, table: str) -> list[Claim]:
        """Claims of one table."""
        return [claim for claim in self.claims if claim.table == table]

    def count(self, table: str = "") -> Counter[str]:
        """Verdicts of one table, or of all."""
        rows = self.of(table) if table else self.claims
        return Counter(claim.verdict for claim in rows)

    def under(self, table: str) -> dict[str, Counter[str]]:
        """Verdicts of a table by reading, of the claims that it concerns."""
        found: dict[str, Counter[str]] = {}
        for by in self.readings:
            for label, claim in by.items():
                if claim.table == table and len(by) > 1:
                    found.setdefault(label, Counter())[claim.verdict] += 1
        return found

    def holding(self, table: str, where: Where, reading: str = "") -> str:
        """How many claims hold of those that were compared: "14 of 20".

        Parameters
        ----------
        table : str
            Its name.
        where : callable
            ``where(claim)``: which claims count.
        reading : str
            Judge by this reading instead of the first that was run.
        """
        rows: Iterable[Claim] = self.of(table)
        if reading:
            rows = [by[reading] for by in self.readings if reading in by]
        words = [c.verdict for c in rows if c.table == table and where(c)]
        judged = [word for word in words if word in _JUDGED]
        return f"{judged.count('holds')} of {len(judged)}" if judged else "(not run)"

    def deviations(
        self, table: str, where: Where, readings: Sequence[str]
    ) -> list[str]:
        """Mean distance of ours from the printed numbers, for each reading.

        Parameters
        ----------
        table : str
            Its name.
        where : callable
            ``where(claim)``: which claims count, of those compared under all readings.
        readings : sequence of str
            Readings of the protocol.
        """
        rows = [
            [by[reading] for reading in readings]
            for by in self.readings
            if all(r in by and by[r].verdict in _COMPARED for r in readings)
        ]
        distances = [
            [abs(float(claim.ours) - float(claim.paper)) for claim in row]
            for row in rows
            if row[0].table == table and where(row[0])
        ]
        if not distances:
            return ["(not run)"] * len(readings)
        return [f"{mean(column):.3f}" for column in zip(*distances, strict=True)]


def changes(ledger: Ledger, other: Path) -> dict[str, tuple[int, list[str]]]:
    """Compare verdicts with those of other splits, where both were judged.

    Parameters
    ----------
    ledger : Ledger
        All claims.
    other : Path
        Folder of results with other splits.

    Returns
    -------
    dict of str to (int, list of str)
        Table -> claims compared under the same reading, and which of them changed.
    """
    found: dict[str, tuple[int, list[str]]] = {}
    measured: dict[str, Means] = {}
    for paper in PAPERS:
        measured |= measured_of(paper, other)
    known = tables()
    as_printed = [claim for paper in PAPERS for claim in printed(paper)]
    for bare, by in zip(as_printed, ledger.readings, strict=True):
        table = known[bare.table]
        again = by_reading(bare, measured[table.name], table)
        for label, claim in by.items():
            then = again.get(label)
            pair = {claim.verdict, "not run" if then is None else then.verdict}
            if then is None or not then.runs or not pair <= _JUDGED:
                continue
            count, changed = found.setdefault(table.name, (0, []))
            if len(pair) > 1:
                words = f"{claim.dataset}, {claim.method}, {claim.quantity}"
                words += f" ({label})" if label else ""
                changed.append(f"{words}: {claim.verdict}, then {then.verdict}")
            found[table.name] = (count + 1, changed)
    return found


def since_first_reading(ledger: Ledger) -> tuple[Counter[str], Counter[tuple]]:
    """Compare verdicts with those of the first reading, which 0.1.0 published.

    Parameters
    ----------
    ledger : Ledger
        All claims.

    Returns
    -------
    before : Counter of str
        Verdicts of the first reading.
    changed : Counter of (str, str, str)
        How many claims went from one verdict to another, and why.
    """
    with open(LEDGER / "first_reading.csv", encoding="utf-8", newline="") as handle:
        first = {
            (row["table"], row["dataset"], row["method"], row["quantity"]): row
            for row in csv.DictReader(handle)
        }
    before: Counter[str] = Counter(row["verdict"] for row in first.values())
    changed: Counter[tuple] = Counter()
    for claim in ledger.claims:
        then = first.get((claim.table, *claim.key), {"verdict": "no claim"})["verdict"]
        if then != claim.verdict:
            changed[then, claim.verdict, _why_changed(then, claim)] += 1
    return before, changed


def _why_changed(before: str, claim: Claim) -> str:
    if claim.verdict == "tests nothing":
        return "counted apart"
    if claim.verdict == "diverged":
        return "diverged fits had been scored as models"
    if before == "no claim":
        return "the row as a whole is a claim of its own"
    reading = f", read as: {claim.reading}" if claim.reading else ""
    if before == "cannot hold":
        return f"each number of the row is judged for itself{reading}"
    return f"{claim.table}{reading}"


def read_ledger(out: Path) -> Ledger:
    """Judge everything from the results in a folder, and file the claims.

    Parameters
    ----------
    out : Path
        Folder of the results.

    Returns
    -------
    Ledger
    """
    measured = {
        name: m for paper in PAPERS for name, m in measured_of(paper, out).items()
    }
    claims: list[Claim] = []
    readings: list[dict[str, Claim]] = []
    for paper in PAPERS:
        claims += file_claims(paper, out)
        readings += [
            by_reading(claim, measured[claim.table], tables()[claim.table])
            for claim in printed(paper)
        ]
    return Ledger(claims, readings, measured)
