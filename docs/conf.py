"""Settings of the documentation."""

import os
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))
sys.path.insert(0, str(HERE.parent / "src"))
# The examples measure, they do not compete: one thread keeps their numbers the same.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import krein  # noqa: E402
from reference import HIDDEN  # noqa: E402

project = "krein"
author = "The krein developers"
copyright = "The krein developers, BSD-3-Clause"
release = version = krein.__version__

extensions = [
    "mathml",
    "myst_parser",
    "numpydoc",
    "reference",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
# Links to the documentation of others need their inventories, so the network.
if os.environ.get("KREIN_INTERSPHINX"):
    intersphinx_mapping = {
        "python": ("https://docs.python.org/3", None),
        "numpy": ("https://numpy.org/doc/stable", None),
        "scipy": ("https://docs.scipy.org/doc/scipy", None),
        "sklearn": ("https://scikit-learn.org/stable", None),
    }
exclude_patterns = [
    "_build",
    "api/kernel_facts.md",
    "api/kernel_parameters.md",
    "api/commands.md",
]
templates_path = ["_templates"]
html_math_renderer = "mathml"
math_number_all = False
math_eqref_format = "({number})"
default_role = "literal"

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "attrs_inline"]
myst_heading_anchors = 3
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

autosummary_context = {"hidden": ", ".join(HIDDEN)}
# Types of parameters stand in the docstrings.
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": "/plot_",
    "within_subsection_order": "reference.ExampleOrder",
    "show_memory": False,
    "write_computation_times": False,
    "show_signature": False,
    "remove_config_comments": True,
    "min_reported_time": 5,
    "download_all_examples": False,
    "image_srcset": ["2x"],
    "default_thumb_file": str(HERE / "_static" / "krein.svg"),
    "backreferences_dir": None,
}

html_theme = "pydata_sphinx_theme"
html_static_path = ["_static"]
html_css_files = ["krein.css"]
html_favicon = "_static/krein.svg"
html_show_sphinx = False
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {
        "image_light": "_static/krein.svg",
        "image_dark": "_static/krein.svg",
        "text": "krein",
    },
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "pygments_light_style": "friendly",
    "pygments_dark_style": "github-dark",
}
html_sidebars = {"index": [], "get_started": [], "glossary": [], "whats_new": []}
