"""Settings of the site: `make docs` builds it, without a network."""

from __future__ import annotations

import re
import sys
import warnings
from pathlib import Path
from typing import Any

from sphinx_gallery.sorting import ExplicitOrder, FileNameSortKey

import featurewright

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_extensions"))

project = "featurewright"
author = "The featurewright developers"
project_copyright = author
release = featurewright.__version__
version = ".".join(release.split(".")[:2])

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "generated_tables",
]
source_suffix = {".rst": "restructuredtext", ".md": "markdown"}
exclude_patterns = ["_build", "checks", "examples", "tutorial", "**/GALLERY_HEADER.rst"]
templates_path = ["_templates"]

# Prose. Headings get anchors as on GitHub, so that links of the source files work in both places.
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4
suppress_warnings = ["config.cache"]
# Quotes and options of commands can be copied as they are.
smartquotes = False

# Pages of the public names.
autosummary_generate = True
toc_object_entries_show_parents = "hide"
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

# The look.
html_theme = "pydata_sphinx_theme"
html_title = "featurewright"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_favicon = "_static/logo.svg"
html_copy_source = False
html_show_sourcelink = False
html_sidebars = {"index": [], "start/*": [], "start/tutorial/*": [], "auto_examples/index": []}
html_context = {"default_mode": "auto"}
html_theme_options = {
    "logo": {
        "text": "featurewright",
        "image_light": "_static/logo.svg",
        "image_dark": "_static/logo.svg",
    },
    "switcher": {"json_url": "/_static/versions.json", "version_match": release},
    "check_switcher": False,
    "navbar_end": ["version-switcher", "theme-switcher"],
    "navbar_persistent": ["search-button"],
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-light",
    "pygments_dark_style": "a11y-dark",
}

# Executed examples.
sphinx_gallery_conf = {
    "examples_dirs": ["examples", "tutorial"],
    "gallery_dirs": ["auto_examples", "start/tutorial"],
    "backreferences_dir": "reference/generated/backreferences",
    "doc_module": ("featurewright",),
    "filename_pattern": r"plot_",
    "subsection_order": ExplicitOrder(["examples/auto", "examples/methods", "examples/deploy"]),
    "within_subsection_order": FileNameSortKey,
    "remove_config_comments": True,
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 1e9,
    "image_scrapers": ("matplotlib",),
    "matplotlib_animations": False,
    "abort_on_example_error": True,
    "write_computation_times": False,
}
warnings.filterwarnings("ignore", message=".*Agg.*cannot be shown.*")

# References in docstrings that scikit-learn's estimators hand down lead to pages of its own site.
# Their mathematics would load a script from another server.
FOREIGN_REFERENCE = re.compile(r":(?:ref|term|doc):`([^`<]+?)\s*(?:<[^`>]+>)?`")
MATHEMATICS = re.compile(r":math:`([^`]+)`")


def drop_foreign_references(*event: Any) -> None:
    """Keep the text of references that only scikit-learn's own documentation can resolve."""
    lines: list[str] = event[-1]
    plain = (FOREIGN_REFERENCE.sub(r"\1", line) for line in lines)
    lines[:] = [MATHEMATICS.sub(r"``\1``", line) for line in plain]


def setup(app: Any) -> None:
    """Connect what is above."""
    app.connect("autodoc-process-docstring", drop_foreign_references, priority=100)
