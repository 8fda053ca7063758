"""Claims: what a paper prints, what was measured, and the verdict.

``printed/<paper>.csv`` holds what the papers print, one row per number
or sentence. `judge` puts a measured value and a verdict beside it; nobody types these.
"""

from __future__ import annotations

import csv
import io
import math
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from krein.store.files import atomic_write
from papers.runs import Means, Run

__all__ = [
    "PRINTED",
    "VERDICTS",
    "Claim",
    "Measured",
    "judge",
    "lookup",
    "means",
    "printed",
    "read_claims",
    "write_claims",
]

PRINTED = Path(__file__).parent / "printed"
VERDICTS = ("holds", "differs", "cannot hold", "not to be had", "not run")
_PRINTED = ("table", "dataset", "method", "quantity", "paper", "tolerance", "known")
_COLUMNS = (*_PRINTED, "ours", "spread", "runs", "verdict", "reason")


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
        ``0.02`` absolute, ``5%`` relative, ``x3`` up to a factor of three, ``=`` equal.
    known : str
        "" or a verdict that needs no comparison: "cannot hold" (there is a proof) or
        "not to be had" (no data, or no number in the copy of the paper).
    reason : str
        The argument. Printed claims hold the part that does not depend on a run.
    ours : str
        Measured; empty when not run.
    spread : str
        Standard deviation over splits.
    runs : str
        Number of splits behind `ours`.
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
    verdict: str = "not run"

    @property
    def key(self) -> tuple[str, str, str]:
        """What identifies the number within its table."""
        return self.dataset, self.method, self.quantity


def printed(paper: str) -> list[Claim]:
    """Read what a paper prints.

    Parameters
    ----------
    paper : str
        Key: "ying", "chen", "liu", "walder" or "similarity".

    Returns
    -------
    list of Claim
        With nothing measured yet.
    """
    source = PRINTED / f"{paper}.csv"
    rows = csv.DictReader(io.StringIO(source.read_text(encoding="utf-8")))
    return [Claim(**row) for row in rows]


def read_claims(path: Path) -> list[Claim]:
    """Read a claims file that `write_claims` wrote."""
    with open(path, encoding="utf-8", newline="") as handle:
        return [Claim(**row) for row in csv.DictReader(handle)]


def write_claims(path: Path, claims: Iterable[Claim]) -> None:
    """Write a claims file, completely or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path, overwrite=True, text=True) as handle:
        writer = csv.DictWriter(handle, _COLUMNS, lineterminator="\n")
        writer.writeheader()
        for claim in claims:
            writer.writerow({name: getattr(claim, name) for name in _COLUMNS})


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
        (dataset, method, quantity) -> `Measured`; curves and words are left out.
    """
    collected: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    for run in runs:
        for quantity, value in run.values.items():
            if isinstance(value, int | float) and not isinstance(value, bool):
                key = (run.task.dataset, run.task.method, quantity)
                collected[key].append(float(value))
    return {key: _average(values) for key, values in collected.items()}


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


def judge(
    claim: Claim,
    measured: Means,
    explain: Callable[[Claim, Means], str] | None = None,
) -> Claim:
    """Fill in `ours` and the verdict.

    Parameters
    ----------
    claim : Claim
        As printed.
    measured : dict
        (dataset, method, quantity) -> `Measured`, of the claim's table.
    explain : callable, optional
        ``explain(claim, measured)``: what the same runs say about a claim that differs.

    Returns
    -------
    Claim
    """
    found = measured.get(claim.key)
    if found is None:
        if claim.known:
            return replace(claim, verdict=claim.known)
        return claim
    filled = replace(
        claim,
        ours=_show(found.value),
        spread="" if found.spread is None else _show(found.spread),
        runs=str(found.count),
    )
    if claim.known:
        return replace(filled, verdict=claim.known)
    agrees, why = compare(claim.paper, found.value, claim.tolerance)
    told = explain(claim, measured) if explain is not None and not agrees else ""
    reason = "; ".join(part for part in (why, claim.reason, told) if part)
    return replace(filled, verdict="holds" if agrees else "differs", reason=reason)


def compare(paper: str, ours: Any, tolerance: str) -> tuple[bool, str]:
    """Tell whether a measured value agrees with a printed one, and how far it is.

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
    agrees : bool
    why : str
        The comparison in words.

    Examples
    --------
    >>> from papers.claims import compare
    >>> compare("0.79", 0.80, "0.02")
    (True, 'off by 0.01, tolerance 0.02')
    >>> compare("100", 130.0, "5%")
    (False, 'off by 30%, tolerance 5%')
    """
    if tolerance == "=":
        return str(ours) == paper, ""
    if isinstance(ours, str):  # "more than 200": a number was not reached
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
