"""Tickets that open a stream for clients that cannot set headers: once, for one session, within 30 seconds.

Kept in memory only. Facts: docs/wire.md, "Stream tickets".
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
_BYTES = 32  # 256 bits, like a key


class IssuedTicket(msgspec.Struct, frozen=True, kw_only=True):
    """What a ticket allows. ``expires`` is in seconds since the epoch."""

    key: KeyRecord
    session_id: str
    expires: float


class StreamTickets:
    """The tickets that are issued and not used yet."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._tickets: dict[str, IssuedTicket] = {}

    def issue(self, key: KeyRecord, session_id: str) -> Ticket:
        """Issue a ticket, and drop expired ones."""
        now = self._clock()
        self._tickets = {ticket: entry for ticket, entry in self._tickets.items() if now < entry.expires}
        ticket = secrets.token_urlsafe(_BYTES)
        self._tickets[ticket] = IssuedTicket(key=key, session_id=session_id, expires=now + TICKET_SECONDS)
        return Ticket(ticket=ticket, expires_in=TICKET_SECONDS)

    def redeem(self, ticket: str, session_id: str) -> KeyRecord:
        """Use up a ticket and return its key; raises InvalidApiKeyError."""
        entry = self._tickets.pop(ticket, None)
        if entry is None or entry.session_id != session_id or self._clock() >= entry.expires:
            raise InvalidApiKeyError(
                f"the stream ticket is not valid: it works once, for one session, within {TICKET_SECONDS} s. "
                "Request a new one with POST /stream/ticket"
            )
        return entry.key


def offered_ticket(subprotocols: Sequence[str]) -> str | None:
    """The ticket among the subprotocols that a client offers, or None."""
    offered = (name for name in subprotocols if name.startswith(SUBPROTOCOL_PREFIX))
    return next((name.removeprefix(SUBPROTOCOL_PREFIX) for name in offered), None)
