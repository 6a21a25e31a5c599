"""Tickets that open a stream for clients that cannot set headers: once, for one session, within 30 seconds.

Facts: docs/wire.md, "Stream tickets".
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence

import msgspec

from svc.errors import InvalidApiKeyError
from svc.messages import Ticket
from svc.service.access.once_codes import OnceCodes, code_digest
from svc.service.store.records import KeyRecord

TICKET_SECONDS = 30  # docs/wire.md, "Stream tickets"
SUBPROTOCOL_PREFIX = "svc.ticket."
_BYTES = 32  # 256 bits, like a key


class _IssuedTicket(msgspec.Struct, frozen=True):
    """What a ticket allows."""

    key: KeyRecord
    session: bytes  # SHA-256 of its id: unlogged sessions have nothing in a database


class StreamTickets:
    """The tickets that are issued and not used yet."""

    def __init__(self, codes: OnceCodes) -> None:
        self._codes = codes

    async def issue(self, key: KeyRecord, session_id: str) -> Ticket:
        """Issue a ticket."""
        ticket = secrets.token_urlsafe(_BYTES)
        content = msgspec.json.encode(_IssuedTicket(key, code_digest(session_id)))
        await self._codes.add("stream", ticket, content, user_id=key.user_id, seconds=TICKET_SECONDS)
        return Ticket(ticket=ticket, expires_in=TICKET_SECONDS)

    async def redeem(self, ticket: str, session_id: str) -> KeyRecord:
        """Use up a ticket and return its key; raises InvalidApiKeyError."""
        content = await self._codes.take("stream", ticket)
        issued = None if content is None else msgspec.json.decode(content, type=_IssuedTicket)
        if issued is None or issued.session != code_digest(session_id):
            raise InvalidApiKeyError(
                f"the stream ticket is not valid: it works once, for one session, within {TICKET_SECONDS} s. "
                "Request a new one with POST /stream/ticket"
            )
        return issued.key


def offered_ticket(subprotocols: Sequence[str]) -> str | None:
    """The ticket among the subprotocols that a client offers, or None."""
    offered = (name for name in subprotocols if name.startswith(SUBPROTOCOL_PREFIX))
    return next((name.removeprefix(SUBPROTOCOL_PREFIX) for name in offered), None)
