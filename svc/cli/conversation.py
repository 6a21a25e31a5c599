"""Ask a question in a session, with files and progress: what ``svc ask`` and ``svc chat`` have in common."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING

import click

from svc.cli import last_session
from svc.cli.answer_document import Finding, findings_file_of, findings_in, findings_in_file
from svc.errors import (
    ConfigError,
    SessionExpiredError,
    SessionNotFoundError,
    SvcError,
    TooLargeError,
    TurnTimeoutError,
)
from svc.messages import Message, SessionFile

if TYPE_CHECKING:
    from svc.cli.activity import Activity
    from svc.client import AsyncSvc
    from svc.session import AsyncSession


PARTIAL_SECONDS = 12.0  # for a cancelled turn to answer from what it has read; a second interrupt ends the wait


async def open_session(
    client: AsyncSvc, *, session_id: str | None, is_continued: bool, model: str | None, language: str | None
) -> AsyncSession:
    """Create a session, or open an earlier one, and remember it as the last one.

    Raises:
        ConfigError: There is no session to continue.
        SvcError: The service refuses it.
    """
    last = last_session.recall() if is_continued else None
    if is_continued and last is None:
        raise ConfigError("there is no session to continue. Ask without --continue (svc sessions list shows yours).")
    earlier = session_id or last
    if earlier:
        session = await _resume(client, earlier, is_continued=is_continued)
    else:
        session = await client.create_session(model=model, language=language or "en")
    await asyncio.to_thread(last_session.remember, session.session_id)
    return session


async def _resume(client: AsyncSvc, session_id: str, *, is_continued: bool) -> AsyncSession:
    try:
        return await client.resume_session(session_id)
    except (SessionNotFoundError, SessionExpiredError) as error:
        if not is_continued:
            raise
        raise ConfigError(f"the last session cannot be continued: {error} Ask without --continue.") from error


async def attach(session: AsyncSession, files: Sequence[tuple[Path, str]], activity: Activity) -> list[SessionFile]:
    """Attach files by their names.

    Raises:
        SvcError: The service refuses one.
        OSError: One cannot be read.
    """
    attached = []
    for path, name in files:
        try:
            attached.append(await session.attach_file_from_disk(path, name, on_progress=activity.sending(name)))
        except TooLargeError as error:
            if path.is_dir() or len(files) == 1:
                raise
            raise TooLargeError(f"{error} A folder counts as one file: attach it instead of its files.") from error
    return attached


async def ask_in(
    session: AsyncSession,
    question: str,
    about: Sequence[SessionFile],
    activity: Activity,
    timeout_seconds: float | None = None,
    *,
    show_partial: Callable[[str], None] = lambda answer: None,
) -> list[Message]:
    """The turn's messages. If this is cancelled, or the time is over, so is the question on the service.

    ``show_partial`` is then called with what was found in the part of the evidence that had been read, if anything.

    Raises:
        TurnTimeoutError: ``timeout_seconds`` have passed.
        SvcError: The turn failed.
    """
    try:
        async with asyncio.timeout(timeout_seconds):
            return await _follow(session, question, about, activity, show_partial)
    except TimeoutError as error:
        raise TurnTimeoutError(
            f"no answer within {timeout_seconds:g} s; the turn was cancelled. Use a longer --timeout, "
            "or ask for less at once."
        ) from error


async def _follow(
    session: AsyncSession,
    question: str,
    about: Sequence[SessionFile],
    activity: Activity,
    show_partial: Callable[[str], None],
) -> list[Message]:
    messages: list[Message] = []
    activity.say("asking")
    reading = asyncio.create_task(_read(session.stream(question, files=about), activity, messages))
    try:
        await asyncio.shield(reading)
    except asyncio.CancelledError:
        await _stop(session, reading)
        if partial := next((message for message in messages if message.is_partial_answer), None):
            with activity.paused():
                show_partial(partial.content or "")
        raise
    return messages


async def _read(stream: AsyncGenerator[Message, None], activity: Activity, messages: list[Message]) -> None:
    async with aclosing(stream) as turn:
        async for message in turn:
            messages.append(message)
            if not message.is_partial_answer:
                activity.show(message)


async def _stop(session: AsyncSession, reading: asyncio.Task[None]) -> None:
    """Cancel the turn, which may answer from what it has read; whatever happens, it is left after that."""
    try:
        async with asyncio.timeout(PARTIAL_SECONDS):
            if not reading.done() and await session.cancel():
                await asyncio.wait([reading])
    except (TimeoutError, SvcError):
        pass  # leaving the stream tells the service, too
    finally:
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)


async def all_findings(session: AsyncSession, messages: Sequence[Message]) -> list[Finding]:
    """All findings of a turn, from the session's file if its messages cannot hold them."""
    file = findings_file_of(messages)
    if file is None:
        return findings_in(messages)
    try:
        return findings_in_file(await session.read_file(file.sha256))
    except ValueError as error:
        raise click.ClickException(f"the findings of this answer cannot be read: {error}") from error
