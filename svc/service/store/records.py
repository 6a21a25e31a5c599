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
"""Whether a key's sessions are stored on disk; with ``optional`` each session decides."""
FileState = Literal["receiving", "removing"]
"""Why a file is in the journal: it is not attached yet, or not attached any more."""


class KeyRecord(msgspec.Struct, frozen=True, kw_only=True):
    """An API key without its secret. A user may have several. ``rpm`` and ``tpm``: 0 is unlimited.

    ``email`` is the user's, the same in all keys of the user; empty if the user has none.
    ``expires`` and ``revoked`` are seconds since the epoch; 0 is never. ``lineage`` holds the ids of the keys that it
    was derived from, the original first. ``is_page``: made by ``svc open`` for the service's page.
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
        """Whether the key is neither revoked nor expired."""
        return not self.revoked and (not self.expires or now < self.expires)

    @property
    def rate_id(self) -> str:
        """The key whose rate limits are used: derived keys share those of the original."""
        return self.lineage[0] if self.lineage else self.id


class LeaseLostError(SvcError):
    """This process no longer holds the turn: it ended, its session was deleted, or another process took it over."""


class NoRoomError(SvcError):
    """What is to be stored does not fit beside the bytes that the user's sessions ``kept``."""

    def __init__(self, kept: int) -> None:
        super().__init__(f"the user's sessions keep {kept:,} bytes already")
        self.kept = kept


class TurnState(StrEnum):
    """The state of a turn; messages can be appended only while it is running."""

    RUNNING = "running"
    ANSWERED = "answered"
    FAILED = "failed"


class FileRecord(msgspec.Struct, frozen=True, kw_only=True):
    """An attached file. ``id`` names its bytes in the file store; ``name`` is the user's, never a path."""

    id: str
    name: str
    size: int
    sha256: str
    mime_type: str
    label: str
    attached: float = 0.0  # when, in seconds since the epoch


class SessionRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A session without its messages. Times are seconds since the epoch; files are in the order of their index.

    ``title`` is the first question in one line. ``instructions`` are the system messages of an OpenAI-style client, or
    those of the registration's ``agents_config`` (JSON, or empty). ``local_tools`` are the tools offered with the last
    query, ``registered_tools`` those of the registration. ``number`` is the row's, 0 before it is read from the store:
    another session may get the id after a deletion, but never the number. ``has_query``: a turn of it has the query
    that the session was read for.
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
    title: str = ""
    instructions: str = ""
    last_seq: int = 0
    turns: int = 0
    is_running: bool = False
    usage: Usage = msgspec.field(default_factory=Usage)
    files: tuple[FileRecord, ...] = ()
    local_tools: tuple[LocalTool, ...] = ()
    registered_tools: tuple[LocalTool, ...] = ()
    agents_config: str = ""
    number: int = 0
    has_query: bool = False


class HistoryRow(msgspec.Struct, frozen=True):
    """The fields of a stored message that a history needs: a long session has thousands, read before each turn."""

    message_type: MessageType
    group: str
    turn: str
    created_at: float
    mime_type: MimeType
    content: str | None
    files: tuple[str, ...] | msgspec.UnsetType | None = msgspec.UNSET


class StoredMessage(msgspec.Struct, frozen=True):
    """A stored message as every client gets it: JSON in UTF-8, encoded once."""

    seq: int
    body: bytes

    @property
    def query_id(self) -> str:
        """The id of a query; "" for every other message."""
        return msgspec.json.decode(self.body, type=Message).id if self.body.startswith(_QUERY) else ""


_QUERY = msgspec.json.encode(Message(message_type=MessageType.QUERY)).partition(b",")[0]


class TurnRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A turn and its lease.

    ``fence`` grows each time the turn is taken over. An append with an older fence is refused, so a process that was
    paused and lost its lease cannot write. ``key_id`` is that of the key that asked; "" if it is not known.
    """

    session_id: str
    id: str
    number: int
    query_id: str
    query_seq: int
    state: TurnState
    fence: int
    attempts: int
    key_id: str = ""


class TurnEnd(msgspec.Struct, frozen=True, kw_only=True):
    """How a turn ends; stored together with its last messages."""

    state: TurnState
    time: float
    usage: Usage


class FirstBatch(msgspec.Struct, frozen=True, kw_only=True):
    """The first messages of a turn, and its end if that is all.

    It is stored only if the session's last seq is still ``after_seq``: otherwise it was made from an outdated history.
    ``usage`` is the session's before the turn, if the caller knows it.
    """

    after_seq: int
    messages: Sequence[Message]
    turn_end: TurnEnd | None = None
    usage: Usage | None = None


class TurnStart(msgspec.Struct, frozen=True, kw_only=True):
    """The result of storing a query: a new turn with its first messages, or the turn that the same query id started
    before.

    ``is_first_batch_stored``: whether the offered first batch was stored with the query. ``is_session_new``: the
    session was stored in the same statement, so no other service has a listener of it.
    """

    turn: TurnRecord
    stored: tuple[StoredMessage, ...] = ()
    is_first_batch_stored: bool = False
    is_session_new: bool = False

    @property
    def is_new(self) -> bool:
        """Whether the query is new and has to be run."""
        return bool(self.stored)


class FeedbackRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A user's feedback on a session, or on the messages of one ``group``."""

    session_id: str
    group_id: str
    type: str
    score: int
    comment: str
    created: float
