"""Every command of ``svc`` with its options, from click."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

import click

from reference_pages.markdown import code, escaped, table
from svc.cli.main import main
from svc.service.settings import Settings, describe

_HEAD = """# Command line

Every command has `--help`. The commands that ask questions and the service read [environment variables](settings.md).
"""
_WITH_SETTINGS = frozenset({"serve", "work"})
_SETTINGS = {f"--{row.name.replace('_', '-')}" for row in describe(Settings())}


def page() -> str:
    """Return the page."""
    return "\n\n".join([_HEAD.rstrip(), *_sections(main, None)]) + "\n"


def _sections(command: click.Command, parent: click.Context | None) -> Iterator[str]:
    with click.Context(
        command, parent=parent, info_name=command.name if parent else "svc", **command.context_settings
    ) as context:
        usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
        depth = "#" * len(context.command_path.split())
        if parent is not None:
            yield f"{depth} `{context.command_path}`"
        yield f"```text\n{usage}\n```"
        yield from _paragraphs(command.help or "")
        if rows := _options(command, context):
            yield table(("option", "meaning"), rows)
        if command.name in _WITH_SETTINGS:
            yield "Every [setting of the service](settings.md#the-service) is an option, too."
        if isinstance(command, click.Group):
            for name in command.list_commands(context):
                found = command.get_command(context, name)
                if found is not None and not found.hidden:
                    yield from _sections(found, context)


def _paragraphs(text: str) -> Iterator[str]:
    """Help as click shows it: a paragraph after ``\\b`` keeps its lines."""
    for paragraph in re.split(r"\n\s*\n", inspect.cleandoc(text).partition("\f")[0]):
        if paragraph.strip().startswith("\b"):
            yield f"```text\n{inspect.cleandoc(paragraph.replace(chr(8), '', 1)).strip()}\n```"
        elif paragraph.strip():
            yield escaped(paragraph)


def _options(command: click.Command, context: click.Context) -> list[tuple[str, str]]:
    records = [
        parameter.get_help_record(context)
        for parameter in command.get_params(context)
        if not (command.name in _WITH_SETTINGS and _SETTINGS & set(parameter.opts))
    ]
    return [(code(names), escaped(text)) for names, text in filter(None, records)]
