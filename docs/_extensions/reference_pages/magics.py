"""The options, commands and settings of ``%svc`` and ``%%svc``, from the tables that parse them."""

from __future__ import annotations

from reference_pages.markdown import code, escaped, table
from svc_jupyter.magics.commands import FORMS, Form
from svc_jupyter.magics.magics import SvcMagics
from svc_jupyter.magics.options import OPTIONS

_HEAD = """# Magics

`%load_ext svc_jupyter` registers `%svc` and `%%svc`. The question of `%%svc` is the cell, that of `%svc` the rest of
the line. It is sent verbatim. `%%svc?` shows this help in a notebook. [The notebook](../../notebook.md) says how a
question runs.

## Options

Options come first (`--` ends them); everything after them is the question. Tab completes options, paths, values and
commands."""
_ATTACH = """`--attach {name}` sends a DataFrame, list, dict, bytes or text as a file of that name; the first progress
line shows what is sent. If the variable is a path, its file is attached. `--fill` replaces `{name}` once; without it,
braces are plain text. [The notebook](../../notebook.md#which-files-a-question-is-about) says which files a question is
about, and [reports](../../reports.md#stored-answers) what `--answers` does."""
_COMMANDS = """## Commands

A line counts as a command only if all of it matches one; `%svc session hijacking in this log?` is a question."""
_SETTINGS = """## Settings

Set them for a kernel by `%config SvcMagics.NAME = VALUE`, and for all kernels in `ipython_config.py`:
`c.SvcMagics.model = "experimental"`. With `c.MagicsManager.lazy_magics = {"svc": "svc_jupyter"}`, the first `%%svc`
loads the extension automatically."""


def page() -> str:
    """Return the page."""
    options = [(code(" ".join(filter(None, (row.name, row.metavar)))), escaped(row.help)) for row in OPTIONS]
    traits = SvcMagics.class_own_traits(config=True)
    settings = [(code(name), code(repr(trait.default())), escaped(trait.help)) for name, trait in traits.items()]
    parts = [_HEAD, table(("option", "meaning"), options), _ATTACH]
    parts += [_COMMANDS, table(("command", "meaning"), [(code(_usage(form)), escaped(form.help)) for form in FORMS])]
    parts += [_SETTINGS, table(("setting", "default", "meaning"), settings)]
    return "\n\n".join(parts) + "\n"


def _usage(form: Form) -> str:
    value = form.value if form.is_value_needed or form.value is None else f"[{form.value}]"
    return " ".join(filter(None, ("%svc", form.words, value)))
