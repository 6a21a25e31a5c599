"""The kernel's end of a chat panel: answers the page's requests in the kernel's session and reports what happens there.

The messages are described in docs/panel.md, "Requests", "Events". They travel over a widget's custom messages
(``widget.py``) or over a comm (``comm_target.py``); the kernel holds the API key and the connection, so the page never
sees the key.

``receive`` returns at once, in any thread: requests are answered one after the other in a thread of the channel.
"""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, Future
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import ipykernel

from svc import InteractiveSession, Message, MessageType, Session, SvcError
from svc_jupyter.answers.last_answer import last_answer
from svc_jupyter.errors import AskError
from svc_jupyter.kernel.events import PANEL
from svc_jupyter.kernel.kernel import KernelSession
from svc_jupyter.panel.outbox import Json, Outbox, is_step, message_size
from svc_jupyter.question import AskOptions, QuestionSent, StatusNote
from svc_jupyter.trusted_imports import trust_thread

if TYPE_CHECKING:
    from svc_jupyter.answers.answer import Origin
    from svc_jupyter.question import TurnEvent

MAX_UPLOAD_BYTES = 67_108_864  # 64 MiB: the page and the kernel both hold the file in memory
MAX_HISTORY_BYTES = 3_000_000  # 5 s at the outbox's rate; above it, the steps of the oldest turns are left out
IDLE_SECONDS = 5.0  # without requests before the worker thread ends; the next request starts another

_queues: WeakKeyDictionary[KernelSession, dict[str, _PanelQuestion]] = WeakKeyDictionary()
"""Of each kernel, the questions of its pages, by request ID, until the service has them."""

Send = Callable[[Json], None]
Configure = Callable[[Json], None]


class PanelChannel:
    """The kernel's end for one comm, or for one widget and all its views.

    Args:
        kernel: The session that all panels and cells of this kernel share.
        ask_options: Returns the options of a question from the current settings.
        send: Sends a message to the page. It is called in a thread of the outbox.
        configure: Applies a front end's settings as defaults. Raises AskError for an invalid value.
    """

    def __init__(
        self, kernel: KernelSession, ask_options: Callable[[], AskOptions], send: Send, configure: Configure
    ) -> None:
        self._kernel = kernel
        self._ask_options = ask_options
        self._configure = configure
        self._outbox = Outbox(send)
        self._requests: queue.SimpleQueue[tuple[Json, bytes]] = queue.SimpleQueue()
        self._worker: threading.Thread | None = None
        self._lock = threading.Lock()
        self._questions: dict[object, _PanelQuestion] = {}  # by request ID, from `send` to the end of the turn
        self._uploads: dict[str, bytearray] = {}
        self._waiting_callers: set[str] = set()  # the callers for which the page shows a `waiting` event
        kernel.observers.add(self)

    def close(self) -> None:
        """Send nothing more to the page. Questions that it asked continue."""
        self._kernel.observers.remove(self)
        self._outbox.close()

    def receive(self, request: Json, buffers: Sequence[bytes | memoryview] = ()) -> None:
        """Queue a request from the page. Anything without an ID is ignored: it could not be answered."""
        if not isinstance(request, dict) or "id" not in request:
            return
        self._outbox.put({"id": request["id"], "got": True})
        if request.get("do") in ("cancel", "confirm"):  # must not queue behind the request that they are about
            threading.Thread(target=self._answer, args=(request, b""), name="svc-panel-stop", daemon=True).start()
            return
        with self._lock:
            self._requests.put((request, b"".join(bytes(buffer) for buffer in buffers)))
            if self._worker is None:
                self._worker = threading.Thread(target=self._serve, name="svc-panel-work", daemon=True)
                self._worker.start()

    def on_message(self, session_id: str, message: Message) -> None:
        """Send the message, and accept this page's question if it is the question's query."""
        for question in list(self._questions.values()):
            question.on_message(message)
        self._outbox.put_message(session_id, message)

    def on_session(self, session: Session | None) -> None:
        """Send the session's fields."""
        self._outbox.put({"event": "session", "session": _session_fields(session), "model": _model_name(session)})

    def on_busy(self, *, is_busy: bool) -> None:
        """Send whether a question is running."""
        self._outbox.put({"event": "busy", "is_busy": is_busy})

    def on_waiting(self, caller: str, waiting_for: str | None) -> None:
        """Report the wait if this page's question waits, or if a cell's question waits for a panel's."""
        is_relevant = bool(self._questions) if caller == PANEL else waiting_for == PANEL
        if waiting_for is not None and is_relevant:
            self._waiting_callers.add(caller)
        elif waiting_for is None and caller in self._waiting_callers:
            self._waiting_callers.discard(caller)
        else:
            return
        self._outbox.put({"event": "waiting", "for": waiting_for})

    def _serve(self) -> None:
        while True:
            try:
                request, content = self._requests.get(timeout=IDLE_SECONDS)
            except queue.Empty:
                with self._lock:
                    if self._requests.empty():
                        self._worker = None
                        return
                continue
            self._answer(request, content)

    def _answer(self, request: Json, content: bytes) -> None:
        trust_thread()
        request_id = request["id"]
        try:
            answer = self._execute(str(request.get("do")), request, content)
        except (SvcError, AskError, OSError, ValueError, TypeError) as error:  # the last two: malformed fields
            self._outbox.put({"id": request_id, "error": _error_fields(error)})
        else:
            if answer is not None:
                self._outbox.put({"id": request_id, "ok": answer})

    def _execute(self, operation: str, request: Json, content: bytes) -> object:
        """Return the answer, or None if it comes later."""
        match operation:
            case "open":
                return self._open(request)
            case "new":
                return self._create(request)
            case "send":
                self._send(request)
                return None
            case "cancel":
                return self._cancel(request)
            case "update" | "delete" | "feedback" | "detach":
                return self._change(operation, request)
            case "attach":
                return self._attach(request, content)
            case "user":
                user = self._kernel.client(self._ask_options()).get_user_info().user
                rights = {"never_log": user.never_log, "can_disable_logging": user.can_disable_logging}
                return {"email": user.email, **rights}
            case "list":
                return [_listed(session) for session in self._kernel.client(self._ask_options()).list_sessions()]
            case "models":
                models = self._kernel.client(self._ask_options()).get_user_info().available_models
                return [{"model_string": model.model_string, "description": model.description} for model in models]
            case "answer":
                session = self._kernel.session(self._ask_options(), self._send_note)
                turn = str(request.get("turn") or "")
                return asdict(last_answer(session.history() if session else (), turn))
            case "settings":
                self._configure({name: value for name, value in request.items() if name not in ("id", "do")})
                return {}
            case "confirm":
                is_allowed, is_once = request.get("is_allowed") is True, request.get("is_once", True) is not False
                self._kernel.confirm(str(request.get("message_id")), is_allowed=is_allowed, is_once=is_once)
                return {}
            case _:
                raise AskError(f"unknown panel request: {operation[:40]!r}")

    def _open(self, request: Json) -> Json:
        session_id = str(request.get("session_id") or "")
        session = self._kernel.session(self._ask_options(), self._send_note)
        if session_id and (session is None or session.session_id != session_id):
            session = self._kernel.resume_session(session_id, self._ask_options(), self._send_note)
        if session is not None and request.get("history", True):
            self._outbox.put_history(request["id"], without_oldest_steps(session.history()))
        return self._state(session)

    def _create(self, request: Json) -> Json:
        ask_options = self._ask_options()
        if request.get("model"):
            ask_options = replace(ask_options, model=str(request["model"]))
        if request.get("log_session") is False:
            ask_options = replace(ask_options, log_session=False)
        name = str(request.get("name") or "") or None
        session = self._kernel.create_session(ask_options, self._send_note, name)
        if description := str(request.get("description") or ""):
            session.update(description=description)
            self._kernel.publish_session()
        return self._state(session)

    def _state(self, session: InteractiveSession | None) -> Json:
        info = session.info if session is not None else None
        queued = [{"request": name, "content": one.content} for name, one in self._queue().copy().items()]
        return {
            "session": _session_fields(info),
            "messages": [],
            "model": _model_name(info),
            "is_busy": self._kernel.is_asking,
            "ipykernel": ipykernel.version_info[0],
            **({"queued": queued} if queued else {}),
        }

    def _queue(self) -> dict[str, _PanelQuestion]:
        return _queues.setdefault(self._kernel, {})

    def _send(self, request: Json) -> None:
        content = str(request.get("content") or "")
        if not content.strip():
            raise AskError("the question is empty")
        request_id = request["id"]
        question = _PanelQuestion(
            content,
            on_sent=lambda: self._queue().pop(str(request_id), None),
            on_accepted=lambda: self._outbox.put({"id": request_id, "ok": {}}),
            on_note=self._send_note,
        )
        self._questions[request_id] = self._queue()[str(request_id)] = question
        ask_options = replace(self._ask_options(), answers="live", caller=PANEL, about=_names(request))
        question.future = self._kernel.ask_in_background(content, ask_options, question.on_event)
        question.future.add_done_callback(lambda future: self._end_question(request_id, question, future))

    def _end_question(self, request_id: object, question: _PanelQuestion, future: Future[None]) -> None:
        """Report how the question ended, unless the session's messages did."""
        self._questions.pop(request_id, None)
        self._queue().pop(str(request_id), None)
        error: BaseException | None
        try:
            error = future.exception()
        except CancelledError:
            error = None
        if question.is_accepted:
            if error is not None and not question.has_ended:
                self._outbox.put({"event": "connection", "state": "closed", **_error_fields(error)})
        elif error is not None:
            self._outbox.put({"id": request_id, "error": _error_fields(error)})
        else:
            self._outbox.put({"id": request_id, "error": {"code": "cancelled", "text": "The question was cancelled."}})

    def _cancel(self, request: Json) -> Json:
        if "request" in request:
            question = self._questions.get(request["request"]) or self._queue().get(str(request["request"]))
            if question is not None and question.future is not None:
                question.future.cancel()
        else:
            self._kernel.cancel()
        return {}

    def _change(self, operation: str, request: Json) -> object:
        session = self._kernel.session(self._ask_options(), self._send_note)
        if session is None:
            raise AskError("there is no session yet; the first question creates one")
        match operation:
            case "update":
                changes = {name: request[name] for name in ("name", "description") if request.get(name)}
                ttl = int(str(request["ttl"])) if request.get("ttl") else None
                session.update(**{name: str(value) for name, value in changes.items()}, ttl=ttl)
            case "delete":
                self._kernel.delete_session(session)
                return {}
            case "feedback":
                score = int(str(request.get("score")))
                session.send_feedback(score, str(request.get("comment") or ""), str(request.get("group") or ""))
                return {}
            case _:
                session.detach_file(int(str(request.get("index"))))
        self._kernel.publish_session()
        return _session_fields(session.info) if operation == "update" else {}

    def _attach(self, request: Json, content: bytes) -> Json:
        if "path" in request:
            path = _resolve_path(str(request["path"]))
            file = self._get_or_create_session().attach_file_from_disk(path)
        elif (whole := self._assemble_upload(request, content)) is None:
            return {}
        else:
            mime_type = str(request.get("mime") or "") or None
            file = self._get_or_create_session().attach_file(str(request.get("name")), whole, mime_type)
        self._kernel.publish_session()
        return {"name": file.name, "size": file.size}

    def _get_or_create_session(self) -> InteractiveSession:
        options = self._ask_options()
        return self._kernel.session(options, self._send_note) or self._kernel.create_session(options, self._send_note)

    def _assemble_upload(self, request: Json, content: bytes) -> bytes | None:
        """Return the whole file, or None if more parts are expected."""
        if "upload" not in request:
            return content
        name, upload, size = request.get("name"), str(request["upload"]), int(str(request.get("size")))
        if size > MAX_UPLOAD_BYTES:
            raise AskError(f"{name} is {size:,} bytes; the limit for uploads in the panel is {MAX_UPLOAD_BYTES:,}")
        if request.get("offset") == 0:
            self._uploads = {upload: bytearray()}  # drops an upload that was abandoned
        received = self._uploads.setdefault(upload, bytearray())
        if len(received) != request.get("offset") or len(received) + len(content) > size:
            raise AskError(f"{name}: a part of the upload is missing. Attach the file again.")
        received += content
        if len(received) < size:
            return None
        return bytes(self._uploads.pop(upload))

    def _send_note(self, text: str) -> None:
        self._outbox.put({"event": "note", "text": text})


class _PanelQuestion:
    """A question of a page, from its request to the end of its turn."""

    def __init__(
        self,
        content: str,
        *,
        on_sent: Callable[[], object],
        on_accepted: Callable[[], None],
        on_note: Callable[[str], None],
    ) -> None:
        self.content = content
        self.future: Future[None] | None = None
        self.is_accepted = False
        self.has_ended = False
        self._on_sent = on_sent
        self._on_accepted = on_accepted
        self._on_note = on_note
        self._is_sent = False
        self._turn = ""

    def on_event(self, event: TurnEvent | Origin) -> None:
        match event:
            case StatusNote(text):
                self._on_note(text)
            case QuestionSent():
                self._is_sent = True
                self._on_sent()

    def on_message(self, message: Message) -> None:
        """Recognise the question's turn: the first query of the session after the question was sent."""
        if message.message_type == MessageType.QUERY and self._is_sent and not self._turn:
            self._turn = message.turn
            self.is_accepted = True
            self._on_accepted()
        elif self._turn and message.turn == self._turn and message.ends_turn:
            self.has_ended = True


def without_oldest_steps(messages: list[Message]) -> list[Message]:
    """Return the messages without the steps of the oldest turns, as many as exceed ``MAX_HISTORY_BYTES``."""
    size = sum(message_size(message) for message in messages)
    kept: list[Message] = []
    for message in messages:
        if size > MAX_HISTORY_BYTES and is_step(message):
            size -= message_size(message)
        else:
            kept.append(message)
    return kept


def _session_fields(session: Session | None) -> Json | None:
    if session is None:
        return None
    return {
        "id": session.id,
        "name": session.name,
        "description": session.description,
        "expire_time": session.expire_time,
        "ttl": session.ttl,
        "can_log": session.log_session,
        "files": [{"name": file.name, "size": file.size} for file in session.files],
        "model": session.model.model_string,
    }


def _listed(session: Session) -> Json:
    """The fields of a session in a list, by which its user finds it."""
    found = {"title": session.title, "turns": session.turns, "update_time": session.update_time}
    return (_session_fields(session) or {}) | found


def _names(request: Json) -> tuple[str, ...]:
    """The files that the question is about. Raises AskError if they are not a list of names."""
    files = request.get("files") or []
    if not isinstance(files, list) or not all(isinstance(name, str) for name in files):
        raise AskError("files must be a list of names or SHA-256")
    return tuple(files)


def _model_name(session: Session | None) -> str:
    return session.model.model_string if session is not None else ""


def _error_fields(error: BaseException) -> Json:
    code = getattr(error, "code", "")
    return {"code": code if isinstance(code, str) else "", "text": str(error) or type(error).__name__}


def _resolve_path(name: str) -> Path:
    """Return the file of that name in the kernel's working folder or below. Raises AskError for any other path."""
    folder = Path.cwd().resolve()
    path = (folder / name).resolve()
    with contextlib.suppress(OSError):
        if path.is_relative_to(folder) and path.is_file():
            return path
    raise AskError(f"{name} is not a file in the kernel's working folder, {folder}")
