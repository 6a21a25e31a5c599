"""The Python API: every public name of ``svc`` and ``svc_jupyter``, documented by autodoc2 from its source.

The names are defined in modules that users need not know, so a directive shows them as they are imported.
"""

from __future__ import annotations

import tomllib

from autodoc2.sphinx.utils import get_all_analyser, get_database, load_config, nested_parse_generated, warn_sphinx
from docutils import nodes
from sphinx.util.docutils import SphinxDirective

import svc
from svc.errors import SvcError
from svc_jupyter.answers.answer import Answer
from svc_jupyter.answers.picture import Picture
from svc_jupyter.answers.table import Table
from svc_jupyter.notebook_session import NotebookSession

_HEAD = """# Python API

[Ask from Python](../../how_to/python.md) has examples. All names below are in the package `svc`, unless another one is
named. Other modules are internal and may change without notice.
"""
_SECTIONS = {
    "Clients": ("Svc", "AsyncSvc"),
    "Sessions": ("InteractiveSession", "AsyncSession", "Watch"),
    "Answers": (
        "SessionResponse", "AnswerStatus", "AnswerCoverage", "InputCoverage", "ClauseCoverage", "Message",
        "MessageType", "MimeType", "Role", "State", "TaskProgress", "Usage",
    ),
    "Listings": ("Session", "SessionFile", "UserInfo", "User", "UserType", "FeedbackType"),
    "Models": ("ModelInfo", "ModelInfoInput", "Toolset", "ToolsetChoice", "Vendor"),
    "Tools of your own": ("LocalTool", "LocalToolCall", "ConfirmationRequest"),
}  # fmt: skip
_VALUES = {"DEFAULT_BASE_URL", "DEFAULT_TTL", "DEFAULT_WS_URL", "__version__"}
_FUNCTIONS = {"state_folder": "svc.config.state_folder"}
_NOTEBOOK = ("svc_jupyter.panel.widget.ChatPanel", "svc_jupyter.kernel_tools.tools.tool")


def page() -> str:
    """Return the page."""
    parts = [_HEAD.rstrip()]
    for title, names in _SECTIONS.items():
        parts.append(f"## {title}")
        parts += [_object(_path(getattr(svc, name))) for name in names]
    parts += ["## Errors", "Every error is a `SvcError`, and its text says what to do."]
    parts += [_object(_path(error), is_error=True) for error in _errors()]
    parts += ["## Settings", *map(_object, _FUNCTIONS.values())]
    parts += [
        "## Notebooks: `svc_jupyter`",
        *map(_object, (*map(_path, (NotebookSession, Answer, Table, Picture)), *_NOTEBOOK)),
    ]
    _check_complete()
    return "\n\n".join(parts) + "\n"


def _errors() -> list[type[SvcError]]:
    found = [getattr(svc, name) for name in svc.__all__ if name.endswith("Error")]
    return sorted(found, key=lambda error: (len(error.__mro__), error.__name__))


def _check_complete() -> None:
    shown = {name for names in _SECTIONS.values() for name in names} | {error.__name__ for error in _errors()}
    if missing := set(svc.__all__) - shown - _VALUES - set(_FUNCTIONS):
        raise ValueError(f"docs/_extensions/reference_pages/python.py has no section for {sorted(missing)}")


def _path(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def _object(path: str, *, is_error: bool = False) -> str:
    hidden = '["undoc", "dunder", "private", "inherited"]' if is_error else '["dunder", "private"]'
    options = f"hidden_objects = {hidden}\nclass_inheritance = {str(is_error).lower()}"
    return f"```{{public-object}} {path}\n{options}\n```"


class PublicObject(SphinxDirective):
    """autodoc2's documentation of an object, under the package that users import it from: ``svc.Svc``."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return the documentation."""
        path, location = self.arguments[0], (self.env.docname, self.lineno)
        config = load_config(self.env.app, overrides=tomllib.loads("\n".join(self.content)), location=location)
        renderer = config.render_plugin(
            get_database(self.env),
            config,
            all_resolver=get_all_analyser(self.env),
            warn=lambda text, kind: warn_sphinx(text, kind, location=location),
            standalone=True,
        )
        self.env.ref_context["py:module"] = path.partition(".")[0]
        try:
            lines = list(renderer.render_item(path))
            return list(nested_parse_generated(self.state, lines, *self.get_source_info()).children)
        finally:
            del self.env.ref_context["py:module"]
