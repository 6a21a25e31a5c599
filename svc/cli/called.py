"""The name that the command was called by, for the texts that name commands.

The same command is installed as ``svc`` and as ``svc-jupyter``, because another program may own the first name
(daemontools has a ``/usr/bin/svc``), and ``python -m svc`` runs it without either. Advice such as "List them with:
svc rules list" must run the program that gave it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import click

_DEFAULT = "svc"
_NAMES = (_DEFAULT, "svc-jupyter", "python -m svc")
_COMMAND = re.compile(r"(?<![\w./-])(?<!-m )svc(?= [a-z])")  # "svc ask", but neither "svc: …" nor "python -m svc ask"


def name() -> str:
    """Return how the user called the command: ``svc`` if that is not known."""
    context = click.get_current_context(silent=True)
    called = context.find_root().info_name if context else None
    return called if called in _NAMES else _DEFAULT


def as_called(text: str) -> str:
    """Return our own text with each command in it, such as ``svc ask``, under the name that the user called."""
    return text if name() == _DEFAULT else _COMMAND.sub(name(), text)


@contextmanager
def errors_as_called() -> Iterator[None]:
    """Do the same in the messages of click's errors."""
    try:
        yield
    except click.exceptions.NoArgsIsHelpError:
        raise  # its message is the help, which `rename` changed
    except click.UsageError as error:
        raise click.UsageError(as_called(error.format_message()), ctx=error.ctx) from error
    except click.ClickException as error:
        raise click.ClickException(as_called(error.format_message())) from error


def rename(command: click.Command) -> None:
    """Do the same in the help of a command and of its subcommands."""
    command.help = command.help and as_called(command.help)
    command.epilog = command.epilog and as_called(command.epilog)
    for parameter in command.params:
        if isinstance(parameter, click.Option) and parameter.help:
            parameter.help = as_called(parameter.help)
    for subcommand in command.commands.values() if isinstance(command, click.Group) else ():
        rename(subcommand)
