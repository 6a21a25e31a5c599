"""LDAP in the clear: searches with their filters, changes of entries, simple binds with a password. Pure.

Messages: RFC 4511. Active Directory's clients may sign messages (read here) or seal them: then nothing is visible.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import msgspec

from svc.assistant.skills.pcap.cleartext_logins import Credential, masked
from svc.assistant.skills.pcap.windows.ber import elements, inner, text, whole_size
from svc.assistant.skills.pcap.windows.ntlm import ntlm_challenge, ntlm_login

PORTS = frozenset({389, 3268})
MAX_MESSAGE_BYTES = 131_072
MAX_FILTER_CHARS = 1_500
MAX_DEPTH = 12  # of a filter
MAX_PARTS = 200  # of a filter
_SCOPES = ("base", "one", "sub")
_BIND, _BOUND, _SEARCH, _MODIFY, _ADD, _DELETE = 0x60, 0x61, 0x63, 0x66, 0x68, 0x4A
_COMPARED = {0xA3: "=", 0xA5: ">=", 0xA6: "<=", 0xA8: "~="}
_SIGNATURE_BYTES = 16  # of NTLM, or the head of a GSS-API token (RFC 4121)
_SEALED = 0x02  # flag of a GSS-API token


class DirectoryCall(msgspec.Struct):
    """A search or a change: ``base scope filter attributes``, or ``add dn: attribute value``."""

    what: Literal["search", "change", "login"]
    detail: str
    number: int
    seconds: float


def is_ldap(data: bytes) -> bool:
    """Whether a flow begins with an LDAP message: a SEQUENCE of a small number and an operation."""
    if len(data) < 7 or data[0] != 0x30 or not whole_size(data):
        return False
    at = 2 + (data[1] & 0x7F if data[1] & 0x80 else 0)
    return data[at : at + 1] == b"\x02" and 1 <= data[at + 1 : at + 2][0] <= 4


class Ldap:
    """A flow of LDAP."""

    def __init__(
        self,
        note: Callable[[DirectoryCall], None],
        note_login: Callable[[Credential], None],
        note_challenge: Callable[[bytes, int, float], None],
    ) -> None:
        self.is_done: bool = False
        self._note, self._note_login, self._note_challenge = note, note_login, note_challenge
        self._buffer = b""
        self._bound: Credential | None = None

    def receive(self, data: bytes, *, from_client: bool, number: int, seconds: float) -> None:
        """Read the client's messages, and whether a bind was accepted."""
        if not from_client:
            if challenge := ntlm_challenge(data):
                self._note_challenge(challenge, number, seconds)
            self._answer(data)
            return
        self._buffer += data
        while self._buffer and not self.is_done:
            size, skipped = _frame(self._buffer)
            if not size or size > MAX_MESSAGE_BYTES:
                self.is_done = size != 0 or len(self._buffer) >= 8
                return
            if len(self._buffer) < size:
                return
            message, self._buffer = self._buffer[skipped:size], self._buffer[size:]
            self._message(message, number, seconds)

    def _answer(self, data: bytes) -> None:
        if self._bound is None or self._bound.result:
            return
        listed = list(elements(inner(data)))
        if len(listed) > 1 and listed[1][0] == _BOUND:
            self._bound.result = "accepted" if inner(listed[1][1]) == b"\x00" else "refused"

    def _message(self, message: bytes, number_: int, seconds: float) -> None:
        for tag, content in list(elements(inner(message)))[1:2]:
            match tag:
                case 0x60:
                    self._bind(content, message, number_, seconds)
                case 0x63:
                    self._note(DirectoryCall("search", _search(content), number_, seconds))
                case 0x66 | 0x68:
                    self._note(DirectoryCall("change", _change(tag, content), number_, seconds))
                case 0x4A:
                    self._note(DirectoryCall("change", f"delete {text(content)}"[:MAX_FILTER_CHARS], number_, seconds))

    def _bind(self, content: bytes, message: bytes, number_: int, seconds: float) -> None:
        listed = list(elements(content))
        if len(listed) >= 3 and listed[2][0] == 0x80 and listed[1][1] and listed[2][1]:
            self._bound = Credential("LDAP", text(listed[1][1])[:200], masked(text(listed[2][1])), number_)
            self._note_login(self._bound)
        elif (account := ntlm_login(message)) is not None:
            self._note(DirectoryCall("login", account, number_, seconds))


def _frame(data: bytes) -> tuple[int, int]:
    """The size of the next message and how much of it comes before LDAP's own bytes; (0, 0) if that is unclear."""
    if data[0] == 0x30:
        return whole_size(data), 0
    size = 4 + int.from_bytes(data[:4], "big")
    if data[0] or len(data) < 8 or size > MAX_MESSAGE_BYTES:
        return 0, 0
    return size, 4 + _SIGNATURE_BYTES  # signed, or sealed: then no message is recognised in it


def _search(content: bytes) -> str:
    listed = list(elements(content))
    if len(listed) < 7:
        return text(listed[0][1]) if listed else ""
    scope = int.from_bytes(listed[1][1], "big")
    wanted = _filter(*listed[6], [MAX_PARTS], MAX_DEPTH)
    names = ",".join(text(value) for _, value in elements(listed[7][1])) if len(listed) > 7 else ""
    told = f"{text(listed[0][1]).replace(' ,', ',')} {_SCOPES[scope] if scope < 3 else scope} {wanted}"
    return f"{told[:MAX_FILTER_CHARS]} {names[:500]}"


def _filter(tag: int, content: bytes, left: list[int], depth: int) -> str:
    """A filter as text, up to ``left`` parts and ``depth`` levels."""
    left[0] -= 1
    if left[0] < 0 or depth <= 0:
        return "(…)"
    if tag in (0xA0, 0xA1, 0xA2):
        inside = "".join(_filter(*part, left, depth - 1) for part in elements(content))
        return f"({'&|!'[tag - 0xA0]}{inside})"
    if tag == 0x87:
        return f"({text(content)}=*)"
    values = [value for _, value in elements(content)]
    if tag in _COMPARED and len(values) == 2:
        return f"({text(values[0])}{_COMPARED[tag]}{text(values[1])})"
    if tag == 0xA4 and len(values) == 2:
        pieces = list(elements(values[1]))
        lead = "" if pieces and pieces[0][0] == 0x80 else "*"
        end = "" if pieces and pieces[-1][0] == 0x82 else "*"
        return f"({text(values[0])}={lead}{'*'.join(text(piece) for _, piece in pieces)}{end})"
    if tag == 0xA9:
        named = {kind: text(value) for kind, value in elements(content)}
        return f"({named.get(0x82, '')}:{named.get(0x81, '')}:={named.get(0x83, '')})"
    return "(?)"


def _change(tag: int, content: bytes) -> str:
    """``modify dn: attribute value, …``; values are cut."""
    listed = list(elements(content))
    if len(listed) < 2:
        return ""
    pairs = []
    for _, change in list(elements(listed[1][1]))[:50]:
        parts = list(elements(change))
        named = list(elements(parts[1][1])) if tag == _MODIFY and len(parts) > 1 else parts
        if len(named) > 1:
            pairs.append(f"{text(named[0][1])} {text(inner(named[1][1]))[:100]}")
    verb = "modify" if tag == _MODIFY else "add"
    return f"{verb} {text(listed[0][1])}: {', '.join(pairs)}"[:MAX_FILTER_CHARS]
