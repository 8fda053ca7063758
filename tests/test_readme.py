"""The README keeps its word: its code runs, its names, files and numbers exist."""

import re
import runpy
from pathlib import Path

import pytest

import krein

REPOSITORY = Path(__file__).parents[1]
README = (REPOSITORY / "README.md").read_text("utf-8")


def script():
    return runpy.run_path(str(REPOSITORY / "docs" / "readme_numbers.py"))


def printed_errors():
    """Rows of the table of errors: this case and the other digits, in percent."""
    block = README.split("<!-- numbers -->")[1].split("<!-- end of numbers -->")[0]
    rows = re.findall(r"^\|.*?\| ([\d.]+) % \| ([\d.]+) % \|$", block, flags=re.M)
    return {
        name: [float(cell) for cell in row]
        for name, row in zip(script()["TITLES"], rows, strict=True)
    }


def test_code_blocks_run_one_after_the_other(capsys):
    blocks = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    assert len(blocks) == 2
    assert len([line for line in blocks[0].splitlines() if line.strip()]) <= 10
    names: dict = {}
    for block in blocks:
        exec(compile(block, "README.md", "exec"), names)
    shown = capsys.readouterr().out
    assert float(shown.splitlines()[0]) > 0.9
    assert "negative mass" in shown
    assert "nearest neighbours" in shown


def test_the_answer_is_on_the_first_screen():
    """What it is, for whom, what to type: before the details, in 400 words."""
    first, details = README.split("## Details")
    assert len(first.split()) <= 400
    assert "You have a distance" in " ".join(first.split()[:6])
    for needed in (
        "pip install .",
        "SimilarityClassifier",
        "krein compare",
        "make demo",
    ):
        assert needed in first
    assert "Certificates" in details


def test_the_picture_has_the_numbers_of_the_table():
    picture = (REPOSITORY / "docs/picture.svg").read_text("utf-8")
    for this, _ in printed_errors().values():
        assert f">{this:.1f} %<" in picture


def test_the_picture_of_the_report_is_small():
    assert (REPOSITORY / "docs/report.png").stat().st_size < 300_000


@pytest.mark.slow
def test_the_table_of_errors_repeats():
    measure = script()
    strokes = krein.load_dataset("digit_strokes")
    found = measure["tuned_errors"](strokes.data, strokes.target)
    printed = {name: this for name, (this, _) in printed_errors().items()}
    assert found == pytest.approx(printed, abs=0.6)


def test_named_classes_are_public():
    endings = "SVC|SVCCV|SVRCV|Embedding|Classifier"
    classes = set(re.findall(rf"`(?:krein\.)?([A-Z]\w*(?:{endings}))[`(]", README))
    assert "SimilarityClassifier" in classes
    assert classes <= set(krein.__all__)


def test_linked_files_exist():
    links = re.findall(r"\]\(([^)#]+)\)", README)
    assert len(links) >= 5
    for link in links:
        assert (REPOSITORY / link).exists(), link


def test_commands_are_targets_of_the_makefile():
    makefile = (REPOSITORY / "Makefile").read_text("utf-8")
    for target in re.findall(r"^make (\w+)", README, flags=re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE)


@pytest.mark.parametrize(
    ("row", "name"), [("protein", "sim_protein"), ("aural sonar", "sim_aural_sonar")]
)
def test_printed_errors_are_measured(row, name, shared_data):
    arrays = shared_data(name)
    guide = (REPOSITORY / "docs/guide/choosing.md").read_text("utf-8")
    line = re.search(rf"^\| {row}.*$", guide, flags=re.MULTILINE).group()
    printed = [float(cell.strip(" *")) for cell in line.split("|")[3:-1]]
    found = script()["errors"](arrays["X"], arrays["y"], C=1.0)
    # One item of 100, 25 folds: a tie broken otherwise by another BLAS.
    assert list(found.values()) == pytest.approx(printed, abs=0.5)
