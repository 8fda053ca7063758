"""Pages written by the package: public names, kernels, commands, a live report."""

import contextlib
import inspect
import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from docutils import nodes
from sklearn.base import ClassifierMixin
from sphinx.transforms.post_transforms import SphinxPostTransform

import krein
from krein.cli import COMMANDS, build_parser, main
from krein.cli.kernel import shown
from krein.cli.learning import kernel_defaults
from krein.kernels.registry import KERNELS

__all__ = ["setup", "themes"]


class Theme(NamedTuple):
    """Some public names: a page of the reference, and a heading of its overview."""

    page: str
    title: str
    introduction: str
    claims: Callable[[str, Any], bool]


def where(name):
    """Module that defines a public name."""
    return krein._WHERE[name]


def _defined_in(*modules):
    return lambda name, thing: where(name).startswith(modules)


def _kernel_of(*inputs, distance=(True, False)):
    """Claims kernels of such items, of those made from a distance, or of the others."""

    def claims(name, thing):
        facts = KERNELS.get(name.removesuffix("_kernel"))
        if facts is None:
            return False
        return facts.input in inputs and (facts.distance is not None) in distance

    return claims


# The first theme that claims a name gets it.
THEMES = (
    Theme(
        "classifiers",
        "Classifiers",
        "On a precomputed similarity by default; string labels, two or more classes.",
        lambda name, thing: (
            isinstance(thing, type) and issubclass(thing, ClassifierMixin)
        ),
    ),
    Theme(
        "regression",
        "Regression and novelty",
        "The same map of new items for numbers as targets, and for none.",
        lambda name, thing: hasattr(thing, "fit") and hasattr(thing, "predict"),
    ),
    Theme(
        "transformers",
        "Transformers and maps",
        "Make a similarity positive semidefinite, or give its items coordinates.",
        lambda name, thing: (
            name == "transductive_kernel"
            or (hasattr(thing, "fit") and hasattr(thing, "transform"))
        ),
    ),
    Theme(
        "repair",
        "Repair",
        "The nearest positive semidefinite, covariance or correlation matrix.",
        _defined_in("krein.spectrum.repair"),
    ),
    Theme(
        "diagnosis",
        "Diagnosis and comparison",
        "Is it indefinite, does it matter, and which method is best here?",
        _defined_in("krein.diagnostics", "krein.comparison", "krein.referee"),
    ),
    Theme(
        "splitting",
        "Splitting",
        "Rows and columns are split together; relatives stay on one side.",
        _defined_in("krein.selection.splitting"),
    ),
    Theme(
        "vector_kernels",
        "Kernels of vectors",
        "Functions of the coordinates; ``name_kernel(X, Y=None, ...)``.",
        _kernel_of("vectors", "tables", distance=(False,)),
    ),
    Theme(
        "metrics",
        "Kernels of the distances of SciPy",
        "``exp(-gamma d)`` for every metric d of ``scipy.spatial.distance``.",
        _kernel_of("vectors", distance=(True,)),
    ),
    Theme(
        "sequence_kernels",
        "Kernels of strings and series",
        "Edit distances, alignments, time warping.",
        _kernel_of("strings", "series"),
    ),
    Theme(
        "other_kernels",
        "Kernels of matrices, graphs and places",
        "Covariance matrices, graphs, distributions, points on the globe.",
        lambda name, thing: (
            name == "covariance_descriptors"
            or _kernel_of("spd", "graphs", "places", "distributions", "any")(
                name, thing
            )
        ),
    ),
    Theme(
        "kernel_names",
        "Kernels by name, and your own",
        "``Kernel`` holds a name and its parameters; what is registered has a name.",
        _defined_in("krein.kernels"),
    ),
    Theme(
        "files",
        "Data, files and models",
        "Load data, read matrices, and keep models without pickle.",
        _defined_in("krein.files"),
    ),
    Theme(
        "results",
        "Results and the spectrum",
        "What a fit returns beside its coefficients.",
        _defined_in("krein.result", "krein.spectrum.decomposition"),
    ),
    Theme("further", "Further names", "", lambda name, thing: True),
)

# Methods and properties that krein's own parts call; they may change without notice.
HIDDEN = (
    # of estimators, for searches, referees and model files
    "adopt",
    "candidate",
    "class_values",
    "converted",
    "fit_on",
    "fit_path",
    "fit_rows",
    "fit_search",
    "fits_rows",
    "grid",
    "held_values",
    "row_values",
    "settings",
    # of scikit-learn, the same for all its estimators
    "fit_predict",
    "get_feature_names_out",
    "get_metadata_routing",
    "get_params",
    "score",
    "set_decision_function_request",
    "set_fit_request",
    "set_output",
    "set_params",
    "set_partial_fit_request",
    "set_predict_proba_request",
    "set_predict_request",
    "set_score_request",
    "set_transform_request",
    # of comparisons, for the table and the report
    "about_best",
    "about_intervals",
    "about_p",
    "by_items",
    "can_differ",
    "chosen",
    "columns",
    "completed",
    "deciding",
    "levels",
    "of",
    "of_hits",
    "registry",
    "score_columns",
    "shown",
    "shown_value",
    "skill",
    "test_share",
    "title",
    # of records, for those who make them
    "certified",
    "in_file",
    "key",
    "record",
)


class ExampleOrder:
    """Order of examples under a heading: the first look first, the rest by name."""

    def __init__(self, folder):
        self.folder = folder

    def __call__(self, name):
        return name != "plot_first_look.py", name


def themes():
    """Return {theme: its names} of the public names."""
    found = {theme: [] for theme in THEMES}
    for name in krein.__all__:
        thing = getattr(krein, name)
        theme = next(theme for theme in THEMES if theme.claims(name, thing))
        found[theme].append(name)
    return {theme: names for theme, names in found.items() if names}


def _heading(title, line):
    return [title, line * len(title), ""]


def _list_of_names(module, names, *options):
    """Return a table of names with the first line of what each of them is."""
    lines = [f".. currentmodule:: {module}", "", ".. autosummary::"]
    lines += [f"   {option}" for option in (*options, ":nosignatures:")]
    return [*lines, "", *(f"   {name}" for name in names), ""]


def reference_pages():
    """Return {file: text}: the overview, and a page for each theme.

    The pages of themes stand in the sidebar, with their names below them. autosummary
    makes a page of each name.
    """
    groups = [
        (theme.page, theme.title, theme.introduction, "krein", names)
        for theme, names in themes().items()
    ]
    papers = (
        "The papers as printed, in ``krein.published``; see :doc:`/guide/published`."
    )
    published = krein.published.__all__
    groups.append(
        ("papers", "Algorithms of the papers", papers, "krein.published", published)
    )
    pages = {}
    overview = _heading("Reference", "=")
    overview += ["Everything is importable from ``krein``.", ""]
    overview += [".. toctree::", "   :hidden:", ""]
    overview += [f"   {group[0]}" for group in groups] + [""]
    for page, title, introduction, module, names in groups:
        about = [introduction, ""]
        listed = _list_of_names(module, names, ":toctree: generated")
        pages[f"{page}.rst"] = "\n".join([*_heading(title, "="), *about, *listed])
        overview += _heading(title, "-") + about + _list_of_names(module, names)
    pages["index.rst"] = "\n".join(overview)
    return pages


def plain_signature(app, what, name, thing, options, signature, returned):
    """Return the signature of a class as it is called: that of ``__init__``.

    autodoc would show that of ``__new__``, which takes whatever comes.
    """
    if what != "class" or signature is None:
        return None
    parameters = [
        parameter.replace(annotation=parameter.empty)
        for parameter in inspect.signature(thing).parameters.values()
    ]
    return str(inspect.Signature(parameters)), None


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


def write_pages(app, config):
    """Write what the package knows about itself; files that did not change stay."""
    os.environ["COLUMNS"] = "88"
    folder = Path(app.srcdir) / "api"
    folder.mkdir(exist_ok=True)
    reference = reference_pages()
    # By name: pages that were not there in the build before would be overlooked.
    config.autosummary_generate = [f"api/{name}" for name in reference]
    pages = {
        **reference,
        "kernel_facts.md": kernel_table(),
        "kernel_parameters.md": parameter_table(),
        "commands.md": command_pages(),
    }
    for name, text in pages.items():
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
    app.connect("config-inited", write_pages, priority=1)
    app.connect("autodoc-process-signature", plain_signature)
    app.connect("build-finished", write_example_report)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
