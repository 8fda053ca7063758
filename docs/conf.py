"""Settings of the documentation."""

from pathlib import Path

import krein

project = "krein"
author = "The krein developers"
release = version = krein.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
]
exclude_patterns = ["_build"]
html_theme = "pydata_sphinx_theme"
myst_heading_anchors = 3
autosummary_generate = True
numpydoc_show_class_members = False
suppress_warnings = [
    "myst.xref_missing",  # links of README.md to files of the repository
    "ref.ref",  # inherited docstrings refer to scikit-learn's user guide
]


def write_reference() -> None:
    """List every public name for autosummary; the list itself is in the package."""
    folder = Path(__file__).parent / "api" / "generated"
    folder.mkdir(parents=True, exist_ok=True)
    names = "\n".join(f"   {name}" for name in krein.__all__)
    (folder / "names.rst").write_text(
        "Public names\n============\n\n.. currentmodule:: krein\n\n"
        f".. autosummary::\n   :toctree: .\n   :nosignatures:\n\n{names}\n"
    )


write_reference()
