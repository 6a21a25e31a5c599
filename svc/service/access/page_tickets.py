"""Tickets with which the service's page stays signed in when its tab is reloaded. Kept in memory only.

The browser keeps a ticket in the tab's session storage, never the key. The service keeps the key encrypted with the
ticket, so that neither side's memory alone yields it. A ticket works once, except for a few seconds in which an
interrupted reload may repeat it; using it issues the next one. It is accepted from the service's own origin only, and
gives no more than the page's key: that key's end and revocation apply. Facts: docs/wire.md, "The service's page".
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable

import msgspec

TICKET_SECONDS = 43_200  # as long as a page's key is valid
GRACE_SECONDS = 10  # a reload that interrupts a reload did not read the next ticket
MAX_TICKETS = 40  # of a user: pages, and those in their grace; more drop the oldest
_BYTES = 32  # 256 bits, like a key


class _Ticket(msgspec.Struct):
    """The encrypted key behind a ticket, whose it is, and when the ticket expires."""

    sealed: bytes
    user_id: str
    expires: float


class PageTickets:
    """The tickets that are valid. ``clock`` gives seconds since the epoch."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._tickets: dict[bytes, _Ticket] = {}  # by digest, the oldest first

    def issue(self, api_key: str, user_id: str) -> str:
        """Issue a ticket for a page's key."""
        now = self._clock()
        self._tickets = {digest: one for digest, one in self._tickets.items() if now < one.expires}
        own = [digest for digest, one in self._tickets.items() if one.user_id == user_id]
        for oldest in own[: max(0, len(own) + 1 - MAX_TICKETS)]:
            del self._tickets[oldest]
        ticket = secrets.token_urlsafe(_BYTES)
        sealed = _sealed(api_key.encode(), ticket)
        self._tickets[_digest(ticket)] = _Ticket(sealed, user_id, now + TICKET_SECONDS)
        return ticket

    def redeem(self, ticket: str) -> tuple[str, str] | None:
        """Use a ticket; returns the page's key and the next ticket, or None if the ticket is not valid."""
        found, now = self._tickets.get(_digest(ticket)), self._clock()
        if found is None or now >= found.expires:
            return None
        found.expires = min(found.expires, now + GRACE_SECONDS)
        api_key = _sealed(found.sealed, ticket).decode()
        return api_key, self.issue(api_key, found.user_id)


def _digest(ticket: str) -> bytes:
    return hashlib.sha256(ticket.encode()).digest()


def _sealed(text: bytes, ticket: str) -> bytes:
    """Encrypt or decrypt with a one-time pad: every ticket is random and seals one key."""
    pad = hashlib.shake_256(b"svc page ticket\0" + ticket.encode()).digest(len(text))
    return bytes(one ^ other for one, other in zip(text, pad, strict=True))
