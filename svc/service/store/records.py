"""What a store keeps, as values: keys, sessions, messages, turns, files and feedback. Knows no database."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Literal

import msgspec

from svc.errors import SvcError
from svc.local_tools import LocalTool
from svc.messages import Message, MessageType, MimeType, ModelInfo, Usage

Logging = Literal["required", "optional", "never"]
"""Whether sessions of a key are kept on disk; ``optional`` leaves it to each session."""


class KeyRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What the service knows of a key. Several keys may belong to one user. ``rpm``, ``tpm``: 0 is no limit.

    ``expires`` and ``revoked`` are seconds since the epoch; 0 is never. ``lineage`` holds the ids of the keys that it
    was made with, the first of all at the front. A page's key (``is_page``) was made by ``svc open``.
    """

    id: str
    user_id: str
    name: str = ""
    lineage: tuple[str, ...] = ()
    is_page: bool = False
    org_id: str = "local"
    email: str = ""
    user_type: str = "user"
    logging: Logging = "optional"
    allow_experimental: bool = False
    rpm: int = 600
    tpm: int = 0
    created: float = 0.0
    expires: float = 0.0
    revoked: float = 0.0

    def is_valid(self, now: float) -> bool:
        """Whether the key opens anything at this moment."""
        return not self.revoked and (not self.expires or now < self.expires)

    @property
    def rate_id(self) -> str:
        """Whose limits it uses up: a user's own keys share those of the one that they go back to."""
        return self.lineage[0] if self.lineage else self.id


class LeaseLostError(SvcError):
    """The turn is no longer this runner's: it ended, its session was deleted, or another process took it over."""


class TurnState(StrEnum):
    """Where a turn stands; only a running one can be appended to."""

    RUNNING = "running"
    ANSWERED = "answered"
    FAILED = "failed"


class FileRecord(msgspec.Struct, frozen=True, kw_only=True):
    """An attached file. ``id`` is where its bytes are kept; ``name`` is the user's word for it, never a path."""

    id: str
    name: str
    size: int
    sha256: str
    mime_type: str
    label: str
    attached: float = 0.0  # when, in seconds since the epoch


class SessionRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A session without its messages. Times are seconds since the epoch; files are in the order of their index.

    ``instructions`` are what an OpenAI-style client sent as system messages, ``local_tools`` what the
    client offered with its last query.
    """

    id: str
    user_id: str
    org_id: str
    model: ModelInfo
    ttl: int
    language: str
    name: str
    description: str
    create_time: int
    update_time: int
    expire_time: int
    can_log: bool
    instructions: str = ""
    last_seq: int = 0
    turns: int = 0
    is_running: bool = False
    usage: Usage = msgspec.field(default_factory=Usage)
    files: tuple[FileRecord, ...] = ()
    local_tools: tuple[LocalTool, ...] = ()


class HistoryRow(msgspec.Struct, frozen=True):
    """What history needs of a stored message: a long session has thousands, read before each of its turns."""

    message_type: MessageType
    group: str
    turn: str
    created_at: float
    mime_type: MimeType
    content: str | None


class StoredMessage(msgspec.Struct, frozen=True):
    """A stored message as it goes to every reader: encoded once, JSON in UTF-8."""

    seq: int
    body: bytes


class TurnRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A turn and its lease: ``fence`` grows with each taking, and an append with an older one is refused."""

    session_id: str
    id: str
    number: int
    query_id: str
    query_seq: int
    state: TurnState
    fence: int
    attempts: int


class TurnEnd(msgspec.Struct, frozen=True, kw_only=True):
    """How a turn ends, written together with its last messages."""

    state: TurnState
    time: float
    usage: Usage


class FirstBatch(msgspec.Struct, frozen=True, kw_only=True):
    """What a turn says at once, and its end where that is all; made from what was stored up to ``after_seq``."""

    after_seq: int
    messages: Sequence[Message]
    turn_end: TurnEnd | None = None


class TurnStart(msgspec.Struct, frozen=True, kw_only=True):
    """What a query led to: a new turn with what was stored of it, or the turn that the same query id made before.

    ``is_first_batch_stored``: all of what was offered to be stored with the query was.
    """

    turn: TurnRecord
    stored: tuple[StoredMessage, ...] = ()
    is_first_batch_stored: bool = False

    @property
    def is_new(self) -> bool:
        """Whether this query is to be run."""
        return bool(self.stored)


class FeedbackRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What a user said of a session, or of the messages of one ``group``."""

    session_id: str
    group_id: str
    type: str
    score: int
    comment: str
    created: float
