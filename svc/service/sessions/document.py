"""JSON documents of sessions, made page by page: no long session and no long list of them is in memory as a whole.

The messages are read from the store in its threads, as they were stored, and sent as the client takes them. The
document ends at the last message that the session had at the start, so it agrees with the session's own fields.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence

import msgspec

from svc.errors import SessionNotFoundError
from svc.messages import UserInfo
from svc.service.sessions.rules import wire_session
from svc.service.sessions.session_stores import SessionHandle
from svc.service.store.records import SessionRecord

PAGE_BYTES = 262_144  # in memory of each reader
SENT_BYTES = 65_536  # at once: asyncio's default high-water mark, above which a send waits for the client
LISTED_AT_ONCE = 20  # sessions: each takes a tenth of a millisecond
_EMPTY = b'"messages":[]'
_NO_SESSIONS = b'"sessions":[]'


class SessionDocument:
    """A session with its messages after ``after`` up to ``last_seq``."""

    def __init__(self, handle: SessionHandle, *, after: int, last_seq: int) -> None:
        self._handle = handle
        self._after = after
        self._last_seq = last_seq

    async def pages(self) -> AsyncGenerator[bytes, None]:
        """Yield the document in parts; raises SessionNotFoundError if the session is deleted meanwhile."""
        part, end = self._frame()
        position, separator = self._after, b""
        while position < self._last_seq:
            page = await self._handle.store.messages_after(
                self._handle.session.id, position, limit_bytes=PAGE_BYTES, last_seq=self._last_seq
            )
            if not page:
                raise SessionNotFoundError(f"the session {self._handle.session.id} was deleted while it was being read")
            position = page[-1].seq
            part += separator + b",".join(message.body for message in page)
            del page  # a client that does not read keeps this waiting
            for start in range(0, len(part), SENT_BYTES):
                yield part[start : start + SENT_BYTES]
            part, separator = b"", b","
        yield part + end

    def _frame(self) -> tuple[bytes, bytes]:
        """What comes before the messages and after them.

        The first ``"messages":[]`` is the field: in a text before it, the quotation marks would be escaped.
        """
        whole = msgspec.json.encode(wire_session(self._handle.session))
        start = whole.index(_EMPTY) + len(_EMPTY) - 1
        return whole[:start], whole[start:]


async def list_pages(sessions: Sequence[SessionRecord], within: UserInfo | None = None) -> AsyncGenerator[bytes, None]:
    """Yield a list of sessions without messages, or the object ``within`` with it, in parts."""
    part, end = b"[", b"]"
    if within is not None:  # the first one is the field, as in ``SessionDocument``
        whole = msgspec.json.encode(within)
        start = whole.index(_NO_SESSIONS) + len(_NO_SESSIONS) - 1
        part, end = whole[:start], whole[start:]
    for first in range(0, len(sessions), LISTED_AT_ONCE):
        listed = sessions[first : first + LISTED_AT_ONCE]
        part += b"," if first else b""
        yield part + b",".join(msgspec.json.encode(wire_session(session)) for session in listed)
        part = b""
        await asyncio.sleep(0)  # a send waits only for a slow client
    yield part + end
