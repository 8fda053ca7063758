"""What importing costs, what it does not import, and that public names exist."""

import importlib
import os
import re
import subprocess
import sys
from pathlib import Path
from statistics import median

import pytest

import krein
from krein.optional import import_optional

REPOSITORY = Path(__file__).parents[1]
OPTIONAL = [
    "aeon",
    "Bio",
    "clarabel",
    "dask",
    "distributed",
    "dtaidistance",
    "grakel",
    "matplotlib",
    "networkx",
    "numba",
    "ot",
    "pandas",
    "parasail",
    "polars",
    "pyriemann",
    "rapidfuzz",
    "rich",
    "zarr",
]

TIMER = """
import time
start = time.perf_counter()
{statement}
print(time.perf_counter() - start)
"""


def python(code):
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    return ended.stdout.strip()


def seconds(statement):
    return float(python(TIMER.format(statement=statement)))


IMPORTS = ["import sklearn.svm", "import krein", "from krein import SpectrumSVC"]


@pytest.fixture(scope="module")
def import_seconds():
    # Alternating runs: what else the machine does slows all alike.
    rounds = [[seconds(statement) for statement in IMPORTS] for _ in range(3)]
    return dict(zip(IMPORTS, zip(*rounds, strict=True), strict=True))


@pytest.mark.parametrize("statement", IMPORTS[1:])
def test_import_costs_no_more_than_scikit_learn(statement, import_seconds):
    ours, theirs = import_seconds[statement], import_seconds[IMPORTS[0]]
    ratio = min(min(ours) / min(theirs), median(ours) / median(theirs))
    assert ratio <= 1.3, f"{statement}: {ours} s against {theirs} s"


def test_help_is_quick():
    # Processor time of the whole process, start of the interpreter included: what
    # else the machine does counts little.
    def whole_run():
        before = os.times()
        shown = subprocess.run(
            [sys.executable, "-m", "krein", "--help"], capture_output=True, check=True
        )
        assert b"demo" in shown.stdout
        after = os.times()
        return sum(after[2:4]) - sum(before[2:4])

    assert min(whole_run() for _ in range(5)) < 0.3


def test_help_imports_no_numerics():
    loaded = python(
        "import sys; from krein.cli import main; main(['--help']); "
        "print([m for m in ('numpy', 'scipy', 'sklearn') if m in sys.modules])"
    )
    assert loaded.splitlines()[-1] == "[]"


def loaded_packages(statement):
    return set(python(f"{statement}; import sys; print(*sys.modules)").split())


def test_optional_packages_wait_until_used():
    # scikit-learn itself loads pandas, and joblib rich, where they are installed.
    theirs = loaded_packages("import sklearn.svm")
    ours = loaded_packages("import krein; krein.list_kernels(); krein.KreinSVC()")
    assert "krein.kernels" in ours
    assert not set(OPTIONAL) & (ours - theirs)
    assert loaded_packages("import krein").isdisjoint([*OPTIONAL, "numpy", "sklearn"])


def test_a_missing_extra_is_named():
    with pytest.raises(
        ImportError, match=r'alignment needs .*pip install "krein\[bio\]"'
    ):
        import_optional("no_such_package.part", extra="bio", needed_for="alignment")


@pytest.mark.parametrize("name", sorted(krein._WHERE))
def test_public_names_exist(name):
    public = getattr(krein, name)
    assert public is getattr(importlib.import_module(krein._WHERE[name]), name)
    assert name in dir(krein)
    assert name in krein.__all__
    assert public.__doc__


def test_unknown_names_are_attribute_errors():
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = krein.nothing


def test_one_version():
    citation = (REPOSITORY / "CITATION.cff").read_text("utf-8")
    changelog = (REPOSITORY / "CHANGELOG.md").read_text("utf-8")
    assert f"version: {krein.__version__}\n" in citation
    assert re.search(rf"^## {re.escape(krein.__version__)}\b", changelog, re.MULTILINE)


def test_the_typed_marker_is_there():
    assert (Path(krein.__file__).parent / "py.typed").exists()
