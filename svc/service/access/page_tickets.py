"""Tickets with which the service's page stays signed in when its tab is reloaded.

The browser keeps a ticket in the tab's session storage, never the key. The service keeps the key encrypted with the
ticket, so that neither side's memory alone yields it. A ticket works once, except for a few seconds in which an
interrupted reload may repeat it; using it issues the next one. It is accepted from the service's own origin only, and
gives no more than the page's key: that key's end and revocation apply. Facts: docs/wire.md, "The service's page".
"""

from __future__ import annotations

import hashlib
import secrets

import msgspec

from svc.service.access.once_codes import OnceCodes

TICKET_SECONDS = 43_200  # as long as a page's key is valid
GRACE_SECONDS = 10  # a reload that interrupts a reload did not read the next ticket
MAX_TICKETS = 40  # of a user: pages, and those in their grace; more drop the oldest
_BYTES = 32  # 256 bits, like a key


class _Ticket(msgspec.Struct, frozen=True):
    """The encrypted key behind a ticket, and whose it is."""

    sealed: bytes
    user_id: str


class PageTickets:
    """The tickets that are valid."""

    def __init__(self, codes: OnceCodes) -> None:
        self._codes = codes

    async def issue(self, api_key: str, user_id: str) -> str:
        """Issue a ticket for a page's key."""
        ticket = secrets.token_urlsafe(_BYTES)
        content = msgspec.json.encode(_Ticket(_sealed(api_key.encode(), ticket), user_id))
        await self._codes.add("page", ticket, content, user_id=user_id, seconds=TICKET_SECONDS, limit=MAX_TICKETS)
        return ticket

    async def redeem(self, ticket: str) -> tuple[str, str] | None:
        """Use a ticket; returns the page's key and the next ticket, or None if the ticket is not valid."""
        content = await self._codes.take("page", ticket, grace_seconds=GRACE_SECONDS)
        if content is None:
            return None
        found = msgspec.json.decode(content, type=_Ticket)
        api_key = _sealed(found.sealed, ticket).decode()
        return api_key, await self.issue(api_key, found.user_id)


def _sealed(text: bytes, ticket: str) -> bytes:
    """Encrypt or decrypt with a one-time pad: every ticket is random and seals one key."""
    pad = hashlib.shake_256(b"svc page ticket\0" + ticket.encode()).digest(len(text))
    return bytes(one ^ other for one, other in zip(text, pad, strict=True))
