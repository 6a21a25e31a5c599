"""API keys: generate, validate their form, and hash them. Pure except for the system's random source.

A key is ``svc_``, 43 base62 characters (256 bits) and the CRC-32 of those 43 as 6 base62 characters, most significant
first, so that secret scanners can tell a key from a look-alike (as with GitHub's tokens). The service stores only the
SHA-256. With 256 bits of entropy a slow password hash would add nothing.
"""

from __future__ import annotations

import re
import secrets
import string
import zlib

from svc._proof import key_digest

__all__ = ["KEY_PATTERN", "is_well_formed", "key_digest", "make_key"]

_ALPHABET = string.digits + string.ascii_uppercase + string.ascii_lowercase
_BODY_CHARS = 43
_CHECK_CHARS = 6
KEY_PATTERN = re.compile(r"svc_[0-9A-Za-z]{49}")
"""Matches anything that looks like a key, anywhere in a text."""


def make_key() -> str:
    """Generate a key. It is shown once and never stored."""
    body = "".join(secrets.choice(_ALPHABET) for _ in range(_BODY_CHARS))
    return f"svc_{body}{_checksum(body)}"


def is_well_formed(key: str) -> bool:
    """Whether the text has the form of a key, including a valid checksum."""
    return bool(KEY_PATTERN.fullmatch(key)) and key[-_CHECK_CHARS:] == _checksum(key[4:-_CHECK_CHARS])


def _checksum(body: str) -> str:
    number, digits = zlib.crc32(body.encode()), ""
    for _ in range(_CHECK_CHARS):
        number, digit = divmod(number, len(_ALPHABET))
        digits = _ALPHABET[digit] + digits
    return digits
