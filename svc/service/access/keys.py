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

_ALPHABET = string.digits + string.ascii_uppercase + string.ascii_lowercase
_BODY_CHARS = 43
_CHECK_CHARS = 6
KEY_PATTERN = re.compile(r"svc_[0-9A-Za-z]{49}")
"""Anything that looks like a key, wherever it stands."""


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
