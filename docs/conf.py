"""How the documentation is built: `sphinx-build -n -W --keep-going docs docs/_build/html`."""

from __future__ import annotations

import sys
from importlib.metadata import version as installed
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "pio"
author = "the pio developers"
copyright = author
version = release = installed("pio-operators")

extensions = ["myst_parser", "sphinx.ext.autodoc", "mathml", "docstrings", "commands", "links"]
myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 3
exclude_patterns = ["_build", "examples/**/README.md"]
nitpicky = True
# Types of other packages have no page here, and nothing is fetched to find theirs.
nitpick_ignore_regex = [(r"py:.*", r"(?!pio\.).*"), (r"py:.*", r"pio\._.*")]

html_theme = "furo"
html_title = "pio"
html_static_path = ["_static"]
html_css_files = ["pio.css"]
html_math_renderer = "mathml"
html_show_copyright = False
html_copy_source = False

smartquotes = False  # they would turn --set into a dash
default_role = "code"
add_module_names = False
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
python_maximum_signature_line_length = 90
