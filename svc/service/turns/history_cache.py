"""What was said in sessions before, in memory for those used last, so that a turn need not read it from the store.

Pure. A history stands for a session as it is at one ``last_seq``; for any other the store is asked. Sizes are reckoned,
not counted: six bytes a character, the most that JSON takes. So a history kept here is never one that the store cuts.
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
_FIELDS_BYTES = 1_024  # of a stored message beside its content


class History(msgspec.Struct, frozen=True, kw_only=True):
    """Answered turns, oldest first. ``asked`` is when the newest of their queries came, in seconds since the epoch."""

    exchanges: tuple[Exchange, ...] = ()
    asked: float = 0.0
    size_bytes: int = 0

    def plus(self, exchange: Exchange, asked: float) -> History:
        """With one more."""
        texts = (exchange.prompt, exchange.answer, *exchange.sources)
        return History(
            exchanges=(*self.exchanges, exchange),
            asked=max(self.asked, asked),
            size_bytes=self.size_bytes + sum(map(reckoned_bytes, texts)),
        )


def history_of(messages: Sequence[HistoryRow | Message]) -> History:
    """The history that queries, sources and results of answered turns make, in their order."""
    return History(
        exchanges=exchanges_of(messages),
        asked=max((said.created_at for said in messages if said.message_type == MessageType.QUERY), default=0.0),
        size_bytes=sum(reckoned_bytes(said.content or "") for said in messages),
    )


def reckoned_bytes(content: str) -> int:
    """What a message of this content takes in the store at the most."""
    return len(content) * _CHARACTER_BYTES + _FIELDS_BYTES


class HistoryCache:
    """Those of the sessions used last, within ``limit_bytes``; one beyond ``history_bytes`` is not kept."""

    def __init__(self, *, limit_bytes: int, history_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self._history_bytes = history_bytes
        self._kept: OrderedDict[str, tuple[int, History]] = OrderedDict()
        self._size_bytes = 0

    @property
    def session_ids(self) -> set[str]:
        """Whose history is kept."""
        return set(self._kept)

    def find(self, session: SessionRecord) -> History | None:
        """The history of the session as it is; None where it is not kept."""
        last_seq, history = self._kept.get(session.id, (None, None))
        if last_seq != session.last_seq:
            return None
        self._kept.move_to_end(session.id)
        return history

    def keep(self, session_id: str, last_seq: int, history: History) -> None:
        """Keep what the session's history is at this seq; those used longest ago make room."""
        self.forget([session_id])
        if history.size_bytes > min(self._history_bytes, self._limit_bytes):
            return
        self._kept[session_id] = (last_seq, history)
        self._size_bytes += history.size_bytes
        while self._size_bytes > self._limit_bytes:
            self.forget([next(iter(self._kept))])

    def forget(self, session_ids: Iterable[str]) -> None:
        """Keep these no longer; one that is not kept is no error."""
        for session_id in session_ids:
            _, history = self._kept.pop(session_id, (0, None))
            self._size_bytes -= history.size_bytes if history is not None else 0
