"""Run the ``%svc`` commands that ``commands.py`` parses; each returns what to display."""

from __future__ import annotations

import getpass
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from svc import InteractiveSession, Message, MessageType, Session, SessionExpiredError, SessionNotFoundError, SvcError
from svc.client import newest_first
from svc_jupyter.answers.answer import Answer
from svc_jupyter.answers.listing import Listing
from svc_jupyter.answers.status_mark import label
from svc_jupyter.errors import AskError
from svc_jupyter.kernel import service_key
from svc_jupyter.kernel.kernel import KernelSession
from svc_jupyter.magics.commands import Command, seconds_of
from svc_jupyter.question import AskOptions

SHOWN_TURNS = 10  # in a history without a number
_NO_EARLIER = (
    "no earlier session of this notebook is known here. List your sessions with `%svc session list`, then "
    "`%svc session resume ID`."
)
_LISTED = 5  # sessions that an error names
_NONE_YET = "There is no session yet. The first question creates one, or `%svc session new`."


class SessionCommands:
    """The commands of one kernel. ``notify`` shows a line; ``can_prompt`` is False in a batch run."""

    def __init__(
        self, kernel: KernelSession, ask_options: AskOptions, notify: Callable[[str], None], *, can_prompt: bool
    ) -> None:
        self._kernel = kernel
        self._ask_options = ask_options
        self._notify = notify
        self._can_prompt = can_prompt

    def run(self, command: Command) -> Listing | Answer | str:
        """Run the command and return what to display. Raises SvcError or AskError."""
        value = command.value or ""
        match command.words:
            case "session" | "session show":
                return self._show()
            case "session list":
                return self._list(value)
            case "session new":
                return _details(
                    self._kernel.create_session(self._ask_options, self._notify, command.value), "New session"
                )
            case "session resume":
                return self._resume(value) if value else self._resume_earlier()
            case "session rename":
                return self._rename(value)
            case "session extend":
                return self._extend(command.value)
            case "session delete":
                return self._delete()
            case "files":
                return _files(self._current().refresh())
            case "files remove":
                return self._remove_file(value)
            case "history":
                number, _, shows = (command.value or str(SHOWN_TURNS)).partition(" ")
                return self._answer_of(int(number)) if shows else _history(self._current(), int(number))
            case "model":
                return self._model(command.value) if command.value else self._models()
            case "key":
                return self._enter_key()
            case _:
                return self._delete_key()

    def _current(self) -> InteractiveSession:
        session = self._kernel.session(self._ask_options, self._notify)
        if session is None:
            raise AskError(_NONE_YET)
        return session

    def _show(self) -> Listing | str:
        session = self._kernel.session(self._ask_options, self._notify)
        return _NONE_YET if session is None else _details(session.refresh(), "Session of this kernel")

    def _list(self, search: str) -> Listing | str:
        current = self._kernel.session(self._ask_options, self._notify)
        known = self._kernel.client(self._ask_options).list_sessions()
        sessions = newest_first(known, search)
        self._kernel.known_sessions = tuple(newest_first(known))
        if not sessions:
            return f"No session has {search!r} in its name, first question or files." if known else _NONE_YET
        rows = [
            _row(session, is_current=current is not None and session.id == current.session_id) for session in sessions
        ]
        header = ("", "ID", "name", "first question", "questions", "last used (UTC)", "expires in", "model")
        return Listing(f"{_counted(len(rows), 'session')}, the last used first", header, rows)

    def _resume(self, name: str) -> Listing:
        sessions = newest_first(self._kernel.client(self._ask_options).list_sessions())
        found = [s for s in sessions if name in (s.id, s.name)] or [s for s in sessions if s.id.startswith(name)]
        match found:
            case [session]:
                resumed = self._kernel.resume_session(session.id, self._ask_options, self._notify)
                return _details(resumed, "Resumed session")
            case []:
                raise AskError(f"no session has the ID or name {name!r}. List your sessions with `%svc session list`.")
            case _:
                ids = "; ".join(f"{one.id} ({one.title or one.name})" for one in found[:_LISTED])
                more = f"; {len(found) - _LISTED} more" if len(found) > _LISTED else ""
                raise AskError(f"{len(found)} sessions match {name!r}: {ids}{more}. Use a full ID.")

    def _resume_earlier(self) -> Listing:
        earlier = self._kernel.earlier_session(self._ask_options)
        try:
            if earlier is None:
                raise AskError(_NO_EARLIER)
            resumed = self._kernel.resume_session(earlier, self._ask_options, self._notify)
        except (SessionExpiredError, SessionNotFoundError):
            raise AskError(_NO_EARLIER) from None
        return _details(resumed, "Resumed this notebook's session")

    def _remove_file(self, name: str) -> str:
        session = self._current().refresh()
        found = [file for file in session.evidence if name in (file.name, file.sha256)]
        if not found:
            names = ", ".join(dict.fromkeys(file.name for file in session.evidence)) or "none"
            raise AskError(f"no file of this session is called {name!r}. Its files: {names}.")
        for file in found:
            session.detach_file(file)
        self._kernel.publish_session()
        return f"Removed {name}. Answers no longer use it, nor what was found in it."

    def _answer_of(self, number: int) -> Answer:
        session = self._current()
        questions = _questions(session)
        if not 1 <= number <= len(questions):
            raise AskError(
                f"this session has {_counted(len(questions), 'question')}; there is none with number {number}."
            )
        messages = questions[number - 1]
        if not any(message.message_type == MessageType.RESULT for message in messages):
            raise AskError(f"question {number} has {_turn(messages)[-1]}.")
        return Answer(
            tuple(messages[1:]),
            session.model.model_string,
            session.session_id,
            read_file=session.read_file,
            is_logged=session.log_session,
        )

    def _rename(self, name: str) -> str:
        session = self._current()
        session.update(name=name)
        self._kernel.publish_session()
        return f"Renamed the session to {session.name!r}."

    def _extend(self, duration: str | None) -> str:
        session = self._current().refresh()
        ttl = seconds_of(duration) if duration else session.ttl
        if time.time() + ttl <= session.expire_time:
            until = f"{_format_time(session.expire_time)} UTC, in {_time_left(session.expire_time)}"
            return f"Not changed: the session already expires later, at {until}."
        session.update(ttl=ttl)
        self._kernel.publish_session()
        return f"The session expires at {_format_time(session.expire_time)} UTC, in {_time_left(session.expire_time)}."

    def _delete(self) -> str:
        session = self._current()
        name = session.name
        self._kernel.delete_session(session)
        return f"Deleted the session {name!r} with its messages and files."

    def _models(self) -> Listing:
        current = self._kernel.session(self._ask_options, self._notify)
        models = self._kernel.client(self._ask_options).get_user_info().available_models
        self._kernel.known_models = tuple(model.model_string for model in models)
        answering = current.model.model_string if current else None
        rows = [["*" if m.model_string == answering else "", m.model_string, m.description] for m in models]
        return Listing("Models (* = used by this session)", ("", "name", "description"), rows)

    def _model(self, name: str) -> Listing:
        ask_options = replace(self._ask_options, model=name)
        return _details(self._kernel.create_session(ask_options, self._notify), "New session with this model")

    def _enter_key(self) -> str:
        service = self._remote_service()
        if service_key.is_in_environment():
            raise AskError("SVC_API_KEY is set and takes precedence. Unset it to use another key.")
        if not self._can_prompt:
            raise AskError(
                "cannot prompt for a key in a non-interactive run. Set SVC_API_KEY, or use `%svc key` in a notebook."
            )
        key = service_key.Key(getpass.getpass(f"API key for {service} (hidden): ").strip())
        if not key.text:
            return "No key entered; nothing changed."
        try:
            user = service_key.user_of(key, self._ask_options.base_url)
        except SvcError as error:
            raise AskError(f"the key was not saved: {error}") from None
        return f"The key of {user} is saved in {self._kernel.keys.keep(service, key)}."

    def _delete_key(self) -> str:
        service = self._remote_service()
        if self._kernel.keys.forget(service):
            return f"Deleted the key for {service}."
        return f"No key is saved for {service}."

    def _remote_service(self) -> str:
        service = service_key.address(self._ask_options.base_url)
        if service is None:
            raise AskError(
                "the local service has its own key. To use another service, set its address first: "
                '%config SvcMagics.base_url = "https://svc.example.org"'
            )
        return service


def _details(session: InteractiveSession, title: str) -> Listing:
    info = session.info
    rows = [
        ("name", info.name),
        ("first question", info.title or "none yet"),
        ("ID", info.id),
        ("model", info.model.model_string),
        ("language", info.language),
        ("questions", f"{info.turns:,}, {_counted(info.num_messages, 'message')}"),
        ("files", ", ".join(file.name for file in info.files) or "none"),
        ("tokens", f"{info.usage.total_tokens:,}"),
        ("logged", "yes" if info.log_session else "no"),
        ("created", f"{_format_time(info.create_time)} UTC"),
        ("expires", f"{_format_time(info.expire_time)} UTC, in {_time_left(info.expire_time)}"),
    ]
    return Listing(title, (), rows)


def _row(session: Session, *, is_current: bool) -> Sequence[str]:
    mark, model = "*" if is_current else "", session.model.model_string
    times = (_format_time(session.update_time), _time_left(session.expire_time))
    return mark, session.id, session.name, session.title, f"{session.turns:,}", *times, model


def _files(session: InteractiveSession) -> Listing:
    files = reversed(session.evidence)
    rows = [[f.name, f"{f.size:,}", f.mime_type, f.content_type_label, f.sha256[:16]] for f in files]
    header = ("name", "bytes", "type", "label", "SHA-256")
    order = ", the latest first" if len(rows) > 1 else ""
    return Listing(f"{_counted(len(rows), 'file')} attached{order}", header, rows)


def _questions(session: InteractiveSession) -> list[list[Message]]:
    """The messages of each turn, its query first."""
    turns: dict[str, list[Message]] = {}
    for message in session.history():
        turns.setdefault(message.turn, []).append(message)
    return [messages for messages in turns.values() if messages[0].message_type == MessageType.QUERY]


def _history(session: InteractiveSession, number: int) -> Listing:
    questions = _questions(session)
    rows = [[f"{i:,}", *_turn(messages)] for i, messages in enumerate(questions, 1)]
    header = ("", "asked (UTC)", "question", "seconds", "status", "answer")
    return Listing(f"{_counted(len(rows), 'question')}{_shown(len(rows), number)}", header, rows[-number:])


def _turn(messages: Sequence[Message]) -> Sequence[str]:
    query, last = messages[0], messages[-1]
    result = next((m for m in messages if m.message_type == MessageType.RESULT), None)
    if result is not None:
        answer = next((line for line in str(result.get_content()).splitlines() if line.strip()), "")
    else:
        answer = f"no answer: {last.status_message}" if last.ends_turn else "not answered yet"
    seconds = f"{last.created_at - query.created_at:.1f}"
    status = label(result.answer_status) if result is not None else ""
    return _format_time(query.created_at), str(query.get_content()), seconds, status, answer


def _shown(count: int, number: int) -> str:
    return f" (last {number})" if count > number else ""


def _counted(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def _format_time(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M}"


def _time_left(until: float) -> str:
    minutes = max(0, int(until - time.time())) // 60
    days, hours = minutes // 1_440, minutes // 60 % 24
    return f"{days} d {hours} h" if days else f"{hours} h {minutes % 60} min"
