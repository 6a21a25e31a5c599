"""The interface of assistants: a turn with prompt, files and history in; steps and one answer out.

Knows no HTTP and no store. ``svc/service/turns`` builds the Turn, runs the assistant, and makes messages of its steps.
"""

from __future__ import annotations

import io
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import IO, Protocol

import msgspec

from svc.errors import ConfigError, UnavailableError
from svc.local_tools import LocalTool, LocalToolResult
from svc.messages import AnswerStatus, MessageType, MimeType, State, TaskProgress, Toolset, Usage


class KeptResults(Protocol):
    """What tools found in a file, for further questions about it; private to its owner, and erased with the file."""

    async def find(self, name: str) -> bytes | None:
        """What was kept under this name, unchanged; None if there is nothing."""
        ...

    async def keep(self, name: str, data: bytes) -> None:
        """Keep data under a name of 64 hexadecimal digits, if there is room; what was used longest ago makes way."""


class FileUnreadableError(UnavailableError):
    """A file of the session could not be fetched; the text names it and says why."""


class StoredFile(Protocol):
    """A file that is in an object store. It is fetched when something reads it, and only then.

    Both ways to read it raise FileUnreadableError if it cannot be fetched, or is not what was attached.
    """

    @property
    def size(self) -> int:
        """Its size in bytes."""
        ...

    @property
    def is_packed(self) -> bool:
        """Whether it is compressed, as its type says."""
        ...

    @property
    def is_here(self) -> bool:
        """Whether it has been fetched already."""
        ...

    def fetched(self) -> AbstractAsyncContextManager[Path]:
        """Fetch it; the path may be read until the context ends."""
        ...

    def open(self) -> IO[bytes]:
        """Fetch it and open it. Blocks, so call it in a thread, never in the event loop."""
        ...


class TurnFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file of the session. ``source`` is its path, its bytes if they may not be on disk, or a ``StoredFile``.

    ``name`` is the user's name for it: data, never a path to open. ``is_new``: not attached yet when an earlier
    question was asked. ``is_meant``: words such as "the log" mean it (docs/wire.md, "Files of a question").
    ``attached``: when, in seconds since the epoch. ``results`` keeps what tools find in it; None if nothing is kept.
    """

    name: str
    size: int
    sha256: str
    mime_type: str
    label: str
    source: Path | bytes | StoredFile
    is_new: bool = True
    results: KeptResults | None = None
    is_meant: bool = False
    attached: float = 0.0


class Exchange(msgspec.Struct, frozen=True, kw_only=True):
    """An earlier answered turn of the session; ``Turn.history`` has them oldest first.

    ``sources`` holds the JSON contents of its ``source`` messages, in order: for the analyst, its findings.
    ``asked`` is when its query arrived, in seconds since the epoch; ``files`` what its client named as the files that
    it is about. ``is_elsewhere``: the client brought the answer along, so its findings are not known.
    """

    prompt: str
    answer: str
    sources: tuple[str, ...] = ()
    asked: float = 0.0
    files: tuple[str, ...] = ()
    is_elsewhere: bool = False


class LocalTools(Protocol):
    """Tools that the client runs where the user is: in a notebook's kernel or in a program."""

    @property
    def offered(self) -> Sequence[LocalTool]:
        """The tools that may be called in this turn; their names are unique, but may equal those of the assistant's own
        tools.
        """
        ...

    async def call(self, name: str, arguments: Mapping[str, object]) -> LocalToolResult:
        """Have the client run a tool, once its user allows it, which may take minutes.

        Never raises for the outcome of the call: a refusal, a timeout or an error is a result with ``ok`` false.
        """
        ...


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """One question and everything that may be used to answer it. ``prompt`` is the user's text, unchanged.

    ``instructions`` are the system messages of an OpenAI-style client: how to answer, never evidence. ``local_tools``
    is None if the client offers none; an assistant need not use them. ``made_files`` are those that the assistant
    itself made in earlier turns (``Step.file``); they are not evidence. ``left_out`` are the session's other files, if
    the client named those that the question is about: then nothing about these may be in the answer.
    ``disabled_tools`` names the toolsets that the session's client disabled: none of their tools may run, and the
    answer says what was left out.
    """

    session_id: str
    prompt: str
    files: tuple[TurnFile, ...] = ()
    made_files: tuple[TurnFile, ...] = ()
    left_out: tuple[TurnFile, ...] = ()
    history: tuple[Exchange, ...] = ()
    instructions: str = ""
    language: str = "en"
    model: str = "svc-1.1"
    use_experimental: bool = False
    disabled_tools: frozenset[str] = frozenset()
    local_tools: LocalTools | None = None


class StepFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file that the assistant made: its name, its content in pieces, and its type.

    ``label`` begins with ``svc.messages.MADE_LABEL``, or is empty: then the type is detected, and later turns have the
    file among ``Turn.files``.
    """

    name: str
    pieces: tuple[bytes, ...]
    label: str = ""


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """Progress while the turn runs: ``info``, ``thinking``, ``source`` or ``debug``; ``actor`` names who speaks.

    ``file`` is stored among the session's files before the message is sent, whose content names it by its SHA-256.
    Later turns have it in ``Turn.made_files``. ``progress`` says how far one piece of work is; clients show the last
    one of each actor and task.
    """

    content: str
    message_type: MessageType = MessageType.INFO
    mime_type: MimeType = MimeType.TEXT
    state: State = State.UNDEFINED
    actor: str = "analyst"
    title: str | None = None
    file: StepFile | None = None
    progress: TaskProgress | None = None


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """The turn's RESULT, the last item that an assistant yields. ``markdown`` has no size limit here.

    ``status`` says how far the question is answered; None if the assistant does not know.
    """

    markdown: str
    actor: str = "analyst"
    status: AnswerStatus | None = None
    usage: Usage | None = None


class WorkerLoad(msgspec.Struct, frozen=True, kw_only=True):
    """The work of an assistant's worker processes: how many files may be read at the same time, are read, and wait."""

    slots: int = 0
    busy: int = 0
    waiting: int = 0


class ToolCluster(msgspec.Struct, frozen=True, kw_only=True):
    """Other machines that read attached files: ``address`` as ``svc serve --tools`` has it.

    ``folder`` has the attached files, at the same path on each machine. They get ``at_once`` jobs at the same time; 0
    is one for each of their threads. A job waits ``patience_seconds`` for a cluster that is out of reach.
    """

    address: str
    folder: Path
    at_once: int = 0
    patience_seconds: float = 60.0


def no_cluster() -> ConfigError:
    """The error of an assistant that cannot use other machines."""
    return ConfigError("this assistant runs no tools on a cluster; leave --tools out, or choose another --assistant")


class Assistant(Protocol):
    """What answers questions. ``svc serve --assistant MODULE:NAME`` names a callable without arguments that returns
    one.

    Subclass it to inherit ``start`` and ``close``. If a turn is cancelled, the service closes its iterator; everything
    that the turn was running must have stopped when that returns. To fail a turn, raise a ``ServiceError``; any other
    exception becomes ``internal_error`` with an id.
    """

    toolsets: Sequence[Toolset] = ()
    """Its tool groups, listed with the models; only the experimental model uses those marked experimental."""

    def set_workers(self, count: int) -> None:
        """Called once before ``start``: how many worker processes the service's settings allow; 0: one per core."""

    def set_cluster(self, cluster: ToolCluster) -> None:
        """Called once before ``start`` if other machines read attached files: ``svc serve --tools``.

        Raises:
            ConfigError: It cannot use them.
        """
        raise no_cluster()

    @property
    def worker_load(self) -> WorkerLoad:
        """What its worker processes do now, for the metrics."""
        return WorkerLoad()

    async def start(self) -> None:
        """Called once before the first turn, in the service's event loop."""

    def answer(self, turn: Turn) -> AsyncIterator[Step | Answer]:
        """Yield steps as they happen, then exactly one Answer."""
        ...

    async def close(self) -> None:
        """Called once when the service stops, after the last turn."""


def open_source(source: Path | bytes | StoredFile) -> IO[bytes]:
    """Open a file's content for reading; a file in an object store is fetched. Blocks.

    Raises:
        FileUnreadableError: It is in an object store and cannot be fetched.
        OSError: It is on disk and cannot be read.
    """
    if isinstance(source, bytes):
        return io.BytesIO(source)
    return source.open("rb") if isinstance(source, Path) else source.open()
