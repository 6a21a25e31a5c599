"""The command ``svc session``: finds earlier sessions."""

from __future__ import annotations

from datetime import UTC, datetime

import click

from svc.untrusted.characters import one_line
from svc.untrusted.terminal import echo, echo_json

NAME_CHARS, TITLE_CHARS = 40, 60


@click.group("session")
def session() -> None:
    """Find the sessions of your API key."""


@session.command("list")
@click.option(
    "--search", metavar="TEXT", default="", help="Only sessions with all these words in name, question or file names."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON: a list of sessions without messages.")
def list_sessions(*, search: str, as_json: bool) -> None:
    """List your sessions, the last used first: ID, last use (UTC), questions, name, first question.

    \b
      svc session list --search "web-3 brute"
      svc ask --session ID "And what did that address do next?"

    The service is the one in SVC_API_KEY and SVC_BASE_URL, else the local one, which is started if it is not running.
    """
    from svc.client import Svc, newest_first  # the networking libraries are imported when a command needs them

    with Svc() as client:
        found = newest_first(client.list_sessions(), search)
    if as_json:
        echo_json(found)
        return
    if not found:
        echo("No session matches." if search else "There is no session yet. The first question creates one.", err=True)
    for one in found:
        used = f"{datetime.fromtimestamp(one.update_time, UTC):%Y-%m-%d %H:%M}"
        name = one_line(one.name, limit=NAME_CHARS)
        echo(f"{one.id}  {used}  {one.turns:>4,}  {name}  {one_line(one.title, limit=TITLE_CHARS)}".rstrip())
