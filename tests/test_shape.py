"""The shape of the code: no cycles, short functions, no kinds of matrix in models."""

import ast
import inspect
import re
from pathlib import Path

import krein
from krein import published
from tests.mutants import MUTANTS

SOURCE = Path(__file__).parents[1] / "src" / "krein"


def module_name(path):
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in sorted(SOURCE.rglob("*.py"))}


def imported(path):
    """Modules of krein that a file names, at the top or inside of a function."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in MODULES else node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def test_no_module_leads_back_to_itself():
    """Eager or lazy; the package itself only lists names."""
    edges = {
        name: {other for other in imported(path) if other in MODULES} - {name, "krein"}
        for name, path in MODULES.items()
    }
    # Leaves are taken away until nothing changes: what stays is on a cycle.
    while leaves := [name for name, others in edges.items() if not others]:
        for leaf in leaves:
            del edges[leaf]
        for others in edges.values():
            others.difference_update(leaves)
    assert not edges


def test_functions_are_short():
    lengths = sorted(
        node.end_lineno - node.body[0].lineno + 1
        for path in MODULES.values()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef)
    )
    assert lengths[int(0.9 * len(lengths))] <= 40  # docstrings included


def test_estimators_do_not_ask_what_kind_of_matrix_they_have():
    kinds = "LowRank|Similarities|DenseTiles|Sparse"
    asks = re.compile(rf"isinstance\([^)]*\b({kinds})")
    for path in (SOURCE / "estimators").glob("*.py"):
        assert not asks.search(path.read_text()), path.name


def test_methods_are_not_compared_by_name():
    """Facts of a fix stand in its record."""
    compares = re.compile(r"method (==|!=|in \()")
    allowed = {"ridge.py"}  # "stabilised" is a ridge's own
    for room in ("estimators", "similarity", "machines"):
        for path in (SOURCE / room).glob("*.py"):
            if path.name not in allowed:
                assert not compares.search(path.read_text()), path.name


def is_error(public):
    return inspect.isclass(public) and issubclass(public, Exception)


def public_callables():
    """Public functions and classes, and the methods of these."""
    for room in (krein, published):
        for name in room.__all__:
            public = getattr(room, name)
            if not callable(public) or is_error(public):
                continue
            yield name, public
            methods = vars(public) if inspect.isclass(public) else {}
            for method in methods:
                function = getattr(public, method)
                if callable(function) and not method.startswith("_"):
                    yield f"{name}.{method}", function


# Parameters of another function, a kernel, that the user names.
FORWARDING = {"Kernel", "Kernel.set_params"}
# Facts of a step, which differ from solver to solver.
FORWARDING |= {"History.record"}


def test_public_functions_name_their_parameters():
    """Completion and `help` show what can be given; nothing hides behind ``**``."""
    hidden = {
        name
        for name, function in public_callables()
        if any(
            parameter.kind is inspect.Parameter.VAR_KEYWORD
            for parameter in inspect.signature(function).parameters.values()
        )
    }
    assert hidden == FORWARDING


def test_no_sentence_of_ours_is_taken_apart():
    """Verdicts and findings are records: who shows them reads fields, not prose."""
    parser = SOURCE / "cli" / "__init__.py"  # reads messages of argparse
    for room in ("comparison", "verdicts", "diagnostics", "report", "cli"):
        for path in (SOURCE / room).glob("*.py"):
            if path != parser:
                assert "re" not in set(imported(path)), path.name


def test_constants_stand_one_a_line():
    """`A, B, C = 1, 2, 3` above a module says of none what it is."""
    several = {
        f"{path.name}:{node.lineno}"
        for path in MODULES.values()
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Tuple)
        and isinstance(node.value, ast.Tuple)
    }
    assert not several


def test_no_conditional_stands_inside_another():
    """`a if b else (c if d else e)` is read twice: two statements are read once."""
    nested = {
        f"{path.name}:{inner.lineno}"
        for path in MODULES.values()
        for outer in ast.walk(ast.parse(path.read_text()))
        if isinstance(outer, ast.IfExp)
        for inner in ast.walk(outer)
        if isinstance(inner, ast.IfExp) and inner is not outer
    }
    assert not nested


def test_planted_mistakes_have_a_place():
    """A mutant whose text is gone tests nothing: it moves with the code."""
    gone = {
        f"{mutant.file}: {mutant.old}"
        for mutant in MUTANTS
        if mutant.old not in (SOURCE / mutant.file).read_text("utf-8")
    }
    assert not gone


def test_planted_mistakes_name_tests_that_exist():
    root = SOURCE.parents[1]
    named = {path for mutant in MUTANTS for path in mutant.tests.split()}
    assert not {path for path in named if not (root / path).exists()}
