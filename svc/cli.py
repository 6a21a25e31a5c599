"""The command ``svc``. Each command reads its options, calls once, and prints; exit codes: 0 done, 1 failed, 2 usage.

Other packages' commands join through the entry-point group ``svc.commands``; they and the service load when used.
"""

from __future__ import annotations

from importlib.metadata import entry_points

import click

import svc
from svc.errors import SvcError


class _Commands(click.Group):
    """A group that also has the commands that other packages registered."""

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
        try:
            return super().invoke(ctx)
        except SvcError as error:
            raise click.ClickException(str(error)) from error


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(svc.__version__, prog_name="svc")
def main() -> None:
    """Conversational security analysis: ask, serve, and run notebooks as reports."""


if __name__ == "__main__":
    main()
