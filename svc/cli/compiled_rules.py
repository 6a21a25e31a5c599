"""Compile the Sigma rules of a folder for the commands of ``svc rules``."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from svc.untrusted.characters import one_line
from svc.untrusted.terminal import echo

if TYPE_CHECKING:
    from types import ModuleType

    from svc.assistant.sigma.compile import Rejected
    from svc.assistant.sigma.engine import Filter, Rule


def rule_sets() -> ModuleType:
    """The module that compiles rules and stores sets; it requires the extra ``sigma``."""
    try:
        return import_module("svc.assistant.sigma.user_sets")
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("sigma", "yaml"):
            raise
        raise click.ClickException(
            f"rules cannot be compiled: {error.name} is not installed. Run: pip install 'svc-jupyter[sigma]'"
        ) from error


class CompiledFolder(NamedTuple):
    """What a folder of rules defines."""

    rules: list[Rule]
    filters: list[Filter]
    rejected: list[Rejected]


def compile_folder(sets: ModuleType, folder: Path) -> CompiledFolder:
    """Compile the rules and filters in a folder or file."""
    from svc.assistant.sigma.engine import Filter, Rule

    compiled = CompiledFolder([], [], [])
    for item in sets.compiled(sets.rule_files(folder), folder):
        if isinstance(item, Rule):
            compiled.rules.append(item)
        elif isinstance(item, Filter):
            compiled.filters.append(item)
        else:
            compiled.rejected.append(item)
    return compiled


def print_rejected(rejected: list[Rejected]) -> None:
    """Name the rules that do not run, and why."""
    for item in rejected:
        title = f" ({one_line(item.title, 80)})" if item.title else ""
        echo(f"{one_line(item.file, 120)}{title}: {one_line(item.reason, 200)}", err=True)
