"""What a session is to its user, without the blocking and the asynchronous way to wait for HTTP (``session``).

Holds what is known of the session, follows turns over a websocket (in the caller's event loop), and builds the
operations that the two kinds of session run. One connection per turn: it is opened for the question and closed at the
turn's end, so nothing of one turn can reach the next. Facts: docs/wire.md, "Websocket"; docs/notebook.md, "Running a
stream inside a cell".
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing, suppress
from datetime import timedelta
from types import TracebackType
from typing import BinaryIO, Self

import msgspec

from svc import _requests
from svc._protocol import CancelProtocol, EarlierTurn, TurnProtocol
from svc._requests import Operation, send
from svc._session_state import SeenMessages, with_message, without_history, without_messages
from svc._transport import BaseTransport, LostHistoryError
from svc._turn_reader import TurnReader
from svc.errors import (
    InvalidRequestError,
    ProtocolError,
    SessionFileNotFoundError,
    SvcError,
    TurnTimeoutError,
    UnreachableError,
)
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

CANCEL_SECONDS = 15.0  # for the service to confirm a cancellation, before which it may answer from what it has read


class Watch:
    """A callback that receives a session's messages, registered by ``session.watch``.

    ``stop`` ends it, from any thread. As a context manager it ends with the block.
    """

    def __init__(self, watches: list[Watch], on_message: Callable[[Message], None]) -> None:
        self._watches = watches
        self._on_message = on_message
        watches.append(self)

    @property
    def is_active(self) -> bool:
        """Whether the callback still receives messages."""
        return self in self._watches

    def stop(self) -> None:
        """Stop calling the callback. Stopping twice has no effect."""
        with suppress(ValueError):  # stopped before, perhaps by another thread
            self._watches.remove(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    def _deliver(self, message: Message) -> None:
        if self.is_active:
            self._on_message(message)


class BaseSession:
    """What both kinds of session have in common: the properties, ``stream``, answers to tools, and ``watch``.

    The properties never ask the service. They are updated by the service's replies and by the turns that this object
    follows; ``refresh`` fetches what others changed.
    """

    def __init__(self, transport: BaseTransport, info: Session) -> None:
        self._transport = transport
        self._info = without_messages(info)
        self._after = info.num_messages  # the last seq known
        self._seen = SeenMessages(info)
        self._earlier: EarlierTurn | None = None  # a turn whose end was not read
        self._running: TurnProtocol | None = None
        self._reader: TurnReader | None = None  # of the running turn
        self._watches: list[Watch] = []

    def __repr__(self) -> str:
        return f"{type(self).__name__}(session_id={self.session_id!r}, name={self.name!r})"

    @property
    def session_id(self) -> str:
        """The id to pass to ``resume_session``."""
        return self._info.id

    @property
    def info(self) -> Session:
        """All properties as one object. Its ``messages`` are empty: ``history`` fetches them."""
        return self._info

    @property
    def name(self) -> str:
        """The session's name; the service chooses one if none was given."""
        return self._info.name

    @property
    def title(self) -> str:
        """The first question, in one line; empty before it."""
        return self._info.title

    @property
    def description(self) -> str:
        """The session's description; may be empty."""
        return self._info.description

    @property
    def language(self) -> str:
        """The BCP 47 tag of the language of questions whose words do not show one."""
        return self._info.language

    @property
    def model(self) -> ModelInfo:
        """The model that answers."""
        return self._info.model

    @property
    def ttl(self) -> int:
        """The session's lifetime in seconds, counted from its creation or last extension."""
        return self._info.ttl

    @property
    def create_time(self) -> int:
        """When the session was created, in seconds since the epoch."""
        return self._info.create_time

    @property
    def update_time(self) -> int:
        """When the session last changed or got a message, in seconds since the epoch."""
        return self._info.update_time

    @property
    def expire_time(self) -> int:
        """When the session expires, in seconds since the epoch."""
        return self._info.expire_time

    @property
    def turns(self) -> int:
        """The number of questions asked in the session, by any client."""
        return self._info.turns

    @property
    def num_messages(self) -> int:
        """The number of messages: the ``seq`` of the last one."""
        return self._info.num_messages

    @property
    def usage(self) -> Usage:
        """The tokens used by all turns."""
        return self._info.usage

    @property
    def state(self) -> State:
        """``start``, ``running_agent`` during a turn, ``agent_done`` after one."""
        return self._info.state

    @property
    def files(self) -> tuple[SessionFile, ...]:
        """The attached files, in the order of the indexes that ``detach_file`` takes."""
        return tuple(self._info.files)

    @property
    def evidence(self) -> tuple[SessionFile, ...]:
        """The attached files without those that the service made, such as long answers' findings."""
        return tuple(file for file in self._info.files if not file.is_made)

    @property
    def log_session(self) -> bool:
        """Whether the service may store the session on disk; the API key may override what was requested."""
        return self._info.log_session

    def stream(
        self, prompt: str, *, files: Sequence[SessionFile | str] = (), local_tools: Sequence[LocalTool] = ()
    ) -> AsyncGenerator[Message, None]:
        """Ask a question and iterate over the turn's messages: INFOs as they happen, the RESULT, a closing INFO.

        Leaving the iteration at the RESULT is fine. Leaving before it (``break``, a cancelled task) cancels the turn on
        the service. A lost connection is restored, and the question is never run twice. If an earlier turn of this
        object has not ended yet, the question waits for it.

        Args:
            prompt: The question, in any language.
            files: What the question is about: some of ``files``, or their names or SHA-256. The answer uses nothing
                of the session's other files. By default, the question may use all, and means the latest.
            local_tools: Tools that the model may call during this turn and that you run. Answer a
                ``confirmation_request`` message with ``confirm`` and a ``local_tool_call`` with ``answer``.

        Returns:
            An iterator over the messages of the turn.

        Raises:
            InvalidRequestError: The prompt is empty (raised at once, before the iteration).
            SessionFileNotFoundError: The session has no such file; the text lists those it has.
            ServiceError: The turn ended in an error; the class tells which.
            UnreachableError: The service could not be reached for a minute.
        """
        if not prompt.strip():
            raise InvalidRequestError("the question is empty. Write a question.", param="content")
        text = prompt.encode("utf-16", "surrogatepass").decode("utf-16", "replace")  # a lone surrogate is not UTF-8
        query = Message(message_type=MessageType.QUERY, turn=new_id(), state=State.QUERY, content=text)
        if files:
            query.files = tuple(file.sha256 if isinstance(file, SessionFile) else file for file in files)
        turn = self._follow(query, local_tools)
        self._transport.streams.add(turn)
        return turn

    def confirm(self, request: Message, *, is_allowed: bool, is_once: bool = False) -> bool:
        """Answer a ``confirmation_request``: may the model call the tool that it names? Never blocks.

        Args:
            request: The message, from the running turn.
            is_allowed: Allow the tool for the session, or refuse it for the turn.
            is_once: Allow it for this call only.

        Returns:
            False if the turn is over.

        Raises:
            InvalidRequestError: ``request`` is not a confirmation request.
        """
        return self._answer(build_answer(request, ConfirmationResponse(is_allowed=is_allowed, is_once=is_once)))

    def answer(self, call: Message, value: object = None, *, error: str | None = None) -> bool:
        """Send the result of a ``local_tool_call``, from any thread. Never blocks.

        A result that comes after the service's time limit is ignored: the model already got a timeout as the result.

        Args:
            call: The message, from the running turn.
            value: The result, of JSON's types.
            error: Why there is no result; takes the place of ``value``.

        Returns:
            False if the turn is over.

        Raises:
            InvalidRequestError: ``call`` is not a call of a local tool.
        """
        return self._answer(build_answer(call, build_result(value, error)))

    def watch(self, on_message: Callable[[Message], None]) -> Watch:
        """Call ``on_message`` with each message that this object receives, in the order of ``seq``.

        These are the messages of ``stream``, and also the questions, the errors that end turns, and what other clients
        ask meanwhile; they come only while this object follows a turn. The callback runs in the thread of the turn,
        before the turn continues: it must not block or raise.

        Args:
            on_message: Called with each message.

        Returns:
            A handle: call its ``stop``, or use it in a ``with`` statement, to stop watching.
        """
        return Watch(self._watches, on_message)

    def _answer(self, answer: Message) -> bool:
        return self._reader is not None and self._reader.answer(answer)

    def _fetch(self) -> Operation[Session]:
        """The session with its messages, which are not kept."""
        session = yield from send(_requests.get_session(self.session_id))
        self._info = without_messages(session)
        return session

    def _update(self, name: str | None, description: str | None, ttl: int | timedelta | None) -> Operation[None]:
        if name is None and description is None and ttl is None:
            ttl = self.ttl
        seconds = None if ttl is None else _requests.seconds_of(ttl)
        request = UpdateRequest(id=self.session_id, name=name, description=description, ttl=seconds)
        updated = yield from send(_requests.update(request))
        if updated is None:
            yield from self._fetch()
        else:
            self._info = without_messages(updated)

    def _attach(self, name: str, body: bytes | Callable[[], BinaryIO], hint: str | None) -> Operation[SessionFile]:
        file = yield from send(_requests.upload_file(self.session_id, name, body, hint))
        if file not in self._info.files:  # the same content with the same name is the same file
            self._keep_files([*self._info.files, file])
        return file

    def _read_file(self, file: SessionFile | str) -> Operation[bytes]:
        sha256 = file if isinstance(file, str) else file.sha256
        content = yield from send(_requests.read_file(self.session_id, sha256))
        if hashlib.sha256(content).hexdigest() != sha256:
            raise ProtocolError(f"the file {sha256} arrived damaged: {len(content):,} bytes. Try again.")
        return content

    def _detach(self, file: int | SessionFile) -> Operation[None]:
        files = (yield from self._fetch()).files  # another client may have moved it
        index = files.index(file) if isinstance(file, SessionFile) and file in files else file
        if isinstance(index, SessionFile) or not 0 <= index < len(files):
            raise SessionFileNotFoundError(
                f"no such file: {file!r}. The session has {len(files)}: {', '.join(f.name for f in files) or 'none'}.",
                param="file_idx",
            )
        yield from send(_requests.detach_file(self.session_id, index))
        self._keep_files([f for i, f in enumerate(files) if i != index])

    def _keep_files(self, files: list[SessionFile]) -> None:
        self._info = msgspec.structs.replace(self._info, files=files)

    async def _collect(self, prompt: str, files: Sequence[SessionFile | str]) -> SessionResponse:
        async with aclosing(self.stream(prompt, files=files)) as turn:
            messages = [message async for message in turn]
        usage = sum((m.usage for m in messages if m.message_type == MessageType.RESULT and m.usage), start=Usage())
        return SessionResponse(id=self.session_id, messages=messages, usage=usage)

    async def _follow(self, query: Message, local_tools: Sequence[LocalTool]) -> AsyncGenerator[Message, None]:
        """The turn's messages over as many connections as it takes. Leaving early cancels the turn."""
        protocol = TurnProtocol(query, self._after, self._earlier, local_tools=local_tools, seen=self._seen)
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
        """Keep what the next stream must know; after a ``break`` it may start before this one is closed."""
        self._take_messages(protocol)
        if protocol.was_sent and not protocol.is_over:
            self._earlier = EarlierTurn(protocol.turn, is_cancelled)
        else:
            self._note_end(protocol)

    def _note_end(self, protocol: TurnProtocol) -> None:
        """Forget an ended turn before its end is counted as known: a stream that another thread starts in between must
        not wait for an end that it will not see.
        """
        if protocol.is_over and self._earlier is not None and self._earlier.turn == protocol.turn:
            self._earlier = None
        self._take_messages(protocol)
        if protocol.is_over and self._running is protocol:
            self._running = None

    def _take_messages(self, protocol: TurnProtocol) -> None:
        if protocol.take_loss():
            self._after, self._info = 0, without_history(self._info)
        self._after = max(self._after, protocol.after)
        for message in protocol.new_messages():
            self._info = with_message(self._info, message)
            if message in self._seen:
                continue
            self._seen.add([message])
            for watch in tuple(self._watches):  # a callback may stop any of them
                watch._deliver(message)

    def _cancellation(self) -> CancelProtocol | None:
        """What cancels the running turn; None if no turn is running."""
        running = self._running
        return None if running is None or running.is_over else CancelProtocol(running.turn, running.after)

    def _cancellation_of(self, turn: str, messages: Sequence[Message]) -> CancelProtocol | None:
        """The request that cancels a turn of the session, from any client; None if the turn is not running."""
        of_turn = [message for message in messages if message.turn == turn]
        is_running = of_turn and not of_turn[-1].ends_turn
        return CancelProtocol(turn, messages[-1].seq) if is_running else None

    async def _cancel(self, protocol: CancelProtocol) -> None:
        """Cancel the turn over a connection of its own, and wait for the turn's end."""
        try:
            await self._cancel_on_connection(protocol)
        except LostHistoryError:
            protocol.after = 0
            await self._cancel_on_connection(protocol)

    async def _cancel_on_connection(self, protocol: CancelProtocol) -> None:
        connection = await self._transport.open_stream(self.session_id, protocol.after)
        try:
            protocol.connected()
            while not protocol.is_over:
                for frame in protocol.outgoing():
                    await connection.send(frame)
                protocol.receive(await connection.receive())
        finally:
            await connection.close()

    def _cancel_unconfirmed(self) -> UnreachableError:
        return UnreachableError(
            f"{self._transport.config.base_url} did not confirm the cancellation within {CANCEL_SECONDS:g} s. "
            "The turn may still end soon; history() shows how it ended."
        )


def turn_timeout(timeout_seconds: float | None) -> TurnTimeoutError:
    """The error of a question that took longer than its caller's limit."""
    return TurnTimeoutError(
        f"no answer within {timeout_seconds:g} s; the turn was cancelled. Use a longer time limit, "
        "or ask for less at once."
    )
