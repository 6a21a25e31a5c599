"""The command ``svc``. Each command reads its options, calls once, and prints.

Exit codes: 0 done, 1 failed, 2 usage, 130 interrupted.

Other packages' commands join through the entry-point group ``svc.commands``; they and the service load when used.
"""

from __future__ import annotations

import asyncio
import sys
from contextlib import aclosing
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

import svc
from svc.cli.doctor import doctor
from svc.cli.open import open_page
from svc.cli.rules import rules
from svc.cli.serve import keys, serve
from svc.errors import SvcError, TurnTimeoutError
from svc.messages import Message, MessageType, State
from svc.untrusted.characters import printable

if TYPE_CHECKING:
    from svc.session import InteractiveSession


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


@main.command()
@click.argument("question")
@click.option(
    "--attach",
    "files",
    multiple=True,
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, readable=True, path_type=Path),
    help="A file to look at; again for more.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout: session_id, answer, messages.")
@click.option("--session", "session_id", metavar="ID", help="Go on with this session instead of a new one.")
@click.option(
    "--timeout",
    "timeout_seconds",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="Cancel the turn after this long.",
)
def ask(
    question: str, files: tuple[Path, ...], *, as_json: bool, session_id: str | None, timeout_seconds: float | None
) -> None:
    """Ask QUESTION ("-": read it from stdin). Progress goes to stderr, the answer, in Markdown, to stdout.

    \b
      svc ask --attach /var/log/auth.log "Who was brute-forced, and did anyone get in?"
      svc ask --json - < question.txt

    The service is the one that SVC_API_KEY and SVC_BASE_URL name, else a local one, which starts by itself.
    Exit codes: 0 answered, 1 failed, 2 usage, 130 interrupted (the turn is cancelled).
    """
    from svc.client import Svc  # the network's libraries load when a command needs them

    if question == "-":
        question = sys.stdin.read()
    if not question.strip():
        raise click.UsageError(
            'the question is empty. Example: svc ask "Score CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H"'
        )
    try:
        with Svc() as client:
            session = client.resume_session(session_id) if session_id else client.create_session()
            for file in files:
                session.attach_file_from_disk(file)
            messages = asyncio.run(_follow(session, question, timeout_seconds))
    except KeyboardInterrupt:
        click.echo("interrupted; the turn is cancelled", err=True)
        sys.exit(130)
    answer = "".join(str(m.get_content()) for m in messages if m.message_type == MessageType.RESULT)
    if as_json:
        click.echo(msgspec.json.encode({"session_id": session.session_id, "answer": answer, "messages": messages}))
    else:
        click.echo(printable(answer))
        click.echo(f"To go on: svc ask --session {session.session_id} ...", err=True)


async def _follow(session: InteractiveSession, question: str, timeout_seconds: float | None) -> list[Message]:
    """The turn's messages; its INFOs are shown as they come."""
    messages = []
    try:
        async with asyncio.timeout(timeout_seconds), aclosing(session.stream(question)) as turn:
            async for message in turn:
                messages.append(message)
                if message.message_type == MessageType.INFO and message.state != State.END and message.content:
                    click.echo(f"... {printable(message.content)}", err=True)
    except TimeoutError as error:
        raise TurnTimeoutError(
            f"no answer within {timeout_seconds:g} s; the turn was cancelled. Give it a longer --timeout, "
            "or ask for less at once."
        ) from error
    return messages


main.add_command(doctor)
main.add_command(serve)
main.add_command(keys)
main.add_command(open_page)
main.add_command(rules)

if __name__ == "__main__":
    main()
