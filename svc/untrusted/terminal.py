"""What a command prints: text with everything hidden made visible, JSON with it escaped, errors likewise.

Names of files and hosts, messages of services and exceptions can hold what a terminal obeys: escape sequences, which
move the cursor, write to the clipboard or make links, a carriage return, which overwrites a line, and direction
overrides. Commands print through this module only.
"""

from __future__ import annotations

import re
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType

import click
import msgspec

from svc.untrusted.characters import HIDDEN_OR_CONTROL, printable


def echo(text: object = "", *, err: bool = False, nl: bool = True) -> None:
    """Print text with everything hidden made visible; newline and tab stay."""
    click.echo(printable(str(text)), err=err, nl=nl)


def echo_json(value: object, *, is_indented: bool = False) -> None:
    """Print a value as JSON, with everything hidden as escapes, which mean the same."""
    encoded = msgspec.json.encode(value)
    click.echo(visible_json((msgspec.json.format(encoded) if is_indented else encoded).decode()))


def visible_json(text: str) -> str:
    """Return JSON text with everything hidden inside its strings as ``\\uXXXX``."""
    return HIDDEN_OR_CONTROL.sub(_json_escape, text)


@contextmanager
def visible_errors() -> Iterator[None]:
    """Make the messages of click's errors visible: they quote the command line, names of files and services."""
    try:
        yield
    except click.exceptions.NoArgsIsHelpError:
        raise
    except click.UsageError as error:
        raise click.UsageError(printable(error.format_message()), ctx=error.ctx) from error
    except click.ClickException as error:
        raise click.ClickException(printable(error.format_message())) from error


def print_exception(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Print a traceback with everything hidden made visible, as ``sys.excepthook``."""
    if issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, trace)
        return
    echo("".join(traceback.format_exception(kind, error, trace)), err=True, nl=False)


def _json_escape(match: re.Match[str]) -> str:
    encoded = match[0].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{encoded[i : i + 2].hex()}" for i in range(0, len(encoded), 2))
