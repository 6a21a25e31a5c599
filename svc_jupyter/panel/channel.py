"""The kernel's end of a chat panel: reads what a page wants, does it in the kernel's one session, tells what happens.

One JSON object each way, over a widget's messages or a comm of target ``svc_jupyter``; bytes go beside it. The kernel
holds key and connection: the page never sees the key. A page's request and what it is answered with:

    {"id": ID, "do": WORD, ...}     {"id": ID, "got": true}                         as soon as it is read
                                    {"id": ID, "part": [Message, ...]}              any number, before the answer
                                    {"id": ID, "ok": VALUE}                         the answer: an object, or a list
                                    {"id": ID, "error": {"code": CODE, "text": TEXT}}   CODE is the wire's, or ""

ID is any string or number that no other page uses: answers reach every page that shows the same widget. Words:

    open {session_id?, history?}    STATE. With an id that session is resumed, and is the kernel's; else as it is.
                                    history: false leaves its messages out
    new {name?, description?, log_session?, model?}  STATE of a new session
    model {name}                    the same, answered by that model
    send {content}                  {} when the service has the question; its turn comes as events
    cancel {turn?, request?}        {}: ends the turn that runs, a cell's, too; with request: that question, if it waits
    user  list  models              what the key may do; its sessions; [{model_string, description}]
    update {name?, description?, ttl?}  the session;  delete  {}: it is ended
    answer                          {turn, markdown}: the last one, safe to render anywhere; both "" where there is none
    feedback {score, comment, group}    {}
    attach {name, mime?, upload, offset, size} + bytes   a file in parts: {} for each, the file for the last
    attach {name, mime?} + bytes    the file;  attach {path}: a file below the kernel's working folder
    detach {index}                  {}
    settings {model?, language?, ttl?, log_session?, base_url?}  {}: a front end's defaults; what the user set wins
    confirm {message_id, is_allowed}    {}: the answer to a confirmation_request

STATE is {session, messages, model, is_busy, ipykernel}; session is {id, name, description, expire_time, ttl, can_log,
files, model} or null where the first question will make one. Events, from kernel to page, have no id:

    {"event": "messages", "session_id": ID, "messages": [Message, ...]}   each once, in order of seq, whoever asked; at
                                    most 20 a second. "skipped": N steps were left out: too many came (the history has
                                    them). A Message is the wire's, without what has its usual value (panel_outbox.py).
    {"event": "session", "session": {...} | null, "model": "svc-1.1"}     it changed, or is another one
    {"event": "waiting", "for": "In [12]" | "panel" | null}   this page's question waits for that one ("panel": a cell's
                                    question waits for a panel's); null: it no longer does
    {"event": "busy", "is_busy": true}        a question is being asked in the kernel, or the last one has ended
    {"event": "note", "text": "..."}          a word on the session: another one is used, say
    {"event": "connection", "state": "connected" | "closed", "code": "", "text": ""}   closed: the turn that ran cannot
                                    be followed any more, for that reason

Handlers return at once, in whatever thread a message comes: the work is done in threads of the channel's own.
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

import ipykernel

from svc import InteractiveSession, Message, MessageType, Session, SvcError
from svc_jupyter.answers.last_answer import last_answer
from svc_jupyter.errors import AskError
from svc_jupyter.kernel.events import PANEL
from svc_jupyter.kernel.kernel import KernelSession
from svc_jupyter.panel.outbox import Json, Outbox, is_step
from svc_jupyter.question import AskOptions, QuestionSent, StatusNote

if TYPE_CHECKING:
    from svc_jupyter.answers.answer import Origin
    from svc_jupyter.question import TurnEvent

MAX_UPLOAD_BYTES = 67_108_864  # 64 MiB; a page holds a file in memory, and so does the kernel
MAX_HISTORY_BYTES = 3_000_000  # of what a page is told of the past, at the outbox's pace; steps of old turns go first
IDLE_SECONDS = 5.0  # without a request; the next one starts another thread

Send = Callable[[Json], None]
Configure = Callable[[Json], None]


class PanelChannel:
    """One page's end, or one widget's, whose pages share it. ``send`` may be called in any thread.

    ``ask_options`` says what the settings say now, ``configure`` takes a front end's defaults for them.
    """

    def __init__(
        self, kernel: KernelSession, ask_options: Callable[[], AskOptions], send: Send, configure: Configure
    ) -> None:
        self._kernel = kernel
        self._wanted = ask_options
        self._configure = configure
        self._outbox = Outbox(send)
        self._work: queue.SimpleQueue[tuple[Json, bytes]] = queue.SimpleQueue()
        self._worker: threading.Thread | None = None
        self._lock = threading.Lock()
        self._questions: dict[object, _Question] = {}
        self._uploads: dict[str, bytearray] = {}
        self._told_waiting: set[str] = set()  # whose waiting the page was told of
        kernel.observers.add(self)

    def close(self) -> None:
        """Tell the page nothing more; what it asked goes on."""
        self._kernel.observers.remove(self)
        self._outbox.close()

    def receive(self, request: Json, buffers: Sequence[bytes | memoryview] = ()) -> None:
        """What a page sent. What is no request is dropped: nobody could be answered."""
        if not isinstance(request, dict) or "id" not in request:
            return
        self._outbox.put({"id": request["id"], "got": True})
        if request.get("do") in ("cancel", "confirm"):  # these must not wait for what they are about
            threading.Thread(target=self._answer, args=(request, b""), name="svc-panel-stop", daemon=True).start()
            return
        with self._lock:
            self._work.put((request, b"".join(bytes(buffer) for buffer in buffers)))
            if self._worker is None:
                self._worker = threading.Thread(target=self._serve, name="svc-panel-work", daemon=True)
                self._worker.start()

    def message(self, session_id: str, message: Message) -> None:
        """An event of the kernel's."""
        for question in list(self._questions.values()):
            question.heard(message)
        self._outbox.put_message(session_id, message)

    def session(self, session: Session | None) -> None:
        """An event of the kernel's."""
        self._outbox.put({"event": "session", "session": _shown(session), "model": _model(session)})

    def busy(self, *, is_busy: bool) -> None:
        """An event of the kernel's."""
        self._outbox.put({"event": "busy", "is_busy": is_busy})

    def waiting(self, asker: str, holder: str | None) -> None:
        """An event of the kernel's: this page's question waits for a cell's, or a cell's for a panel's."""
        is_ours = bool(self._questions) if asker == PANEL else holder == PANEL
        if holder is not None and is_ours:
            self._told_waiting.add(asker)
        elif holder is None and asker in self._told_waiting:
            self._told_waiting.discard(asker)
        else:
            return
        self._outbox.put({"event": "waiting", "for": holder})

    def _serve(self) -> None:
        while True:
            try:
                request, content = self._work.get(timeout=IDLE_SECONDS)
            except queue.Empty:
                with self._lock:
                    if self._work.empty():
                        self._worker = None
                        return
                continue
            self._answer(request, content)

    def _answer(self, request: Json, content: bytes) -> None:
        identity = request["id"]
        try:
            answer = self._do(str(request.get("do")), request, content)
        except (SvcError, AskError, OSError, ValueError, TypeError) as error:  # the last two: fields that are none
            self._outbox.put({"id": identity, "error": _problem(error)})
        else:
            if answer is not None:
                self._outbox.put({"id": identity, "ok": answer})

    def _do(self, word: str, request: Json, content: bytes) -> object:
        """The answer; None where it comes later."""
        match word:
            case "open":
                return self._open(request)
            case "new" | "model":
                return self._new(request)
            case "send":
                self._send(request)
                return None
            case "cancel":
                return self._cancel(request)
            case "update" | "delete" | "feedback" | "detach":
                return self._change(word, request)
            case "attach":
                return self._attach(request, content)
            case "user":
                user = self._kernel.client(self._wanted()).get_user_info().user
                rights = {"never_log": user.never_log, "can_disable_logging": user.can_disable_logging}
                return {"email": user.email, **rights}
            case "list":
                return [_shown(session) for session in self._kernel.client(self._wanted()).list_sessions()]
            case "models":
                models = self._kernel.client(self._wanted()).get_user_info().available_models
                return [{"model_string": model.model_string, "description": model.description} for model in models]
            case "answer":
                session = self._kernel.session(self._wanted(), self._note)
                return asdict(last_answer(session.history() if session else ()))
            case "settings":
                self._configure({name: value for name, value in request.items() if name not in ("id", "do")})
                return {}
            case "confirm":
                return self._confirm(request)
            case _:
                raise AskError(f"{word[:40]!r} is nothing that a panel can ask for.")

    def _open(self, request: Json) -> Json:
        wanted_id = str(request.get("session_id") or "")
        session = self._kernel.session(self._wanted(), self._note)
        if wanted_id and (session is None or session.session_id != wanted_id):
            session = self._kernel.resume_session(wanted_id, self._wanted(), self._note)
        if session is not None and request.get("history", True):
            self._outbox.put_history(request["id"], bounded(session.history()))
        return self._state(session)

    def _new(self, request: Json) -> Json:
        ask_options = self._wanted()
        name = str(request.get("name") or "") or None
        if request["do"] == "model" or request.get("model"):
            ask_options = replace(ask_options, model=str(request.get("model") or name))
            name = name if request["do"] == "new" else None
        if request.get("log_session") is False:
            ask_options = replace(ask_options, log_session=False)
        session = self._kernel.create_session(ask_options, self._note, name)
        if description := str(request.get("description") or ""):
            session.update(description=description)
            self._kernel.tell_session()
        return self._state(session)

    def _state(self, session: InteractiveSession | None) -> Json:
        info = session.info if session is not None else None
        return {
            "session": _shown(info),
            "messages": [],
            "model": _model(info),
            "is_busy": self._kernel.is_asking,
            "ipykernel": ipykernel.version_info[0],
        }

    def _send(self, request: Json) -> None:
        content = str(request.get("content") or "")
        if not content.strip():
            raise AskError("the question is empty. Write it out.")
        identity = request["id"]
        question = _Question(content, accepted=lambda: self._outbox.put({"id": identity, "ok": {}}), note=self._note)
        self._questions[identity] = question
        ask_options = replace(self._wanted(), answers="live", asker=PANEL)
        question.future = self._kernel.ask_in_background(content, ask_options, question.take)
        question.future.add_done_callback(lambda future: self._ended(identity, question, future))

    def _ended(self, identity: object, question: _Question, future: Future[None]) -> None:
        """A turn's own error is among its messages; another one is told here."""
        self._questions.pop(identity, None)
        error: BaseException | None
        try:
            error = future.exception()
        except CancelledError:
            error = None
        if question.is_accepted:
            if error is not None and not question.has_ended:
                self._outbox.put({"event": "connection", "state": "closed", **_problem(error)})
        elif error is not None:
            self._outbox.put({"id": identity, "error": _problem(error)})
        else:
            self._outbox.put({"id": identity, "error": {"code": "cancelled", "text": "The question was taken back."}})

    def _cancel(self, request: Json) -> Json:
        if "request" in request:
            question = self._questions.get(request["request"])
            if question is not None and question.future is not None:
                question.future.cancel()
        else:
            self._kernel.cancel()
        return {}

    def _change(self, word: str, request: Json) -> object:
        session = self._kernel.session(self._wanted(), self._note)
        if session is None:
            raise AskError("there is no session yet: the first question makes one.")
        match word:
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
        self._kernel.tell_session()
        return _shown(session.info) if word == "update" else {}

    def _attach(self, request: Json, content: bytes) -> Json:
        if "path" in request:
            path = _below_here(str(request["path"]))
            file = self._held().attach_file_from_disk(path)
        elif (whole := self._gathered(request, content)) is None:
            return {}
        else:
            file = self._held().attach_file(str(request.get("name")), whole, str(request.get("mime") or "") or None)
        self._kernel.tell_session()
        return {"name": file.name, "size": file.size}

    def _held(self) -> InteractiveSession:
        ask_options = self._wanted()
        return self._kernel.session(ask_options, self._note) or self._kernel.create_session(ask_options, self._note)

    def _gathered(self, request: Json, content: bytes) -> bytes | None:
        """The whole file; None where parts of it are still to come."""
        if "upload" not in request:
            return content
        upload, size = str(request["upload"]), int(str(request.get("size")))
        if size > MAX_UPLOAD_BYTES:
            raise AskError(f"{request.get('name')} is {size:,} bytes; a panel takes {MAX_UPLOAD_BYTES:,}.")
        if request.get("offset") == 0:
            self._uploads = {upload: bytearray()}  # what another began and left is forgotten
        parts = self._uploads.setdefault(upload, bytearray())
        if len(parts) != request.get("offset") or len(parts) + len(content) > size:
            raise AskError(f"{request.get('name')}: a part is missing. Attach it again.")
        parts += content
        if len(parts) < size:
            return None
        return bytes(self._uploads.pop(upload))

    def _confirm(self, request: Json) -> Json:
        self._kernel.confirm(str(request.get("message_id")), request.get("is_allowed") is True)
        return {}

    def _note(self, text: str) -> None:
        self._outbox.put({"event": "note", "text": text})


class _Question:
    """A question of a page, from when it was sent until its turn has ended."""

    def __init__(self, content: str, *, accepted: Callable[[], None], note: Callable[[str], None]) -> None:
        self.future: Future[None] | None = None
        self.is_accepted = False
        self.has_ended = False
        self._content = content
        self._accepted = accepted
        self._note = note
        self._is_asked = False
        self._turn = ""

    def take(self, item: TurnEvent | Origin) -> None:
        """What comes of it, beside the session's messages."""
        match item:
            case StatusNote(text):
                self._note(text)
            case QuestionSent():
                self._is_asked = True

    def heard(self, message: Message) -> None:
        """A message of the session."""
        if message.message_type == MessageType.QUERY and self._is_asked and not self._turn:
            self._turn = message.turn
            self.is_accepted = True
            self._accepted()
        elif self._turn and message.turn == self._turn and message.ends_turn:
            self.has_ended = True


def bounded(messages: list[Message]) -> list[Message]:
    """The messages without the steps of the oldest turns, where all of them are over ``MAX_HISTORY_BYTES``."""
    size = sum(300 + len(message.content or "") for message in messages)
    kept: list[Message] = []
    for message in messages:
        if size > MAX_HISTORY_BYTES and is_step(message):
            size -= 300 + len(message.content or "")
        else:
            kept.append(message)
    return kept


def _shown(session: Session | None) -> Json | None:
    """What a page reads of a session."""
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


def _model(session: Session | None) -> str:
    return session.model.model_string if session is not None else ""


def _problem(error: BaseException) -> Json:
    code = getattr(error, "code", "")
    return {"code": code if isinstance(code, str) else "", "text": str(error) or type(error).__name__}


def _below_here(name: str) -> Path:
    """The file of that name below the kernel's working folder. Raises AskError where it is elsewhere, or none."""
    here = Path.cwd().resolve()
    path = (here / name).resolve()
    with contextlib.suppress(OSError):
        if path.is_relative_to(here) and path.is_file():
            return path
    raise AskError(f"{name} is no file below {here}, where the kernel works.")
