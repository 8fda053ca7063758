"""The experiments of the papers, by one command, with a ledger of what holds.

``tables()`` lists them, ``reproduce(name)`` runs one (again: only what is missing),
``states()`` says what there is. From the root of the repository: ``make papers``, or
``python -m papers --help``.
"""

from __future__ import annotations

import importlib
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from papers.claims import Claim, by_reading, means, printed
from papers.runs import Means, Run, Runner, Store, Table

__all__ = [
    "LEDGER",
    "PAPERS",
    "State",
    "complete",
    "find_table",
    "judged",
    "measure",
    "reproduce",
    "seed_folder",
    "states",
    "tables",
]

HERE = Path(__file__).parent
# Where the results are kept.
LEDGER = HERE / "ledger"
# Key of a paper -> module that has its TABLES.
PAPERS = {
    "ying": "Ying, Campbell, Girolami (2009), Analysis of SVM with indefinite kernels",
    "chen": "Chen, Ye (2008), Training SVM with indefinite kernels",
    "liu": "Liu et al., Indefinite kernel logistic regression with CCICP",
    "walder": "Walder, Chapelle (2007), Learning with transformation invariant kernels",
    "similarity": "Chen et al. (2009), Similarity-based classification",
}


def seed_folder(seed: int) -> Path:
    """Return where the results of other splits are kept; 0 is the ledger itself."""
    return HERE / f"seed{seed}" if seed else LEDGER


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
    """Return one table by its name, one of `tables`."""
    known = tables()
    if name not in known:
        raise ValueError(f"no table named {name!r}; there are {', '.join(known)}")
    return known[name]


@dataclass(frozen=True)
class State:
    """How far a table is."""

    table: Table
    finished: int
    wanted: int
    failed: int
    seconds: float
    outdated: bool
    diverged: int
    verdicts: dict[str, int]

    @property
    def runs(self) -> str:
        """How many runs there are."""
        words = f"{self.finished} of {self.wanted}"
        for count, what in ((self.diverged, "diverged"), (self.failed, "failed")):
            words += f", {count} {what}" if count else ""
        return words

    @property
    def word(self) -> str:
        """State in one word."""
        if self.outdated:
            return "outdated"
        if self.finished == 0:
            return "not run"
        return "complete" if self.finished >= self.wanted else "partial"


def states(out: Path) -> list[State]:
    """State of every table, from the results in a folder."""
    verdicts: dict[str, Counter[str]] = {}
    for by in judged(out):
        claim = next(iter(by.values()))
        verdicts.setdefault(claim.table, Counter())[claim.verdict] += 1
    return [
        _state(table, Store(table, out), verdicts.get(table.name, Counter()))
        for table in tables().values()
    ]


def _state(table: Table, store: Store, verdicts: Counter[str]) -> State:
    wanted = set(table.tasks(False))
    runs = [run for task, run in store.load().items() if task in wanted]
    failed = sum(run.failed for run in runs)
    return State(
        table,
        len(runs) - failed - sum(run.unfinished for run in runs),
        len(wanted),
        failed,
        sum(run.seconds for run in runs),
        store.outdated,
        sum(run.diverged for run in runs),
        dict(verdicts),
    )


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


def judged(out: Path, only: str = "") -> list[dict[str, Claim]]:
    """Every claim under every reading, from the results in a folder.

    Parameters
    ----------
    out : Path
        Folder of the results.
    only : str
        Name of a table: its claims alone.

    Returns
    -------
    list of dict of str to Claim
        For each claim: reading -> the claim judged by it; the first is the verdict.
    """
    found: list[dict[str, Claim]] = []
    for name, table in tables().items():
        if only in ("", name):
            measured = measure(table, list(Store(table, out).load().values()))
            claims = [c for c in printed(table.paper) if c.table == name]
            found += [by_reading(claim, measured, table) for claim in claims]
    return found


def reproduce(
    name: str,
    out: Path,
    *,
    quick: bool = False,
    fresh: bool = False,
    only: str = "",
    n_jobs: int = 1,
    seconds: float | None = None,
    progress: Callable[[int, int, Run | None], Any] | None = None,
) -> list[Run]:
    """Run what is missing of a table, merge and draw.

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
    only : str
        Run those tasks alone whose "data set, method" this pattern is found in.
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
    todo = [
        task
        for task in tasks
        if (task not in done or done[task].failed or done[task].unfinished)
        and re.search(only, f"{task.dataset}, {task.method}")
    ]
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
    return runs
