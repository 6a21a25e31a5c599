"""The commands that explain the others: ``svc help``, ``svc man``, ``svc completion``. Made from the commands."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator, Sequence

import click
from click.shell_completion import get_completion_class

import svc

SHELLS = ("bash", "zsh", "fish")
_EXIT_CODES = (
    ("0", "success; for svc ask: answered or partly answered"),
    ("1", "failure, said on stderr"),
    ("2", "usage error"),
    ("3", "svc ask: not answered or not examined, which is no negative result; svc report: answers changed"),
    ("130", "interrupted; the question is cancelled"),
)
_ENVIRONMENT = (
    ("SVC_API_KEY", "API key of a service; without it and SVC_BASE_URL, the local service is used."),
    ("SVC_BASE_URL", "URL of the service."),
    ("SVC_STATE_DIR", "Folder of the local service, its database and log."),
    ("NO_COLOR", "No colours."),
    ("COLUMNS", "Width of what is printed on a terminal."),
)


@click.command("help")
@click.argument("words", metavar="[COMMAND]...", nargs=-1)
@click.pass_context
def help_page(context: click.Context, words: Sequence[str]) -> None:
    """Show the help of svc or of one of its commands."""
    found = context.find_root()
    for word in words:
        if not isinstance(found.command, click.Group):
            raise click.UsageError(f"{found.command_path} has no commands")
        name, command, _ = found.command.resolve_command(found, [word])
        assert command is not None  # or resolve_command has raised
        found = click.Context(command, parent=found, info_name=name)
    click.echo(found.get_help())


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print a script that completes svc's commands and options on Tab.

    \b
      bash:  eval "$(svc completion bash)"          in ~/.bashrc
      zsh:   eval "$(svc completion zsh)"           in ~/.zshrc, after compinit
      fish:  svc completion fish > ~/.config/fish/completions/svc.fish
    """
    program = _program(context)
    kind = get_completion_class(shell)
    assert kind is not None  # of each of SHELLS
    variable = f"_{program}_COMPLETE".replace("-", "_").upper()
    click.echo(kind(context.find_root().command, {}, program, variable).source())


@click.command()
@click.pass_context
def man(context: click.Context) -> None:
    """Show the manual; in a pipe, print it as a man page.

    \b
      svc man > ~/.local/share/man/man1/svc.1
    """
    root = click.Context(context.find_root().command, info_name=_program(context))
    if sys.stdout.isatty():
        click.echo_via_pager("\n\n\n".join(each.get_help() for each in _contexts(root)))
    else:
        click.echo(man_page(root))


def man_page(root: click.Context) -> str:
    """The manual of all commands in roff's ``man`` macros."""
    name = root.info_name or "svc"
    lines = [
        f'.TH "{_roff(name.upper())}" "1" "" "svc {svc.__version__}" "User Commands"',
        ".SH NAME",
        rf"{_roff(name)} \- {_roff(root.command.get_short_help_str(200).rstrip('.'))}",
        ".SH SYNOPSIS",
        rf"\fB{_roff(name)}\fR COMMAND [OPTIONS] [ARGUMENTS]",
        ".SH COMMANDS",
    ]
    for each in _contexts(root):
        lines += _command_lines(each)
    for title, rows in (("EXIT STATUS", _EXIT_CODES), ("ENVIRONMENT", _ENVIRONMENT)):
        lines.append(f".SH {title}")
        for term, meaning in rows:
            lines += [".TP", rf"\fB{_roff(term)}\fR", _roff(meaning)]
    return "\n".join(lines)


def _command_lines(context: click.Context) -> Iterator[str]:
    yield f'.SS "{_roff(" ".join([context.command_path, *context.command.collect_usage_pieces(context)]))}"'
    text = inspect.cleandoc(context.command.help or "").partition("\f")[0]
    for block in re.split(r"\n{2,}", text):
        is_verbatim = block.startswith("\b")
        yield from [".PP", ".nf"] if is_verbatim else [".PP"]
        yield from map(_roff, block.removeprefix("\b").strip("\n").split("\n"))
        if is_verbatim:
            yield ".fi"
    for parameter in context.command.get_params(context):
        if (record := parameter.get_help_record(context)) is not None:
            yield from [".TP", rf"\fB{_roff(record[0])}\fR", _roff(record[1])]


def _contexts(context: click.Context) -> Iterator[click.Context]:
    """The command and all below it, in the order of their names."""
    yield context
    if isinstance(context.command, click.Group):
        for name in context.command.list_commands(context):
            command = context.command.get_command(context, name)
            if command is not None and not command.hidden:
                yield from _contexts(click.Context(command, parent=context, info_name=name))


def _roff(text: str) -> str:
    """The text on a line, with nothing that roff reads as a request or an escape."""
    escaped = " ".join(text.split(None)) if not text.startswith("  ") else text
    escaped = escaped.replace("\\", r"\e").replace("-", r"\-").replace('"', r"\(dq").replace("'", r"\(aq")
    return rf"\&{escaped}" if escaped.startswith(".") else escaped


def _program(context: click.Context) -> str:
    """The name of the command that was typed; "svc" if it was started as a module."""
    name = context.find_root().info_name or ""
    return name if re.fullmatch(r"[\w-]+", name) and not name.startswith("_") else "svc"
