"""Where the answers of one kernel come from: the service, or the store.

    live     asks each time; the store is not touched
    replay   asks only what is not stored, and stores it
    pin      never asks, and fails where there is no answer
    refresh  asks each time, stores, and says what changed

Set by ``%%svc --answers MODE`` or the environment: ``SVC_ANSWERS``, ``SVC_ANSWERS_STORE`` (a folder; ``.answers``),
``SVC_ANSWERS_KEEP_UNLOGGED``. A question that follows answers from the store has a session that never heard of them:
these are asked again first. A session that was resumed by hand has a past that nothing here knows: never stored.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from svc import Message
from svc_jupyter.answers import named_secrets
from svc_jupyter.answers import store as answer_store
from svc_jupyter.answers.answer import Origin
from svc_jupyter.answers.store import Entry
from svc_jupyter.errors import AnswerMissingError, AskError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from svc_jupyter.attachments import Attachment
    from svc_jupyter.question import AskOptions, StatusNote, TurnEvent

    CommandLine = Callable[[str, Sequence[Attachment], AskOptions], AsyncGenerator[TurnEvent, None]]

MODES = ("live", "replay", "pin", "refresh")
DEFAULT_FOLDER = ".answers"


@dataclass(frozen=True, kw_only=True)
class Policy:
    """How questions are answered, and where answers are stored."""

    mode: str
    folder: Path
    keeps_unlogged: bool


@dataclass(frozen=True)
class _Question:
    """What is asked, with the hashes of what is attached."""

    text: str
    files: tuple[Attachment, ...]
    ask_options: AskOptions
    digests: tuple[tuple[str, str], ...]

    @property
    def as_written(self) -> str:
        """What may be stored and shown of it: names in braces where values stand in it."""
        return self.ask_options.as_written or self.text


def policy(mode: str | None) -> Policy:
    """What the option and the environment say now. Raises AskError for a mode that is none."""
    named = mode or os.environ.get("SVC_ANSWERS") or "live"
    if named not in MODES:
        raise AskError(f"answers: there is no mode {named}. There are: {', '.join(MODES)}.")
    return Policy(
        mode=named,
        folder=Path(os.environ.get("SVC_ANSWERS_STORE") or DEFAULT_FOLDER).absolute(),
        keeps_unlogged=bool(os.environ.get("SVC_ANSWERS_KEEP_UNLOGGED")),
    )


class AnswerCache:
    """The questions of one kernel, each with its key; asks, or takes the answer from the store. One at a time."""

    def __init__(self) -> None:
        self._before = ""  # the key of the question before
        self._model = ""
        self._session_id: str | None = None  # that the service knows the questions in; None: none was asked
        self._unasked: list[_Question] = []  # answered from the store since

    async def ask(
        self,
        ask: CommandLine,
        text: str,
        files: Sequence[Attachment],
        ask_options: AskOptions,
        session_id: Callable[[], str | None],
    ) -> AsyncGenerator[TurnEvent | Origin, None]:
        """The turn as it comes, then its Origin. ``session_id`` tells the kernel's session; None where there is none.

        Raises AnswerMissingError where answers are pinned and this one is not there; else what ``ask`` raises.
        """
        how = policy(ask_options.answers)
        question = await asyncio.to_thread(_hashed, text, files, ask_options)
        self._follow_session(session_id(), ask_options)
        key = answer_store.key_of(
            model=self._model,
            language=ask_options.language,
            question=text,
            files=question.digests,
            before=self._before,
        )
        entry = await asyncio.to_thread(answer_store.load, how.folder, key) if how.mode != "live" else None
        if how.mode == "pin" and entry is None:
            raise AnswerMissingError(_missing(how, key, question.as_written))
        if entry is not None and how.mode in ("pin", "replay"):
            items = self._stored(entry, question, how)
        else:
            items = self._asked(ask, question, key, entry, how)
        async with aclosing(items):
            async for item in items:
                yield item
        self._before = key

    def _follow_session(self, session_id: str | None, ask_options: AskOptions) -> None:
        """Begin anew where the question goes to another session than the one before."""
        model = ask_options.model or self._model or ask_options.default_model or ""
        if ask_options.is_new or (self._before and model != self._model):
            self._before, self._session_id, self._unasked = "", None, []
        elif session_id != self._session_id and session_id is not None:
            self._before, self._session_id, self._unasked = f"session {session_id}", session_id, []
        self._model = model

    async def _stored(self, entry: Entry, question: _Question, how: Policy) -> AsyncGenerator[TurnEvent | Origin, None]:
        from svc_jupyter.question import QuestionSent, StatusNote

        await asyncio.to_thread(answer_store.touch, how.folder, entry.key)
        for note in entry.notes:
            yield StatusNote(note)
        yield QuestionSent(entry.session_id, entry.model)
        for message in entry.messages:
            yield message
        self._unasked.append(question)
        yield Origin(key=entry.key, question=question.text, is_stored=True)

    async def _asked(
        self, ask: CommandLine, question: _Question, key: str, known: Entry | None, how: Policy
    ) -> AsyncGenerator[TurnEvent | Origin, None]:
        from svc_jupyter.question import QuestionSent, StatusNote

        is_first = how.mode != "live" and self._session_id is None  # a session of before a restart has another past
        async with aclosing(self._told_again(ask, is_first=is_first)) as notes:
            async for note in notes:
                yield note
        is_new = question.ask_options.is_new or (is_first and self._session_id is None)
        heard = _Recorder()
        async with aclosing(ask(question.text, question.files, replace(question.ask_options, is_new=is_new))) as items:
            async for item in items:
                heard.take(item)
                if isinstance(item, QuestionSent):
                    self._session_id = item.session_id
                yield item
        entry = heard.entry(question, key=key, before=self._before, asked_model=self._model)
        if _may_store(entry, question, how):
            problem = await asyncio.to_thread(_save, how.folder, entry)
            if problem:
                yield StatusNote(problem)
        has_changed = known is not None and known.text != entry.text
        yield Origin(key=key, question=question.text, has_changed=has_changed)

    async def _told_again(self, ask: CommandLine, *, is_first: bool) -> AsyncGenerator[StatusNote, None]:
        """Ask what was answered from the store, in the session that the next question goes to; only that is said."""
        from svc_jupyter.question import QuestionSent, StatusNote

        while self._unasked:
            missed = self._unasked[0]
            yield StatusNote(f"asks again what was answered from the store: {missed.as_written[:60]}")
            is_new = is_first and self._session_id is None
            async with aclosing(
                ask(missed.text, missed.files, replace(missed.ask_options, is_new=is_new, offers_tools=False))
            ) as items:
                async for item in items:
                    if isinstance(item, QuestionSent):
                        self._session_id = item.session_id
            self._unasked.pop(0)


class _Recorder:
    """What came of a question: what an attempt that failed had shown is forgotten."""

    def __init__(self) -> None:
        self._session_id = ""
        self._model = ""
        self._notes: list[str] = []
        self._messages: list[Message] = []

    def take(self, item: TurnEvent) -> None:
        from svc_jupyter.question import QuestionSent, StatusNote

        match item:
            case QuestionSent(session_id, model):
                self._session_id, self._model, self._messages = session_id, model, []
            case StatusNote(note):
                self._notes.append(note)
            case Message():
                self._messages.append(item)

    def entry(self, question: _Question, *, key: str, before: str, asked_model: str) -> Entry:
        """As it is stored: without what must not be written."""
        entry = Entry(
            key=key,
            before=before,
            question=question.as_written,
            asked_model=asked_model,
            language=question.ask_options.language,
            files=list(question.digests),
            model=self._model,
            session_id=self._session_id,
            saved=time.time(),
            notes=self._notes,
            messages=self._messages,
        )
        return answer_store.redacted(entry, named_secrets.known())


def _hashed(text: str, files: Sequence[Attachment], ask_options: AskOptions) -> _Question:
    digests = tuple((file.name, file.sha256()) for file in files)
    return _Question(text, tuple(files), ask_options, digests)


def _may_store(entry: Entry, question: _Question, how: Policy) -> bool:
    is_known = not entry.before.startswith("session ")
    return how.mode != "live" and is_known and (question.ask_options.log_session or how.keeps_unlogged)


def _save(folder: Path, entry: Entry) -> str:
    """Store it; returns what went wrong: the answer is there all the same."""
    try:
        answer_store.save(folder, entry)
    except OSError as error:
        return f"the answer could not be stored in {folder}: {error.strerror or error}"
    return ""


def _missing(how: Policy, key: str, text: str) -> str:
    asked = text if len(text) <= 60 else f"{text[:59]}…"
    return (
        f"no answer is pinned for this question ({asked!r}, key {key[:12]}…) in {how.folder}. The question, what is "
        "attached or a question before it is another than when answers were stored; --answers replay asks what is new."
    )
