"""Carry out what ``commands.py`` read: each command asks the service at most a few times and returns what to show."""

from __future__ import annotations

import getpass
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from svc import InteractiveSession, Message, MessageType, Session, SvcError
from svc_jupyter.errors import AskError
from svc_jupyter.kernel import service_key
from svc_jupyter.kernel.kernel import KernelSession
from svc_jupyter.magics.commands import Command, seconds_of
from svc_jupyter.magics.listing import Listing
from svc_jupyter.question import AskOptions

SHOWN_TURNS = 10  # of a history, where no number is given
_NONE_YET = "There is no session yet: the first question makes one, or `%svc session new`."


class SessionCommands:
    """The commands on one kernel. ``say`` takes a line for whoever looks; ``can_type`` is False in a batch run."""

    def __init__(
        self, kernel: KernelSession, ask_options: AskOptions, say: Callable[[str], None], *, can_type: bool
    ) -> None:
        self._kernel = kernel
        self._wanted = ask_options
        self._say = say
        self._can_type = can_type

    def run(self, command: Command) -> Listing | str:
        """What the command shows. Raises SvcError, or AskError where nothing can be done."""
        value = command.value or ""
        match command.words:
            case "session" | "session show":
                return self._show()
            case "session list":
                return self._list()
            case "session new":
                return _facts(self._kernel.create_session(self._wanted, self._say, command.value), "A new session")
            case "session resume":
                return self._resume(value)
            case "session rename":
                return self._rename(value)
            case "session extend":
                return self._extend(command.value)
            case "session delete":
                return self._delete()
            case "files":
                return _files(self._current().refresh())
            case "history":
                return _history(self._current(), int(command.value or SHOWN_TURNS))
            case "model":
                return self._model(command.value) if command.value else self._models()
            case "key":
                return self._type_key()
            case _:
                return self._delete_key()

    def _current(self) -> InteractiveSession:
        session = self._kernel.session(self._wanted, self._say)
        if session is None:
            raise AskError(_NONE_YET)
        return session

    def _show(self) -> Listing | str:
        session = self._kernel.session(self._wanted, self._say)
        return _NONE_YET if session is None else _facts(session.refresh(), "The kernel's session")

    def _list(self) -> Listing | str:
        current = self._kernel.session(self._wanted, self._say)
        sessions = self._kernel.client(self._wanted).list_sessions()
        self._kernel.known_sessions = tuple(session.id for session in sessions)
        if not sessions:
            return _NONE_YET
        rows = [
            _row(session, is_current=current is not None and session.id == current.session_id) for session in sessions
        ]
        header = ("", "id", "name", "questions", "last used (UTC)", "ends in", "model")
        return Listing(f"{_count(len(rows), 'session')}, oldest first", header, rows)

    def _resume(self, named: str) -> Listing:
        sessions = self._kernel.client(self._wanted).list_sessions()
        found = [s for s in sessions if named in (s.id, s.name)] or [s for s in sessions if s.id.startswith(named)]
        match found:
            case [session]:
                resumed = self._kernel.resume_session(session.id, self._wanted, self._say)
                return _facts(resumed, "The kernel goes on with this session")
            case []:
                raise AskError(f"no live session has the id or name {named!r}. `%svc session list` shows them.")
            case _:
                ids = ", ".join(session.id for session in found)
                raise AskError(f"{len(found)} sessions are called {named!r}: {ids}. Give the id.")

    def _rename(self, name: str) -> str:
        session = self._current()
        session.update(name=name)
        self._kernel.publish_session()
        return f"The session is called {session.name!r} now."

    def _extend(self, duration: str | None) -> str:
        session = self._current()
        session.update(ttl=seconds_of(duration) if duration else session.ttl)
        self._kernel.publish_session()
        return f"The session ends at {_moment(session.expire_time)} UTC, in {_left(session.expire_time)}."

    def _delete(self) -> str:
        session = self._current()
        name = session.name
        self._kernel.delete_session(session)
        return f"The session {name!r} is deleted: its messages and files are erased."

    def _models(self) -> Listing:
        current = self._kernel.session(self._wanted, self._say)
        models = self._kernel.client(self._wanted).get_user_info().available_models
        self._kernel.known_models = tuple(model.model_string for model in models)
        answering = current.model.model_string if current else None
        rows = [["*" if m.model_string == answering else "", m.model_string, m.description] for m in models]
        return Listing("Models; * answers in the kernel's session", ("", "name", "description"), rows)

    def _model(self, name: str) -> Listing:
        ask_options = replace(self._wanted, model=name)
        return _facts(self._kernel.create_session(ask_options, self._say), "A new session, with that model")

    def _type_key(self) -> str:
        service = self._remote_service()
        if service_key.is_in_environment():
            raise AskError("SVC_API_KEY is set, and goes first. Take it out of the environment to use another key.")
        if not self._can_type:
            raise AskError("nobody can type a key here. Set SVC_API_KEY, or type it once in a notebook.")
        key = service_key.Key(getpass.getpass(f"Key for {service} (it is not shown): ").strip())
        if not key.text:
            return "Nothing was typed, nothing was changed."
        try:
            user = service_key.user_of(key, self._wanted.base_url)
        except SvcError as error:
            raise AskError(f"the key was not kept: {error}") from None
        return f"The key of {user} is kept in {self._kernel.keys.keep(service, key)}."

    def _delete_key(self) -> str:
        service = self._remote_service()
        if self._kernel.keys.forget(service):
            return f"The key for {service} is deleted."
        return f"There was no key for {service}."

    def _remote_service(self) -> str:
        service = service_key.address(self._wanted.base_url)
        if service is None:
            raise AskError(
                "the local service brings its own key. For another one give its address first: "
                '%config SvcMagics.base_url = "https://svc.example.org"'
            )
        return service


def _facts(session: InteractiveSession, title: str) -> Listing:
    info = session.info
    rows = [
        ("name", info.name),
        ("id", info.id),
        ("model", info.model.model_string),
        ("language", info.language),
        ("questions", f"{info.turns:,}, {_count(info.num_messages, 'message')}"),
        ("files", ", ".join(file.name for file in info.files) or "none"),
        ("tokens", f"{info.usage.total_tokens:,}"),
        ("kept on disk", "yes" if info.log_session else "no"),
        ("made at", f"{_moment(info.create_time)} UTC"),
        ("ends at", f"{_moment(info.expire_time)} UTC, in {_left(info.expire_time)}"),
    ]
    return Listing(title, (), rows)


def _row(session: Session, *, is_current: bool) -> Sequence[str]:
    mark, model = "*" if is_current else "", session.model.model_string
    times = (_moment(session.update_time), _left(session.expire_time))
    return mark, session.id, session.name, f"{session.turns:,}", *times, model


def _files(session: InteractiveSession) -> Listing:
    rows = [[f.name, f"{f.size:,}", f.mime_type, f.content_type_label, f.sha256[:16]] for f in session.files]
    header = ("name", "bytes", "type", "label", "SHA-256")
    return Listing(f"{_count(len(rows), 'file')} attached", header, rows)


def _history(session: InteractiveSession, number: int) -> Listing:
    turns: dict[str, list[Message]] = {}
    for message in session.history():
        turns.setdefault(message.turn, []).append(message)
    asked = [messages for messages in turns.values() if messages[0].message_type == MessageType.QUERY]
    rows = [[f"{i:,}", *_turn(messages)] for i, messages in enumerate(asked, 1)]
    header = ("", "asked (UTC)", "question", "seconds", "answer")
    return Listing(f"{_count(len(rows), 'question')}{_shown(len(rows), number)}", header, rows[-number:])


def _turn(messages: Sequence[Message]) -> Sequence[str]:
    query, last = messages[0], messages[-1]
    result = next((m for m in messages if m.message_type == MessageType.RESULT), None)
    if result is not None:
        answer = next((line for line in str(result.get_content()).splitlines() if line.strip()), "")
    else:
        answer = f"none: {last.status_message}" if last.ends_turn else "none yet"
    seconds = f"{last.created_at - query.created_at:.1f}"
    return _moment(query.created_at), str(query.get_content()), seconds, answer


def _shown(count: int, number: int) -> str:
    return f", the last {number}" if count > number else ""


def _count(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def _moment(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M}"


def _left(until: float) -> str:
    minutes = max(0, int(until - time.time())) // 60
    days, hours = minutes // 1_440, minutes // 60 % 24
    return f"{days} d {hours} h" if days else f"{hours} h {minutes % 60} min"
