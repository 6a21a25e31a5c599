"""NTLM in other protocols: who logs in, and the server's challenge. Pure. Messages: [MS-NLMP]."""

from __future__ import annotations

import struct

import msgspec

MAX_NAME_CHARS = 260
CHALLENGE_BYTES = 8
_CHALLENGE = b"NTLMSSP\x00\x02\x00\x00\x00"
_AUTHENTICATE = b"NTLMSSP\x00\x03\x00\x00\x00"
_LEAST_BYTES = 52  # up to the field of the workstation's name


class Challenge(msgspec.Struct, frozen=True):
    """What a server asks a client to sign with its password: eight random bytes, new for each login."""

    value: bytes
    number: int
    seconds: float


def ntlm_login(data: bytes) -> str | None:
    """``CORP\\\\anna from WS21`` of an AUTHENTICATE message in ``data``; an anonymous one has no user."""
    at = data.find(_AUTHENTICATE)
    if at < 0 or len(data) < at + _LEAST_BYTES:
        return None
    message = data[at:]
    domain, user, workstation = (_field(message, field) for field in (28, 36, 44))
    account = f"{domain}\\{user}" if user else "(anonymous)"
    return f"{account} from {workstation}" if workstation else account


def _field(message: bytes, at: int) -> str:
    size, _, start = struct.unpack_from("<HHI", message, at)
    if start + size > len(message):
        return ""
    return message[start : start + min(size, 2 * MAX_NAME_CHARS)].decode("utf-16-le", errors="replace")[:MAX_NAME_CHARS]


def ntlm_challenge(data: bytes) -> bytes:
    """The eight random bytes of a CHALLENGE message in ``data``; b"" if there is none."""
    at = data.find(_CHALLENGE)
    value = data[at + 24 : at + 24 + CHALLENGE_BYTES] if at >= 0 else b""
    return value if len(value) == CHALLENGE_BYTES and any(value) else b""
