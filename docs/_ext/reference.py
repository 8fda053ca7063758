"""Pages written by the package: public names, kernels, commands, a live report."""

import contextlib
import io
import os
from pathlib import Path

from docutils import nodes
from sklearn.base import ClassifierMixin
from sphinx.transforms.post_transforms import SphinxPostTransform

import krein
from krein.cli import COMMANDS, build_parser, main
from krein.cli.kernel import shown
from krein.cli.learning import kernel_defaults
from krein.kernels.registry import KERNELS

__all__ = ["setup", "themes"]

# Title, introduction, and which names belong: the first theme that claims one gets it.
THEMES = (
    (
        "Classifiers",
        "On a precomputed similarity by default; string labels, two or more classes.",
        lambda name, thing: (
            isinstance(thing, type) and issubclass(thing, ClassifierMixin)
        ),
    ),
    (
        "Regression and novelty",
        "The same map of new items for numbers as targets, and for none.",
        lambda name, thing: hasattr(thing, "fit") and hasattr(thing, "predict"),
    ),
    (
        "Transformers",
        "Make a similarity positive semidefinite, or give its items coordinates.",
        lambda name, thing: hasattr(thing, "fit") and hasattr(thing, "transform"),
    ),
    (
        "Repair",
        "The nearest positive semidefinite, covariance or correlation matrix.",
        lambda name, thing: where(name).startswith("krein.spectrum.repair"),
    ),
    (
        "Diagnosis, comparison, splitting",
        "Is it indefinite, does it matter, and which method is best here?",
        lambda name, thing: (
            "comparison" in where(name)
            or where(name).startswith(
                ("krein.diagnostics", "krein.machines", "krein.selection.splitting")
            )
        ),
    ),
    (
        "Kernels",
        "Plain functions `name_kernel(X, Y=None, ...)`; `Kernel` holds a name and its "
        "parameters.",
        lambda name, thing: where(name).startswith("krein.kernels"),
    ),
    (
        "Data, files and models",
        "Load data, read matrices, and keep models without pickle.",
        lambda name, thing: where(name).startswith("krein.files"),
    ),
    (
        "Results and the spectrum",
        "What a fit returns beside its coefficients.",
        lambda name, thing: where(name).startswith(
            ("krein.result", "krein.spectrum.decomposition")
        ),
    ),
    ("Further names", "", lambda name, thing: True),
)


class ExampleOrder:
    """Order of examples under a heading: the first look first, the rest by name."""

    def __init__(self, folder):
        self.folder = folder

    def __call__(self, name):
        return name != "plot_first_look.py", name


def where(name):
    """Module that defines a public name."""
    return krein._WHERE[name]


def themes():
    """Return {title: (introduction, names)} of the public names, by theme."""
    found = {title: (words, []) for title, words, _ in THEMES}
    for name in krein.__all__:
        thing = getattr(krein, name)
        title = next(title for title, _, claims in THEMES if claims(name, thing))
        found[title][1].append(name)
    return {title: entry for title, entry in found.items() if entry[1]}


def reference_page():
    """Return the text of api/index.rst; autosummary makes a page of each name."""
    lines = [
        "Reference",
        "=========",
        "",
        "Everything is importable from ``krein``.",
        "",
    ]
    lines += [".. currentmodule:: krein", ""]
    for title, (words, names) in themes().items():
        lines += [title, "-" * len(title), "", words.replace("`", "``"), ""]
        lines += [".. autosummary::", "   :toctree: generated", "   :nosignatures:", ""]
        lines += [f"   {name}" for name in names] + [""]
    return "\n".join([*lines, *published_functions()])


def published_functions():
    """Return the section on the papers' algorithms."""
    title = "Algorithms of the papers"
    lines = [title, "-" * len(title), "", "In ``krein.published``; see the guide.", ""]
    lines += [".. currentmodule:: krein.published", ""]
    lines += [".. autosummary::", "   :toctree: generated", "   :nosignatures:", ""]
    return [*lines, *(f"   {name}" for name in krein.published.__all__), ""]


def kernel_table():
    """Return a table of the registered kernels and their facts."""
    lines = [
        "| name | items | definiteness | extra | source |",
        "|---|---|---|---|---|",
    ]
    for name in krein.list_kernels():
        facts = KERNELS[name]
        words = {"pd": "positive definite", "cpd": "conditionally p.d."}
        kind = words.get(facts.definiteness, facts.definiteness)
        note = f" ({facts.note})" if facts.note else ""
        extra = f"`{facts.extra}`" if facts.extra else ""
        cells = [f"`{name}`", facts.input, kind + note, extra, facts.reference]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def parameter_table():
    """Return a table of the kernels with their parameters and defaults."""
    lines = ["| kernel | items | parameters and defaults |", "|---|---|---|"]
    for name in krein.list_kernels():
        defaults = kernel_defaults(name).items()
        words = ", ".join(f"`{key}={shown(default)}`" for key, default in defaults)
        lines.append(f"| `{name}` | {KERNELS[name].input} | {words} |")
    return "\n".join(lines) + "\n"


def command_pages():
    """Return the help of every command, as the command line prints it."""
    parser = build_parser()
    parts = []
    for name in COMMANDS:
        command = next(a for a in parser._actions if a.dest == "command").choices[name]
        parts.append(f"### krein {name}\n\n```text\n{command.format_help()}```\n")
    return "\n".join(parts)


def write_pages(app):
    """Write what the package knows about itself; files that did not change stay."""
    os.environ["COLUMNS"] = "88"
    folder = Path(app.srcdir) / "api"
    folder.mkdir(exist_ok=True)
    for name, text in (
        ("index.rst", reference_page()),
        ("kernel_facts.md", kernel_table()),
        ("kernel_parameters.md", parameter_table()),
        ("commands.md", command_pages()),
    ):
        page = folder / name
        if not page.exists() or page.read_text("utf-8") != text:
            page.write_text(text, "utf-8")


def write_example_report(app, exception):
    """Write the demo's report into the site, so that it can be seen live."""
    folder = Path(app.outdir) / "example_report"
    if (
        exception is None
        and app.builder.format == "html"
        and not (folder / "index.html").exists()
    ):
        with contextlib.redirect_stdout(io.StringIO()):
            main(["demo", "--output", str(folder), "--quiet"])


class LinkPublicNames(SphinxPostTransform):
    """Make a link of every public name that stands as code in the text."""

    default_priority = 900

    def run(self, **kwargs):
        builder, here = self.app.builder, self.env.docname
        if builder.format != "html":
            return
        for literal in list(self.document.findall(nodes.literal)):
            name = literal.astext().partition("(")[0].removeprefix("krein.")
            inside = isinstance(literal.parent, nodes.reference | nodes.title)
            if inside or name not in krein.__all__ or here.endswith(f".{name}"):
                continue
            page = builder.get_relative_uri(here, f"api/generated/krein.{name}")
            link = nodes.reference(refuri=page, classes=["to-reference"], internal=True)
            literal.replace_self(link)
            link += literal


def setup(app):
    app.add_post_transform(LinkPublicNames)
    app.connect("config-inited", lambda app, config: write_pages(app), priority=1)
    app.connect("build-finished", write_example_report)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
