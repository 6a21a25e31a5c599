"""A session as users hold it: ask, stream, attach, look back. Carries out what ``_protocol`` and ``_retry`` decide.

One connection a turn: it is opened for the query and closed properly at its end, so nothing of one turn can reach the
next. Facts: docs/wire.md, "Websocket"; docs/notebook.md, "Running a stream inside a cell".
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import math
import threading
import time
from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence
from concurrent.futures import Future, wait
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Self, TypeVar

import msgspec

from svc import _requests
from svc._protocol import CancelProtocol, EarlierTurn, TurnProtocol
from svc._session_state import with_message, without_messages
from svc._transport import Transport
from svc._turn_reader import LEAVE_SECONDS, TurnReader
from svc.errors import InvalidRequestError, SessionFileNotFoundError, SvcError, TurnTimeoutError, UnreachableError
from svc.local_tools import ConfirmationResponse, LocalTool, build_answer, build_result
from svc.messages import (
    Message,
    MessageType,
    ModelInfo,
    Session,
    SessionFile,
    SessionResponse,
    State,
    UpdateRequest,
    Usage,
    new_id,
)

if TYPE_CHECKING:
    from rich.console import Console

T = TypeVar("T")

CANCEL_SECONDS = 5.0  # for the service to confirm a cancel
_POLL_SECONDS = 0.1  # so that an interrupt is seen while a query waits


class InteractiveSession:
    """A conversation: each question knows the ones before. Made by ``Svc.create_session`` and ``Svc.resume_session``.

    ``stream`` is asynchronous, everything else is not; all of it may be used from any thread, one turn at a time.

    The properties never ask the service: they say what this object last heard from it. Its answers and the messages of
    the turns that this object follows bring them up to date; what others did meanwhile shows after ``refresh``.
    """

    def __init__(self, transport: Transport, info: Session) -> None:
        self._transport = transport
        self._info = without_messages(info)
        self._after = info.num_messages  # the last seq known
        self._earlier: EarlierTurn | None = None
        self._running: TurnProtocol | None = None
        self._reader: TurnReader | None = None  # of the turn that runs
        self._watchers: list[Callable[[Message], None]] = []

    def __repr__(self) -> str:
        return f"InteractiveSession(session_id={self.session_id!r}, name={self.name!r})"

    @property
    def session_id(self) -> str:
        """The id by which ``Svc.resume_session`` finds it again."""
        return self._info.id

    @property
    def info(self) -> Session:
        """All that the other properties say at once. Its ``messages`` are empty: ``history`` reads them."""
        return self._info

    @property
    def name(self) -> str:
        """What it is called; the service made a name up where none was given."""
        return self._info.name

    @property
    def description(self) -> str:
        """What it was said to be about; may be empty."""
        return self._info.description

    @property
    def language(self) -> str:
        """The BCP 47 tag of the language that answers are wanted in."""
        return self._info.language

    @property
    def model(self) -> ModelInfo:
        """What answers."""
        return self._info.model

    @property
    def ttl(self) -> int:
        """How long it lives after it was made or extended, in seconds."""
        return self._info.ttl

    @property
    def create_time(self) -> int:
        """When it was made, in seconds since the epoch."""
        return self._info.create_time

    @property
    def update_time(self) -> int:
        """When it last changed or said something, in seconds since the epoch."""
        return self._info.update_time

    @property
    def expire_time(self) -> int:
        """When it expires, in seconds since the epoch."""
        return self._info.expire_time

    @property
    def turns(self) -> int:
        """How many questions were asked in it, by whomever."""
        return self._info.turns

    @property
    def num_messages(self) -> int:
        """How many messages it has: the ``seq`` of the last one."""
        return self._info.num_messages

    @property
    def usage(self) -> Usage:
        """The tokens of all its turns."""
        return self._info.usage

    @property
    def state(self) -> State:
        """What it is doing: ``start``, ``running_agent`` while a turn runs, ``agent_done`` after one."""
        return self._info.state

    @property
    def files(self) -> tuple[SessionFile, ...]:
        """What is attached, in the order of the indexes that ``detach_file`` takes."""
        return tuple(self._info.files)

    @property
    def can_log(self) -> bool:
        """Whether the service may keep it on disk; a wish (``log_session``) that the key may not allow."""
        return self._info.can_log

    def refresh(self) -> Self:
        """Ask the service how the session is now; the properties say it from then on."""
        self._reload()
        return self

    def stream(self, prompt: str, *, local_tools: Sequence[LocalTool] = ()) -> AsyncGenerator[Message, None]:
        """Ask, and follow the turn: INFOs as they happen, the RESULT, the INFO that closes the turn.

        Leaving at the RESULT is fine. Leaving before it (``break``, a cancelled task) cancels the turn on the service.
        A lost connection comes back by itself. Where this object's turn before has not ended yet, the question waits.
        ``local_tools`` are offered to the model for this turn. A ``confirmation_request`` and a ``local_tool_call``
        among the messages want an answer then: ``confirm`` and ``answer`` give it.
        Raises the typed ServiceError where the turn ends in an error, UnreachableError where the service stays away.
        """
        if not prompt.strip():
            raise InvalidRequestError("the question is empty. Write it out.", param="content")
        text = prompt.encode("utf-16", "surrogatepass").decode("utf-16", "replace")  # half a pair cannot travel
        query = Message(message_type=MessageType.QUERY, turn=new_id(), state=State.QUERY, content=text)
        return self._follow(query, local_tools)

    def confirm(self, request: Message, *, is_allowed: bool, is_once: bool = False) -> bool:
        """Say whether the model may call the tool that a ``confirmation_request`` of the running turn names.

        Allowed is it for the session or, with ``is_once``, for this call; refused for the turn. Returns and raises as
        ``answer``.
        """
        return self._answer(build_answer(request, ConfirmationResponse(is_allowed=is_allowed, is_once=is_once)))

    def answer(self, call: Message, value: object = None, *, error: str | None = None) -> bool:
        """Give what a ``local_tool_call`` of the running turn came to: a value of JSON's types, or why there is none.

        From any thread. False where the turn is over. An answer that comes too late is lost: the model was told that
        none came. Raises InvalidRequestError where the message asks nothing of the kind.
        """
        return self._answer(build_answer(call, build_result(value, error)))

    def _answer(self, answer: Message) -> bool:
        return self._reader is not None and self._reader.answer(answer)

    def query(self, prompt: str, *, timeout_seconds: float | None = None) -> SessionResponse:
        """Ask, and wait for the whole turn; also inside a running event loop, as in Jupyter.

        Ctrl-C, and ``timeout_seconds`` with TurnTimeoutError, cancel the turn on the service. Raises as ``stream``.
        """
        try:
            return _run_apart(self._collect(prompt), timeout_seconds)
        except _TimeLimitError as error:
            raise TurnTimeoutError(
                f"no answer within {timeout_seconds:g} s; the turn was cancelled. Give it a longer time limit, "
                "or ask for less at once."
            ) from error

    def cancel(self) -> bool:
        """End this object's running turn on the service, from any thread; its reader gets TurnCancelledError.

        False where none is running. Raises UnreachableError where the service does not confirm it within five seconds.
        """
        running = self._running
        if running is None or running.is_over:
            return False
        cancelling = CancelProtocol(running.turn, running.after)
        try:
            _run_apart(self._cancel_beside(cancelling), CANCEL_SECONDS)
        except _TimeLimitError as error:
            raise UnreachableError(
                f"{self._transport.config.base_url} did not confirm within {CANCEL_SECONDS:g} s that the turn is "
                "cancelled. It may end a little later; `history()` shows how."
            ) from error
        return True

    def update(self, *, name: str | None = None, description: str | None = None, ttl: int | None = None) -> None:
        """Change what is given; ``ttl`` counts from now."""
        request = UpdateRequest(id=self.session_id, name=name, description=description, ttl=ttl)
        updated = self._transport.call(_requests.update(request))
        if updated is None:
            self._reload()
        else:
            self._info = without_messages(updated)

    def attach_file(self, name: str, content: bytes | str, mime_type_hint: str | None = None) -> SessionFile:
        """Attach bytes, or text as UTF-8, under ``name``. Its type is read from the content; the hint helps."""
        data = content.encode("utf-8", errors="replace") if isinstance(content, str) else bytes(content)
        return self._upload(name, mime_type_hint, lambda: io.BytesIO(data))

    def attach_file_from_disk(
        self, path: str | Path, name: str | None = None, mime_type_hint: str | None = None
    ) -> SessionFile:
        """Attach a file from disk, streamed, under its own name or ``name``. Raises OSError where it cannot be read."""
        file = Path(path).expanduser()
        return self._upload(name or file.name, mime_type_hint, lambda: file.open("rb"))

    def detach_file(self, file: int | SessionFile) -> None:
        """Take a file away, by its index or as one of ``files``; these are read anew before.

        Raises SessionFileNotFoundError, which says which files there are.
        """
        files = self._reload().files
        index = files.index(file) if isinstance(file, SessionFile) and file in files else file
        if isinstance(index, SessionFile) or not 0 <= index < len(files):
            raise SessionFileNotFoundError(
                f"no such file: {file!r}. The session has {len(files)}: {', '.join(f.name for f in files) or 'none'}.",
                param="file_idx",
            )
        self._transport.call(_requests.detach_file(self.session_id, index))
        self._keep_files([f for i, f in enumerate(files) if i != index])

    def send_feedback(self, score: int, comment: str, group_id: str = "") -> None:
        """Say how good the session was, or, by the ``group`` of its messages, one answer; a higher score is better."""
        self._transport.call(_requests.send_feedback(self.session_id, score, comment, group_id))

    def send_bug_report(self, bug: str, group_id: str = "") -> None:
        """Say what went wrong in the session, or, by the ``group`` of its messages, in one answer."""
        self._transport.call(_requests.send_bug_report(self.session_id, bug, group_id))

    def history(self) -> list[Message]:
        """Every message of the session, oldest first."""
        return self._reload().messages

    def visualize(self, console: Console | None = None) -> None:
        """Print the session as it is now: its turns, and each message on a line, cut to the console's width.

        Without a ``console`` it goes to the terminal or, in a notebook, below the cell.
        """
        from rich import get_console  # who never looks at a tree need not wait for rich

        from svc._history_tree import session_tree

        session = self._reload()
        (console or get_console()).print(session_tree(session, session.messages))

    def watch(self, hear: Callable[[Message], None]) -> None:
        """Call ``hear`` with each message that this object hears while it follows its turns, in the order of ``seq``.

        Beside what ``stream`` gives these are the questions, the errors that end turns, and what others asked
        meanwhile. It is called in the thread that follows, before the turn goes on, and must neither wait nor raise.
        """
        self._watchers.append(hear)

    def delete(self) -> None:
        """End the session: a running turn stops, messages and files are erased."""
        self._transport.call(_requests.delete(self.session_id))

    def _reload(self) -> Session:
        """The session with its messages, which only the caller keeps."""
        session = self._transport.call(_requests.get_session(self.session_id))
        self._info = without_messages(session)
        return session

    def _keep_files(self, files: list[SessionFile]) -> None:
        self._info = msgspec.structs.replace(self._info, files=files)

    def _upload(self, name: str, hint: str | None, open_body: Callable[[], BinaryIO]) -> SessionFile:
        file = self._transport.upload(_requests.upload_file(self.session_id, name, hint), open_body)
        if file not in self._info.files:  # the same content under the same name is the file that is there
            self._keep_files([*self._info.files, file])
        return file

    async def _collect(self, prompt: str) -> SessionResponse:
        async with aclosing(self.stream(prompt)) as turn:
            messages = [message async for message in turn]
        usage = sum((m.usage for m in messages if m.message_type == MessageType.RESULT and m.usage), start=Usage())
        return SessionResponse(id=self.session_id, messages=messages, usage=usage)

    async def _follow(self, query: Message, local_tools: Sequence[LocalTool]) -> AsyncGenerator[Message, None]:
        """The turn's messages over as many connections as it takes; whoever leaves early cancels it."""
        protocol = TurnProtocol(query, self._after, self._earlier, local_tools=local_tools)
        reader = TurnReader(self._transport, self.session_id, protocol)
        self._running, self._reader = protocol, reader
        is_left = True
        try:
            while not protocol.is_over:
                message = await reader.read()
                self._note(protocol, is_cancelled=False)
                if message is not None:
                    yield message
            is_left = False
        except SvcError:
            is_left = False
            raise
        finally:
            is_cancelling = is_left and protocol.was_sent and not protocol.has_answer
            self._note(protocol, is_cancelled=is_cancelling)
            await reader.leave(is_cancelling=is_cancelling)
            self._note_end(protocol)

    def _note(self, protocol: TurnProtocol, *, is_cancelled: bool) -> None:
        """Keep what the session's next stream has to know; ``break`` may start it before this one is closed."""
        self._hear(protocol)
        if protocol.was_sent and not protocol.is_over:
            self._earlier = EarlierTurn(protocol.turn, is_cancelled)
        else:
            self._note_end(protocol)

    def _note_end(self, protocol: TurnProtocol) -> None:
        self._hear(protocol)
        if protocol.is_over and self._earlier is not None and self._earlier.turn == protocol.turn:
            self._earlier = None
        if protocol.is_over and self._running is protocol:
            self._running = None

    def _hear(self, protocol: TurnProtocol) -> None:
        self._after = max(self._after, protocol.after)
        for message in protocol.news():
            self._info = with_message(self._info, message)
            for hear in self._watchers:
                hear(message)

    async def _cancel_beside(self, protocol: CancelProtocol) -> None:
        connection = await self._transport.open_stream(self.session_id, protocol.after)
        try:
            protocol.connected()
            while not protocol.is_over:
                for frame in protocol.outgoing():
                    await connection.send(frame)
                protocol.receive(await connection.receive())
        finally:
            await connection.close()


class _TimeLimitError(Exception):
    """The wait was over before the work."""


def _run_apart(work: Coroutine[None, None, T], timeout_seconds: float | None) -> T:
    """Run ``work`` in a thread and loop of its own, so that it works inside a running loop and Ctrl-C reaches it.

    Whatever ends the wait early cancels the work and gives it a moment to tell the service.
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
            with contextlib.suppress(RuntimeError):  # the loop closed just now: the work is done
                loop.call_soon_threadsafe(task.cancel)
            thread.join(2 * LEAVE_SECONDS)
        raise


def _run_loop(loop: asyncio.AbstractEventLoop, task: asyncio.Task[T], outcome: Future[T]) -> None:
    try:
        outcome.set_result(loop.run_until_complete(task))
    except BaseException as error:  # noqa: BLE001 - whatever it is, it is raised in the thread that waits
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
