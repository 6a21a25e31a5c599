"""What a turn is to the assistant: prompt, files and history in; steps and one answer out.

Knows no HTTP and no store. ``service/turns.py`` builds the Turn, runs the assistant, and makes messages of the steps.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import msgspec

from svc.local_tools import LocalTool, LocalToolResult
from svc.messages import MessageType, MimeType, State, Toolset, Usage


class TurnFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file of the session. ``source`` is where its bytes are: a path, or the bytes where none may be on disk.

    ``name`` is what the user called it: data, never a path to open. ``is_new``: no earlier question was asked with it.
    """

    name: str
    size: int
    sha256: str
    mime_type: str
    label: str
    source: Path | bytes
    is_new: bool = True


class Exchange(msgspec.Struct, frozen=True, kw_only=True):
    """An earlier turn of the session that was answered, oldest first in ``Turn.history``.

    ``sources`` holds the JSON contents of its ``source`` messages, in order: for the analyst, its findings.
    """

    prompt: str
    answer: str
    sources: tuple[str, ...] = ()


class LocalTools(Protocol):
    """Tools that whoever asks runs where they are: in a notebook's kernel, in a program."""

    @property
    def offered(self) -> Sequence[LocalTool]:
        """What may be called in this turn; names are unlike each other, not unlike the assistant's own."""
        ...

    async def call(self, name: str, arguments: Mapping[str, object]) -> LocalToolResult:
        """Have one run, once its user allows it: that may take minutes. Never raises for what becomes of the call."""
        ...


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """One question with everything that may be used to answer it. ``prompt`` is the user's, to the letter.

    ``instructions`` are an OpenAI-style client's system messages: how to answer, never what happened. ``local_tools``
    is None where the client offers none; an assistant need not use them.
    """

    session_id: str
    prompt: str
    files: tuple[TurnFile, ...] = ()
    history: tuple[Exchange, ...] = ()
    instructions: str = ""
    language: str = "en"
    model: str = "svc-1.1"
    use_experimental: bool = False
    local_tools: LocalTools | None = None


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """Something to tell while the turn runs: ``info``, ``thinking`` or ``source``; ``actor`` names who speaks."""

    content: str
    message_type: MessageType = MessageType.INFO
    mime_type: MimeType = MimeType.TEXT
    state: State = State.UNDEFINED
    actor: str = "analyst"
    title: str | None = None


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """The turn's one RESULT, the last thing that an assistant yields. ``markdown`` has no limit here."""

    markdown: str
    actor: str = "analyst"
    usage: Usage | None = None


class Assistant(Protocol):
    """What answers. ``svc serve --assistant MODULE:NAME`` names a callable that takes nothing and returns one.

    Subclass it to inherit ``start`` and ``close``. The service closes the iterator of a turn that is cancelled;
    whatever the turn was running must be stopped by then. To fail a turn, raise a ``ServiceError``; anything else
    that is raised becomes ``internal_error`` with an id.
    """

    toolsets: Sequence[Toolset] = ()
    """What it has, as the wire lists it with a model; an experimental one is used by the experimental model alone."""

    async def start(self) -> None:
        """Called once, in the service's loop, before the first turn."""

    def answer(self, turn: Turn) -> AsyncIterator[Step | Answer]:
        """Steps as they happen, then exactly one Answer."""
        ...

    async def close(self) -> None:
        """Called once when the service stops, after the last turn."""
