"""Remote desktop: the connection request with its user's name, and what the server chose. Pure.

Messages: [MS-RDPBCGR] 2.2.1 (X.224 in TPKT). From TLS or CredSSP on nothing is visible, not even whether a login
succeeded. BlueKeep (CVE-2019-0708) asks for the channel ``MS_T120`` in a connection without TLS.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import msgspec

MAX_BYTES = 8_192
_COOKIE = re.compile(rb"mstshash=([^\r\n\x00]{1,100})")
_REQUEST, _CONFIRM = 0xE0, 0xD0
_RESPONSE, _FAILURE = 2, 3
_PROTOCOLS = {0: "RDP's own encryption", 1: "TLS", 2: "CredSSP", 4: "RDSTLS", 8: "CredSSP"}


class Desktop(msgspec.Struct):
    """A connection to a remote desktop. ``user`` is cut to nine characters by some clients."""

    number: int
    seconds: float
    user: str = ""
    chosen: str = ""
    is_refused: bool = False
    has_bluekeep: bool = False


def is_rdp(data: bytes) -> bool:
    """Whether a flow begins with an X.224 connection request in TPKT."""
    return len(data) >= 11 and data[:2] == b"\x03\x00" and data[5] == _REQUEST


class Rdp:
    """The opening of a flow of RDP."""

    def __init__(self, note: Callable[[Desktop], None]) -> None:
        self.is_done: bool = False
        self._note = note
        self._desktop: Desktop | None = None
        self._seen = 0
        self._tail = b""

    def receive(self, data: bytes, *, from_client: bool, number: int, seconds: float) -> None:
        """Read the request, the answer, and the channels of a connection without TLS."""
        self._seen += len(data)
        if self._desktop is None:
            self._desktop = Desktop(number, seconds)
            self._note(self._desktop)
        if from_client:
            seen = self._tail + data
            cookie = _COOKIE.search(seen)
            if cookie is not None and not self._desktop.user:
                self._desktop.user = cookie[1].decode("utf-8", errors="replace")
            self._desktop.has_bluekeep = self._desktop.has_bluekeep or b"MS_T120\x00" in seen
            self._tail = seen[-16:]
        elif len(data) > 10 and data[5] == _CONFIRM and not self._desktop.chosen:
            kind = data[11] if len(data) > 18 else 0
            protocol = int.from_bytes(data[15:19], "little") if kind in (_RESPONSE, _FAILURE) else 0
            self._desktop.is_refused = kind == _FAILURE
            self._desktop.chosen = _PROTOCOLS.get(protocol, "") or "TLS"
        self.is_done = self._seen > MAX_BYTES or self._desktop.chosen in ("TLS", "CredSSP", "RDSTLS")
