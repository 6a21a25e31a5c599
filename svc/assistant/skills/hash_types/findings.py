"""What findings about hashes hold."""

from __future__ import annotations

import msgspec

from svc.assistant.findings import Facts


class HashCandidate(msgspec.Struct, frozen=True):
    """A hash type that is written in this form, and what to know about it."""

    name: str
    note: str


class HashType(Facts, frozen=True, kw_only=True, tag="hash_kind"):
    """A hash and the types that it may be of."""

    value: str
    candidates: list[HashCandidate]
    """Most likely first; at least one."""
    known: str | None
    """What this very value is, for example the MD5 of empty input."""
    is_password: bool
    """Whether the most likely type, or a close second, stores passwords."""
    table_version: str
    table_date: str
