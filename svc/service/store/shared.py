"""The interface of a store that several equal services use at once: leases, turns that are taken over, requests, hints.

A replica is one of these services. It lives as long as its lease, which it renews; times are those of the database.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import msgspec

from svc.service.store import Store
from svc.service.store.records import TurnRecord


class OwnerRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What another replica asks of the one that runs a turn. ``kind``: ``answer`` (a message) or ``stop``."""

    id: str
    session_id: str
    turn_number: int
    kind: str
    body: bytes


class TurnsWaiting(NamedTuple):
    """The turns that no replica runs, and the seconds since the oldest of them was asked."""

    turns: int
    oldest_seconds: float


class Work(NamedTuple):
    """What there is for a replica to do: answer requests, look at the turns that are stored as its own, take others.

    ``heads``: the last seq of each session that was asked for; one that does not exist is missing.
    """

    has_requests: bool
    has_turns: bool
    has_free: bool
    heads: dict[str, int]


class Neighbours(NamedTuple):
    """What the replicas do together: the turns that none of them runs, and how many answer by something else."""

    waiting: TurnsWaiting
    unlike: int


class SharedStore(Store, Protocol):
    """A store of several replicas."""

    async def renew(self, replica: str, seconds: float, answers_by: str = "") -> None:
        """Let the replica's lease end so many seconds from now; ``answers_by`` identifies how it answers."""

    async def leave(self, replica: str) -> None:
        """End the replica's lease now."""

    async def work_for(self, owner: str, watched: Sequence[str] = ()) -> Work:
        """What there is to do for this replica, and the heads of the sessions that it watches.

        One that has nothing to do needs no other look.
        """
        ...

    async def take_over(self, *, owner: str, limit: int) -> Sequence[TurnRecord]:
        """Take running turns that no living replica owns, the oldest first; ``fence`` and ``attempts`` grow by one.

        A turn that another replica takes at this moment is left to it.
        """
        ...

    async def seize(self, turn: TurnRecord, *, owner: str) -> TurnRecord | None:
        """Take a running turn from its owner, to end it; None if it has ended or its fence has grown since."""
        ...

    async def held(self, owner: str) -> Sequence[TurnRecord]:
        """The running turns of this owner."""
        ...

    async def neighbours(self, answers_by: str) -> Neighbours:
        """The running turns that no living replica owns, since they wait for a free place or their owner died; and how
        many living replicas answer by something else, as far as they say.
        """
        ...

    async def ask_owner(self, request: OwnerRequest) -> bool:
        """Leave a request for the replica that runs the turn; False if nobody does."""
        ...

    async def requests_for(self, owner: str) -> Sequence[OwnerRequest]:
        """The requests that this replica has not answered."""
        ...

    async def reply(self, request_id: str, reply: bytes) -> None:
        """Answer a request."""

    async def take_reply(self, request_id: str) -> bytes | None:
        """The answer to a request, which is forgotten with it; None if there is none yet."""
        ...

    async def drop_request(self, request_id: str) -> None:
        """Forget a request that nobody answered."""


class Hint(msgspec.Struct, kw_only=True):
    """What one service tells the others. ``wake``: there is something to do, so look now."""

    stored: dict[str, int] = {}
    ended: dict[str, tuple[int, str]] = {}
    wake: bool = False


class Hints(Protocol):
    """Carries hints between services, after the commits they are about; one that is lost is not sent again."""

    async def start(self, on_hint: Callable[[Hint], None]) -> None:
        """Begin to send, and to call ``on_hint`` with those of others; a broken connection is opened again."""

    async def close(self) -> None:
        """Send what is left, then end."""

    def tell_stored(self, session_id: str, seq: int) -> None:
        """Tell that messages up to this seq are stored."""

    def tell_ended(self, session_id: str, code: int, reason: str) -> None:
        """Tell that the session's streams are to be closed."""

    def tell_wake(self) -> None:
        """Tell that there is a turn to take, a turn that was taken, a request or a reply."""
