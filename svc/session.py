"""A conversation with the service: ``InteractiveSession`` blocks, ``AsyncSession`` awaits; the methods are the same.

Both are thin: state, streams and operations are in ``_base_session``.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import threading
import time
from collections.abc import Coroutine, Sequence
from concurrent.futures import Future, wait
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Self, TypeVar

from svc import _requests
from svc._base_session import CANCEL_SECONDS, BaseSession, turn_timeout
from svc._folder_stream import FileContent, OnProgress, archive_name, path_body, upload_of
from svc._transport import AsyncTransport, Transport
from svc._turn_reader import LEAVE_SECONDS
from svc.messages import Message, Session, SessionFile, SessionResponse

if TYPE_CHECKING:
    from rich.console import Console

T = TypeVar("T")

_POLL_SECONDS = 0.1  # so that an interrupt is seen while a query waits


class InteractiveSession(BaseSession):
    """A conversation: each question has the earlier ones as context. From ``Svc.create_session`` or ``resume_session``.

    ``stream`` is asynchronous, all other methods block; ``AsyncSession`` has the same methods for an event loop. The
    object may be used from any thread, one turn at a time.

    The properties never ask the service. They are updated by the service's replies and by the turns that this object
    follows; ``refresh`` fetches what others changed.
    """

    _transport: Transport

    def __init__(self, transport: Transport, info: Session) -> None:
        super().__init__(transport, info)

    def query(
        self, prompt: str, *, files: Sequence[SessionFile | str] = (), timeout_seconds: float | None = None
    ) -> SessionResponse:
        """Ask a question and wait for the whole turn. Also works inside a running event loop, as in Jupyter.

        Ctrl-C cancels the turn on the service.

        Args:
            prompt: The question, in any language.
            files: What the question is about, as in ``stream``.
            timeout_seconds: Cancel the turn after this time; None waits without a limit.

        Returns:
            All messages of the turn; ``text()`` is the answer in Markdown, ``status`` how far it answers the question.

        Raises:
            TurnTimeoutError: ``timeout_seconds`` have passed.
            SvcError: As ``stream``.
        """
        try:
            return _run_in_thread(self._collect(prompt, files), timeout_seconds)
        except _TimeLimitError as error:
            raise turn_timeout(timeout_seconds) from error

    def cancel(self) -> bool:
        """Cancel this object's running turn, from any thread; the code that iterates over it gets TurnCancelledError.

        Returns:
            False if no turn is running.

        Raises:
            UnreachableError: The service did not confirm it within five seconds.
        """
        cancellation = self._cancellation()
        if cancellation is None:
            return False
        try:
            _run_in_thread(self._cancel(cancellation), CANCEL_SECONDS)
        except _TimeLimitError as error:
            raise self._cancel_unconfirmed() from error
        return True

    def cancel_turn(self, turn: str) -> bool:
        """Cancel a turn of the session by its ``turn``, also one that another client asked.

        Args:
            turn: The ``turn`` of the turn's messages.

        Returns:
            False if it is not running.

        Raises:
            UnreachableError: The service did not confirm it within five seconds.
        """
        cancellation = self._cancellation_of(turn, self.history())
        if cancellation is None:
            return False
        try:
            _run_in_thread(self._cancel(cancellation), CANCEL_SECONDS)
        except _TimeLimitError as error:
            raise self._cancel_unconfirmed() from error
        return True

    def refresh(self) -> Self:
        """Fetch the session's current state, which the properties show from then on.

        Returns:
            This session.
        """
        self._transport.run(self._fetch())
        return self

    def history(self) -> list[Message]:
        """Fetch every message of the session, oldest first.

        Returns:
            The messages of all turns, in the order of ``seq``.
        """
        return self._transport.run(self._fetch()).messages

    def update(
        self, *, name: str | None = None, description: str | None = None, ttl: int | timedelta | None = None
    ) -> None:
        """Change the session; what is omitted stays as it is. Without arguments, its lifetime starts again.

        Args:
            name: Its new name; None leaves it as it is.
            description: Its new description; None leaves it as it is.
            ttl: The time from now after which it expires, in seconds or as a ``timedelta``; None leaves its end as it
                is, if anything else is changed.
        """
        self._transport.run(self._update(name, description, ttl))

    def attach_file(
        self,
        name: str | FileContent,
        content: FileContent | None = None,
        mime_type_hint: str | None = None,
        *,
        on_progress: OnProgress | None = None,
    ) -> SessionFile:
        """Attach a file: content under a name, a path, or an open file.

        A path and an open file also stand alone: ``attach_file(Path("auth.log"))`` uses the file's own name. They are
        streamed; an open file is read from its current position to its end and is not closed.

        Args:
            name: The file name by which questions refer to it.
            content: Bytes; text, which is encoded as UTF-8; a path, also of a folder; or a file opened for reading.
            mime_type_hint: Such as ``text/csv``. The type is detected from the content; the hint helps.
            on_progress: Called with the bytes sent and the bytes of all, in the thread that sends. An exception that
                it raises ends the upload.

        Returns:
            The attached file, as it is listed in ``files``.

        Raises:
            InvalidRequestError: The content has another type, or it has no name.
            TooLargeError: The file or the number of files is over its limit.
        """
        upload = upload_of(name, content, on_progress)
        return self._transport.run(self._attach(upload.name, upload.body, mime_type_hint))

    def attach_file_from_disk(
        self,
        path: str | Path,
        name: str | None = None,
        mime_type_hint: str | None = None,
        *,
        on_progress: OnProgress | None = None,
    ) -> SessionFile:
        """Attach a file or a folder from disk, under its own name or ``name``. It is streamed.

        A folder is attached as one archive, ``FOLDER.tar``, whose members the answer names; links are not followed.
        ``on_progress`` is as for ``attach_file``.

        Args:
            path: The file or folder; ``~`` is the home folder.
            name: The file name by which questions refer to it; by default, its own.
            mime_type_hint: A MIME type, if its content may not show it.
            on_progress: As for ``attach_file``.

        Returns:
            The attached file, as it is listed in ``files``.

        Raises:
            OSError: The file cannot be read.
            InvalidRequestError: The folder contains no file.
            TooLargeError: The file or the number of files is over its limit.
        """
        file = Path(path).expanduser()
        name = name or (archive_name(file) if file.is_dir() else file.name)
        return self._transport.run(self._attach(name, path_body(file, on_progress), mime_type_hint))

    def read_file(self, file: SessionFile | str) -> bytes:
        """Fetch the content of a file of the session: one that was attached, or one that the service made.

        Args:
            file: One of ``files``, or its SHA-256 in hex. A message that names a file of the service has it.

        Returns:
            The file's bytes.

        Raises:
            SessionFileNotFoundError: The session has no such file (any more).
        """
        return self._transport.run(self._read_file(file))

    def detach_file(self, file: int | SessionFile) -> None:
        """Remove an attached file, given as one of ``files`` or as an index into the service's current list.

        Args:
            file: One of ``files``, or an index into the service's current list.

        Raises:
            SessionFileNotFoundError: The session has no such file; the text lists its files.
        """
        self._transport.run(self._detach(file))

    def send_feedback(self, score: int, comment: str, group_id: str = "") -> None:
        """Rate the session or, with the ``group`` of its messages, one answer. A higher score is better.

        Args:
            score: The rating; a higher one is better.
            comment: What was good or bad.
            group_id: The ``group`` of an answer's messages; "" rates the session.
        """
        self._transport.call(_requests.send_feedback(self.session_id, score, comment, group_id))

    def send_bug_report(self, bug: str, group_id: str = "") -> None:
        """Report a problem with the session or, with the ``group`` of its messages, with one answer.

        Args:
            bug: What happened, and what was expected.
            group_id: The ``group`` of an answer's messages; "" means the session.
        """
        self._transport.call(_requests.send_bug_report(self.session_id, bug, group_id))

    def visualize(self, console: Console | None = None) -> None:
        """Print the session as a tree of its turns, one line per message, cut to the console's width.

        Args:
            console: Where to print; the default is the terminal or, in a notebook, the cell's output.
        """
        _print_tree(self._transport.run(self._fetch()), console)

    def delete(self) -> None:
        """Delete the session with its messages and files. A running turn is cancelled."""
        self._transport.call(_requests.delete(self.session_id))


class AsyncSession(BaseSession):
    """A conversation in an event loop. From ``AsyncSvc.create_session`` or ``resume_session``.

    The methods are those of ``InteractiveSession``; those that talk to the service are awaited and never block the
    loop. Use it in one event loop, one turn at a time; ``confirm`` and ``answer`` may be called from any thread.

    The properties never ask the service. They are updated by the service's replies and by the turns that this object
    follows; ``refresh`` fetches what others changed.
    """

    _transport: AsyncTransport

    def __init__(self, transport: AsyncTransport, info: Session) -> None:
        super().__init__(transport, info)

    async def query(
        self, prompt: str, *, files: Sequence[SessionFile | str] = (), timeout_seconds: float | None = None
    ) -> SessionResponse:
        """Ask a question and wait for the whole turn. Cancelling the task cancels the turn on the service.

        Args:
            prompt: The question, in any language.
            files: What the question is about, as in ``stream``.
            timeout_seconds: Cancel the turn after this time; None waits without a limit.

        Returns:
            All messages of the turn; ``text()`` is the answer in Markdown, ``status`` how far it answers the question.

        Raises:
            TurnTimeoutError: ``timeout_seconds`` have passed.
            SvcError: As ``stream``.
        """
        try:
            async with asyncio.timeout(timeout_seconds) as limit:
                response = await self._collect(prompt, files)
        except TimeoutError as error:
            if not limit.expired():
                raise
            raise turn_timeout(timeout_seconds) from error
        return response

    async def cancel(self) -> bool:
        """Cancel this object's running turn; the code that iterates over it gets TurnCancelledError.

        Returns:
            False if no turn is running.

        Raises:
            UnreachableError: The service did not confirm it within five seconds.
        """
        cancellation = self._cancellation()
        if cancellation is None:
            return False
        try:
            async with asyncio.timeout(CANCEL_SECONDS):
                await self._cancel(cancellation)
        except TimeoutError as error:
            raise self._cancel_unconfirmed() from error
        return True

    async def cancel_turn(self, turn: str) -> bool:
        """Cancel a turn of the session by its ``turn``, also one that another client asked.

        Args:
            turn: The ``turn`` of the turn's messages.

        Returns:
            False if it is not running.

        Raises:
            UnreachableError: The service did not confirm it within five seconds.
        """
        cancellation = self._cancellation_of(turn, await self.history())
        if cancellation is None:
            return False
        try:
            async with asyncio.timeout(CANCEL_SECONDS):
                await self._cancel(cancellation)
        except TimeoutError as error:
            raise self._cancel_unconfirmed() from error
        return True

    async def refresh(self) -> Self:
        """Fetch the session's current state, which the properties show from then on.

        Returns:
            This session.
        """
        await self._transport.run(self._fetch())
        return self

    async def history(self) -> list[Message]:
        """Fetch every message of the session, oldest first.

        Returns:
            The messages of all turns, in the order of ``seq``.
        """
        return (await self._transport.run(self._fetch())).messages

    async def update(
        self, *, name: str | None = None, description: str | None = None, ttl: int | timedelta | None = None
    ) -> None:
        """Change the session; what is omitted stays as it is. Without arguments, its lifetime starts again.

        Args:
            name: Its new name; None leaves it as it is.
            description: Its new description; None leaves it as it is.
            ttl: The time from now after which it expires, in seconds or as a ``timedelta``; None leaves its end as it
                is, if anything else is changed.
        """
        await self._transport.run(self._update(name, description, ttl))

    async def attach_file(
        self,
        name: str | FileContent,
        content: FileContent | None = None,
        mime_type_hint: str | None = None,
        *,
        on_progress: OnProgress | None = None,
    ) -> SessionFile:
        """Attach a file: content under a name, a path, or an open file.

        A path and an open file also stand alone: ``attach_file(Path("auth.log"))`` uses the file's own name. They are
        streamed; an open file is read from its current position to its end and is not closed.

        Args:
            name: The file name by which questions refer to it.
            content: Bytes; text, which is encoded as UTF-8; a path, also of a folder; or a file opened for reading.
            mime_type_hint: Such as ``text/csv``. The type is detected from the content; the hint helps.
            on_progress: Called with the bytes sent and the bytes of all, in the thread that sends. An exception that
                it raises ends the upload.

        Returns:
            The attached file, as it is listed in ``files``.

        Raises:
            InvalidRequestError: The content has another type, or it has no name.
            TooLargeError: The file or the number of files is over its limit.
        """
        upload = await asyncio.to_thread(upload_of, name, content, on_progress)
        return await self._transport.run(self._attach(upload.name, upload.body, mime_type_hint))

    async def attach_file_from_disk(
        self,
        path: str | Path,
        name: str | None = None,
        mime_type_hint: str | None = None,
        *,
        on_progress: OnProgress | None = None,
    ) -> SessionFile:
        """Attach a file or a folder from disk, under its own name or ``name``. It is read in threads and streamed.

        A folder is attached as one archive, ``FOLDER.tar``, whose members the answer names; links are not followed.
        ``on_progress`` is as for ``attach_file``.

        Args:
            path: The file or folder; ``~`` is the home folder.
            name: The file name by which questions refer to it; by default, its own.
            mime_type_hint: A MIME type, if its content may not show it.
            on_progress: As for ``attach_file``.

        Returns:
            The attached file, as it is listed in ``files``.

        Raises:
            OSError: The file cannot be read.
            InvalidRequestError: The folder contains no file.
            TooLargeError: The file or the number of files is over its limit.
        """
        file = await asyncio.to_thread(Path(path).expanduser)
        name = name or (archive_name(file) if await asyncio.to_thread(file.is_dir) else file.name)
        return await self._transport.run(self._attach(name, path_body(file, on_progress), mime_type_hint))

    async def read_file(self, file: SessionFile | str) -> bytes:
        """Fetch the content of a file of the session: one that was attached, or one that the service made.

        Args:
            file: One of ``files``, or its SHA-256 in hex. A message that names a file of the service has it.

        Returns:
            The file's bytes.

        Raises:
            SessionFileNotFoundError: The session has no such file (any more).
        """
        return await self._transport.run(self._read_file(file))

    async def detach_file(self, file: int | SessionFile) -> None:
        """Remove an attached file, given as one of ``files`` or as an index into the service's current list.

        Args:
            file: One of ``files``, or an index into the service's current list.

        Raises:
            SessionFileNotFoundError: The session has no such file; the text lists its files.
        """
        await self._transport.run(self._detach(file))

    async def send_feedback(self, score: int, comment: str, group_id: str = "") -> None:
        """Rate the session or, with the ``group`` of its messages, one answer. A higher score is better.

        Args:
            score: The rating; a higher one is better.
            comment: What was good or bad.
            group_id: The ``group`` of an answer's messages; "" rates the session.
        """
        await self._transport.call(_requests.send_feedback(self.session_id, score, comment, group_id))

    async def send_bug_report(self, bug: str, group_id: str = "") -> None:
        """Report a problem with the session or, with the ``group`` of its messages, with one answer.

        Args:
            bug: What happened, and what was expected.
            group_id: The ``group`` of an answer's messages; "" means the session.
        """
        await self._transport.call(_requests.send_bug_report(self.session_id, bug, group_id))

    async def visualize(self, console: Console | None = None) -> None:
        """Print the session as a tree of its turns, one line per message, cut to the console's width.

        The history is awaited; rendering and printing happen in the loop's thread.

        Args:
            console: Where to print; the default is the terminal or, in a notebook, the cell's output.
        """
        _print_tree(await self._transport.run(self._fetch()), console)

    async def delete(self) -> None:
        """Delete the session with its messages and files. A running turn is cancelled."""
        await self._transport.call(_requests.delete(self.session_id))


def _print_tree(session: Session, console: Console | None) -> None:
    from rich import get_console  # imported late: most programs print no tree

    from svc._history_tree import session_tree

    (console or get_console()).print(session_tree(session, session.messages))


class _TimeLimitError(Exception):
    """The time limit passed before the work was done."""


def _run_in_thread(work: Coroutine[None, None, T], timeout_seconds: float | None) -> T:
    """Run ``work`` in an event loop in a new thread, so that it works inside a running loop and Ctrl-C interrupts it.

    An interrupt or the time limit cancels the work, which gets a moment to cancel the turn on the service.
    """
    loop = asyncio.new_event_loop()
    task = loop.create_task(work)
    outcome: Future[T] = Future()
    thread = threading.Thread(target=_run_loop, args=(loop, task, outcome), name="svc-query", daemon=True)
    thread.start()
    try:
        return _wait(outcome, timeout_seconds)
    except BaseException:
        if not outcome.done():
            with contextlib.suppress(RuntimeError):  # the loop was closed just now: the work is done
                loop.call_soon_threadsafe(task.cancel)
            thread.join(2 * LEAVE_SECONDS)
        raise


def _run_loop(loop: asyncio.AbstractEventLoop, task: asyncio.Task[T], outcome: Future[T]) -> None:
    try:
        outcome.set_result(loop.run_until_complete(task))
    except BaseException as error:  # noqa: BLE001 - it is raised in the waiting thread
        outcome.set_exception(error)
    finally:
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.close()


def _wait(outcome: Future[T], timeout_seconds: float | None) -> T:
    deadline = math.inf if timeout_seconds is None else time.monotonic() + timeout_seconds
    while not outcome.done():
        left = deadline - time.monotonic()
        if left <= 0:
            raise _TimeLimitError
        wait([outcome], timeout=min(_POLL_SECONDS, left))
    return outcome.result()
