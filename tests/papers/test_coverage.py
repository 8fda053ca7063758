"""The list of what the papers name: every name exists, and the counts are right."""

import importlib
import inspect
import re

import pytest

from papers import HERE, tables

TEXT = (HERE / "coverage.md").read_text(encoding="utf-8")
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in TEXT.splitlines()
    if line.startswith("| ") and not line.startswith("| what |")
]
NAMES = sorted(set(re.findall(r"`(krein[\w.]*)(?:\(([^)]*)\))?`", TEXT)))


def resolve(path):
    """What a dotted name stands for: the longest module, then attributes."""
    parts = path.split(".")
    for at in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:at]))
        except ModuleNotFoundError:
            continue
        for name in parts[at:]:
            found = getattr(found, name)
        return found
    raise ModuleNotFoundError(path)


@pytest.mark.parametrize(("path", "parameters"), NAMES)
def test_every_name_exists_with_its_parameters(path, parameters):
    found = resolve(path)
    known = inspect.signature(found).parameters if parameters else ()
    for name in filter(None, re.split(r",\s*", parameters)):
        assert name in known, f"{path} has no parameter {name}"


def test_every_table_exists_and_is_named():
    named = set(re.findall(r"`((?:ying|chen|liu|walder)-[\w]+)`", TEXT))
    own = {name for name, table in tables().items() if table.paper != "similarity"}
    assert named == own


def test_every_function_of_the_room_is_named():
    from krein import published

    named = {path.rpartition(".")[2] for path, _ in NAMES}
    assert set(published.__all__) <= named


def test_the_counts_are_those_of_the_rows():
    states = [row[2] for row in ROWS]
    assert set(states) == {"whole", "deviating"}
    whole, deviating = states.count("whole"), states.count("deviating")
    said = f"{len(ROWS)} entries: {whole} whole, {deviating} deviating, none missing."
    assert said in TEXT
    for what, _, state, where in ROWS:
        assert where, what
        if state == "deviating":  # with its reason
            assert re.search(r"[;:] ?\w", where), what
