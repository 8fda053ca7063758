"""The page "What the papers claim and what we found", written from the ledger."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from krein.store.files import atomic_write
from papers import OTHER_SEED, PAPERS, states, tables
from papers.claims import PRINTED, VERDICTS, Claim, Measured
from papers.picture import draw_claims
from papers.runs import Means, Table
from papers.sentences import sentences
from papers.tally import Ledger, changes, read_ledger, since_first_reading

__all__ = ["page_lines", "write_page"]

_WORDS = {
    "holds": "within the tolerance that the protocol of the paper states",
    "differs": "outside of it",
    "diverged": "at least one run behind it gave no model; nothing was scored for it",
    "cannot hold": "it contradicts itself or what was measured",
    "tests nothing": "ours was chosen to be the printed one, or the sentence is none "
    "of the paper; counted apart",
    "not to be had": "the data, or a number in the copy of the paper, are missing, or "
    "it is seconds of another machine",
    "not run": "no run yet, or one that was cut short; `make papers TABLE=` with the "
    "name of the table goes on",
}


def write_page(path: Path, out: Path) -> int:
    """Judge every claim from the results, file the claims, write page and picture.

    Parameters
    ----------
    path : Path
        Markdown file to write; the picture is written beside it.
    out : Path
        Folder of the results.

    Returns
    -------
    int
        Number of claims on the page.
    """
    ledger = read_ledger(out)
    path.parent.mkdir(parents=True, exist_ok=True)
    picture = path.with_name(f"{path.stem}_claims.png")
    drawn = draw_claims(ledger, picture)
    with atomic_write(path, overwrite=True, text=True) as handle:
        lines = page_lines(ledger, out, picture.name, drawn)
        handle.writelines(f"{line}\n" for line in lines)
    return len(ledger.claims)


def page_lines(ledger: Ledger, out: Path, picture: str, drawn: int) -> Iterator[str]:
    """Lines of the page.

    Parameters
    ----------
    ledger : Ledger
        All claims.
    out : Path
        Folder of the results, for the protocols and the state of the runs.
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
    yield (
        "<!-- Written by `python -m papers --page docs/papers.md` from the results in "
        "papers/ledger; do not edit. -->"
    )
    yield ""
    yield f"![Printed values against measured ones, by verdict]({picture})"
    yield ""
    yield (
        f"*The {drawn} claims that are two numbers, without their signs (what lies "
        f"beyond the axes is drawn at their edge); the other "
        f"{len(ledger.claims) - drawn} are sentences or were not measured.*"
    )
    yield ""
    yield from (f"{i}. {text}" for i, text in enumerate(sentences(ledger), 1))
    yield from ("", "## Verdicts", "")
    yield from (f"- *{verdict}*: {words}." for verdict, words in _WORDS.items())
    yield ""
    yield from _summary(ledger, out)
    yield from _since(ledger)
    yield from _other_seed(ledger)
    for paper in PAPERS:
        yield from _paper(paper, ledger, out)
    yield from ("", (PRINTED / "errata.md").read_text(encoding="utf-8").rstrip())


def _summary(ledger: Ledger, out: Path) -> Iterator[str]:
    """Verdicts of every table, and how many of its runs are of which reading."""
    yield f"| table | {' | '.join(VERDICTS)} | runs | minutes of one core |"
    yield f"|---|{'---|' * (len(VERDICTS) + 2)}"
    seconds = 0.0
    for state in states(out):
        count = ledger.count(state.table)
        cells = " | ".join(str(count[v]) if count[v] else "" for v in VERDICTS)
        yield f"| {state.table} | {cells} | {state.runs} | {state.seconds / 60:.1f} |"
        seconds += state.seconds
    count = ledger.count()
    cells = " | ".join(f"**{count[v]}**" for v in VERDICTS)
    yield f"| **all** | {cells} | | **{seconds / 60:.0f}** |"
    yield ""
    yield (
        "Runs: those that are there, of those that the table wants; *older* ones were "
        "made before the second reading of the papers, by the same protocol. Minutes "
        "are processor time; on a busy machine they are an upper bound."
    )


def _since(ledger: Ledger) -> Iterator[str]:
    """Which verdicts are others than at the first reading, and why."""
    before, changed = since_first_reading(ledger)
    counts = ", ".join(f"{before[v]} {v}" for v in VERDICTS if before[v])
    known = sum(n for (then, *_), n in changed.items() if then in VERDICTS)
    yield from ("", "## Since the first reading", "")
    yield (
        f"The first reading (krein 0.1.0) judged {before.total()} claims: {counts}. Of "
        f"these {known} have another verdict now, and "
        f"{sum(changed.values()) - known} claims are new:"
    )
    yield ""
    yield "| before | now | claims | why |"
    yield "|---|---|---|---|"
    for (then, now, why), n in sorted(changed.items(), key=lambda item: -item[1]):
        yield f"| {then} | {now} | {n} | {why} |"


def _other_seed(ledger: Ledger) -> Iterator[str]:
    """How many verdicts change with other splits, where they were run."""
    found = changes(ledger, OTHER_SEED)
    if not found:
        return
    yield from ("", "## Another seed", "")
    yield "Verdicts on other random splits, reading by reading, where both were run:"
    yield ""
    for table, (count, changed) in found.items():
        said = f": {'; '.join(changed)}" if changed else ""
        yield f"- {table}: {len(changed)} of {count} changed{said}."


def _paper(paper: str, ledger: Ledger, out: Path) -> Iterator[str]:
    yield from ("", f"## {PAPERS[paper]}", "")
    own = [table for table in tables().values() if table.paper == paper]
    readings = [line for table in own for line in _readings(table, ledger)]
    found = out / paper / "found.md"
    if found.is_file():
        yield found.read_text(encoding="utf-8").rstrip()
        yield ""
    if readings:
        yield "| table | reading | holds | differs | diverged | not run |"
        yield "|---|---|---|---|---|---|"
        yield from readings
        yield ""
    for table in own:
        yield from _section(table, ledger)


def _readings(table: Table, ledger: Ledger) -> Iterator[str]:
    """How many claims of a table hold under each reading."""
    words = ("holds", "differs", "diverged", "not run")
    for label, count in ledger.under(table.name).items():
        cells = " | ".join(str(count[word]) for word in words)
        yield f"| {table.name} | {label} | {cells} |"


def _section(table: Table, ledger: Ledger) -> Iterator[str]:
    rows = ledger.of(table.name)
    count = ledger.count(table.name)
    said = ", ".join(f"{count[v]} {v}" for v in VERDICTS if count[v])
    yield f"### {table.name}: {table.title}"
    yield ""
    yield f"{len(rows)} claims: {said}."
    yield ""
    yield "<details><summary>Every claim</summary>"
    yield ""
    yield "| data set | method | quantity | paper | ours | verdict | reading | why |"
    yield "|---|---|---|---|---|---|---|---|"
    yield from map(_row, rows)
    yield from _grid(table, ledger.measured[table.name])
    yield from ("", "</details>", "")


def _row(claim: Claim) -> str:
    ours = f"{claim.ours} ± {claim.spread}" if claim.spread else claim.ours
    why = "; ".join(part for part in (claim.reason, claim.others) if part)
    cells = (
        *(claim.dataset, claim.method, claim.quantity, claim.paper),
        *(ours, claim.verdict, claim.reading, why),
    )
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _grid(table: Table, measured: Means) -> Iterator[str]:
    """Mean and standard deviation of one quantity: methods down, data sets across."""
    keys = [key for key in measured if key[2] == table.grid]
    wanted = list(dict.fromkeys((t.dataset, t.method) for t in table.tasks(False)))
    datasets = list(dict.fromkeys(d for d, _ in wanted if any(k[0] == d for k in keys)))
    methods = list(dict.fromkeys(m for _, m in wanted if any(k[1] == m for k in keys)))
    if not datasets or not table.grid:
        return
    yield ""
    yield f"What was measured ({table.grid}, mean ± standard deviation over splits):"
    yield ""
    yield f"| method | {' | '.join(datasets)} |"
    yield f"|---|{'---|' * len(datasets)}"
    for method in methods:
        row = [measured.get((dataset, method, table.grid)) for dataset in datasets]
        yield f"| {method} | {' | '.join(map(_cell, row))} |"


def _cell(found: Measured | None) -> str:
    if found is None:
        return ""
    digits = 3 if abs(found.value) <= 1 else 1
    spread = "" if found.spread is None else f" ± {found.spread:.{digits}f}"
    return f"{found.value:.{digits}f}{spread}"
