"""The command ``svc sessions``: lists, shows and deletes the sessions of your API key."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from svc.cli.answer_view import show_answer
from svc.messages import Message, MessageType, Session
from svc.untrusted.characters import one_line
from svc.untrusted.terminal import echo, echo_json

if TYPE_CHECKING:
    from svc.client import Svc

NAME_CHARS, TITLE_CHARS = 40, 60


@click.group("sessions")
def sessions() -> None:
    """List, show and delete your sessions.

    The service is the one in SVC_API_KEY and SVC_BASE_URL, else the local one, which is started if it is not running.
    An ID may be shortened to its beginning.
    """


@sessions.command("list")
@click.option(
    "--search", metavar="TEXT", default="", help="Only sessions with all these words in name, question or file names."
)
@click.option("-n", "--limit", type=click.IntRange(1), metavar="N", help="Only the N last used. Default: all.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON: a list of sessions without messages.")
def list_sessions(*, search: str, limit: int | None, as_json: bool) -> None:
    """List your sessions, the last used first: ID, last use (UTC), questions, name, first question.

    \b
      svc sessions list --search "web-3 brute"
      svc ask --session ID "And what did that address do next?"
    """
    from svc.client import Svc, newest_first  # the networking libraries are imported when a command needs them

    with Svc() as client:
        found = newest_first(client.list_sessions(), search)[:limit]
    if as_json:
        echo_json(found)
        return
    columns = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    if not found:
        echo("No session matches." if search else "There is no session yet. The first question creates one.", err=True)
    for one in found:
        name = one_line(one.name, limit=NAME_CHARS)
        title = one_line(one.title, limit=TITLE_CHARS)
        line = f"{one.id}  {_minute(one.update_time)}  {one.turns:>4,}  {name}  {title}".rstrip()
        echo(line[:columns])


@sessions.command("show")
@click.argument("session_id", metavar="ID")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object: the session with all its messages.")
def show_session(session_id: str, *, as_json: bool) -> None:
    """Show a session: its facts, files, questions and answers."""
    from svc.client import Svc

    with Svc() as client:
        found = client.resume_session(_whole_id(client, session_id))
        messages = found.history()
        info = found.info
    if as_json:
        info.messages = messages
        echo_json(info)
        return
    _show_facts(info)
    for message in messages:
        _show_message(message)


@sessions.command("delete")
@click.argument("session_ids", metavar="ID...", nargs=-1, required=True)
@click.option("-y", "--yes", "is_confirmed", is_flag=True, help="Do not ask.")
def delete_sessions(session_ids: Sequence[str], *, is_confirmed: bool) -> None:
    """Delete sessions with their messages and files. This cannot be undone."""
    from svc.client import Svc

    if not is_confirmed and not sys.stdin.isatty():
        raise click.UsageError("nobody can be asked here: confirm with --yes")
    with Svc() as client:
        whole = [_whole_id(client, one) for one in session_ids]
        for session_id in dict.fromkeys(whole):
            session = client.resume_session(session_id)
            named = f"{session_id} ({one_line(session.title or session.name, limit=TITLE_CHARS)})"
            if is_confirmed or click.confirm(f"Delete session {named}?", err=True):
                session.delete()
                echo(f"Deleted {named}", err=True)


def _whole_id(client: Svc, start: str) -> str:
    """The ID that begins like this; the text itself if none or several do, unless several could be meant."""
    ids = [one.id for one in client.list_sessions()]
    found = [one for one in ids if one.startswith(start)]
    if start in ids or not found:
        return start
    if len(found) > 1:
        raise click.UsageError(f"{len(found)} sessions have IDs that begin with {start}. Give more of it")
    return found[0]


def _show_facts(info: Session) -> None:
    files = ", ".join(f"{one_line(file.name)} ({file.size:,} bytes)" for file in info.files if not file.is_made)
    for name, value in (
        ("session", info.id),
        ("name", one_line(info.name)),
        ("model", one_line(info.model.model_string)),
        ("language", info.language),
        ("last used", f"{_minute(info.update_time)} UTC"),
        ("expires", f"{_minute(info.expire_time)} UTC"),
        ("files", files or "none"),
    ):
        echo(f"{name + ':':<11}{value}")


def _show_message(message: Message) -> None:
    if message.message_type == MessageType.QUERY:
        question = str(message.get_content()).replace("\n", "\n> ")
        echo(f"\n> {question}\n")
    elif message.message_type == MessageType.RESULT:
        show_answer(str(message.get_content()))
    elif message.message_type == MessageType.ERROR:
        echo(f"Error: {message.content or message.status_message}")


def _minute(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M}"
