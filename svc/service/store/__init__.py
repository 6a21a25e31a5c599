"""The interface of the store, and what every implementation guarantees. Knows no database and no HTTP.

- Durability: a message is on disk before ``begin_turn`` or ``append`` returns it.
- Order: ``seq`` is assigned in the same transaction, from 1 without gaps in each session.
- Fencing: an append by a process that no longer holds the turn's lease changes nothing.
- Each turn has at most one RESULT.

If the disk is full, the methods raise InsufficientStorageError; if the database fails otherwise, UnavailableError.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from svc.local_tools import LocalTool
from svc.messages import Message
from svc.service.store.records import (
    FeedbackRecord,
    FileRecord,
    FileState,
    FirstBatch,
    HistoryRow,
    KeyRecord,
    SessionRecord,
    StoredMessage,
    TurnEnd,
    TurnRecord,
    TurnStart,
)

MAX_CONSENTS = 1_000  # of a session; for more tools the user is asked each time


class Store(Protocol):
    """Sessions, messages, turns, records of files, feedback and API keys."""

    @property
    def patience_seconds(self) -> float:
        """For how long a turn waits while the store is out of reach; 0 if it is on this machine."""
        ...

    async def open(self) -> None:
        """Migrate the schema and start; raises ConfigError if the database cannot be used."""

    async def close(self) -> None:
        """Finish accepted writes, then close the database."""

    async def check(self) -> None:
        """Return if the store can be read and written; raises UnavailableError or InsufficientStorageError."""

    async def add_session(self, session: SessionRecord) -> SessionRecord:
        """Store a session, or return the one that already has its id."""
        ...

    async def session(self, session_id: str, *, query_id: str = "") -> SessionRecord | None:
        """The session, even if expired; None if there is none. With ``query_id``, ``has_query`` is set."""
        ...

    async def list_sessions(self, user_id: str, *, now: float) -> list[SessionRecord]:
        """The user's live sessions, oldest first."""
        ...

    async def count_sessions(self, user_id: str, *, now: float) -> int:
        """The number of the user's live sessions."""
        ...

    async def bytes_of(self, user_id: str) -> int:
        """The bytes of messages, files, instructions and feedback that the user's sessions keep."""
        ...

    async def bytes_of_all(self) -> int:
        """The same of all users together."""
        ...

    async def alive(self, session_ids: Iterable[str], now: float) -> set[str]:
        """Those of the sessions that exist and have not expired."""
        ...

    async def update_session(self, session: SessionRecord) -> None:
        """Store the name, description, ttl and times of a session."""

    async def set_local_tools(self, session_id: str, tools: Sequence[LocalTool]) -> None:
        """Store the tools that the session's client offers."""

    async def consents(self, session_id: str) -> set[str]:
        """The digests of the local tools that the user has allowed for the session."""
        ...

    async def add_consent(self, session_id: str, digest: str) -> None:
        """Remember that the user has allowed a local tool; beyond ``MAX_CONSENTS`` nothing is added."""

    async def delete_session(self, session_id: str) -> None:
        """Delete the session with everything that belongs to it."""

    async def purge(self, *, ended_before: float) -> list[str]:
        """Delete the sessions that expired at or before this time; returns the ids of their files."""
        ...

    async def forget(self, *, ended_before: float) -> list[str]:
        """Delete the contents of sessions that expired at or before this time, except their ids and times; returns the
        ids
        of their files.
        """
        ...

    async def messages_after(
        self, session_id: str, seq: int, *, limit_bytes: int | None = None, last_seq: int | None = None
    ) -> list[StoredMessage]:
        """Return messages with a greater seq, in order.

        Args:
            session_id: The session.
            seq: The last seq that is known.
            limit_bytes: Stop once the messages reach this size, but return at least one; None for no limit.
            last_seq: The last one to return; None for no end.
        """
        ...

    async def exchanges(self, session_id: str, limit_bytes: int) -> list[HistoryRow]:
        """Queries, sources and results of answered turns, in order: the newest turns that fit into the limit."""
        ...

    async def turn_messages(self, turn: TurnRecord) -> list[Message]:
        """All messages of a turn, in order."""
        ...

    async def begin_turn(
        self,
        session_id: str,
        query: Message,
        *,
        owner: str,
        first_batch: FirstBatch | None = None,
        key_id: str = "",
    ) -> TurnStart:
        """Store a query and begin its turn, or return the turn that the same query id began before.

        A ``turn`` id that the session already has is replaced, and so is an unknown ``parent_id``.

        Args:
            session_id: The session.
            query: The query; its ``turn``, ``parent_id`` and ``seq`` are set.
            owner: The process that holds the turn's lease; "" for a turn that waits, which is not an attempt yet.
            first_batch: Stored in the same transaction, unless another message was stored since it was made.
            key_id: The key that asks, whose quotas the turn counts for.

        Raises:
            TurnInProgressError: Another turn of the session is running.
            SessionNotFoundError: The session does not exist.
            InvalidRequestError: Another message of the session has the query's id.
        """
        ...

    async def begin_session(
        self,
        session: SessionRecord,
        exchanges: Sequence[tuple[Message, Sequence[Message]]],
        query: Message,
        *,
        owner: str,
        first_batch: FirstBatch | None = None,
        key_id: str = "",
    ) -> TurnStart:
        """Store a new session, turns that were answered elsewhere, and its query's turn, in one transaction."""
        ...

    async def append(
        self, turn: TurnRecord, messages: Sequence[Message], turn_end: TurnEnd | None = None
    ) -> list[StoredMessage]:
        """Store messages of a turn, setting ``seq`` and ``turn``; raises LeaseLostError if the lease is not held."""
        ...

    async def turn(self, session_id: str, turn_id: str) -> TurnRecord | None:
        """The turn as it is now; None if there is none."""
        ...

    async def running_turn(self, session_id: str) -> TurnRecord | None:
        """The session's running turn, or None."""
        ...

    async def ended_turn(self, session_id: str, *, ended_after: float) -> TurnRecord | None:
        """The session's last turn, if it ended after this time (seconds since the epoch); None if it is running."""
        ...

    async def claim_orphans(self, *, owner: str) -> list[TurnRecord]:
        """Take over every running turn of other owners; its ``fence`` and ``attempts`` grow by one.

        Over a network, turns that the owner holds already are returned, too: the answer to an earlier call may be lost.
        """
        ...

    async def claim(self, turn: TurnRecord, *, owner: str) -> TurnRecord | None:
        """Take a turn that waits without an owner; its ``fence`` and ``attempts`` grow by one.

        None if it was ended or taken since it was read.
        """
        ...

    async def release(self, turn: TurnRecord) -> None:
        """Give up the lease of an unfinished turn; this run does not count as an attempt."""

    async def add_file(self, session_id: str, file: FileRecord, *, limit: int, room: int = 0) -> FileRecord | None:
        """Store the record of a file; None if the session already has ``limit`` files.

        Args:
            session_id: The session.
            file: The record.
            limit: Of the session's files.
            room: The bytes that all sessions of the user may keep with it; 0 is no limit.

        Raises:
            NoRoomError: They would keep more, however many services add files at once.

        Returns:
            The record as it is stored. If the user has the same content already, it has the ``id`` of that file, whose
            bytes both share; the session's own file of this name, type and content is not stored again.
        """
        ...

    async def remove_file(self, session_id: str, file: FileRecord) -> None:
        """Delete the record of a file."""

    async def add_feedback(self, feedback: FeedbackRecord) -> None:
        """Store feedback with its session; raises SessionNotFoundError."""

    async def file_ids(self) -> set[str]:
        """The ids of all files of all sessions."""
        ...

    async def attached(self, file_ids: Iterable[str]) -> set[str]:
        """Those of the files that a session has. One that no session has is never attached again."""
        ...

    async def duplicates(self) -> list[Sequence[FileRecord]]:
        """Files of one user that have the same content, but not the same id: an older version stored each."""
        ...

    async def share_file(self, file_id: str, shared_id: str) -> None:
        """Let the records of a file share the bytes of another with the same content."""

    async def begin_file(self, file_id: str) -> None:
        """Record that a file with this id is being received; ``add_file`` removes the record."""

    async def journaled_files(self) -> dict[str, FileState]:
        """Files that are being received, or that are to be removed from the disk; removed records leave them here."""
        ...

    async def stalled_files(self, seconds: float) -> set[str]:
        """Files that have been journaled as being received for longer than this, by the database's clock."""
        ...

    async def forget_files(self, file_ids: Iterable[str]) -> None:
        """Drop files from the journal, because they are no longer on the disk."""

    async def claim_sweep(self, seconds: float) -> bool:
        """Whether this service may sweep the files now: no other one may for so long after that."""
        ...

    async def meta(self, name: str) -> bytes | None:
        """A value that the service remembers about itself; None if there is none."""
        ...

    async def set_meta(self, name: str, value: bytes) -> None:
        """Remember a value under this name."""

    async def first_meta(self, name: str, value: bytes) -> bytes:
        """Remember a value under this name, unless there is one; returns that which is remembered."""
        ...

    async def add_key(self, key: KeyRecord, digest: str) -> None:
        """Store a key under its digest; a key that exists is left as it is."""

    async def key_by_digest(self, digest: str) -> KeyRecord | None:
        """The key, even if revoked or expired; None if unknown."""
        ...

    async def key_by_id(self, key_id: str) -> KeyRecord | None:
        """The key, even if revoked or expired; None if unknown."""
        ...

    async def key_digest(self, beginning: str) -> str | None:
        """The digest of the key, even if revoked or expired, that begins like this; None if unknown."""
        ...

    async def valid_keys(self, key_ids: Iterable[str], now: float) -> set[str]:
        """Those of the keys that are neither revoked nor expired."""
        ...

    async def keys(self) -> list[KeyRecord]:
        """All keys, oldest first."""
        ...

    async def delete_expired_page_keys(self, *, ended_before: float) -> None:
        """Delete the keys of pages that expired or were revoked before this time."""

    async def set_email(self, user_id: str, email: str) -> None:
        """Store the user's email address with every key of the user."""

    async def revoke_key(self, key_id: str, now: float) -> bool:
        """Revoke a key; False if no valid key has this id."""
        ...
