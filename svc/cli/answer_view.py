"""Print an answer: rendered on a terminal, Markdown in a pipe, data without its fence in a pipe.

On a terminal, the sections that a viewer would fold are open, each with its heading (``terminal_markdown``).
``NO_COLOR``, ``TERM=dumb`` and ``COLUMNS`` are respected.

An answer quotes what attackers wrote, and a service may be hostile: what is rendered was made safe as for every other
renderer (``svc.untrusted.markdown``).
"""

from __future__ import annotations

import re
import sys

import click

from svc.untrusted.characters import printable
from svc.untrusted.markdown import safe_markdown, unfolded
from svc.untrusted.terminal import echo, visible_json

_FENCE = re.compile(
    r"\s*+(?P<fence>`{3,}+|~{3,}+)[ \t]*+(?P<language>\w++)[ \t]*+\n(?P<data>.*)\n(?P=fence)\s*+", re.DOTALL
)
_DATA = frozenset(("csv", "json", "jsonl", "ndjson", "toml", "tsv", "xml", "yaml"))
_JSON = frozenset(("json", "jsonl", "ndjson"))


def show_answer(answer: str) -> None:
    """Print an answer to stdout."""
    if sys.stdout.isatty():
        _show_rendered(answer)
    elif (data := data_of(answer)) is not None:
        click.echo(data)
    else:
        echo(unfolded(answer).rstrip("\n"))


def data_of(answer: str) -> str | None:
    """The data, if the whole answer is one fenced block of it; None for anything else. Nothing in it is hidden."""
    match = _FENCE.fullmatch(answer)
    if match is None or match["language"].lower() not in _DATA or _ends_early(match["data"], match["fence"]):
        return None
    return visible_json(match["data"]) if match["language"].lower() in _JSON else printable(match["data"])


def _ends_early(data: str, fence: str) -> bool:
    """Whether a line within the block closes it, so that the answer is more than one block."""
    closing = re.compile(rf"^ {{0,3}}{re.escape(fence[0])}{{{len(fence)},}}[ \t]*$", re.MULTILINE)
    return closing.search(data) is not None


def _show_rendered(answer: str) -> None:
    if (data := data_of(answer)) is not None:
        click.echo(data)
        return
    from svc.cli.terminal_markdown import print_markdown  # it loads rich

    print_markdown(unfolded(safe_markdown(answer)))
