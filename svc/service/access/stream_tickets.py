"""Tickets that open a stream where no header can be set: once, for one session, within half a minute.

Kept in this process's memory alone. Facts: docs/wire.md, "Stream tickets".
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence

import msgspec

from svc.errors import InvalidApiKeyError
from svc.messages import Ticket
from svc.service.store.records import KeyRecord

TICKET_SECONDS = 30  # docs/wire.md, "Stream tickets"
SUBPROTOCOL_PREFIX = "svc.ticket."
_BYTES = 32  # 256 bits, as a key has


class StreamAdmission(msgspec.Struct, frozen=True, kw_only=True):
    """What a ticket stands for. ``expires`` is in seconds since the epoch."""

    key: KeyRecord
    session_id: str
    expires: float


class StreamTickets:
    """The tickets that were given out and not used yet."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._open: dict[str, StreamAdmission] = {}

    def issue(self, key: KeyRecord, session_id: str) -> Ticket:
        """A new ticket; those that have run out are dropped on the way."""
        now = self._clock()
        self._open = {ticket: entry for ticket, entry in self._open.items() if now < entry.expires}
        ticket = secrets.token_urlsafe(_BYTES)
        self._open[ticket] = StreamAdmission(key=key, session_id=session_id, expires=now + TICKET_SECONDS)
        return Ticket(ticket=ticket, expires_in=TICKET_SECONDS)

    def redeem(self, ticket: str, session_id: str) -> KeyRecord:
        """The key behind a ticket, which is used up by it; raises InvalidApiKeyError."""
        entry = self._open.pop(ticket, None)
        if entry is None or entry.session_id != session_id or self._clock() >= entry.expires:
            raise InvalidApiKeyError(
                f"the stream's ticket is not valid: it serves once, for one session, within {TICKET_SECONDS} s. "
                "Get a new one by POST /stream/ticket"
            )
        return entry.key


def offered_ticket(subprotocols: Sequence[str]) -> str | None:
    """The ticket among the subprotocols that a client offers, or None."""
    offered = (name for name in subprotocols if name.startswith(SUBPROTOCOL_PREFIX))
    return next((name.removeprefix(SUBPROTOCOL_PREFIX) for name in offered), None)
