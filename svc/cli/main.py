"""The command ``svc``. Each command parses its options, makes one call, and prints.

``svc-jupyter`` and ``python -m svc`` are the same command.

Exit codes: 0 success, 1 failure, 2 usage error, 3 not answered (``svc ask``), 130 interrupted, 143 terminated
(``svc ask``).

Other packages add commands through the entry-point group ``svc.commands``; these, the service and the networking
libraries are imported only when a command needs them.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import sys
from difflib import get_close_matches
from importlib.metadata import entry_points
from typing import TYPE_CHECKING

import click

import svc
from svc.cli.ask import ask
from svc.cli.bundle.command import bundle
from svc.cli.called import as_called, errors_as_called, rename
from svc.cli.chat import chat
from svc.cli.console import prepare_output
from svc.cli.doctor import doctor
from svc.cli.keys import keys
from svc.cli.manual import completion, help_page, man
from svc.cli.migrate import migrate
from svc.cli.open import open_page
from svc.cli.operating.check import check
from svc.cli.operating.deploy import deploy
from svc.cli.operating.work import work
from svc.cli.rules import rules
from svc.cli.serve import serve
from svc.cli.service_state import status, stop
from svc.cli.sessions import sessions
from svc.errors import SvcError
from svc.untrusted.terminal import echo, print_exception, visible_errors

if TYPE_CHECKING:
    from collections.abc import Sequence

INTERRUPTED_EXIT_CODE = 130
_HELP = ["-h", "--help"]


class _PluginGroup(click.Group):
    """A group that includes the commands registered by other packages. An SvcError becomes one line on stderr.

    Nothing that a message quotes reaches the terminal with a meaning to it.
    """

    def __call__(self, *args: object, **extra: object) -> object:
        """Run the command; what the encoding of an output cannot say is escaped instead of failing.

        Patterns are left to the commands, on Windows too, so that a quoted one means the same everywhere.
        """
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper) and not stream.encoding.lower().startswith("utf"):
                stream.reconfigure(errors="backslashreplace")
        return super().__call__(*args, **{"windows_expand_args": False, **extra})

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: object
    ) -> click.Context:
        prepare_output()
        with visible_errors():
            return super().make_context(info_name, args, parent, **extra)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*super().list_commands(ctx), *entry_points(group="svc.commands").names})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        found = super().get_command(ctx, cmd_name)
        for entry in () if found else entry_points(group="svc.commands", name=cmd_name):
            found = entry.load()
        if found is not None:
            rename(found)
            _add_short_help(found)
        return found

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        rename(self)
        super().format_help(ctx, formatter)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        word = args[0]
        if not word.startswith("-") and self.get_command(ctx, word) is None:
            raise click.UsageError(_unknown(word, self.list_commands(ctx)), ctx=ctx)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> object:
        sys.excepthook = print_exception
        with visible_errors():
            try:
                return self._invoke_as_called(ctx)
            except SvcError as error:
                raise click.ClickException(as_called(str(error))) from error
            except KeyboardInterrupt:
                echo("interrupted", err=True)
                ctx.exit(INTERRUPTED_EXIT_CODE)
            except OSError as error:
                if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                    raise
                _drop_output()
                written = error.filename or "the output"
                raise click.ClickException(
                    f"{written} was not written completely: {error.strerror}. Free space on its disk, then run the "
                    "command again"
                ) from error

    def _invoke_as_called(self, ctx: click.Context) -> object:
        with errors_as_called():
            return super().invoke(ctx)


def _add_short_help(command: click.Command) -> None:
    """``-h`` beside ``--help``, whichever way the command is invoked: click keeps the first form that it made."""
    command.context_settings.setdefault("help_option_names", _HELP)
    for subcommand in command.commands.values() if isinstance(command, click.Group) else ():
        _add_short_help(subcommand)


def _unknown(word: str, commands: Sequence[str]) -> str:
    """The message for an unknown command: the nearest one, or how to ask a question."""
    if len(word.split()) > 1:
        return f'No such command. To ask a question: svc ask "{word}"'
    near = get_close_matches(word, commands, n=1, cutoff=0.6) or [name for name in commands if name.startswith(word)]
    hint = f"Did you mean '{near[0]}'?" if near else "svc help lists the commands."
    return f"No such command '{word}'. {hint}"


def _drop_output() -> None:
    """Forget what is still buffered for stdout: writing it at the exit would fail again, with a traceback."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@click.group(cls=_PluginGroup, context_settings={"help_option_names": _HELP})
@click.version_option(svc.__version__, "-V", "--version", prog_name="svc")
def main() -> None:
    """Conversational security analysis.

    Ask questions, run the service, and run notebooks as reports.

    \b
      svc ask "Who got in?" --attach /var/log/auth.log
      svc chat --attach case.zip
      svc sessions list
      svc status

    Exit codes: 0 success, 1 failed, 2 usage error, 3 not answered (svc ask), 130 interrupted, 143
    terminated (svc ask).
    """


for _command in (
    ask, bundle, chat, check, completion, deploy, doctor, help_page, keys, man, migrate, open_page, rules, serve,
    sessions, status, stop, work,
):  # fmt: skip
    main.add_command(_command)
    _add_short_help(_command)

if __name__ == "__main__":
    main()
