"""Where unlogged sessions are, if several services share a database: each is in the memory of one service, its home.

The database knows digests of their ids alone. Facts: docs/how_to/postgresql.md, "Unlogged sessions".
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Protocol

import msgspec

from svc.errors import SessionNotFoundError


class Home(msgspec.Struct, frozen=True):
    """A service that holds unlogged sessions: the id of its process, and the address at which others reach it."""

    replica: str
    address: str


class SessionElsewhereError(SessionNotFoundError):
    """The session, if it exists, is in the memory of another service. What can pass the request on does so."""

    def __init__(self, session_id: str, home: Home) -> None:
        super().__init__(
            f"no such session here: {session_id[:64]!r}. Another service holds it, and a request is passed on only once"
        )
        self.home = home


class Homes(Protocol):
    """Knows the homes of unlogged sessions. A home ends with its lease."""

    async def claim(self, session_id: str, user_id: str) -> Home | None:
        """Make this service the session's home; returns another that is its home already, or None."""
        ...

    async def release(self, session_ids: Iterable[str]) -> None:
        """Forget these sessions of this service."""

    async def find(self, session_id: str) -> Home | None:
        """The other service that is the session's home; None if there is none."""
        ...

    async def of_user(self, user_id: str) -> Sequence[Home]:
        """The other services that hold sessions of this user."""
        ...

    async def is_alive(self, home: Home) -> bool:
        """Whether that service holds a lease."""
        ...


def session_digest(session_id: str) -> bytes:
    """What the database knows of a session's id."""
    return hashlib.sha256(b"svc session\0" + session_id.encode("utf-8", "surrogatepass")).digest()


def user_digest(user_id: str) -> bytes:
    """What the database knows of a session's user."""
    return hashlib.sha256(b"svc user\0" + user_id.encode("utf-8", "surrogatepass")).digest()
