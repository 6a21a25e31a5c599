"""``svc report answers``: list, show and delete stored answers."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import click

from svc.untrusted.terminal import echo, echo_json

DAY_SECONDS = 86_400.0
SHOWN_KEY_CHARACTERS = 12
QUESTION_CHARACTERS = 80


def _with_store(command: Callable[..., None]) -> Callable[..., None]:
    option = click.option(
        "--store",
        type=click.Path(file_okay=False, exists=True, path_type=Path),
        default=".answers",
        show_default=True,
        help="Folder of stored answers.",
    )
    return option(command)


@click.group()
def answers() -> None:
    """Manage stored answers."""


@answers.command("list")
@_with_store
@click.option("--json", "is_json", is_flag=True, help="Print JSON Lines.")
def list_command(store: Path, *, is_json: bool) -> None:
    """List stored answers: key, time, size, model, question."""

    from svc.untrusted.characters import one_line
    from svc_jupyter.answers import store as answer_store
    from svc_jupyter.answers.status_mark import UNVERIFIED

    for stored in answer_store.stored_answers(store):
        entry = stored.entry
        size = answer_store.size(store, entry.key)
        if is_json:
            fields = {"key": entry.key, "before": entry.before, "saved": entry.saved, "bytes": size}
            fields |= {"model": entry.model, "question": entry.question, "files": entry.files}
            fields |= {"status": entry.status, "is_verified": stored.is_verified}
            echo_json(fields)
            continue
        saved = datetime.fromtimestamp(entry.saved, UTC).strftime("%Y-%m-%d %H:%M")
        mark = "" if stored.is_verified else f"  ({UNVERIFIED})"
        question = one_line(entry.question, limit=QUESTION_CHARACTERS)
        echo(f"{entry.key[:SHOWN_KEY_CHARACTERS]}  {saved}  {size:9,}  {one_line(entry.model)}  {question}{mark}")


@answers.command("show")
@click.argument("key")
@_with_store
def show_command(key: str, store: Path) -> None:
    """Print the answer whose key begins with KEY, and its question."""
    from svc.untrusted.characters import one_line, printable
    from svc.untrusted.markdown import plain_text
    from svc_jupyter.answers import store as answer_store
    from svc_jupyter.answers.status_mark import UNVERIFIED, label

    try:
        stored = answer_store.find(store, key)
    except answer_store.StoreError as error:
        raise click.UsageError(str(error)) from error
    entry = stored.entry
    echo(f"key       {entry.key}")
    echo(f"after     {entry.before or '(first question of the session)'}")
    echo(f"model     {one_line(entry.model)}, requested: {one_line(entry.asked_model) or 'default'}")
    echo(f"session   {one_line(entry.session_id)}")
    echo(f"status    {label(entry.status)}")
    echo(f"verified  {'yes' if stored.is_verified else UNVERIFIED}")
    for name, digest in entry.files:
        echo(f"file      {one_line(name)}  {digest}")
    echo(f"question  {printable(entry.question)}\n")
    echo(plain_text(entry.text))


@answers.command("prune")
@_with_store
@click.option("--days", type=click.FloatRange(0), required=True, help="Delete answers unused for this long.")
def prune_command(store: Path, days: float) -> None:
    """Delete answers unused for --days, except those that a used answer follows."""
    from svc_jupyter.answers import store as answer_store

    removed = answer_store.prune(store, unused_since=time.time() - days * DAY_SECONDS)
    for entry in removed:
        echo(f"{entry.key[:SHOWN_KEY_CHARACTERS]} deleted")
    echo(f"{len(removed)} deleted", err=True)
