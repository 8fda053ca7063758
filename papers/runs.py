"""Resumable runs: one small file per (data set, method, split), merged at the end.

A table is a list of tasks and a function that computes one of them. Each finished
task is one file in ``<out>/<paper>/runs/<table>/``, written completely or not at all,
so that a run that was killed goes on where it stopped. When all tasks are done they are
merged into ``<out>/<paper>/results/<table>.jsonl``, the only file that claims are
computed from.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from krein.store.files import RecordStore, atomic_write, read_record
from krein.store.fingerprint import fingerprint

__all__ = [
    "DivergedError",
    "Run",
    "Runner",
    "Store",
    "Table",
    "Task",
    "machine",
    "seed_of",
]

# What a run measures: numbers, curves (lists of numbers), words.
Values = dict[str, Any]
FAILED = "failed"  # in the values of a run that broke down: the error in words
STATUS = "status"  # how the solver ended, in the values of a run


class DivergedError(ArithmeticError):
    """A published solver left for infinity: there is no model to be scored."""


@dataclass(frozen=True, order=True)
class Task:
    """One run: a method on one split of one data set."""

    dataset: str
    method: str
    split: int = 0

    @property
    def name(self) -> str:
        """Name of the record that holds the finished run."""
        safe = "".join(
            c if c.isalnum() else "-" for c in f"{self.dataset}_{self.method}"
        )
        mark = zlib.crc32(f"{self.dataset}\n{self.method}".encode())
        return f"{safe}_{mark:08x}_{self.split}"


@dataclass(frozen=True)
class Run:
    """A finished task: what was measured, and the processor seconds it took."""

    task: Task
    values: Values
    seconds: float
    version: str = ""  # of krein, which ran it

    @property
    def failed(self) -> bool:
        """The method broke down numerically."""
        return FAILED in self.values

    @property
    def diverged(self) -> bool:
        """The solver diverged: a result, but there was no model to be measured."""
        return self.values.get(STATUS) == "diverged"

    @property
    def unfinished(self) -> bool:
        """It was stopped before it could decide: it counts, and is made again."""
        return self.values.get(STATUS) == "unfinished"

    def record(self) -> dict[str, Any]:
        """Plain values: a record of the store, a line of a results file."""
        return {
            "dataset": self.task.dataset,
            "method": self.task.method,
            "split": self.task.split,
            "seconds": round(self.seconds, 3),
            "values": self.values,
            **({"krein": self.version} if self.version else {}),
        }

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> Run:
        """Read what `record` wrote."""
        task = Task(record["dataset"], record["method"], record["split"])
        version = record.get("krein", "")
        return cls(task, record["values"], record["seconds"], version)


# (task, quick, earlier) -> values; earlier(task) gives the values of another task of
# the same table, from its file if it was run.
Compute = Callable[[Task, bool, Callable[[Task], Values]], Values]
Means = dict[tuple[str, str, str], Any]


def _with_suffix(method: str, reading: str) -> str:
    return f"{method}, {reading}" if reading else method


@dataclass(frozen=True)
class Table:
    """A table or figure of a paper.

    Attributes
    ----------
    name : str
        As on the command line, ``liu-table2``.
    paper : str
        Key of the paper: the folder of its results.
    title : str
        One line.
    tasks : callable
        ``tasks(quick)`` lists what there is to run.
    compute : callable
        Computes one task.
    derive : callable, optional
        ``derive(means, runs)`` adds what is not a mean over splits: verdicts on
        sentences of the paper ("yes" or "no"), ratios.
    draw : callable, optional
        ``draw(runs, path)`` writes a picture.
    explain : callable, optional
        ``explain(claim, measured)`` says what the runs tell about a claim that differs.
    version : int
        To be raised when the protocol changes: older results are then outdated.
    current : callable, optional
        ``current(run)`` is False for a run of an older protocol, which is made again.
    readings : dict of str to str
        Readings of the protocol where a paper can be read in several ways, and what
        the page calls them; the first is the one that claims are judged by, "" the one
        that names of methods do not mention.
    under : callable
        ``under(method, reading)``: name of a method when it follows a reading.
    binding : callable
        ``binding(claim)``: the first reading alone decides, also where it was not run.
    """

    name: str
    paper: str
    title: str
    tasks: Callable[[bool], list[Task]]
    compute: Compute
    derive: Callable[[Means, list[Run]], Means] | None = None
    draw: Callable[[list[Run], Path], None] | None = None
    explain: Callable[[Any, Means], str] | None = None
    version: int = 1
    current: Callable[[Run], bool] | None = None
    readings: Mapping[str, str] = field(default_factory=lambda: {"": ""})
    under: Callable[[str, str], str] = _with_suffix
    binding: Callable[[Any], bool] = lambda claim: False


def _stamped(run: Run, version: str) -> Run:
    return run if run.version else replace(run, version=version)


def machine() -> dict[str, str | int | None]:
    """What the numbers of a results file were measured on."""
    import scipy
    import sklearn

    import krein

    return {
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
        "krein": krein.__version__,
        "processor": platform.machine(),
        "cores": os.cpu_count(),
        "blas_threads": 1,
    }


def seed_of(task: Task) -> list[int]:
    """Seed of a split: the same for every method, different for every data set.

    The environment variable ``KREIN_PAPERS_SEED`` makes other splits of all sets.
    """
    other = int(os.environ.get("KREIN_PAPERS_SEED", "0"))
    seed = [zlib.crc32(task.dataset.encode()), task.split]
    return [*seed, 0, other] if other else seed


@dataclass
class Store:
    """Where the runs of one table are kept.

    Parameters
    ----------
    table : Table
        What is run.
    out : Path
        Folder that holds one folder per paper.
    quick : bool
        Keep the tiny version apart from the real one.
    """

    table: Table
    out: Path
    quick: bool = False
    folder: Path = field(init=False)

    def __post_init__(self) -> None:
        paper = self.out / self.table.paper
        self.folder = paper / "quick" if self.quick else paper

    @property
    def results(self) -> Path:
        """The merged file."""
        return self.folder / "results" / f"{self.table.name}.jsonl"

    @property
    def runs_folder(self) -> Path:
        """Finished tasks of a table that is not complete yet."""
        version = f"v{self.table.version}"
        return self.folder / "runs" / self.table.name / version

    def header(self) -> dict[str, Any]:
        """First line of the merged file, {} when there is none."""
        if not self.results.is_file():
            return {}
        with open(self.results, encoding="utf-8") as lines:
            return json.loads(next(lines))

    @property
    def outdated(self) -> bool:
        """The merged file belongs to an older protocol."""
        header = self.header()
        return bool(header) and header.get("version") != self.table.version

    def load(self) -> dict[Task, Run]:
        """Return all finished tasks of the present protocol."""
        runs: dict[Task, Run] = {}
        if self.results.is_file() and not self.outdated:
            lines = self.results.read_text(encoding="utf-8").splitlines()[1:]
            found = (Run.from_record(json.loads(line)) for line in lines)
            # Runs of a file without stamps of their own have that of the file.
            stamp = self.header()["machine"]["krein"]
            runs = {run.task: _stamped(run, stamp) for run in found}
        for path in sorted(self.runs_folder.glob("*.json")):
            record = read_record(path)
            if record is not None:
                run = Run.from_record(record)
                runs[run.task] = run
        current = self.table.current
        if current is None:
            return runs
        return {task: run for task, run in runs.items() if current(run)}

    def find(self, task: Task) -> Run | None:
        """Return one finished task if its own file is there."""
        record = self._records().read(task.name, self._key(task))
        return None if record is None else Run.from_record(record)

    def _records(self) -> RecordStore:
        return RecordStore(self.runs_folder)

    def _key(self, task: Task) -> str:
        return fingerprint(self.table.name, self.table.version, self.quick, task)

    def save(self, run: Run) -> None:
        """Keep one finished task."""
        self._records().write(run.task.name, self._key(run.task), run.record())

    def merge(self) -> list[Run]:
        """Write all finished tasks into one file; drop the small ones when complete.

        Runs of tasks that the table no longer has are left out. The stamp, machine and
        versions, is that of the newest run; where nothing was run since the file was
        written it stays as it is.
        """
        wanted = set(self.table.tasks(self.quick))
        loaded = self.load().values()
        runs = sorted((r for r in loaded if r.task in wanted), key=lambda run: run.task)
        missing = wanted - {run.task for run in runs}
        new = any(self.runs_folder.glob("*.json"))
        stamp = self.header().get("machine")
        header = {
            "table": self.table.name,
            "version": self.table.version,
            "quick": self.quick,
            "finished": len(wanted) - len(missing),
            "wanted": len(wanted),
            "machine": machine() if new or stamp is None else stamp,
            "runs by version": dict(sorted(Counter(r.version for r in runs).items())),
        }
        self.results.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(self.results, overwrite=True, text=True) as handle:
            handle.write(json.dumps(header, sort_keys=True) + "\n")
            lines = (json.dumps(run.record(), sort_keys=True) for run in runs)
            handle.writelines(line + "\n" for line in lines)
        if not missing:
            shutil.rmtree(self.runs_folder.parent, ignore_errors=True)
        return runs

    def forget(self) -> None:
        """Remove everything that was run."""
        self.results.unlink(missing_ok=True)
        shutil.rmtree(self.runs_folder.parent, ignore_errors=True)


@dataclass(frozen=True)
class Runner:
    """Computes tasks of one store; a value that can be sent to another process."""

    store: Store

    def earlier(self, task: Task) -> Values:
        """Values of another task: from its file, or computed and filed now."""
        found = self.store.find(task) or self.store.load().get(task)
        return (found or self.run(task)).values

    def run(self, task: Task) -> Run:
        """Compute one task on one BLAS thread and file it, also if it breaks down."""
        from threadpoolctl import threadpool_limits

        start = time.process_time()
        compute = self.store.table.compute
        try:
            with threadpool_limits(1):
                values = compute(task, self.store.quick, self.earlier)
        except DivergedError:
            values = {STATUS: "diverged"}
        except (ArithmeticError, np.linalg.LinAlgError) as error:
            # A method that breaks down numerically is a result, and stays in the file.
            values = {FAILED: f"{type(error).__name__}: {error}"}
        seconds = time.process_time() - start
        run = Run(task, _plain(values), seconds, str(machine()["krein"]))
        self.store.save(run)
        return run

    def run_all(
        self, tasks: Iterable[Task], *, n_jobs: int = 1, seconds: float | None = None
    ) -> Iterator[Run]:
        """Compute tasks one after the other or in processes, as they get ready.

        Parameters
        ----------
        tasks : iterable of Task
            What is to be run.
        n_jobs : int
            Processes.
        seconds : float, optional
            Start no further task after this time.
        """
        from joblib import Parallel, delayed

        end = None if seconds is None else time.monotonic() + seconds
        todo = (task for task in tasks if end is None or time.monotonic() < end)
        if n_jobs == 1:
            yield from map(self.run, todo)
            return
        parallel = Parallel(n_jobs=n_jobs, return_as="generator", pre_dispatch=n_jobs)
        yield from parallel(delayed(self.run)(task) for task in todo)


def _plain(value: Any) -> Any:
    """Numbers that JSON knows, rounded to nine digits: files stay small."""
    if isinstance(value, dict):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [_plain(part) for part in value]
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        return float(f"{float(value):.9g}") if np.isfinite(value) else None
    return value
