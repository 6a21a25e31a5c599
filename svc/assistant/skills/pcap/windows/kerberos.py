"""Kerberos in the clear: who asks for which ticket, with which encryption, and what the controller answers. Pure.

Messages: RFC 4120 (AS-REQ, TGS-REQ, their replies, KRB-ERROR), over UDP or after four bytes of length over TCP. What is
inside of tickets is encrypted and not visible; so a forged ticket looks like any other one.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from svc.assistant.skills.pcap.windows.ber import elements, inner, members, number, text

PORT = 88
RC4 = frozenset({23, 24, -128, -133, -135})
"""RC4-HMAC and its variants (RFC 4757, [MS-KILE])."""
AES = frozenset({17, 18, 19, 20})
UNKNOWN_USER, NO_SUCH_ETYPE, WRONG_PASSWORD, LOCKED, NEEDS_PREAUTH = 6, 14, 24, 18, 25
MAX_MESSAGE_BYTES = 65_536
MAX_NAME_CHARS = 200
_AS, _TGS = "AS", "TGS"
_KINDS = {0x6A: _AS, 0x6C: _TGS}
_REPLIES = frozenset({0x6B, 0x6D})
_ERROR = 0x7E
_TAGS = frozenset({*_KINDS, *_REPLIES, _ERROR})
_TIMESTAMP, _PAC = 2, 128
_PROOFS = frozenset({2, 14, 15, 16, 17, 136, 138})
"""Types of pre-authentication: a timestamp, a certificate (PKINIT), FAST, an encrypted challenge."""


class TicketRequest(msgspec.Struct):
    """A request for a ticket with its reply. ``etype`` is the ticket's, ``part_etype`` the reply's; None: not seen."""

    kind: str
    number: int
    seconds: float
    user: str
    realm: str
    service: str
    offered: list[int]
    has_proof: bool
    proof_etype: int | None
    wants_pac: bool | None
    etype: int | None = None
    part_etype: int | None = None
    error: int | None = None
    is_granted: bool = False
    reply_number: int = 0

    @property
    def prefers_rc4(self) -> bool:
        """Whether RC4 is what it asks for first, which Windows does not since 2008."""
        return bool(self.offered) and self.offered[0] in RC4


def is_kerberos(data: bytes) -> bool:
    """Whether a TCP flow begins with a Kerberos message after its length."""
    return (
        len(data) >= 5
        and data[0] == 0
        and data[4] in _TAGS
        and 20 < int.from_bytes(data[:4], "big") <= MAX_MESSAGE_BYTES
    )


class Kerberos:
    """The messages between one client and one controller; ``take`` reads a datagram, ``receive`` a stream."""

    def __init__(self, note: Callable[[TicketRequest], None]) -> None:
        self.is_done: bool = False
        self._note = note
        self._last: TicketRequest | None = None
        self._buffers = {True: b"", False: b""}

    def receive(self, data: bytes, *, from_client: bool, number: int, seconds: float) -> None:
        """Split the stream into messages."""
        buffer = self._buffers[from_client] + data
        while len(buffer) >= 4:
            size = int.from_bytes(buffer[:4], "big")
            if size > MAX_MESSAGE_BYTES:
                self.is_done = True
                return
            if len(buffer) < 4 + size:
                break
            self.take(buffer[4 : 4 + size], number=number, seconds=seconds)
            buffer = buffer[4 + size :]
        self._buffers[from_client] = buffer

    def take(self, message: bytes, *, number: int, seconds: float) -> None:
        """Read one message; other ones are skipped."""
        tag = message[0] if message else 0
        body = inner(message)
        if tag in _KINDS:
            self._last = _request(_KINDS[tag], body, number, seconds)
            self._note(self._last)
        elif self._last is not None and self._last.reply_number == 0 and (tag in _REPLIES or tag == _ERROR):
            self._last.reply_number = number
            _answer(self._last, tag, body)


def _request(kind: str, data: bytes, number_: int, seconds: float) -> TicketRequest:
    parts = members(data)
    body = members(parts.get(4, b""))
    has_proof, proof_etype, wants_pac = _proofs(parts.get(3, b""))
    offered = [int.from_bytes(content, "big", signed=True) for _, content in elements(inner(body.get(8, b"")))]
    return TicketRequest(
        kind=kind,
        number=number_,
        seconds=seconds,
        user=_name(body.get(1, b"")),
        realm=text(inner(body.get(2, b"")))[:MAX_NAME_CHARS],
        service=_name(body.get(3, b"")),
        offered=offered[:50],
        has_proof=has_proof,
        proof_etype=proof_etype,
        wants_pac=wants_pac,
    )


def _proofs(data: bytes) -> tuple[bool, int | None, bool | None]:
    """Whether the client proves who it is, the timestamp's encryption type, whether it asks for its groups (PAC)."""
    has_proof, etype, wants_pac = False, None, None
    for _, content in elements(inner(data)):
        fields = {tag & 0x1F: value for tag, value in elements(content)}
        kind, value = number(fields.get(1, b"")), inner(fields.get(2, b""))
        has_proof = has_proof or kind in _PROOFS
        if kind == _TIMESTAMP:
            etype = number(members(value).get(0, b""))
        elif kind == _PAC:
            wants_pac = any(inner(members(value).get(0, b"")))
    return has_proof, etype, wants_pac


def _answer(request: TicketRequest, tag: int, data: bytes) -> None:
    parts = members(data)
    if tag == _ERROR:
        request.error = number(parts.get(6, b""))
        return
    request.is_granted = True
    request.user = request.user or _name(parts.get(4, b""))
    ticket = members(inner(parts.get(5, b"")))
    request.etype = number(members(ticket.get(3, b"")).get(0, b""))
    request.part_etype = number(members(parts.get(6, b"")).get(0, b""))


def _name(data: bytes) -> str:
    """``MSSQLSvc/db1``: the components of a principal's name."""
    listed = [text(content) for _, content in elements(inner(members(data).get(1, b"")))]
    return "/".join(listed[:8])[:MAX_NAME_CHARS]
