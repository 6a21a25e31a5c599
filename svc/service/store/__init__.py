"""What the service keeps, and what any store promises. Knows no database and no HTTP.

Promises: a message is durable before ``begin_turn`` or ``append`` return it; ``seq`` is given in the same transaction,
from 1 without gaps in each session; an append whose lease is no longer held changes nothing; one RESULT a turn.
What a store cannot do for want of disk or database is an UnavailableError.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from svc.local_tools import LocalTool
from svc.messages import Message
from svc.service.store.records import (
    FeedbackRecord,
    FileRecord,
    FirstBatch,
    HistoryRow,
    KeyRecord,
    SessionRecord,
    StoredMessage,
    TurnEnd,
    TurnRecord,
    TurnStart,
)


class Store(Protocol):
    """Sessions, messages, turns, files' records and keys."""

    async def open(self) -> None:
        """Bring the schema up to date and start; raises ConfigError where the database is not usable."""

    async def close(self) -> None:
        """Finish what was accepted, then let go of the database."""

    async def check(self) -> None:
        """Return where the store answers; raises UnavailableError."""

    async def add_session(self, session: SessionRecord) -> SessionRecord:
        """Keep it, or return the one that has this id already."""
        ...

    async def session(self, session_id: str) -> SessionRecord | None:
        """The session, expired ones included."""
        ...

    async def sessions_of(self, user_id: str) -> list[SessionRecord]:
        """The user's sessions, oldest first, expired ones included."""
        ...

    async def alive(self, session_ids: Iterable[str], now: float) -> set[str]:
        """Those of the sessions that are there and not expired."""
        ...

    async def update_session(self, session: SessionRecord) -> None:
        """Write name, description, ttl and the times that follow from it."""

    async def keep_local_tools(self, session_id: str, tools: Sequence[LocalTool]) -> None:
        """Write which tools the session's client offers."""

    async def delete_session(self, session_id: str) -> None:
        """Erase the session with all it has."""

    async def purge(self, *, ended_before: float) -> list[str]:
        """Erase the sessions that expired at or before then; the ids of their files."""
        ...

    async def forget(self, *, ended_before: float) -> list[str]:
        """Erase what sessions hold that expired at or before then, all but id and times; the ids of their files."""
        ...

    async def messages_after(self, session_id: str, seq: int, *, limit_bytes: int | None = None) -> list[StoredMessage]:
        """Messages with a greater seq, in order; all, or the first that reach the limit, at least one."""
        ...

    async def exchanges(self, session_id: str, limit_bytes: int) -> list[HistoryRow]:
        """Queries, sources and results of answered turns, in order, the newest turns within the limit."""
        ...

    async def turn_messages(self, turn: TurnRecord) -> list[Message]:
        """All messages of a turn, in order."""
        ...

    async def begin_turn(
        self, session_id: str, query: Message, *, owner: str, first_batch: FirstBatch | None = None
    ) -> TurnStart:
        """Store a query and take its turn. A ``turn`` that the session has is replaced, as is a parent that it has not.

        The first_batch is stored in the same transaction, unless something was stored since it was made. Raises
        TurnInProgressError, SessionNotFoundError, or InvalidRequestError for an id that another message has.
        """
        ...

    async def is_asked(self, session_id: str, query_id: str) -> bool:
        """Whether a turn of the session has this query."""
        ...

    async def begin_session(
        self,
        session: SessionRecord,
        exchanges: Sequence[tuple[Message, Sequence[Message]]],
        query: Message,
        *,
        owner: str,
        first_batch: FirstBatch | None = None,
    ) -> TurnStart:
        """Keep a new session and the turns that were answered elsewhere, and take its query's turn: all or none."""
        ...

    async def append(
        self, turn: TurnRecord, messages: Sequence[Message], turn_end: TurnEnd | None = None
    ) -> list[StoredMessage]:
        """Store messages of a turn that is held, which gives them ``seq`` and ``turn``; raises LeaseLostError."""
        ...

    async def turn(self, session_id: str, turn_id: str) -> TurnRecord | None:
        """The turn as it stands now."""
        ...

    async def running_turn(self, session_id: str) -> TurnRecord | None:
        """The one turn that is running, or None."""
        ...

    async def take_orphans(self, *, owner: str) -> list[TurnRecord]:
        """Take over every running turn of other owners; ``attempts`` counts this one."""
        ...

    async def release(self, turn: TurnRecord) -> None:
        """Let go of a turn unfinished; to take it again does not count as an attempt."""

    async def add_file(self, session_id: str, file: FileRecord, *, limit: int) -> bool:
        """Keep the record of a file; False where the session has ``limit`` files."""
        ...

    async def remove_file(self, session_id: str, file_id: str) -> None:
        """Drop the record of a file."""

    async def add_feedback(self, feedback: FeedbackRecord) -> None:
        """Keep it with its session; raises SessionNotFoundError."""

    async def file_ids(self) -> set[str]:
        """The ids of all files of all sessions."""
        ...

    async def add_key(self, key: KeyRecord, digest: str) -> None:
        """Keep a key by its digest; one that is known stays as it is."""

    async def key_by_digest(self, digest: str) -> KeyRecord | None:
        """The key, revoked and expired ones included."""
        ...

    async def keys(self) -> list[KeyRecord]:
        """Every key, oldest first."""
        ...

    async def forget_pages(self, *, ended_before: float) -> None:
        """Erase the keys of pages whose time ended before, or that were revoked before."""

    async def revoke_key(self, key_id: str, now: float) -> bool:
        """Revoke it; False where there is none of that id."""
        ...
