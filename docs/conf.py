"""The documentation site: `make docs` builds it. Nothing that it shows is fetched from a network."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

import kabc

project = "kabc"
release = version = kabc.__version__
copyright = "the authors of kabc"  # noqa: A001 - the name that Sphinx reads

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "mathml",
    "reference",
    "gallery",
    "offline",
]
exclude_patterns = ["README.md"]  # the list of pages on a code host; index.md is that of the site
nitpicky = True
nitpick_ignore_regex = [("py:.*", r"(?!kabc\.).*")]  # types of other libraries: their sites are not at hand

myst_enable_extensions = ["dollarmath"]
myst_dmath_double_inline = True
myst_heading_anchors = 4  # as code hosts make them, so that a link to a heading works in both places

smartquotes = False  # two dashes of an option stay two dashes
default_role = "code"  # single backticks in docstrings, as in Markdown
autodoc_typehints = "none"  # the sections "Parameters" of docstrings have them in words
autodoc_member_order = "bysource"
napoleon_google_docstring = False
napoleon_use_ivar = True  # attributes of a class as one list

html_theme = "furo"
html_title = f"kabc {release}"
html_math_renderer = "mathml"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#1f5f8b", "color-brand-content": "#1f5f8b"},
    "dark_css_variables": {"color-brand-primary": "#7db8e0", "color-brand-content": "#7db8e0"},
}
