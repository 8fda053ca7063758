"""How often krein's statements about chance are wrong: nominal against measured.

    python benchmarks/chance.py RESULTS [--runs 250] [--only TESTS,SETS] [--page FILE]

Data with known truth: methods that are equal by construction, labels without any
relation to the items, 3000 fresh items to measure what a model is really worth. Every
line is one cell: the settings, what is promised, what was measured, and the number of
data sets ("runs"). The runs are kept in the folder RESULTS, one file a table, and only
those that are missing are computed: it can be stopped, goes on, and several tables
may be computed at the same time. After a change of krein begin with an empty folder.
With --page the tables replace those of a documentation page, between its marks
``<!-- chance: NAME -->`` and ``<!-- end -->``; nothing is typed by hand. With --runs 0
nothing is computed: the tables are made of what is there.

TESTS      equal methods: how often any is told from the recommended one, called clearly
           better, or the fix said to matter
POWER      how often a method that is 10 points better is found
NOISE      labels without relation: "nothing was learnt" or "not shown"
INTERVALS  95 % intervals of a score
OPTIMISM   by how much the highest score and the recommended one flatter
SETS       90 % prediction sets, overall and of the smallest class; empty sets
PROBA      probabilities that contradict the prediction; calibration error
LABELS     p-values of `diagnose` on labels without relation
RIDGE      90 % intervals of ``KreinRidge(alpha="auto")``
"""

from __future__ import annotations

import argparse
import json
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from chance_cells import TABLES, Table


class Runs:
    """The runs of one file: read once, and added to."""

    def __init__(self, path: Path):
        self.path = path
        self.by_cell: dict[str, dict[int, dict[str, float]]] = {}
        if path.exists():
            for line in path.read_text("utf-8").splitlines():
                record = json.loads(line)
                self._of(record["cell"])[record["run"]] = record["values"]

    def _of(self, cell: dict[str, Any]) -> dict[int, dict[str, float]]:
        return self.by_cell.setdefault(json.dumps(cell), {})

    def complete(self, table: Table, cell: dict[str, Any], runs: int) -> None:
        """Compute what is missing of a cell."""
        known = self._of(cell)
        missing = [run for run in range(runs) if run not in known]
        with self.path.open("a", buffering=1, encoding="utf-8") as file:
            for run in missing:
                values = table.run(cell, run)
                known[run] = {name: float(value) for name, value in values.items()}
                record = {"cell": cell, "run": run, "values": known[run]}
                file.write(json.dumps(record) + "\n")

    def values(self, cell: dict[str, Any]) -> dict[str, np.ndarray]:
        """The numbers of all runs of a cell, by name."""
        runs = list(self._of(cell).values())
        return {name: np.array([run[name] for run in runs]) for name in runs[0]}

    def count(self, cell: dict[str, Any]) -> int:
        """How many runs there are of a cell."""
        return len(self._of(cell))


def markdown(table: Table, runs: Runs, number: int) -> Iterator[str]:
    """Lines of a table, as they are computed; cells without a run are left out."""
    head = False
    for cell in table.cells:
        runs.complete(table, cell, number)
        if not runs.count(cell):
            continue
        columns = table.line(cell, runs.values(cell)) | {"runs": runs.count(cell)}
        if not head:
            yield f"| {' | '.join(columns)} |"
            yield f"|{'---|' * len(columns)}"
            head = True
        yield f"| {' | '.join(str(text) for text in columns.values())} |"


def write_page(path: Path, name: str, lines: list[str]) -> None:
    """Put a table between its marks."""
    mark = f"<!-- chance: {name} -->"
    text = path.read_text("utf-8")
    found = re.compile(f"{re.escape(mark)}.*?<!-- end -->", re.DOTALL)
    if not found.search(text):
        raise SystemExit(f"{path} has no place for {name}: write {mark} <!-- end -->")
    body = "\n".join(lines)
    replaced = found.sub(lambda _: f"{mark}\n\n{body}\n\n<!-- end -->", text)
    path.write_text(replaced, "utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", type=Path, help="folder in which runs are kept")
    parser.add_argument("--runs", type=int, default=250, help="data sets a cell")
    parser.add_argument("--only", default=",".join(TABLES), help="names of tables")
    parser.add_argument("--page", type=Path, help="page whose tables are replaced")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    options.results.mkdir(parents=True, exist_ok=True)
    for name in options.only.split(","):
        table = TABLES[name]
        runs = Runs(options.results / f"{table.kept_as}.jsonl")
        print(f"\n{name}: {table.about}\n", flush=True)
        lines = []
        for line in markdown(table, runs, options.runs):
            print(line, flush=True)
            lines.append(line)
            if options.page is not None:  # a run may be interrupted
                write_page(options.page, name, lines)


if __name__ == "__main__":
    main()
