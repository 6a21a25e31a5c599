"""The kernel's one session, and the thread whose event loop follows its turns. Facts: the notebook page, points 1 to 5.

The cell's thread asks, reads a queue and draws; an interrupt there cancels the turn on the service before it goes on.
Which session is whose: ``session_file.py``.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from filelock import Timeout

from svc import (
    InteractiveSession,
    Message,
    MessageType,
    SessionExpiredError,
    SessionNotFoundError,
    State,
    Svc,
    TurnTimeoutError,
    state_folder,
)
from svc_jupyter import session_file
from svc_jupyter.answer import Answer
from svc_jupyter.attachments import Attachment
from svc_jupyter.loop_thread import LoopThread

_ENVIRONMENT = ("SVC_API_KEY", "SVC_BASE_URL", "SVC_WS_URL", "SVC_STATE_DIR")
_SHOWN = (MessageType.INFO, MessageType.THINKING)
_GONE = (SessionExpiredError, SessionNotFoundError)


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """The session that a question wants. ``model`` None takes what the session has."""

    is_new: bool
    model: str | None
    default_model: str | None
    language: str
    ttl: int
    log_session: bool


class Area(Protocol):
    """What shows the turn while it runs."""

    def add(self, text: str) -> None:
        """A step, or a word about the session."""

    def tick(self) -> None:
        """Time has passed."""


class Kernel:
    """Asks the questions of one kernel, one at a time. ``kernel_id`` None: nobody will look for its session again."""

    def __init__(self, kernel_id: str | None) -> None:
        self._kernel_id = kernel_id
        self._turn = threading.Lock()
        self._loop = LoopThread()
        self._client: Svc | None = None
        self._configured = ""
        self._session: InteractiveSession | None = None
        self._model: str | None = None  # as asked for when the session was made

    def ask(
        self, question: str, files: Sequence[Attachment], wanted: Wanted, area: Area, timeout_seconds: float | None
    ) -> Answer:
        """Ask in the kernel's session and follow the turn. A session that is gone is replaced once, and said so.

        Raises SvcError where there is no answer, OSError where a file cannot be read; KeyboardInterrupt and
        TurnTimeoutError come after the turn was cancelled.
        """
        with self._turn:
            session = self._open(wanted, area)
            try:
                return self._attempt(session, question, files, area, timeout_seconds)
            except _GONE as gone:
                area.add(f"{gone} A new session is used; what was attached before must be attached again.")
                session = self._create(wanted, area)
                return self._attempt(session, question, files, area, timeout_seconds)

    def _open(self, wanted: Wanted, area: Area) -> InteractiveSession:
        """The session for the question: this kernel's, the one it had before a restart, or a new one."""
        self._connect()
        if wanted.is_new:
            return self._create(wanted, area)
        session = self._session or self._resume(area)
        if session is None:
            return self._create(wanted, area)
        if wanted.model is not None and not _answers_as(session, wanted.model, self._model):
            area.add(f"A new session is used: the one before is answered by {session.model.model_string}.")
            return self._create(wanted, area)
        if session.expire_time - time.time() < session.ttl / 2:
            self._renew(session)
        return session

    def _connect(self) -> None:
        """A client for what the environment says now. A key is compared by its hash."""
        configured = session_file.key_id("\n".join(os.environ.get(name, "") for name in _ENVIRONMENT))
        if self._client is None or configured != self._configured:
            self._session = None
            self._client = Svc()
            self._configured = configured

    def _resume(self, area: Area) -> InteractiveSession | None:
        owner = self._owner()
        record = session_file.load(state_folder(), owner) if owner else None
        if record is None or self._client is None:
            return None
        try:
            self._session = self._client.resume_session(record.session_id)
        except _GONE as gone:
            area.add(f"{gone} A new session is used.")
            return None
        self._model = record.model
        return self._session

    def _create(self, wanted: Wanted, area: Area) -> InteractiveSession:
        model = wanted.model or wanted.default_model
        client = self._client or Svc()
        self._session = session = client.create_session(
            ttl=wanted.ttl, model=model, language=wanted.language, log_session=wanted.log_session
        )
        self._model = model
        if (owner := self._owner()) is not None:
            try:
                session_file.save(state_folder(), owner, session.session_id, model)
            except (OSError, Timeout) as error:
                area.add(f"This session will not be found after a kernel restart: {state_folder()}: {error}")
        return session

    def _renew(self, session: InteractiveSession) -> None:
        with contextlib.suppress(*_GONE):  # the question itself finds out, and says so
            session.update(ttl=session.ttl)

    def _owner(self) -> session_file.Owner | None:
        if self._kernel_id is None or self._client is None:
            return None
        key = "" if self._client.is_local else os.environ.get("SVC_API_KEY", "")
        service = "local" if self._client.is_local else self._client.base_url
        return session_file.Owner(self._kernel_id, service, session_file.key_id(key))

    def _attempt(
        self,
        session: InteractiveSession,
        question: str,
        files: Sequence[Attachment],
        area: Area,
        timeout_seconds: float | None,
    ) -> Answer:
        for file in files:
            _attach(session, file, area)
        messages: list[Message] = []

        def take(message: Message) -> None:
            messages.append(message)
            if message.message_type in _SHOWN and message.state != State.END:
                area.add(str(message.get_content()))

        try:
            self._loop.follow(session.stream(question), take=take, tick=area.tick, timeout_seconds=timeout_seconds)
        except TimeoutError as error:
            raise TurnTimeoutError(
                f"no answer within {timeout_seconds:g} s; the turn was cancelled. Give it a longer --timeout, "
                "or ask for less at once."
            ) from error
        return Answer(tuple(messages), session.model.model_string, session.session_id)


def _attach(session: InteractiveSession, file: Attachment, area: Area) -> None:
    """Attach what the session does not have yet; other content under the same name takes the old one's place."""
    digest = file.sha256()
    known = [old for old in session.files if old.name == file.name]
    if any(old.sha256 == digest for old in known):
        return
    if isinstance(file.content, bytes):
        session.attach_file(file.name, file.content)
    else:
        session.attach_file_from_disk(file.content, file.name)
    for old in known:
        session.detach_file(old)
        area.add(f"{file.name} has other content than before: the new one takes its place")


def _answers_as(session: InteractiveSession, model: str, asked_for: str | None) -> bool:
    match model:
        case "stable":
            return not session.model.use_experimental
        case "experimental":
            return session.model.use_experimental
        case _:
            return model in (session.model.model_string, asked_for)
