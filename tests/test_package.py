"""What importing costs, what it does not import, and that public names exist."""

import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

import krein
from krein.words import import_optional

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
]


def python(code):
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    return ended.stdout.strip()


# What is loaded is counted, not timed: modules are what an import costs.


@pytest.mark.parametrize(
    ("statement", "most"),
    [("import krein", 10), ("from krein import SpectrumSVC", 160)],
)
def test_import_loads_little_beyond_scikit_learn(statement, most):
    theirs = loaded_packages("import sklearn.svm, sklearn.model_selection")
    more = loaded_packages(statement) - theirs
    assert len(more) <= most, sorted(more)


def test_help_loads_little():
    # Beyond what argparse loads, which is twice as much on Python 3.14 as on 3.11.
    theirs = loaded_packages("import argparse; argparse.ArgumentParser().print_help()")
    more = loaded_packages("from krein.cli import main; main(['--help'])") - theirs
    assert len(more) <= 45, sorted(more)


def test_help_imports_no_numerics():
    loaded = python(
        "import sys; from krein.cli import main; main(['--help']); "
        "print([m for m in ('numpy', 'scipy', 'sklearn') if m in sys.modules])"
    )
    assert loaded.splitlines()[-1] == "[]"


def loaded_packages(statement):
    shown = python(f"{statement}; import sys; print(); print(*sys.modules)")
    return set(shown.splitlines()[-1].split())


def test_optional_packages_wait_until_used():
    # scikit-learn itself loads pandas where it is installed.
    theirs = loaded_packages("import sklearn.svm")
    ours = loaded_packages("import krein; krein.list_kernels(); krein.KreinSVC()")
    assert "krein.kernels" in ours
    waits = {*OPTIONAL, "sklearn.cluster"}  # k-means: a quarter of what krein imports
    assert not waits & (ours - theirs)
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


@pytest.mark.parametrize("module", [krein, krein.published])
def test_completion_offers_public_names_alone(module):
    offered = {name for name in dir(module) if not name.startswith("__")}
    assert offered - {"published"} == set(module.__all__)


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
