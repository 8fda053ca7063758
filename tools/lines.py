"""Lines of code by room, length of functions, rooms in a cycle: the house at a glance.

Lines are code: no docstrings, comments or blank lines. A room is a folder of the
package, or a module beside the folders. Run by ``make lines``.
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from collections import Counter, defaultdict
from pathlib import Path

LAYOUT = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
    tokenize.ENDMARKER,
}  # fmt: skip
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def span(node):
    return range(node.lineno, node.end_lineno + 1)


def code_lines(text, tree):
    """Numbers of the lines with code."""
    lines = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in LAYOUT:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, *FUNCTIONS)):
            if ast.get_docstring(node, clean=False) is not None:
                lines.difference_update(span(node.body[0]))
    return lines


def room_of(root, path):
    parts = path.relative_to(root).parts
    return parts[0] if parts != ("__init__.py",) else "(root)"


def imported(tree, package):
    """Dotted names of the package that a module imports."""
    for node in ast.walk(tree):
        names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [f"{node.module}.{a.name}" for a in node.names]
        yield from (n.split(".") for n in names if n.split(".")[0] == package)


def parameters(function):
    arguments = function.args
    return len(arguments.args + arguments.kwonlyargs + arguments.posonlyargs)


def cycles(doors):
    def reach(start):
        seen, open_ = set(), [start]
        while open_:
            new = doors[open_.pop()] - seen
            seen |= new
            open_ += new
        return seen

    pairs = {tuple(sorted((a, b))) for a in list(doors) for b in doors[a]}
    return sorted(f"{a} <-> {b}" for a, b in pairs if a in reach(b) and b in reach(a))


def main(root):
    lines, files, doors = Counter(), Counter(), defaultdict(set)
    sizes, crowded, long = [], [], []
    for path in sorted(root.rglob("*.py")):
        text, room = path.read_text("utf-8"), room_of(root, path)
        tree = ast.parse(text)
        code = code_lines(text, tree)
        lines[room] += len(code)
        files[room] += 1
        if text.count("\n") > 400:
            long.append(f"{path.relative_to(root)} {text.count(chr(10))}")
        for function in (n for n in ast.walk(tree) if isinstance(n, FUNCTIONS)):
            place = f"{path.relative_to(root)}:{function.lineno} {function.name}"
            sizes.append((len(code.intersection(span(function))), place))
            if parameters(function) > 9 and function.name != "__init__":
                crowded.append(f"{place} {parameters(function)}")
        for _, *rest in imported(tree, root.name):
            for other in rest[:1]:
                other = other if (root / other).is_dir() else f"{other}.py"
                if (root / other).exists() and "(root)" != room != other:
                    doors[room].add(other)
    for room, count in lines.most_common():
        into = ", ".join(sorted(doors[room]))
        print(f"{room:18} {files[room]:4} files {count:6} lines   -> {into}")
    lengths, (longest, where) = sorted(size for size, _ in sizes), max(sizes)
    middle, high = lengths[len(lengths) // 2], lengths[int(0.9 * len(lengths))]
    print(f"\ntotal {sum(files.values())} files, {lines.total()} lines of code")
    print(
        f"{len(lengths)} functions: median {middle}, 90th percentile {high}, ", end=""
    )
    print(f"longest {longest} ({where})")
    print(f"rooms in a cycle: {'; '.join(cycles(doors)) or 'none'}")
    print(f"more than 9 parameters: {'; '.join(crowded) or 'none'}")
    print(f"files over 400 lines: {'; '.join(long) or 'none'}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "src/krein"))
