"""Sphinx's settings. Build: ``sphinx-build -W --keep-going -n docs docs/_build/html`` (extra ``docs``).

Nothing is fetched and no notebook is executed: notebooks are shown with the outputs that they are stored with.
"""

from __future__ import annotations

import sys
from pathlib import Path

_DOCS = Path(__file__).parent
sys.path[:0] = [str(_DOCS / "_extensions"), str(_DOCS.parent)]

from pygments.lexers.special import TextLexer  # noqa: E402
from sphinx.application import Sphinx  # noqa: E402

from svc import __version__  # noqa: E402

project = "svc-jupyter"
author = "The svc-jupyter maintainers"
project_copyright = author
version = release = __version__

extensions = ["myst_nb", "autodoc2", "repository_links", "reference_pages", "example_notebooks"]
exclude_patterns = ["_build", "_extensions"]
nitpicky = True
# What is documented elsewhere cannot be linked without loading the index of its documentation.
nitpick_ignore_regex = [
    (r"py:.*", r"(?!svc\.|svc_jupyter\.).*"),
    (r"py:.*", r"svc\._transport\.\w+"),  # what sessions are made with; users get them from a client
    (r"py:.*", r"svc\._\w+\.(OnProgress|FileContent)"),  # names of types in signatures
    (r"py:.*", r"svc_jupyter\.(answers|kernel_tools|notebook_session)\..*\b(F|Row|ReadFile|Origin|Attached)"),
]

nb_execution_mode = "off"
nb_output_stderr = "show"
nb_mime_priority_overrides = [("html", "text/markdown", 0)]  # an answer is shown as in a notebook
suppress_warnings = ["mystnb.unknown_mime_type"]  # an answer's data is beside its text
myst_enable_extensions = ["colon_fence", "deflist", "fieldlist"]
myst_heading_anchors = 4  # as GitHub makes them

autodoc2_packages = [
    {
        "path": "../svc",
        "module": "svc",
        "auto_mode": False,
        "exclude_dirs": ["assistant", "service", "cli"],
    },
    {"path": "../svc_jupyter", "module": "svc_jupyter", "auto_mode": False, "exclude_dirs": ["report"]},
]
autodoc2_render_plugin = "myst"
autodoc2_docstring_parser_regexes = [(r".*", "google_docstrings")]
autodoc2_hidden_objects = {"undoc", "dunder", "private", "inherited"}
autodoc2_class_docstring = "both"
autodoc2_sort_names = False
autodoc2_replace_annotations = [
    (f"svc.{name}", f"svc.messages.{name}") for name in ("AnswerStatus", "Message", "Usage")
]

toc_object_entries_show_parents = "hide"

smartquotes = False  # it would turn --option into a dash

html_theme = "pydata_sphinx_theme"
html_title = "svc-jupyter"
html_context = {"default_mode": "auto"}
html_sidebars = {"get_started": [], "contributing": []}  # they have no pages below them
html_static_path = ["_static"]
html_css_files = ["docs.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "github_url": "https://github.com/svc-jupyter/svc-jupyter",
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "navbar_persistent": ["search-button"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
}


def setup(app: Sphinx) -> None:
    """Register languages of code blocks that Pygments does not know, or cannot read in parts."""
    for name in ("cron", "http", "jsx", "svelte", "vue"):
        app.add_lexer(name, TextLexer)
