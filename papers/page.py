"""The page "What the papers claim and what we found", written from the ledger."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

from krein.store.files import atomic_write
from papers import PAPERS, tables
from papers.claims import VERDICTS, Claim
from papers.picture import draw_claims
from papers.power import CANNOT_FAIL, FOLLOWS, kind_of, reason_of
from papers.runs import Table
from papers.sentences import sentences
from papers.tally import (
    COMPARED,
    Ledger,
    compared,
    other_seeds,
    read_ledger,
    runs_by_version,
    seed_folders,
    since_second_reading,
)

__all__ = ["page_lines", "write_page"]

HERE = Path(__file__).parent
_COLUMNS = (
    *("table", "dataset", "method", "quantity", "printed", "tolerance", "ours"),
    *("spread", "runs", "verdict", "kind", "reading", "why", "other readings"),
    "other seeds",
)
_MANY = 30  # claims of one quantity that are split by method
_PLURAL = {"holds": "hold", "differs": "differ", "tests nothing": "test nothing"}
# (table, before, now) of verdicts that changed since the second reading -> why.
REASONS = {
    tuple(row[:3]): row[3]
    for row in csv.reader((HERE / "ledger" / "changes.csv").read_text().splitlines())
}


def write_page(path: Path, out: Path) -> int:
    """Judge every claim from the results; write the page, its picture and its rows.

    Parameters
    ----------
    path : Path
        Markdown file to write; picture and rows (CSV) are written beside it.
    out : Path
        Folder of the results.

    Returns
    -------
    int
        Number of claims.
    """
    ledger, seeds = read_ledger(out), other_seeds()
    made_by = runs_by_version({"": out} | seed_folders())
    path.parent.mkdir(parents=True, exist_ok=True)
    picture = path.with_name(f"{path.stem}_claims.png")
    drawn = draw_claims(ledger.claims, picture)
    with atomic_write(path, overwrite=True, text=True) as handle:
        lines = page_lines(ledger, seeds, made_by, picture.name, drawn)
        handle.writelines(f"{line}\n" for line in lines)
    with atomic_write(path.with_suffix(".csv"), overwrite=True, text=True) as handle:
        writer = csv.writer(handle, lineterminator="\n")
        writer.writerow(_COLUMNS)
        writer.writerows(_rows(ledger, seeds))
    return len(ledger.claims)


def page_lines(
    ledger: Ledger,
    seeds: dict[int, Ledger],
    made_by: dict[str, dict[str, int]],
    picture: str,
    drawn: int,
) -> Iterator[str]:
    """Lines of the page.

    Parameters
    ----------
    ledger : Ledger
        All claims.
    seeds : dict of int to Ledger
        The same on other splits.
    made_by : dict of str to dict
        For each version of krein: table -> number of its runs.
    picture : str
        Name of the file with the picture.
    drawn : int
        Number of points in it.

    Yields
    ------
    str
    """
    yield from ("---", "orphan: true", "---", "")  # Sphinx: no toctree needed
    yield "# What the papers claim and what we found"
    yield ""
    yield "<!-- Written by `python -m papers --page`; do not edit. -->"
    yield ""
    said = sentences(ledger, seeds)
    yield from (f"{i}. {text}" for i, text in enumerate(said, 1))
    yield ""
    yield (
        "The algorithms of the papers are functions, in "
        "[krein.published](guide/published.md). What the papers name, and where it is: "
        "`papers/coverage.md`."
    )
    yield from ("", f"![Printed values against measured ones]({picture})", "")
    yield (
        f"*The {drawn} claims that are two numbers, without their signs; what lies "
        "beyond the axes is drawn at their edge.*"
    )
    yield from ("", (HERE / "ledger" / "rules.md").read_text("utf-8").rstrip())
    for paper, title in PAPERS.items():
        if ledger.of(paper):
            yield from ("", f"## {title}", "")
            yield from _paper(paper, ledger)
    yield from ("", "## Counted apart", "")
    yield from _apart(ledger)
    yield from ("", "## Other readings", "")
    yield "The first reading of a claim that was run is its verdict."
    yield from ("", "| table | reading | holds | mean distance of accuracies |")
    yield "|---|---|---|---|"
    for table in tables().values():
        yield from _readings(table, ledger)
    yield from ("", "## Other seeds", "")
    yield from _seeds(ledger, seeds)
    yield from ("", "## Which version of krein made the runs", "")
    yield from _versions(made_by)
    yield from ("", "## Since the second reading", "")
    yield from _since(ledger)


def _paper(paper: str, ledger: Ledger) -> Iterator[str]:
    found = HERE / "ledger" / paper / "found.md"
    yield found.read_text(encoding="utf-8").rstrip()
    yield from ("", "| table | what is printed | verdicts | ours against printed |")
    yield "|---|---|---|---|"
    groups: dict[tuple[str, str], list[Claim]] = {}
    for claim in ledger.of(paper):
        groups.setdefault((claim.table, claim.quantity), []).append(claim)
    for (table, quantity), claims in groups.items():
        for what, part in _parts(quantity, claims):
            yield f"| {_name(table)} | {what} | {_counts(part)} | {_distance(part)} |"


def _apart(ledger: Ledger) -> Iterator[str]:
    """Which claims were not at risk, why, and how they came out."""
    yield "| kind | table | what is printed | verdicts | why |"
    yield "|---|---|---|---|---|"
    groups: dict[tuple[str, str], list[Claim]] = {}
    for claim in ledger.claims:
        groups.setdefault((claim.table, claim.quantity), []).append(claim)
    for kind in (FOLLOWS, CANNOT_FAIL):
        for (table, quantity), claims in groups.items():
            if kind_of(claims[0]) == kind:
                where = f"{table.partition('-')[0].capitalize()}, {_name(table)}"
                verdicts, why = _counts(claims), reason_of(claims[0])
                yield f"| {kind} | {where} | {quantity} | {verdicts} | {why} |"


def _counts(claims: list[Claim]) -> str:
    count = Counter(claim.verdict for claim in claims)
    words = (f"{count[v]} {_PLURAL.get(v, v)}" for v in VERDICTS if count[v])
    return ", ".join(words)


def _name(table: str) -> str:
    """Call ``ying-table3`` Table 3."""
    name = re.sub(r"(\d+)", r" \1", table.partition("-")[2])
    return name.upper() if name == "usps" else name.capitalize()


def _parts(quantity: str, claims: list[Claim]) -> Iterator[tuple[str, list[Claim]]]:
    """Claims on one quantity, by method where there are many."""
    if len(claims) <= _MANY:
        yield quantity, claims
        return
    for method in dict.fromkeys(claim.method for claim in claims):
        own = [claim for claim in claims if claim.method == method]
        yield f"{quantity} of {method}", own


def _distance(claims: list[Claim]) -> str:
    """How far ours are from what is printed, in the unit of the tolerance."""
    pairs = [
        (claim.tolerance, float(claim.paper), float(claim.ours))
        for claim in claims
        if claim.verdict in COMPARED and _is_number(claim.ours)
    ]
    if not pairs:
        return ""
    if len(claims) == 1:
        return f"{claims[0].ours} against {claims[0].paper}"
    kind = pairs[0][0]
    if kind.startswith("x"):
        middle = median(max(a / b, b / a) for _, a, b in pairs)
        return f"a factor of {middle:.2g} (median)"
    if kind.endswith("%"):
        return (
            f"{median(100 * abs(a - b) / abs(a) for _, a, b in pairs):.2g} % (median)"
        )
    return f"{median(abs(a - b) for _, a, b in pairs):.2g} (median)"


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _readings(table: Table, ledger: Ledger) -> Iterator[str]:
    """How many claims of a table hold under each reading, and how far they are."""

    def accuracy(claim: Claim) -> bool:
        return claim.quantity == "accuracy"

    labels = [
        label
        for label in table.readings.values()
        if sum(label in by and len(by) > 1 for by in ledger.readings) > 1
        and ledger.holding(table.name, lambda claim: True, label) != "(not run)"
    ]
    scored = [
        label
        for label in labels
        if any(
            accuracy(claim) and claim.verdict in COMPARED
            for claim in ledger.under(table.name, label)
        )
    ]
    means = ledger.deviations(table.name, accuracy, scored) if scored else []
    far = dict(zip(scored, means, strict=False))
    for label in labels:
        holds = ledger.holding(table.name, lambda claim: True, label)
        distance = f"{far[label]:.3g}" if label in far else ""
        name = f"{table.paper.capitalize()}, {_name(table.name)}"
        yield f"| {name} | {label} | {holds} | {distance} |"


def _seeds(ledger: Ledger, seeds: dict[int, Ledger]) -> Iterator[str]:
    """How many verdicts change with other splits, where they were run."""
    yield "Verdicts on other random splits, reading by reading, where both were run:"
    yield from ("", "| seed | table | compared | changed |", "|---|---|---|---|")
    for seed, other in seeds.items():
        count: Counter[str] = Counter()
        changed: Counter[str] = Counter()
        for here, there in compared(ledger, other):
            count[here.table] += 1
            changed[here.table] += here.verdict != there.verdict
        for table, n in sorted(count.items()):
            yield f"| {seed} | {table} | {n} | {changed[table]} |"


def _versions(made_by: dict[str, dict[str, int]]) -> Iterator[str]:
    """Stamps of the runs, oldest first; a table that ran in parts has several."""
    yield "| krein | runs | tables |"
    yield "|---|---|---|"
    for version, tables_of in made_by.items():
        yield f"| {version} | {sum(tables_of.values())} | {', '.join(tables_of)} |"


def _since(ledger: Ledger) -> Iterator[str]:
    """Which verdicts are others than at the second reading, and why."""
    before, changed = since_second_reading(ledger)
    now = Counter(claim.verdict for claim in ledger.claims)
    yield from ("| verdict | second reading | now |", "|---|---|---|")
    yield from (f"| {word} | {before[word]} | {now[word]} |" for word in VERDICTS)
    yield f"| all | {before.total()} | {now.total()} |"
    yield from ("", "| table | before | now | claims | why |", "|---|---|---|---|---|")
    for key, n in sorted(changed.items()):
        yield f"| {' | '.join(key)} | {n} | {REASONS.get(key, '')} |"


def _rows(ledger: Ledger, seeds: dict[int, Ledger]) -> Iterator[tuple[Any, ...]]:
    """Rows of the file with every claim."""
    for place, by in enumerate(ledger.readings):
        chosen, *others = by.values()
        again = (
            f"{seed}: {_said(next(iter(other.readings[place].values())))}"
            for seed, other in seeds.items()
            if next(iter(other.readings[place].values())).runs
        )
        yield (
            *(chosen.table, *chosen.key, chosen.paper, chosen.tolerance, chosen.ours),
            *(chosen.spread, chosen.runs, chosen.verdict, kind_of(chosen)),
            chosen.reading,
            chosen.reason,
            "; ".join(f"{other.reading}: {_said(other)}" for other in others),
            "; ".join(again),
        )


def _said(claim: Claim) -> str:
    return f"{claim.ours or 'no number'}, {claim.verdict}"
