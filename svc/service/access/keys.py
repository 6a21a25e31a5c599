"""Keys: how they are made, checked for their form, and hashed. Pure but for the system's randomness.

A key is ``svc_``, 43 base62 characters (256 bits), and 6 that are the CRC-32 of those 43 in base62, most significant
first, so that secret scanners can tell a key from a look-alike (the form that GitHub made common). The service keeps
the SHA-256 alone: the key has 256 bits of entropy, so a slow hash would add nothing.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import string
import zlib
from typing import Literal

import msgspec

Logging = Literal["required", "optional", "never"]

_ALPHABET = string.digits + string.ascii_uppercase + string.ascii_lowercase
_BODY_CHARS = 43
_CHECK_CHARS = 6
KEY_PATTERN = re.compile(r"svc_[0-9A-Za-z]{49}")
"""Anything that looks like a key, wherever it stands."""


class KeyRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What the service knows of a key. Several keys may belong to one user. ``rpm``, ``tpm``: 0 is no limit.

    ``expires`` and ``revoked`` are seconds since the epoch; 0 is never. ``lineage`` holds the ids of the keys that it
    was made with, the first of all at the front. A page's key (``is_page``) was made by ``svc open``.
    """

    id: str
    user_id: str
    name: str = ""
    lineage: tuple[str, ...] = ()
    is_page: bool = False
    org_id: str = "local"
    email: str = ""
    user_type: str = "user"
    logging: Logging = "optional"
    allow_experimental: bool = False
    rpm: int = 600
    tpm: int = 0
    created: float = 0.0
    expires: float = 0.0
    revoked: float = 0.0

    def is_valid(self, now: float) -> bool:
        """Whether the key opens anything at this moment."""
        return not self.revoked and (not self.expires or now < self.expires)

    @property
    def rate_id(self) -> str:
        """Whose limits it uses up: a user's own keys share those of the one that they go back to."""
        return self.lineage[0] if self.lineage else self.id


def make_key() -> str:
    """A new key. It is shown once and never stored."""
    body = "".join(secrets.choice(_ALPHABET) for _ in range(_BODY_CHARS))
    return f"svc_{body}{_checksum(body)}"


def is_well_formed(key: str) -> bool:
    """Whether the text has a key's form, its checksum included."""
    return bool(KEY_PATTERN.fullmatch(key)) and key[-_CHECK_CHARS:] == _checksum(key[4:-_CHECK_CHARS])


def key_digest(key: str) -> str:
    """The SHA-256 that stands for the key in the store, as hex. Any text has one."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


def _checksum(body: str) -> str:
    number, digits = zlib.crc32(body.encode()), ""
    for _ in range(_CHECK_CHARS):
        number, digit = divmod(number, len(_ALPHABET))
        digits = _ALPHABET[digit] + digits
    return digits
