"""The kernel's one session, and the thread whose event loop follows its turns.

Facts: docs/notebook.md, "Running a stream inside a cell".

Whoever asks reads what comes and draws; an interrupt there cancels the turn on the service before it goes on. One
question runs at a time, others wait. Cells ask in the main thread, chat panels in others: all of it may be called from
any thread. Files: ``session_file.py`` (which session is whose), ``service_key.py``, ``kernel_events.py`` (who is told).
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from concurrent.futures import Future
from contextlib import aclosing, asynccontextmanager
from functools import partial

from filelock import Timeout

from svc import (
    ConfigError,
    InteractiveSession,
    LocalTool,
    Message,
    MessageType,
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
from svc_jupyter.attachments import Attachment
from svc_jupyter.kernel import service_key, session_file
from svc_jupyter.kernel.events import PANEL, Observers
from svc_jupyter.kernel.loop_thread import LoopThread
from svc_jupyter.kernel_tools.tools import ToolCallHandler, ToolRequest
from svc_jupyter.question import Area, AskOptions, QuestionSent, StatusNote, TurnEvent

_ENVIRONMENT = ("SVC_BASE_URL", "SVC_WS_URL", "SVC_STATE_DIR")
_SHOWN = (MessageType.INFO, MessageType.THINKING)
_ASKING = (MessageType.CONFIRMATION_REQUEST, MessageType.LOCAL_TOOL_CALL)
_GONE = (SessionExpiredError, SessionNotFoundError)
_CATCH_UP_SECONDS = (0.0, 0.5, 2.0)  # between looks at how a turn ended whose reader has left


class KernelSession:
    """Asks the questions of one kernel, one at a time. ``kernel_id`` None: nobody will look for its session again."""

    def __init__(self, kernel_id: str | None) -> None:
        self.keys = service_key.KeyRing()
        self.known_models: tuple[str, ...] = ()  # as the service last said, for completion
        self.known_sessions: tuple[str, ...] = ()
        self.observers = Observers()
        self.tools = ToolCallHandler()
        self._kernel_id = kernel_id
        self._turn = asyncio.Lock()  # of the loop thread
        self._running_caller = ""  # whose question has the turn
        self._watch: Watch | None = None
        self._told: Message | None = None  # the session's last message that was told
        self._changing = threading.RLock()  # held while the client or the session is looked up or changed
        self._catching_up: set[asyncio.Task[None]] = set()
        self._loop = LoopThread()
        self._client: Svc | None = None
        self._configured: object = None
        self._key = service_key.Key()
        self._session: InteractiveSession | None = None
        self._answers = AnswerCache()
        self._model: str | None = None  # as asked for when the session was made

    def ask(
        self,
        question: str,
        files: Sequence[Attachment],
        ask_options: AskOptions,
        area: Area,
        timeout_seconds: float | None,
    ) -> Answer:
        """Ask in the kernel's session and follow the turn. A session that is gone is replaced once, and said so.

        Raises SvcError where there is no answer, OSError where a file cannot be read; KeyboardInterrupt and
        TurnTimeoutError come after the turn was cancelled.
        """
        reading = _Reading(area, timeout_seconds, partial(self.tools.take, consent=ask_options.consent, area=area))
        self._loop.follow(self._answered(question, files, ask_options), take=reading.take, tick=reading.tick)
        return reading.answer()

    async def ask_here(
        self,
        question: str,
        files: Sequence[Attachment],
        ask_options: AskOptions,
        area: Area,
        timeout_seconds: float | None,
    ) -> Answer:
        """As ``ask``, in a coroutine; CancelledError comes after the turn was cancelled."""
        reading = _Reading(area, timeout_seconds, partial(self.tools.take, consent=ask_options.consent, area=area))
        await self._loop.follow_here(self._answered(question, files, ask_options), take=reading.take, tick=reading.tick)
        return reading.answer()

    def ask_in_background(
        self, question: str, ask_options: AskOptions, take: Callable[[TurnEvent | Origin], None]
    ) -> Future[None]:
        """Ask from no cell. ``take`` gets what comes, in the loop's thread; cancelling the future cancels the turn."""

        def take_or_answer(item: TurnEvent | Origin) -> None:
            if isinstance(item, ToolRequest):
                self.tools.handle_in_background(item, ask_options.consent)
            else:
                take(item)

        return self._loop.submit(self._answered(question, (), ask_options), take_or_answer)

    def confirm(self, message_id: str, is_allowed: bool) -> None:  # noqa: FBT001  # as a page says it
        """Say whether the tool may be called that a ``confirmation_request`` of a panel's question names.

        A cell's question asks in its cell. Raises AskError where nothing waits for this.
        """
        self.tools.confirm(message_id, is_allowed)

    def cancel(self) -> bool:
        """End the turn that runs, whoever asked, over the wire: also while a cell waits for it. False: none runs."""
        session = self._session
        return session is not None and session.cancel()

    @property
    def is_asking(self) -> bool:
        """Whether a question is being asked."""
        return self._turn.locked()

    def client(self, ask_options: AskOptions) -> Svc:
        """A client for what the settings, the environment and the key say now."""
        with self._changing:
            service = service_key.address(ask_options.base_url)
            key = self.keys.find(service) if service else service_key.Key()
            configured = (ask_options.base_url, key, *(os.environ.get(name) for name in _ENVIRONMENT))
            if self._client is None or configured != self._configured:
                self.close()
                self._use(None)
                self._client = _connect(ask_options.base_url, service, key)
                self._configured, self._key = configured, key
            return self._client

    def close(self) -> None:
        """Close idle connections; the next question opens new ones."""
        if self._client is not None:
            self._client.close()

    def session(self, ask_options: AskOptions, say: Callable[[str], None]) -> InteractiveSession | None:
        """The session that the next question goes to; None where it will make one."""
        with self._changing:
            self.client(ask_options)
            return self._session or self._resume(say)

    def publish_session(self) -> None:
        """What was changed in the session itself is told to who watches."""
        self.observers.on_session(self._session.info if self._session else None)

    def create_session(
        self, ask_options: AskOptions, say: Callable[[str], None], name: str | None = None
    ) -> InteractiveSession:
        """A new session, which is the kernel's from now on."""
        model = ask_options.model or ask_options.default_model
        with self._changing:
            session = self.client(ask_options).create_session(
                ttl=ask_options.ttl,
                name=name,
                model=model,
                language=ask_options.language,
                log_session=ask_options.log_session,
            )
            self._keep(session, model, say)
        return session

    def resume_session(
        self, session_id: str, ask_options: AskOptions, say: Callable[[str], None]
    ) -> InteractiveSession:
        """A session made before, by whomever; it is the kernel's from now on. Raises SessionNotFoundError."""
        with self._changing:
            session = self.client(ask_options).resume_session(session_id)
            self._keep(session, None, say)
        return session

    def delete_session(self, session: InteractiveSession) -> None:
        """End the session; the next question makes a new one."""
        with self._changing:
            session.delete()
            self._use(None)
            if (owner := self._owner()) is not None:
                with contextlib.suppress(OSError, Timeout):  # the next question finds it gone, and says so
                    session_file.forget(state_folder(), owner)

    async def _answered(
        self, question: str, files: Sequence[Attachment], ask_options: AskOptions
    ) -> AsyncGenerator[TurnEvent | Origin, None]:
        """One question at a time, from the service or the store."""
        if self._turn.locked():
            before = "panel's question" if self._running_caller == PANEL else "question before"
            yield StatusNote(f"waiting for the {before} to end")
        async with self._turn_of(ask_options.caller):
            turn = self._answers.ask(self._ask, question, files, ask_options, self._session_id)
            async with aclosing(turn) as items:
                async for item in items:
                    yield item

    @asynccontextmanager
    async def _turn_of(self, caller: str) -> AsyncIterator[None]:
        """The turn, as soon as it is this caller's; who watches is told of the wait, the turn and its end."""
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
        """What happens until the service has answered. What blocks runs beside the loop."""
        said: list[str] = []
        session = await asyncio.to_thread(self._open, ask_options, said.append)
        was_replaced = False
        while True:
            for text in said:
                yield StatusNote(text)
            said.clear()
            try:
                offered = self.tools.offers() if ask_options.offers_tools else ()
                async with aclosing(_attempt(session, question, files, offered)) as items:
                    async for item in items:
                        yield item
            except _GONE as gone:
                if was_replaced:
                    raise
                was_replaced = True
                yield StatusNote(f"{gone} A new session is used; what was attached before must be attached again.")
                session = await asyncio.to_thread(self.create_session, ask_options, said.append)
            else:
                return

    def _open(self, ask_options: AskOptions, say: Callable[[str], None]) -> InteractiveSession:
        """The session for the question: this kernel's, the one it had before a restart, or a new one."""
        with self._changing:
            session = None if ask_options.is_new else self.session(ask_options, say)
            if session is None:
                return self.create_session(ask_options, say)
            if ask_options.model is not None and not _answers_as(session, ask_options.model, self._model):
                say(f"A new session is used: the one before is answered by {session.model.model_string}.")
                return self.create_session(ask_options, say)
        if session.expire_time - time.time() < session.ttl / 2:
            with contextlib.suppress(*_GONE):  # the question itself finds out, and says so
                session.update(ttl=session.ttl)
        return session

    def _resume(self, say: Callable[[str], None]) -> InteractiveSession | None:
        owner = self._owner()
        record = session_file.load(state_folder(), owner) if owner else None
        if record is None or self._client is None:
            return None
        try:
            session = self._client.resume_session(record.session_id)
        except _GONE as gone:
            say(f"{gone} A new session is used.")
            return None
        self._model = record.model
        self._use(session)
        return session

    def _use(self, session: InteractiveSession | None) -> None:
        """This is the kernel's session from now on."""
        was, self._session = self._session, session
        if self._watch is not None:
            self._watch.stop()
        self._watch = session.watch(lambda message: self._tell(session, message)) if session else None
        if session is not was:
            self._told = None
            self.publish_session()

    def _tell(self, session: InteractiveSession, message: Message) -> None:
        if session is self._session and (self._told is None or message.seq > self._told.seq):
            self._told = message
            self.observers.on_message(session.session_id, message)

    def _catch_up(self) -> None:
        """Where the reader of a turn left before its end, an interrupted cell's, look how it ended."""
        if self._told is not None and not self._told.ends_turn and self._session is not None:
            task = asyncio.get_running_loop().create_task(self._look_back(self._session))
            self._catching_up.add(task)
            task.add_done_callback(self._catching_up.discard)

    async def _look_back(self, session: InteractiveSession) -> None:
        for seconds in _CATCH_UP_SECONDS:
            await asyncio.sleep(seconds)
            if self._told is None or self._told.ends_turn or session is not self._session or self._turn.locked():
                return
            with contextlib.suppress(SvcError):  # the next question, or a reload of the page, shows it
                for message in await asyncio.to_thread(session.history):
                    self._tell(session, message)

    def _keep(self, session: InteractiveSession, model: str | None, say: Callable[[str], None]) -> None:
        self._use(session)
        self._model = model
        if (owner := self._owner()) is not None:
            try:
                session_file.save(state_folder(), owner, session.session_id, model)
            except (OSError, Timeout) as error:
                say(f"This session will not be found after a kernel restart: {state_folder()}: {error}")

    def _owner(self) -> session_file.Owner | None:
        if self._kernel_id is None or self._client is None:
            return None
        service = "local" if self._client.is_local else self._client.base_url
        return session_file.Owner(self._kernel_id, service, session_file.key_id(self._key.text))


class _Reading:
    """What came of a question so far, shown in its area. Time counts from when it was asked."""

    def __init__(self, area: Area, timeout_seconds: float | None, answer_tool: Callable[[ToolRequest], None]) -> None:
        self._area = area
        self._answer_tool = answer_tool
        self._timeout_seconds = timeout_seconds
        self._asked = QuestionSent("", "")
        self._origin = Origin()
        self._deadline = float("inf")
        self._messages: list[Message] = []

    def take(self, item: TurnEvent | Origin) -> None:
        match item:
            case Origin():
                self._origin = item
            case StatusNote(text):
                self._area.add(text)
            case QuestionSent():
                self._asked, self._messages = item, []
                if self._timeout_seconds is not None:
                    self._deadline = time.monotonic() + self._timeout_seconds
            case ToolRequest():
                self._area.tick()
                began = time.monotonic()
                self._answer_tool(item)
                self._deadline += time.monotonic() - began  # who is asked may take time, and so may what is called
            case Message():
                self._messages.append(item)
                if item.message_type in _SHOWN and item.state != State.END:
                    self._area.add(str(item.get_content()))

    def tick(self) -> None:
        """Draw; raises TurnTimeoutError where it is over, which cancels the turn."""
        self._area.tick()
        if time.monotonic() > self._deadline:
            raise TurnTimeoutError(
                f"no answer within {self._timeout_seconds:g} s; the turn was cancelled. Give it a longer --timeout, "
                "or ask for less at once."
            )

    def answer(self) -> Answer:
        return Answer(tuple(self._messages), self._asked.model, self._asked.session_id, self._origin)


async def _attempt(
    session: InteractiveSession, question: str, files: Sequence[Attachment], tools: Sequence[LocalTool]
) -> AsyncGenerator[TurnEvent, None]:
    """Attach what the session does not have yet, and ask. Other content under a file's name replaces the old."""
    for file in files:
        known = [old for old in session.files if old.name == file.name]
        digest = await asyncio.to_thread(file.sha256)
        if any(old.sha256 == digest for old in known):
            continue
        if isinstance(file.content, bytes):
            yield StatusNote(f"sends {file.preview()}")
        await asyncio.to_thread(_attach, session, file)
        for old in known:
            await asyncio.to_thread(session.detach_file, old)
            yield StatusNote(f"{file.name} has other content than before: the new one takes its place")
    yield QuestionSent(session.session_id, session.model.model_string)
    async with aclosing(session.stream(question, local_tools=tools)) as turn:
        async for message in turn:
            yield message
            if message.message_type in _ASKING:
                yield ToolRequest(message, session)


def _connect(base_url: str | None, service: str | None, key: service_key.Key) -> Svc:
    if service is None:
        return Svc(base_url="local") if base_url else Svc()
    if not key.text:
        raise ConfigError(
            f"{service} needs a key. `%svc key` asks for it; or set SVC_API_KEY before the kernel starts."
        )
    return Svc(key.text, base_url)


def _attach(session: InteractiveSession, file: Attachment) -> None:
    if isinstance(file.content, bytes):
        session.attach_file(file.name, file.content)
    else:
        session.attach_file_from_disk(file.content, file.name)


def _answers_as(session: InteractiveSession, model: str, asked_for: str | None) -> bool:
    match model:
        case "stable":
            return not session.model.use_experimental
        case "experimental":
            return session.model.use_experimental
        case _:
            return model in (session.model.model_string, asked_for)
