"""The reference by theme, written from the package's own list of public names."""

import inspect
from pathlib import Path

import krein

__all__ = ["setup", "themes"]

# Title, introduction, and which names belong: the first theme that claims one gets it.
THEMES = (
    (
        "Classifiers",
        "On a precomputed similarity by default; string labels, two or more classes.",
        lambda name, thing: getattr(thing, "_estimator_type", None) == "classifier"
        or name.removesuffix("CV").endswith(("SVC", "LogisticRegression")),
    ),
    (
        "Regression and novelty",
        "The same treatment of new items for numbers as targets, and for none.",
        lambda name, thing: hasattr(thing, "fit") and hasattr(thing, "predict"),
    ),
    (
        "Transformers",
        "Make a similarity positive semidefinite, or give its items coordinates.",
        lambda name, thing: hasattr(thing, "fit") and hasattr(thing, "transform"),
    ),
    (
        "Diagnosis, comparison, splitting",
        "Is it indefinite, does it matter, and which method is best here?",
        lambda name, thing: "comparison" in where(name)
        or where(name).startswith(("krein.diagnostics", "krein.splitting")),
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
        lambda name, thing: where(name).startswith(
            ("krein.datasets", "krein.models", "krein.formats")
        ),
    ),
    (
        "Results and the spectrum",
        "What a fit returns beside its coefficients.",
        lambda name, thing: where(name).startswith(("krein.result", "krein.spectrum")),
    ),
    ("Further names", "", lambda name, thing: True),
)


def where(name):
    """Module that defines a public name."""
    return krein._WHERE[name]


def themes():
    """Return {title: (introduction, names)} of all public names, empty ones left out."""
    found = {title: (words, []) for title, words, _ in THEMES}
    for name in krein.__all__:
        thing = getattr(krein, name)
        title = next(title for title, _, claims in THEMES if claims(name, thing))
        found[title][1].append(name)
    return {title: entry for title, entry in found.items() if entry[1]}


def one_line(name):
    """First line of a docstring, as text for a table."""
    return inspect.getdoc(getattr(krein, name)).splitlines()[0]


def write_reference(app):
    """Write api/index.rst; autosummary makes a page of each name."""
    lines = ["Reference", "=========", "", "Everything is importable from ``krein``.", ""]
    lines += [".. currentmodule:: krein", ""]
    for title, (words, names) in themes().items():
        lines += [title, "-" * len(title), "", words.replace("`", "``"), ""]
        lines += [".. autosummary::", "   :toctree: generated", "   :nosignatures:", ""]
        lines += [f"   {name}" for name in names] + [""]
    page = Path(app.srcdir) / "api" / "index.rst"
    page.parent.mkdir(exist_ok=True)
    text = "\n".join(lines)
    if not page.exists() or page.read_text("utf-8") != text:
        page.write_text(text, "utf-8")


def setup(app):
    app.connect("config-inited", lambda app, config: write_reference(app), priority=1)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
