"""Every number that the documentation says was measured has a source.

docs/numbers.csv lists them: the page, the words around the number, and where it comes
from. That is

- a file in the repository that a command writes: the number must be one of its numbers,
  rounded (of a table of runs also one of its means over splits);
- a test that measures it again;
- the command that prints it, where that takes hours or other data;
- "arithmetic" on numbers that stand beside it;
- "once", on decisions only: measured when the decision was made, by code that is gone.
"""

import csv
import json
import re
from collections import defaultdict
from pathlib import Path
from statistics import mean

import pytest

REPOSITORY = Path(__file__).parents[1]
DOCS = REPOSITORY / "docs"
# Figures of these pages are written by a command, or checked by tests of their own.
WRITTEN = {"guide/results", "guide/chance", "guide/speed", "guide/large_data"}
WRITTEN |= {"papers", "papers_rows", "whats_new"}
UNITS = (
    r"%|(?:CPU |processor )?s\b|seconds\b|minutes\b|hours\b|ms\b|microseconds\b|"
    r"points\b|times\b|[kMG]B\b"
)
MEASURED = re.compile(rf"\d[\d.]*\s?(?:{UNITS})")
# What is said of a definition, a request or an interval, not of a measurement.
NOT_MEASURED = (
    r"five times|three times as many|90 % of (?:the items|the members|new measure)|"
    r"set at 90 %|with 10 % missing|width: 100%|within one percent|hold 95 %|"
    r"more than 95 %|[Tt]wo to four times|seven to ten times|"
    r"a third of|33 to 48 %"
)

with open(DOCS / "numbers.csv", encoding="utf-8", newline="") as handle:
    ROWS = list(csv.DictReader(handle))


def page_of(name):
    """Path of a page; a decision is named by its number."""
    if name.startswith("decisions/"):
        (path,) = DOCS.glob(f"{name}-*.md")
        return path
    return DOCS / f"{name}.md"


def words_of(path):
    """The page as one line, without code and formulas."""
    text = path.read_text("utf-8")
    text = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    text = re.sub(r"^\|.*$", "", text, flags=re.M)  # tables have captions
    return " ".join(text.split())


def numbers_in(text):
    return [float(n) for n in re.findall(r"(?<![\w.])\d+(?:\.\d+)?(?:e-?\d+)?", text)]


def means_of(path):
    """Means over splits of what the runs of a table measured."""
    values = defaultdict(list)
    for line in path.read_text("utf-8").splitlines()[1:]:
        run = json.loads(line)
        for name, value in run["values"].items():
            if isinstance(value, int | float):
                values[run["dataset"], run["method"], name].append(value)
    return [mean(found) for found in values.values()]


def numbers_of(path):
    if path.suffix == ".jsonl":
        return means_of(path)
    return numbers_in(path.read_text("utf-8"))


def is_rounded(word, numbers):
    """Whether a number as printed is one of these, rounded to its decimals."""
    decimals = len(word.partition(".")[2])
    unit = 0.5 * 10.0**-decimals * (1 + 1e-9)
    return any(abs(float(word) - number) <= unit for number in numbers)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['page']}: {row['words']}")
def test_a_number_comes_from_its_source(row):
    assert row["words"] in words_of(page_of(row["page"]))
    source = row["source"]
    if source.startswith("arithmetic"):
        return
    if source == "once":
        assert row["page"].startswith("decisions/")
    elif source.startswith("python "):
        assert (REPOSITORY / source.split()[1]).is_file()
    elif "::" in source:
        path, _, name = source.partition("::")
        assert f"def {name}(" in (REPOSITORY / path).read_text("utf-8")
    else:
        numbers = numbers_of(REPOSITORY / source)
        for word in re.findall(r"(?<![\w.])\d+(?:\.\d+)?\b", row["words"]):
            assert is_rounded(word, numbers), f"{word} is not in {source}"


PAGES = sorted(
    path
    for path in DOCS.rglob("*.md")
    if not {"_build", "api", "auto_examples"} & set(path.relative_to(DOCS).parts)
    and path.relative_to(DOCS).with_suffix("").as_posix() not in WRITTEN
)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_no_number_is_without_a_source(path):
    """What is said to have been measured (a number with its unit) is in the list."""
    listed = [row["words"] for row in ROWS if page_of(row["page"]) == path]
    text = words_of(path)
    for words in listed:
        text = text.replace(words, "")
    text = re.sub(NOT_MEASURED, "", text)
    found = MEASURED.search(text)
    around = text[max(0, found.start() - 60) : found.end() + 20] if found else ""
    assert found is None, f"not in docs/numbers.csv: ...{around}..."


def test_numbers_are_compared_as_they_are_rounded():
    assert is_rounded("10.5", [10.46])
    assert not is_rounded("10.5", [10.44])
    assert is_rounded("7", [6.5, 12.0])
    assert not is_rounded("7", [6.4])
