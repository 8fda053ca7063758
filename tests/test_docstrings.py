"""Every public name says what goes in, what comes out, and has an example."""

import doctest
import importlib
import inspect
import pkgutil
import re

import pytest

import krein

MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(krein.__path__, prefix="krein.")
    if not module.name.endswith("__main__")
)
# Algorithms and kernels have a source; containers and files have none.
SOURCED = [
    name
    for name in krein.__all__
    if hasattr(getattr(krein, name), "fit")
    or (name.endswith("_kernel") and name not in ("split_kernel", "register_kernel"))
]
YARDSTICKS = {"SimilarityFeaturesClassifier", "SimilarityNeighborsClassifier", "Kernel"}
# scikit-learn's own kernels, described there.
PLAIN = {"laplacian_kernel", "polynomial_kernel", "rbf_kernel", "sigmoid_kernel"}


def sections(thing):
    """Return {heading: text} of a numpydoc docstring."""
    text = inspect.getdoc(thing) or ""
    parts = re.split(r"^([A-Z][\w ]+)\n-{3,}\n", text, flags=re.MULTILINE)
    return {"Summary": parts[0], **dict(zip(parts[1::2], parts[2::2], strict=True))}


def parameters(thing):
    """Names in the signature that a docstring has to explain."""
    names = inspect.signature(thing).parameters.values()
    return [p.name for p in names if p.kind is not p.VAR_KEYWORD and p.name != "self"]


@pytest.mark.parametrize("name", krein.__all__)
def test_public_names_are_documented(name):
    thing = getattr(krein, name)
    found = sections(thing)
    assert found["Summary"].strip()
    assert ">>> " in found.get("Examples", ""), f"{name} has no example"
    assert name in found["Examples"] or "from krein" in found["Examples"]
    if inspect.isclass(thing):
        assert "Parameters" in found or "Attributes" in found
        if hasattr(thing, "fit") and name != "Kernel":
            assert "Attributes" in found
    elif inspect.signature(thing).return_annotation != "None":
        assert "Returns" in found


@pytest.mark.parametrize("name", krein.__all__)
def test_parameters_are_explained(name):
    thing = getattr(krein, name)
    if inspect.isclass(thing) and issubclass(thing, Exception):
        return
    found = sections(thing)
    explained = found.get("Parameters", "") + found.get("Attributes", "")
    missing = [p for p in parameters(thing) if not re.search(rf"\b{p}\b", explained)]
    assert not missing, f"{name}: {missing} not explained"


@pytest.mark.parametrize("name", sorted(set(SOURCED) - YARDSTICKS - PLAIN))
def test_algorithms_name_their_source(name):
    source = sections(getattr(krein, name))["References"]
    assert re.search(r"\(\d{4}\)|TNNLS|See `Krein", source)


@pytest.mark.parametrize("module", MODULES)
def test_examples_of_docstrings_run(module):
    options = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    result = doctest.testmod(importlib.import_module(module), optionflags=options)
    assert result.failed == 0


def test_there_are_examples():
    finder = doctest.DocTestFinder(recurse=False)
    examples = [
        test
        for name in krein.__all__
        for test in finder.find(getattr(krein, name), name)
        if test.examples
    ]
    assert len(examples) == len(krein.__all__)
