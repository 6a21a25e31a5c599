"""The command ``svc``. Each command parses its options, makes one call, and prints.

Exit codes: 0 success, 1 failure, 2 usage error, 3 not answered (``svc ask``), 130 interrupted.

Other packages add commands through the entry-point group ``svc.commands``; these, the service and the networking
libraries are imported only when a command needs them.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from importlib.metadata import entry_points

import click

import svc
from svc.cli.ask import ask
from svc.cli.doctor import doctor
from svc.cli.keys import keys
from svc.cli.open import open_page
from svc.cli.rules import rules
from svc.cli.serve import serve
from svc.cli.session import session
from svc.errors import SvcError
from svc.untrusted.terminal import print_exception, visible_errors


class _PluginGroup(click.Group):
    """A group that includes the commands registered by other packages. An SvcError becomes one line on stderr.

    Nothing that a message quotes reaches the terminal with a meaning to it.
    """

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: object
    ) -> click.Context:
        with visible_errors():
            return super().make_context(info_name, args, parent, **extra)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*super().list_commands(ctx), *entry_points(group="svc.commands").names})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if (command := super().get_command(ctx, cmd_name)) is not None:
            return command
        for entry in entry_points(group="svc.commands", name=cmd_name):
            loaded: click.Command = entry.load()
            return loaded
        return None

    def invoke(self, ctx: click.Context) -> object:
        sys.excepthook = print_exception
        with visible_errors():
            try:
                return super().invoke(ctx)
            except SvcError as error:
                raise click.ClickException(str(error)) from error
            except OSError as error:
                if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                    raise
                _drop_output()
                written = error.filename or "the output"
                raise click.ClickException(
                    f"{written} was not written completely: {error.strerror}. Free space on its disk, then run the "
                    "command again"
                ) from error


def _drop_output() -> None:
    """Forget what is still buffered for stdout: writing it at the exit would fail again, with a traceback."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@click.group(cls=_PluginGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(svc.__version__, prog_name="svc")
def main() -> None:
    """Conversational security analysis.

    Ask questions, run the service, and run notebooks as reports.
    """


for _command in (ask, doctor, keys, open_page, rules, serve, session):
    main.add_command(_command)

if __name__ == "__main__":
    main()
