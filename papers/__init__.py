"""The experiments of the papers, by one command, with a ledger of what holds.

``tables()`` lists them, ``reproduce(name)`` runs one (again: only what is missing),
``states()`` says what there is. From the root of the repository: ``make papers``, or
``python -m papers --help``.
"""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from papers.claims import Claim, judge, means, printed, write_claims
from papers.runs import EDITION, Means, Run, Runner, Store, Table

__all__ = [
    "LEDGER",
    "OTHER_SEED",
    "PAPERS",
    "State",
    "complete",
    "file_claims",
    "find_table",
    "judge_paper",
    "measure",
    "measured_of",
    "reproduce",
    "states",
    "tables",
]

# Where results and claims are kept, and those with other splits.
LEDGER = Path(__file__).parent / "ledger"
OTHER_SEED = Path(__file__).parent / "seed1"
# Key of a paper -> module that has its TABLES.
PAPERS = {
    "ying": "Ying, Campbell, Girolami (2009), Analysis of SVM with indefinite kernels",
    "chen": "Chen, Ye (2008), Training SVM with indefinite kernels",
    "liu": "Liu et al., Indefinite kernel logistic regression with CCICP",
    "walder": "Walder, Chapelle (2007), Learning with transformation invariant kernels",
    "similarity": "Chen et al. (2009), Similarity-based classification",
}


def tables() -> dict[str, Table]:
    """All tables and figures, by the name used on the command line.

    Returns
    -------
    dict of str to Table

    Examples
    --------
    >>> from papers import tables
    >>> "liu-table2" in tables()
    True
    """
    found: dict[str, Table] = {}
    for paper in PAPERS:
        module = importlib.import_module(f"papers.{paper}")
        found.update({table.name: table for table in module.TABLES})
    return found


def find_table(name: str) -> Table:
    """Return one table by name.

    Parameters
    ----------
    name : str
        One of `tables`.

    Returns
    -------
    Table
    """
    known = tables()
    if name not in known:
        raise ValueError(f"no table named {name!r}; there are {', '.join(known)}")
    return known[name]


@dataclass(frozen=True)
class State:
    """How far a table is."""

    table: str
    title: str
    finished: int
    wanted: int
    failed: int
    seconds: float
    outdated: bool
    verdicts: dict[str, int]
    older: int = 0
    diverged: int = 0

    @property
    def runs(self) -> str:
        """How many runs there are."""
        words = f"{self.finished} of {self.wanted}"
        if self.older:
            words += f", {self.older} older"
        return words + (f", {self.diverged} diverged" if self.diverged else "")

    @property
    def word(self) -> str:
        """State in one word."""
        if self.outdated:
            return "outdated"
        if self.finished == 0:
            return "not run"
        return "complete" if self.finished >= self.wanted else "partial"


def states(out: Path) -> list[State]:
    """State of every table.

    Parameters
    ----------
    out : Path
        Folder of the results.

    Returns
    -------
    list of State
    """
    listed = []
    judged = {paper: judge_paper(paper, out) for paper in PAPERS}
    for table in tables().values():
        store = Store(table, out)
        runs = store.load()
        done = runs.keys() & set(table.tasks(False))
        failed = sum(runs[task].failed for task in done)
        verdicts: dict[str, int] = {}
        for claim in judged[table.paper]:
            if claim.table == table.name:
                verdicts[claim.verdict] = verdicts.get(claim.verdict, 0) + 1
        wanted = len(table.tasks(False))
        listed.append(
            State(
                table.name,
                table.title,
                len(done) - failed,
                wanted,
                failed,
                sum(runs[task].seconds for task in done),
                store.outdated,
                verdicts,
                sum(runs[task].edition < EDITION for task in done),
                sum(runs[task].diverged for task in done),
            )
        )
    return listed


def complete(table: Table, runs: list[Run], *, quick: bool = False) -> list[Run]:
    """Runs of those (data set, method) that have all their splits.

    Parameters
    ----------
    table : Table
        What was run.
    runs : list of Run
        Finished tasks.
    quick : bool
        They are of the tiny version.

    Returns
    -------
    list of Run
    """
    wanted = Counter((task.dataset, task.method) for task in table.tasks(quick))
    sound = [run for run in runs if not run.failed]
    done = Counter((run.task.dataset, run.task.method) for run in sound)
    return [
        run
        for run in sound
        if done[pair := (run.task.dataset, run.task.method)] >= wanted[pair] > 0
    ]


def measure(table: Table, runs: list[Run], *, quick: bool = False) -> Means:
    """Means over splits and what the table derives from them.

    A method counts on a data set when all its splits are done and none broke down:
    half a mean is not compared with a printed one.

    Parameters
    ----------
    table, runs, quick
        As in `complete`.

    Returns
    -------
    dict
        (dataset, method, quantity) -> `Measured`.
    """
    runs = complete(table, runs, quick=quick)
    measured = means(runs)
    if table.derive is not None:
        measured = {**measured, **table.derive(measured, runs)}
    return measured


def judge_paper(paper: str, out: Path) -> list[Claim]:
    """Compute all claims of a paper from the results in a folder.

    Parameters
    ----------
    paper : str
        Key, one of `PAPERS`.
    out : Path
        Folder of the results.

    Returns
    -------
    list of Claim
    """
    measured = measured_of(paper, out)
    known = tables()
    return [
        judge(claim, measured[claim.table], known[claim.table])
        for claim in printed(paper)
    ]


def measured_of(paper: str, out: Path) -> dict[str, Means]:
    """All that was measured for a paper, by table.

    Parameters
    ----------
    paper, out
        As in `judge_paper`.

    Returns
    -------
    dict of str to dict
    """
    return {
        table.name: measure(table, list(Store(table, out).load().values()))
        for table in tables().values()
        if table.paper == paper
    }


def reproduce(
    name: str,
    out: Path,
    *,
    quick: bool = False,
    fresh: bool = False,
    n_jobs: int = 1,
    seconds: float | None = None,
    progress: Callable[[int, int, Run | None], Any] | None = None,
) -> list[Run]:
    """Run what is missing of a table, merge, judge the claims and draw.

    Parameters
    ----------
    name : str
        One of `tables`.
    out : Path
        Folder of the results; made when it does not exist.
    quick : bool
        The tiny version, kept apart; it does not touch the claims.
    fresh : bool
        Forget what was run before.
    n_jobs : int
        Processes.
    seconds : float, optional
        Start no further task after this time; call again to go on.
    progress : callable, optional
        ``progress(finished, wanted, run)`` after every task.

    Returns
    -------
    list of Run
        All finished tasks.
    """
    table = find_table(name)
    store = Store(table, Path(out), quick)
    if fresh:
        store.forget()
    tasks = table.tasks(quick)
    done = store.load()
    todo = [task for task in tasks if task not in done or done[task].failed]
    finished = len(tasks) - len(todo)
    if progress is not None:
        progress(finished, len(tasks), None)
    for run in Runner(store).run_all(todo, n_jobs=n_jobs, seconds=seconds):
        finished += 1
        if progress is not None:
            progress(finished, len(tasks), run)
    runs = store.merge()
    sound = complete(table, runs, quick=quick)
    if table.draw is not None and sound:
        table.draw(sound, store.results.with_suffix(".png"))
    if not quick:
        file_claims(table.paper, Path(out))
    return runs


def file_claims(paper: str, out: Path) -> list[Claim]:
    """Judge all claims of a paper and write its ``claims.csv``.

    Parameters
    ----------
    paper, out
        As in `judge_paper`.

    Returns
    -------
    list of Claim
    """
    claims = judge_paper(paper, out)
    write_claims(Path(out) / paper / "claims.csv", claims)
    return claims
