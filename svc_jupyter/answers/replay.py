"""Answer the questions of one kernel from the service or from stored answers.

    live     always asks; does not use the store
    replay   asks only what is not stored and verified, and stores it
    pin      never asks; fails if the answer is not stored, marks it if it is not verified
    refresh  always asks, stores, and reports changes

Set by ``%%svc --answers MODE`` or the environment: ``SVC_ANSWERS``, ``SVC_ANSWERS_STORE`` (a folder; ``.answers``),
``SVC_ANSWERS_KEEP_UNLOGGED``. A question that follows stored answers goes to a session that does not have them,
so they are asked again first. The history of a session that the user resumed is unknown here, so its answers are not
stored.
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

import msgspec

from svc import Message, SvcError
from svc_jupyter.answers import named_secrets
from svc_jupyter.answers import store as answer_store
from svc_jupyter.answers.answer import Origin
from svc_jupyter.answers.findings import reference_in
from svc_jupyter.answers.status_mark import UNVERIFIED, pinned_note
from svc_jupyter.answers.store import Entry, Stored
from svc_jupyter.errors import AnswerMissingError, AskError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from svc_jupyter.attachments import Attachment
    from svc_jupyter.question import AskOptions, StatusNote, TurnEvent

    AskService = Callable[[str, Sequence[Attachment], AskOptions], AsyncGenerator[TurnEvent, None]]
    ReadSessionFile = Callable[[str, str], bytes]  # of a session by its id, the file with this SHA-256

MODES = ("live", "replay", "pin", "refresh")
DEFAULT_FOLDER = ".answers"


@dataclass(frozen=True, kw_only=True)
class Policy:
    """How questions are answered, and where answers are stored."""

    mode: str
    folder: Path
    keeps_unlogged: bool


@dataclass(frozen=True)
class _StoredQuestion:
    """A question with the hashes of its attachments."""

    text: str
    files: tuple[Attachment, ...]
    ask_options: AskOptions
    digests: tuple[tuple[str, str], ...]

    @property
    def as_written(self) -> str:
        """The text that may be stored and shown: with --fill, before the names in braces were replaced."""
        return self.ask_options.as_written or self.text


def read_policy(mode: str | None) -> Policy:
    """Read the policy from the option and the environment. Raises AskError for an unknown mode."""
    named = mode or os.environ.get("SVC_ANSWERS") or "live"
    if named not in MODES:
        raise AskError(f"--answers: unknown mode {named}. Modes: {', '.join(MODES)}.")
    return Policy(
        mode=named,
        folder=Path(os.environ.get("SVC_ANSWERS_STORE") or DEFAULT_FOLDER).absolute(),
        keeps_unlogged=bool(os.environ.get("SVC_ANSWERS_KEEP_UNLOGGED")),
    )


class AnswerCache:
    """Answers the questions of one kernel, one at a time, from the service or the store."""

    def __init__(self) -> None:
        self._before = ""  # the key of the previous question
        self._model = ""
        self._session_id: str | None = None  # the session that has the questions; None: none was asked
        self._replayed: list[_StoredQuestion] = []  # answered from the store since then

    async def ask(
        self,
        ask: AskService,
        text: str,
        files: Sequence[Attachment],
        ask_options: AskOptions,
        session_id: Callable[[], str | None],
        read_file: ReadSessionFile,
    ) -> AsyncGenerator[TurnEvent | Origin, None]:
        """Yield the events of the turn, then its Origin.

        Args:
            ask: Asks the service.
            text: The question.
            files: Its attachments.
            ask_options: Its options.
            session_id: Returns the ID of the kernel's session, or None.
            read_file: Fetches a file of a session, to store it with the answer.

        Raises:
            AnswerMissingError: Answers are pinned, and this one is not stored.
            Exception: Whatever ``ask`` raises.
        """
        policy = read_policy(ask_options.answers)
        question = await asyncio.to_thread(_hashed, text, files, ask_options)
        self._follow_session(session_id(), ask_options)
        key = answer_store.key_of(
            model=self._model,
            language=ask_options.language,
            question=text,
            files=question.digests,
            before=self._before,
            is_about_all=ask_options.is_about_all,
        )
        stored = await asyncio.to_thread(answer_store.load, policy.folder, key) if policy.mode != "live" else None
        if policy.mode == "pin" and stored is None:
            raise AnswerMissingError(_missing(policy, key, question.as_written))
        if stored is not None and (policy.mode == "pin" or (policy.mode == "replay" and stored.is_verified)):
            items = self._replay(stored, question, policy)
        else:
            items = self._ask_and_store(ask, question, key, stored, policy, read_file)
        async with aclosing(items):
            async for item in items:
                yield item
        self._before = key

    def _follow_session(self, session_id: str | None, ask_options: AskOptions) -> None:
        """Forget the previous questions if this one goes to a different session."""
        model = ask_options.model or self._model or ask_options.default_model or ""
        if ask_options.is_new or (self._before and model != self._model):
            self._before, self._session_id, self._replayed = "", None, []
        elif session_id != self._session_id and session_id is not None:
            self._before, self._session_id, self._replayed = f"session {session_id}", session_id, []
        self._model = model

    async def _replay(
        self, stored: Stored, question: _StoredQuestion, policy: Policy
    ) -> AsyncGenerator[TurnEvent | Origin, None]:
        from svc_jupyter.question import QuestionSent, StatusNote

        entry = stored.entry
        await asyncio.to_thread(answer_store.touch, policy.folder, entry.key)
        for note in entry.notes:
            yield StatusNote(note)
        yield QuestionSent(entry.session_id, entry.model)
        for message in entry.messages:
            yield message
        if question.ask_options.consent.can_ask:  # a batch run's outputs are compared; its page says so
            yield StatusNote(pinned_note(entry.saved))
        self._replayed.append(question)
        yield Origin(
            key=entry.key,
            question=question.text,
            is_stored=True,
            stored_at=entry.saved,
            is_verified=stored.is_verified,
            findings_file=answer_store.findings_path(policy.folder, entry.key),
            findings_sha256=entry.findings_sha256,
            evidence=question.digests,
        )

    async def _ask_and_store(
        self,
        ask: AskService,
        question: _StoredQuestion,
        key: str,
        known: Stored | None,
        policy: Policy,
        read_file: ReadSessionFile,
    ) -> AsyncGenerator[TurnEvent | Origin, None]:
        from svc_jupyter.question import QuestionSent, StatusNote

        if known is not None and not known.is_verified:
            yield StatusNote(f"the stored answer is {UNVERIFIED}; asking again")
        is_first = (
            policy.mode != "live" and self._session_id is None
        )  # the session before a restart has an unknown history
        async with aclosing(self._ask_again(ask, is_first=is_first)) as notes:
            async for note in notes:
                yield note
        is_new = question.ask_options.is_new or (is_first and self._session_id is None)
        recorder = _Recorder()
        async with aclosing(ask(question.text, question.files, replace(question.ask_options, is_new=is_new))) as items:
            async for item in items:
                recorder.on_item(item)
                if isinstance(item, QuestionSent):
                    self._session_id = item.session_id
                yield item
        entry = recorder.entry(question, key=key, before=self._before, asked_model=self._model)
        if _may_store(entry, policy, is_logged=question.ask_options.log_session and recorder.is_logged):
            problem = await asyncio.to_thread(_save, policy.folder, entry, read_file)
            if problem:
                yield StatusNote(problem)
        has_changed = known is not None and known.entry.differs(entry)
        yield Origin(key=key, question=question.text, has_changed=has_changed, evidence=question.digests)

    async def _ask_again(self, ask: AskService, *, is_first: bool) -> AsyncGenerator[StatusNote, None]:
        """Ask the service what the store answered before, so that the session has it. Yields only notes."""
        from svc_jupyter.question import QuestionSent, StatusNote

        while self._replayed:
            earlier = self._replayed[0]
            yield StatusNote(f"asking again what was answered from the store: {earlier.as_written[:60]}")
            is_new = is_first and self._session_id is None
            async with aclosing(
                ask(earlier.text, earlier.files, replace(earlier.ask_options, is_new=is_new, offers_tools=False))
            ) as items:
                async for item in items:
                    if isinstance(item, QuestionSent):
                        self._session_id = item.session_id
            self._replayed.pop(0)


class _Recorder:
    """Records the events of a question, without those of a failed attempt."""

    def __init__(self) -> None:
        self._session_id = ""
        self._model = ""
        self._notes: list[str] = []
        self._messages: list[Message] = []
        self.is_logged = True

    def on_item(self, item: TurnEvent) -> None:
        from svc_jupyter.question import QuestionSent, StatusNote

        match item:
            case QuestionSent(session_id, model, is_logged):
                self._session_id, self._model, self._messages = session_id, model, []
                self.is_logged = is_logged
            case StatusNote(note):
                self._notes.append(note)
            case Message(progress=msgspec.UNSET):  # how far a task was depends on the run
                self._messages.append(item)

    def entry(self, question: _StoredQuestion, *, key: str, before: str, asked_model: str) -> Entry:
        """Return the entry to store, redacted."""
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


def _hashed(text: str, files: Sequence[Attachment], ask_options: AskOptions) -> _StoredQuestion:
    digests = tuple((file.name, file.sha256()) for file in files)
    return _StoredQuestion(text, tuple(files), ask_options, digests)


def _may_store(entry: Entry, policy: Policy, *, is_logged: bool) -> bool:
    """``is_logged``: as the setting says and the session is; a panel may have started an unlogged one."""
    is_known = not entry.before.startswith("session ")
    return policy.mode != "live" and is_known and (is_logged or policy.keeps_unlogged)


def _save(folder: Path, entry: Entry, read_file: ReadSessionFile) -> str:
    """Store the entry; return the problem if that failed, since the answer itself is fine."""
    named = reference_in(entry.messages)
    try:
        if named is not None:
            content = read_file(entry.session_id, named.sha256)
            digest = answer_store.save_findings(folder, entry.key, content, named_secrets.known())
            entry = msgspec.structs.replace(entry, findings_sha256=digest)
        answer_store.save(folder, entry)
    except OSError as error:
        return f"the answer could not be stored in {folder}: {error.strerror or error}"
    except (SvcError, ValueError) as error:
        return f"the answer was not stored, because its findings cannot be read: {error}"
    return ""


def _missing(policy: Policy, key: str, text: str) -> str:
    asked = text if len(text) <= 60 else f"{text[:59]}…"
    return (
        f"no stored answer for this question ({asked!r}, key {key[:12]}…) in {policy.folder}: the question, its "
        "attachments or an earlier question differ from the recording. Use --answers replay to ask what is missing."
    )
