"""Claims: what a paper prints, what was measured, and the verdict.

``printed/<paper>.csv`` holds what the papers print, one row per number
or sentence. `by_reading` puts a measured value and a verdict beside it; nobody types
these.
"""

from __future__ import annotations

import csv
import math
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from papers.runs import Means, Run, Table

__all__ = [
    "DIVERGED",
    "IMPOSSIBLE",
    "MORE_THAN",
    "PRINTED",
    "VERDICTS",
    "Claim",
    "Measured",
    "by_reading",
    "lookup",
    "means",
    "printed",
]

PRINTED = Path(__file__).parent / "printed"
VERDICTS = (
    "holds",
    "differs",
    "diverged",
    "cannot hold",
    "tests nothing",
    "not to be had",
    "not run",
)
DIVERGED = "diverged runs"  # quantity: how many runs of a method gave no model
MORE_THAN = "more than "  # before the length of a run that did not get there
IMPOSSIBLE = "impossible"  # measured value of a row that contradicts itself


@dataclass(frozen=True)
class Claim:
    """One number or sentence of a paper.

    Attributes
    ----------
    table, dataset, method, quantity : str
        Which number.
    paper : str
        As printed; "yes" for a sentence that the results confirm or not.
    tolerance : str
        ``0.02`` absolute, ``5%`` relative, ``x3`` up to a factor of three, ``=`` equal;
        ``>=``: ours is a lower bound, and a number below it cannot hold.
    known : str
        "" or a verdict that needs no comparison: "not to be had" (no data, or no number
        in the copy of the paper) or "tests nothing" (ours was chosen to fit, or the
        sentence is not one of the paper).
    reason : str
        The argument. Printed claims hold the part that does not depend on a run.
    ours : str
        Measured; empty when not run.
    spread : str
        Standard deviation over splits.
    runs : str
        Number of splits behind `ours`.
    reading : str
        Reading of the protocol that the verdict is about, where there are several.
    verdict : str
        One of `VERDICTS`.
    """

    table: str
    dataset: str
    method: str
    quantity: str
    paper: str
    tolerance: str
    known: str
    reason: str = ""
    ours: str = ""
    spread: str = ""
    runs: str = ""
    reading: str = ""
    verdict: str = "not run"

    @property
    def key(self) -> tuple[str, str, str]:
        """What identifies the number within its table."""
        return self.dataset, self.method, self.quantity


@cache
def printed(paper: str) -> tuple[Claim, ...]:
    """Read what a paper prints, with nothing measured yet; nothing if it has no file.

    Parameters
    ----------
    paper : str
        Key: "ying", "chen", "liu", "walder" or "similarity".

    Returns
    -------
    tuple of Claim
    """
    source = PRINTED / f"{paper}.csv"
    if not source.is_file():
        return ()
    with open(source, encoding="utf-8", newline="") as rows:
        return tuple(Claim(**row) for row in csv.DictReader(rows))


@dataclass(frozen=True)
class Measured:
    """Mean over splits of one quantity."""

    value: Any
    spread: float | None
    count: int


def means(runs: Iterable[Run]) -> Means:
    """Average every number over the splits of its data set and method.

    Parameters
    ----------
    runs : iterable of Run
        Finished tasks of one table.

    Returns
    -------
    dict
        (dataset, method, quantity) -> `Measured`; curves and words are left out. Runs
        that diverged have no model and no numbers, and are counted.
    """
    collected: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    runs = list(runs)
    for run in runs:
        for quantity, value in run.values.items():
            if isinstance(value, int | float) and not isinstance(value, bool):
                key = (run.task.dataset, run.task.method, quantity)
                collected[key].append(float(value))
    averages = {key: _average(values) for key, values in collected.items()}
    return {**averages, **_divergences(runs)}


def _divergences(runs: list[Run]) -> Means:
    """How many runs of a method diverged, where any did; `count` is of all runs."""
    total = Counter((run.task.dataset, run.task.method) for run in runs)
    lost = Counter((r.task.dataset, r.task.method) for r in runs if r.diverged)
    return {
        (*pair, DIVERGED): Measured(float(number), None, total[pair])
        for pair, number in lost.items()
    }


def _average(values: list[float]) -> Measured:
    mean = math.fsum(values) / len(values)
    if len(values) == 1:
        return Measured(mean, None, 1)
    square = math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)
    return Measured(mean, math.sqrt(square), len(values))


def lookup(measured: Means, keys: Iterable[tuple[str, str, str]]) -> list[Any] | None:
    """Measured values of all keys, or None if one is missing.

    Parameters
    ----------
    measured : dict
        (dataset, method, quantity) -> `Measured`.
    keys : iterable
        What is wanted.

    Returns
    -------
    list of Measured, or None
    """
    found = [measured.get(key) for key in keys]
    return None if any(value is None for value in found) else found


def by_reading(claim: Claim, measured: Means, table: Table) -> dict[str, Claim]:
    """Judge a claim under each reading that concerns it and was run.

    Parameters
    ----------
    claim : Claim
        As printed.
    measured : dict
        (dataset, method, quantity) -> `Measured`, of the claim's table.
    table : Table
        For its readings, and for what it explains.

    Returns
    -------
    dict of str to Claim
        Name of the reading -> judged claim, in the order of the table: the first is
        the verdict. Where the first reading binds, it is there also if it was not run.
    """
    names = {table.under(claim.method, reading) for reading in table.readings}
    if len(names) == 1:  # no reading concerns this method
        return {"": _judge(claim, measured, table)}
    found: dict[str, Claim] = {}
    binding = table.binding(claim)
    for reading, label in table.readings.items():
        method = table.under(claim.method, reading)
        if reading and method == claim.method:
            continue  # this method is the same under the reading
        judged = _judge(replace(claim, method=method), measured, table)
        if judged.verdict != "not run" or judged.ours or (binding and not found):
            found[label] = replace(judged, method=claim.method, reading=label)
    return found or {"": claim}


def _judge(claim: Claim, measured: Means, table: Table) -> Claim:
    """Verdict on the numbers of one method, whatever the reading."""
    found = measured.get(claim.key)
    diverged = measured.get((claim.dataset, claim.method, DIVERGED))
    filled = claim
    if found is not None:
        filled = replace(
            claim,
            ours=_show(found.value),
            spread="" if found.spread is None else _show(found.spread),
            runs=str(found.count),
        )
    if claim.known:
        return replace(filled, verdict=claim.known)
    if diverged is not None:
        said = f"{diverged.value:.0f} of {diverged.count} runs diverged"
        return replace(filled, verdict="diverged", reason=said)
    if found is None:
        return filled
    verdict, why = compare(claim.paper, found.value, claim.tolerance)
    explain = table.explain if verdict == "differs" else None
    told = explain(claim, measured) if explain is not None else ""
    reason = "; ".join(part for part in (why, claim.reason, told) if part)
    return replace(filled, verdict=verdict, reason=reason)


def compare(paper: str, ours: Any, tolerance: str) -> tuple[str, str]:
    """Compare a measured value with a printed one: the verdict, and how far it is.

    Parameters
    ----------
    paper : str
        Printed value.
    ours : float or str
        Measured value.
    tolerance : str
        See `Claim`.

    Returns
    -------
    verdict : str
        "holds", "differs", "cannot hold", or "not run" if a run was cut short.
    why : str
        The comparison in words.

    Examples
    --------
    >>> from papers.claims import compare
    >>> compare("0.79", 0.80, "0.02")
    ('holds', 'off by 0.01, tolerance 0.02')
    >>> compare("100", 130.0, "5%")
    ('differs', 'off by 30%, tolerance 5%')
    >>> compare("100", 700.0, ">=")
    ('cannot hold', '7 times as much at least')
    """
    if ours == IMPOSSIBLE:
        return "cannot hold", ""
    if tolerance == ">=":
        factor = float(ours) / float(paper)
        said = f"{_short(factor)} times as much at least"
        return ("cannot hold", said) if factor > 1.0 else ("holds", "")
    if isinstance(ours, str) and _cut_short(paper, ours, tolerance):
        return "not run", "the run was cut short of what would decide"
    agrees, why = _agrees(paper, ours, tolerance)
    return "holds" if agrees else "differs", why


def _cut_short(paper: str, ours: str, tolerance: str) -> bool:
    """Tell whether "more than 200" leaves open what a longer run would say."""
    number = ours.removeprefix(MORE_THAN)
    if number == ours or not tolerance.startswith("x"):
        return False
    return float(number) < float(paper) * float(tolerance[1:])


def _agrees(paper: str, ours: Any, tolerance: str) -> tuple[bool, str]:
    if tolerance == "=":
        return str(ours) == paper, ""
    if isinstance(ours, str):
        return False, ""
    printed_value, value = float(paper), float(ours)
    if tolerance.startswith("x"):
        if printed_value <= 0 or value <= 0:
            return False, "a factor needs positive numbers"
        factor = max(value / printed_value, printed_value / value)
        said = f"off by a factor {_short(factor)}, tolerance {tolerance[1:]}"
        return factor <= float(tolerance[1:]), said
    off = abs(value - printed_value)
    if tolerance.endswith("%"):
        share = 100 * off / abs(printed_value)
        said = f"off by {_short(share)}%, tolerance {tolerance}"
        return share <= float(tolerance[:-1]), said
    return off <= float(tolerance), f"off by {_short(off)}, tolerance {tolerance}"


def _short(size: float) -> str:
    """Two digits, and no exponent for large numbers."""
    return f"{size:.0f}" if size >= 100 else f"{size:.2g}"


def _show(value: Any) -> str:
    return value if isinstance(value, str) else f"{value:.4g}"
