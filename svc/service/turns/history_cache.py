"""Conversation histories in memory, for the sessions used last, so that a turn need not read them from the store.

Pure. A cached history is valid for one ``last_seq`` of its session; if the session has moved on, here or at another
service, the store is read. A session with the same id that was registered after a deletion has another number.
Sizes are estimated at six bytes per character, the most that JSON needs, so the store would never cut a history that is
cached.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence

import msgspec

from svc.assistant.turn import Exchange
from svc.messages import Message, MessageType
from svc.service.store.records import HistoryRow, SessionRecord
from svc.service.turns.message_builder import exchanges_of

_CHARACTER_BYTES = 6
_FIELDS_BYTES = 1_024  # the other fields of a stored message


class History(msgspec.Struct, frozen=True, kw_only=True):
    """Answered turns, oldest first.

    ``last_query_time`` is when the newest of their queries arrived, in seconds since the epoch.
    """

    exchanges: tuple[Exchange, ...] = ()
    last_query_time: float = 0.0
    size_bytes: int = 0

    def with_exchange(self, exchange: Exchange, query_time: float) -> History:
        """Return the history with one more exchange, whose query arrived at ``query_time``."""
        texts = (exchange.prompt, exchange.answer, *exchange.sources)
        return History(
            exchanges=(*self.exchanges, exchange),
            last_query_time=max(self.last_query_time, query_time),
            size_bytes=self.size_bytes + sum(map(estimated_bytes, texts)),
        )


def history_of(messages: Sequence[HistoryRow | Message]) -> History:
    """Build the history from the queries, sources and results of answered turns, in order."""
    return History(
        exchanges=exchanges_of(messages),
        last_query_time=max(
            (message.created_at for message in messages if message.message_type == MessageType.QUERY), default=0.0
        ),
        size_bytes=sum(estimated_bytes(message.content or "") for message in messages),
    )


def estimated_bytes(content: str) -> int:
    """The most that a message with this content takes in the store."""
    return len(content) * _CHARACTER_BYTES + _FIELDS_BYTES


class HistoryCache:
    """Least-recently-used cache of histories.

    Args:
        limit_bytes: Size of all cached histories together.
        history_bytes: Size beyond which a single history is not cached.
    """

    def __init__(self, *, limit_bytes: int, history_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self._history_bytes = history_bytes
        self._entries: OrderedDict[str, tuple[int, int, History]] = OrderedDict()
        self._size_bytes = 0

    @property
    def session_ids(self) -> set[str]:
        """The sessions with a cached history."""
        return set(self._entries)

    def find(self, session: SessionRecord) -> History | None:
        """Return the history of the session as it is now, or None if it is not cached."""
        number, last_seq, history = self._entries.get(session.id, (None, None, None))
        if (number, last_seq) != (session.number, session.last_seq):
            return None
        self._entries.move_to_end(session.id)
        return history

    def put(self, session: SessionRecord, last_seq: int, history: History) -> None:
        """Cache the session's history at this ``last_seq``; the least recently used ones make room."""
        self.forget([session.id])
        if history.size_bytes > min(self._history_bytes, self._limit_bytes):
            return
        self._entries[session.id] = (session.number, last_seq, history)
        self._size_bytes += history.size_bytes
        while self._size_bytes > self._limit_bytes:
            self.forget([next(iter(self._entries))])

    def forget(self, session_ids: Iterable[str]) -> None:
        """Drop these sessions; unknown ids are ignored."""
        for session_id in session_ids:
            _, _, history = self._entries.pop(session_id, (0, 0, None))
            self._size_bytes -= history.size_bytes if history is not None else 0
