"""The session of one kernel, shared by its cells and chat panels.

How a question runs: docs/notebook.md, "Running a stream inside a cell". One question runs at a time, others wait. Cells
ask in the main thread and panels in others, so every method may be called in any thread.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import threading
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from concurrent.futures import Future
from contextlib import aclosing, asynccontextmanager
from functools import partial
from pathlib import Path

import msgspec
from filelock import Timeout

from svc import (
    ConfigError,
    InteractiveSession,
    Message,
    MessageType,
    Session,
    SessionExpiredError,
    SessionNotFoundError,
    State,
    Svc,
    SvcError,
    TurnTimeoutError,
    Watch,
    state_folder,
)
from svc_jupyter.answers.answer import Answer, Origin
from svc_jupyter.answers.replay import AnswerCache
from svc_jupyter.attachments import Attached, Attachment
from svc_jupyter.errors import AskError
from svc_jupyter.kernel import sending, service_key
from svc_jupyter.kernel.events import PANEL, Observers
from svc_jupyter.kernel.loop_thread import LoopThread
from svc_jupyter.kernel.session_memory import SessionMemory
from svc_jupyter.kernel_tools.consent import TurnTools
from svc_jupyter.kernel_tools.tools import ToolCallHandler, ToolRequest
from svc_jupyter.question import (
    CANCELLED,
    PARTIAL,
    UNCONFIRMED,
    AskOptions,
    ProgressArea,
    QuestionSent,
    StatusNote,
    TaskReport,
    TurnEvent,
)
from svc_jupyter.turn_end import TurnCancelled, TurnInterrupted

_ENVIRONMENT = ("SVC_BASE_URL", "SVC_WS_URL", "SVC_STATE_DIR")
_STEPS = (MessageType.INFO, MessageType.THINKING)
_TOOL_REQUESTS = (MessageType.CONFIRMATION_REQUEST, MessageType.LOCAL_TOOL_CALL)
_GONE = (SessionExpiredError, SessionNotFoundError)
_CATCH_UP_SECONDS = (0.0, 0.5, 2.0)  # delays before each look at how an abandoned turn ended


class KernelSession:
    """Asks the questions of one kernel, one at a time.

    Args:
        kernel_id: Identifies the kernel across restarts, so that it finds its session again; None if it cannot restart.
        notebook: The path of the kernel's notebook, which names new sessions; None if it is not known.
    """

    def __init__(self, kernel_id: str | None, notebook: Path | None = None) -> None:
        self.keys: service_key.KeyRing = service_key.KeyRing()
        self.known_models: tuple[str, ...] = ()  # from the last listing, for completion
        self.known_sessions: tuple[Session, ...] = ()
        self.observers: Observers = Observers()
        self.tools: ToolCallHandler = ToolCallHandler()
        self._memory = SessionMemory(kernel_id, notebook)
        self._turn = asyncio.Lock()  # used in the loop's thread only
        self._running_caller = ""  # the caller of the running question
        self._watch: Watch | None = None
        self._last_message: Message | None = None  # the last one sent to the observers
        self._published: set[str] = set()  # the ids of all that were sent to them
        self._session_lock = threading.RLock()  # guards the client and the session
        self._catching_up: set[asyncio.Task[None]] = set()
        self._loop = LoopThread()
        self._client: Svc | None = None
        self._configured: object = None
        self._key = service_key.Key()
        self._session: InteractiveSession | None = None
        self._answers = AnswerCache()
        self._model: str | None = None  # as requested when the session was created

    def ask(
        self,
        question: str,
        files: Sequence[Attached],
        ask_options: AskOptions,
        area: ProgressArea,
        timeout_seconds: float | None,
    ) -> Answer:
        """Ask in the kernel's session and follow the turn in this thread. A session that has gone is replaced once.

        Raises:
            SvcError: There is no answer.
            OSError: A file cannot be read.
            TurnInterrupted: After the turn was cancelled.
            TurnTimeoutError: After the turn was cancelled.
        """
        follower = _TurnFollower(
            area, timeout_seconds, partial(self.tools.handle, consent=ask_options.consent, area=area)
        )
        try:
            self._loop.follow(
                self._ask_in_turn(question, files, ask_options),
                on_item=follower.on_item,
                on_tick=follower.tick,
                stop=self.cancel,
            )
        except KeyboardInterrupt:
            raise TurnInterrupted(follower.partial_answer(self._client)) from None
        finally:
            follower.leave(self._session)
        return follower.answer(self._client)

    async def ask_async(
        self,
        question: str,
        files: Sequence[Attached],
        ask_options: AskOptions,
        area: ProgressArea,
        timeout_seconds: float | None,
    ) -> Answer:
        """Like ``ask``, without blocking the event loop. TurnCancelled is raised after the turn was cancelled."""
        follower = _TurnFollower(
            area, timeout_seconds, partial(self.tools.handle, consent=ask_options.consent, area=area)
        )
        try:
            await self._loop.follow_async(
                self._ask_in_turn(question, files, ask_options),
                on_item=follower.on_item,
                on_tick=follower.tick,
                stop=self.cancel,
            )
        except KeyboardInterrupt:
            raise TurnInterrupted(follower.partial_answer(self._client)) from None
        except asyncio.CancelledError:
            raise TurnCancelled(follower.partial_answer(self._client)) from None
        finally:
            follower.leave(self._session)
        return follower.answer(self._client)

    def ask_in_background(
        self, question: str, ask_options: AskOptions, on_event: Callable[[TurnEvent | Origin], None]
    ) -> Future[None]:
        """Ask without a cell. ``on_event`` is called in the loop's thread; cancelling the future cancels the turn."""

        def on_item_or_tool_request(item: TurnEvent | Origin) -> None:
            if isinstance(item, ToolRequest):
                self.tools.handle_in_background(item, ask_options.consent, lambda text: on_event(StatusNote(text)))
            else:
                on_event(item)

        return self._loop.submit(self._ask_in_turn(question, (), ask_options), on_item_or_tool_request)

    def confirm(self, message_id: str, *, is_allowed: bool, is_once: bool) -> None:
        """Answer a ``confirmation_request`` of a panel's question; a cell's question asks in its cell.

        Raises:
            AskError: The confirmation is not pending.
        """
        self.tools.confirm(message_id, is_allowed=is_allowed, is_once=is_once)

    def cancel(self) -> bool:
        """Cancel the running turn on the service, also a cell's. Returns False if none is running."""
        session = self._session
        return session is not None and session.cancel()

    @property
    def is_logged(self) -> bool:
        """Whether the session may be stored; True if there is none yet."""
        session = self._session
        return session is None or session.log_session

    @property
    def known_files(self) -> tuple[str, ...]:
        """The names of the session's files as far as they are known."""
        session = self._session
        return tuple(file.name for file in session.evidence) if session is not None else ()

    @property
    def is_asking(self) -> bool:
        """Whether a question is running."""
        return self._turn.locked()

    def client(self, ask_options: AskOptions) -> Svc:
        """Return a client for the current settings, environment and key. If these changed, the session is dropped."""
        with self._session_lock:
            service = service_key.address(ask_options.base_url)
            key = self.keys.find(service) if service else service_key.Key()
            configured = (ask_options.base_url, key, *(os.environ.get(name) for name in _ENVIRONMENT))
            if self._client is None or configured != self._configured:
                self.close()
                self._set_session(None)
                self._client = _connect(ask_options.base_url, service, key)
                self._configured, self._key = configured, key
            return self._client

    def close(self) -> None:
        """Close idle connections; the next question opens new ones."""
        if self._client is not None:
            self._client.close()

    def session(self, ask_options: AskOptions, note: Callable[[str], None]) -> InteractiveSession | None:
        """Return the session of the next question, or None if it will create one."""
        with self._session_lock:
            self.client(ask_options)
            return self._session or self._resume(note)

    def publish_session(self) -> None:
        """Send the session's current fields to the observers."""
        self.observers.on_session(self._session.info if self._session else None)

    def create_session(
        self, ask_options: AskOptions, note: Callable[[str], None], name: str | None = None
    ) -> InteractiveSession:
        """Create a session and make it the kernel's."""
        model = ask_options.model or ask_options.default_model
        with self._session_lock:
            session = self.client(ask_options).create_session(
                ttl=ask_options.ttl,
                name=name or self._memory.session_name,
                model=model,
                language=ask_options.language,
                log_session=ask_options.log_session,
            )
            self._adopt(session, model, note)
        return session

    def earlier_session(self, ask_options: AskOptions) -> str | None:
        """Return the ID of the session that the notebook had before the current one, if there is one."""
        with self._session_lock:
            session = self.session(ask_options, lambda _: None)
            current = session.session_id if session is not None else None
            return self._memory.earlier(self.client(ask_options), self._key.text, current)

    def resume_session(
        self, session_id: str, ask_options: AskOptions, note: Callable[[str], None]
    ) -> InteractiveSession:
        """Make an existing session the kernel's. Raises SessionNotFoundError."""
        with self._session_lock:
            session = self.client(ask_options).resume_session(session_id)
            self._adopt(session, None, note)
        return session

    def delete_session(self, session: InteractiveSession) -> None:
        """Delete the session; the next question creates one."""
        with self._session_lock:
            session.delete()
            self._set_session(None)
            if self._client is not None:
                self._memory.forget(self._client, self._key.text)

    async def _ask_in_turn(
        self, question: str, attached: Sequence[Attached], ask_options: AskOptions
    ) -> AsyncGenerator[TurnEvent | Origin, None]:
        """Convert large values and wait for the turn, then answer from the service or from stored answers."""
        files: list[Attachment] = []
        async with aclosing(sending.convert(attached)) as reports:
            async for report in reports:
                if isinstance(report, list):
                    files = report
                else:
                    yield report
        if self._turn.locked():
            running = "panel's" if self._running_caller == PANEL else "previous"
            yield StatusNote(f"waiting for the {running} question to finish")
        async with self._acquire_turn(ask_options.caller):
            turn = self._answers.ask(
                self._ask,
                question,
                files,
                ask_options,
                self._session_id,
                lambda session_id, sha256: _read_file(self._client, session_id, sha256),
            )
            async with aclosing(turn) as items:
                async for item in items:
                    yield item

    @asynccontextmanager
    async def _acquire_turn(self, caller: str) -> AsyncIterator[None]:
        """Hold the turn, as soon as it is free, and report the wait, the turn and its end to the observers."""
        if self._turn.locked():
            self.observers.on_waiting(caller, self._running_caller or "a cell")
            try:
                await self._turn.acquire()
            finally:
                self.observers.on_waiting(caller, None)
        else:
            await self._turn.acquire()
        self._running_caller = caller
        self.observers.on_busy(is_busy=True)
        try:
            yield
        finally:
            self._turn.release()
            self._catch_up()
            self.publish_session()
            self.observers.on_busy(is_busy=self._turn.locked())

    def _session_id(self) -> str | None:
        return self._session.session_id if self._session else None

    async def _ask(
        self, question: str, files: Sequence[Attachment], ask_options: AskOptions
    ) -> AsyncGenerator[TurnEvent, None]:
        """Ask the service, in a new session if the current one has gone. Blocking calls run in other threads."""
        notes: list[str] = []
        session = await asyncio.to_thread(self._open, ask_options, notes.append)
        was_replaced = False
        while True:
            for text in notes:
                yield StatusNote(text)
            notes.clear()
            try:
                offered = self.tools.for_turn(is_offering=ask_options.offers_tools)
                attempt = _attempt(session, question, files, ask_options, offered)
                async with aclosing(self._remembered(attempt, session, notes.append)) as items:
                    async for item in items:
                        yield item
            except _GONE as gone:
                if was_replaced:
                    raise
                was_replaced = True
                yield StatusNote(f"{gone} Started a new session; re-attach your files.")
                session = await asyncio.to_thread(self.create_session, ask_options, notes.append)
            else:
                return

    async def _remembered(
        self, attempt: AsyncGenerator[TurnEvent, None], session: InteractiveSession, note: Callable[[str], None]
    ) -> AsyncGenerator[TurnEvent, None]:
        """Yield the events, and write down which turn they are of: the kernel may die before its end."""
        turn = ""
        async with aclosing(attempt) as items:
            async for item in items:
                yield item
                if isinstance(item, Message) and item.turn != turn:
                    turn = item.turn
                    await asyncio.to_thread(self._keep, session, note, turn=turn)

    def _open(self, ask_options: AskOptions, note: Callable[[str], None]) -> InteractiveSession:
        """Return the session for the question: the kernel's, the one before its restart, or a new one."""
        with self._session_lock:
            session = None if ask_options.is_new else self.session(ask_options, note)
            if session is None:
                return self.create_session(ask_options, note)
            if ask_options.model is not None and not _answers_as(session, ask_options.model, self._model):
                note(f"Started a new session: the previous one uses {session.model.model_string}.")
                return self.create_session(ask_options, note)
        if session.expire_time - time.time() < session.ttl / 2:
            with contextlib.suppress(*_GONE):  # the question will report it
                session.update(ttl=session.ttl)
        return session

    def _resume(self, note: Callable[[str], None]) -> InteractiveSession | None:
        resumed = self._memory.resume(self._client, self._key.text, note) if self._client is not None else None
        if resumed is None:
            return None
        session, self._model = resumed
        self._set_session(session)
        return session

    def _set_session(self, session: InteractiveSession | None) -> None:
        """Replace the kernel's session and watch the new one."""
        previous, self._session = self._session, session
        if self._watch is not None:
            self._watch.stop()
        self._watch = session.watch(lambda message: self._publish_message(session, message)) if session else None
        if session is not previous:
            self._last_message = None
            self._published.clear()
            self.tools.forget_session()
            self.publish_session()

    def _publish_message(self, session: InteractiveSession, message: Message) -> None:
        """Send a message to the observers, once. A restored service counts from a smaller seq again, so ids decide."""
        if session is self._session and message.id not in self._published:
            self._published.add(message.id)
            self._last_message = message
            self.observers.on_message(session.session_id, message)

    def _catch_up(self) -> None:
        """Look up how the last turn ended if it was abandoned, for example by an interrupted cell."""
        if self._last_message is not None and not self._last_message.ends_turn and self._session is not None:
            task = asyncio.get_running_loop().create_task(self._fetch_turn_end(self._session))
            self._catching_up.add(task)
            task.add_done_callback(self._catching_up.discard)

    async def _fetch_turn_end(self, session: InteractiveSession) -> None:
        for seconds in _CATCH_UP_SECONDS:
            await asyncio.sleep(seconds)
            if (
                self._last_message is None
                or self._last_message.ends_turn
                or session is not self._session
                or self._turn.locked()
            ):
                return
            with contextlib.suppress(SvcError):  # the next question or a reload shows it
                for message in await asyncio.to_thread(session.history):
                    if self._last_message is not None and message.seq > self._last_message.seq:
                        self._publish_message(session, message)

    def _adopt(self, session: InteractiveSession, model: str | None, note: Callable[[str], None]) -> None:
        self._set_session(session)
        self._model = model
        self._keep(session, note)

    def _keep(self, session: InteractiveSession, note: Callable[[str], None], *, turn: str = "") -> None:
        """Remember the session, and its running turn, for the time after a restart."""
        if self._client is None:
            return
        try:
            self._memory.keep(self._client, self._key.text, session, self._model, turn)
        except (OSError, Timeout) as error:
            note(f"This session will be lost when the kernel restarts: cannot write to {state_folder()}: {error}")


class _TurnFollower:
    """Collects a turn's messages and shows its steps. The time limit starts when the question is sent."""

    def __init__(
        self, area: ProgressArea, timeout_seconds: float | None, answer_tool: Callable[[ToolRequest], None]
    ) -> None:
        self._area = area
        self._answer_tool = answer_tool
        self._timeout_seconds = timeout_seconds
        self._sent = QuestionSent("", "")
        self._origin = Origin()
        self._deadline = float("inf")
        self._messages: list[Message] = []
        self._has_partial = False

    def on_item(self, item: TurnEvent | Origin) -> None:
        match item:
            case Origin():
                self._origin = item
            case StatusNote(text):
                self._area.add(text)
            case QuestionSent():
                self._sent, self._messages = item, []
                if self._timeout_seconds is not None:
                    self._deadline = time.monotonic() + self._timeout_seconds
            case ToolRequest():
                self._area.tick()
                began = time.monotonic()
                self._answer_tool(item)
                self._deadline += time.monotonic() - began  # the user's decision and the tool's run do not count
            case TaskReport(who, progress):
                self._area.update(who, progress)
            case Message():
                self._messages.append(item)
                self._has_partial |= item.is_partial_answer
                if item.message_type in _STEPS and item.state != State.END and not item.is_partial_answer:
                    self._show(item)

    def _show(self, message: Message) -> None:
        if message.progress:
            self._area.update(message.actor, message.progress)
            return
        if message.state == State.TOOL_RESULT:
            self._area.end_tasks(message.actor)
        self._area.add(str(message.get_content()))

    def tick(self) -> None:
        """Redraw. Raises TurnTimeoutError at the time limit, which cancels the turn."""
        self._area.tick()
        if time.monotonic() > self._deadline:
            raise TurnTimeoutError(
                f"no answer within {self._timeout_seconds:g} s; the turn was cancelled. Use a longer --timeout, "
                "or ask a smaller question."
            )

    def leave(self, session: InteractiveSession | None) -> None:
        """Tell the area what it means if the turn was left before its end."""
        if self._sent.session_id:
            is_running = session is not None and session.state == State.RUNNING_AGENT
            ended = PARTIAL if self._has_partial else CANCELLED
            self._area.if_interrupted = UNCONFIRMED if is_running else ended

    def partial_answer(self, client: Svc | None) -> Answer | None:
        """Return what a cancelled turn found in the part of the evidence that it read; None if it gave nothing."""
        if not self._has_partial:
            return None
        self._messages = [
            msgspec.structs.replace(message, message_type=MessageType.RESULT) if message.is_partial_answer else message
            for message in self._messages
        ]
        return self.answer(client)

    def answer(self, client: Svc | None) -> Answer:
        """Return the answer, whose files are read with ``client`` when they are needed."""
        is_stored = self._origin.findings_file is not None
        read_file = (
            partial(_read_stored, self._origin) if is_stored else partial(_read_file, client, self._sent.session_id)
        )
        return Answer(
            tuple(self._messages),
            self._sent.model,
            self._sent.session_id,
            self._origin,
            read_file,
            is_logged=self._sent.is_logged,
        )


async def _attempt(
    session: InteractiveSession,
    question: str,
    files: Sequence[Attachment],
    ask_options: AskOptions,
    tools: TurnTools,
) -> AsyncGenerator[TurnEvent, None]:
    """Attach the files that the session does not have, then ask about them. A changed file replaces the old one."""
    about = list(ask_options.about)
    for file in files:
        async with aclosing(sending.send(session, file)) as steps:
            async for step in steps:
                yield step
        about += [known.sha256 for known in session.files if known.name == file.name][-1:]
    if ask_options.is_about_all:
        about = await asyncio.to_thread(_all_files, session)
    yield QuestionSent(session.session_id, session.model.model_string, session.log_session)
    async with aclosing(session.stream(question, files=about, local_tools=tools.offers())) as turn:
        async for message in turn:
            yield message
            if message.message_type in _TOOL_REQUESTS:
                yield ToolRequest(message, session, tools)


def _read_file(client: Svc | None, session_id: str, sha256: str) -> bytes:
    if client is None:
        raise ConfigError("the kernel has no connection to a service.")
    return client.resume_session(session_id).read_file(sha256)


def _read_stored(origin: Origin, sha256: str) -> bytes:
    """The stored file, whose SHA-256 is not that of the session's file: it was redacted."""
    content = origin.findings_file.read_bytes() if origin.findings_file else b""
    if origin.is_verified and hashlib.sha256(content).hexdigest() != origin.findings_sha256:
        raise OSError(f"{origin.findings_file} changed since the answer was read")
    return content


def _connect(base_url: str | None, service: str | None, key: service_key.Key) -> Svc:
    if service is None:
        return Svc(base_url="local") if base_url else Svc()
    if not key.text:
        raise ConfigError(
            f"{service} needs an API key. Enter it with `%svc key`, or set SVC_API_KEY before the kernel starts."
        )
    return Svc(key.text, base_url)


def _all_files(session: InteractiveSession) -> list[str]:
    found = session.refresh().evidence
    if not found:
        raise AskError("--all: no file is attached to this session. Attach one: --attach FILE.")
    return [file.sha256 for file in found]


def _answers_as(session: InteractiveSession, model: str, asked_for: str | None) -> bool:
    match model:
        case "stable":
            return not session.model.use_experimental
        case "experimental":
            return session.model.use_experimental
        case _:
            return model in (session.model.model_string, asked_for)
