"""API keys: generate them; the SDK checks their form with the same code. Pure except for the system's random source.

A key is ``svc_``, 43 base62 characters (256 bits) and the CRC-32 of those 43 as 6 base62 characters, most significant
first, so that secret scanners can tell a key from a look-alike (as with GitHub's tokens). The service stores only the
SHA-256. With 256 bits of entropy a slow password hash would add nothing.
"""

from __future__ import annotations

import secrets

from svc._proof import KEY_ALPHABET, KEY_PATTERN, is_well_formed, key_checksum, key_digest

__all__ = ["KEY_PATTERN", "is_well_formed", "key_digest", "make_key"]

_BODY_CHARS = 43


def make_key() -> str:
    """Generate a key. It is shown once and never stored."""
    body = "".join(secrets.choice(KEY_ALPHABET) for _ in range(_BODY_CHARS))
    return f"svc_{body}{key_checksum(body)}"
