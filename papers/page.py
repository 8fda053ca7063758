"""The page "What the papers claim and what we found", written from the claims."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from krein.store.files import atomic_write
from papers import PAPERS, file_claims, measure, states, tables
from papers.claims import PRINTED, VERDICTS, Claim, Measured
from papers.runs import Means, Store, Table

__all__ = ["page_lines", "write_page"]


def write_page(path: Path, out: Path) -> int:
    """Judge every claim from the results, file the claims and write the page.

    Parameters
    ----------
    path : Path
        Markdown file to write.
    out : Path
        Folder of the results.

    Returns
    -------
    int
        Number of claims on the page.
    """
    claims = {paper: file_claims(paper, out) for paper in PAPERS}
    seconds = {state.table: state.seconds for state in states(out)}
    grids = {
        table.name: list(_grid(table, measure(table, list(stored.values()))))
        for table in tables().values()
        if table.grid and (stored := Store(table, out).load())
    }
    with atomic_write(path, overwrite=True, text=True) as handle:
        handle.writelines(f"{line}\n" for line in page_lines(claims, seconds, grids))
    return sum(map(len, claims.values()))


def _grid(table: Table, measured: Means) -> Iterator[str]:
    """Mean and standard deviation of one quantity: methods down, data sets across."""
    keys = [key for key in measured if key[2] == table.grid]
    wanted = list(dict.fromkeys((t.dataset, t.method) for t in table.tasks(False)))
    datasets = list(dict.fromkeys(d for d, _ in wanted if any(k[0] == d for k in keys)))
    methods = list(dict.fromkeys(m for _, m in wanted if any(k[1] == m for k in keys)))
    if not datasets:
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


def page_lines(
    claims: dict[str, list[Claim]],
    seconds: dict[str, float],
    grids: dict[str, list[str]],
) -> Iterator[str]:
    """Lines of the page.

    Parameters
    ----------
    claims : dict
        Paper -> judged claims.
    seconds : dict
        Table -> processor seconds of its runs.
    grids : dict
        Table -> lines of the table of all measured means.

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
    yield (
        "Every number that the papers behind krein print is compared here with a run "
        "of `make papers`. *holds*: within the tolerance that the protocol of the "
        "paper states. *differs*: outside of it. *cannot hold*: there is a proof. "
        "*not to be had*: the data, or a number in the copy of the paper, are missing, "
        "or seconds of another machine. *not run*: no run yet; the command that runs "
        "it is `make papers TABLE=` with the name of the table. Minutes are summed "
        "over all runs of a table; where the machine was busy with others they are an "
        "upper bound of the processor time."
    )
    yield ""
    yield from _summary(claims, seconds)
    yield _text("findings.md")
    yield ""
    yield _text("errata.md")
    for paper, rows in claims.items():
        yield ""
        yield f"## {PAPERS[paper]}"
        for table in tables().values():
            if table.paper == paper:
                yield from _section(
                    table.name, table.title, [r for r in rows if r.table == table.name]
                )
                yield from grids.get(table.name, [])


def _text(name: str) -> str:
    return (PRINTED / name).read_text(encoding="utf-8").rstrip()


def _summary(
    claims: dict[str, list[Claim]], seconds: dict[str, float]
) -> Iterator[str]:
    yield f"| table | {' | '.join(VERDICTS)} | minutes of one core |"
    yield f"|---|{'---|' * (len(VERDICTS) + 1)}"
    for table in tables().values():
        count = Counter(c.verdict for c in claims[table.paper] if c.table == table.name)
        cells = " | ".join(str(count[v]) if count[v] else "" for v in VERDICTS)
        yield f"| {table.name} | {cells} | {seconds[table.name] / 60:.1f} |"
    every = [claim.verdict for rows in claims.values() for claim in rows]
    cells = " | ".join(f"**{every.count(v)}**" for v in VERDICTS)
    yield f"| **all** | {cells} | **{sum(seconds.values()) / 60:.0f}** |"
    yield ""


def _section(name: str, title: str, rows: list[Claim]) -> Iterator[str]:
    yield ""
    yield f"### {name}: {title}"
    yield ""
    if not any(row.ours or row.verdict != "not run" for row in rows):
        yield f"{len(rows)} claims, not run: `make papers TABLE={name}`."
        return
    yield "| data set | method | quantity | paper | ours | verdict | why |"
    yield "|---|---|---|---|---|---|---|"
    for row in rows:
        ours = f"{row.ours} ± {row.spread}" if row.spread else row.ours
        cells = (
            row.dataset,
            row.method,
            row.quantity,
            row.paper,
            ours,
            row.verdict,
            row.reason,
        )
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
