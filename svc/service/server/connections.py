"""Which connections may stay open, so that one client cannot use up the process's file descriptors.

- At most ``max_keyless_connections`` have shown no valid key: one more cuts the oldest that sends no request. A client
  with a key sends it at once; one that only fills memory does not.
- At most ``max_keyless_per_peer`` of these come from one address. Behind one address there may be many clients, so a
  connection has ``GRACE_SECONDS`` to send its request; if all are younger, twice the limit may be open.
- At most ``max_connections`` altogether: one more cuts the oldest that has shown no key and sends no request or, if
  there is none, the oldest of the key that has the most. So a client that may connect always can.

Pure but for the log: connections are given, and cut by their own method.
"""

from __future__ import annotations

import ipaddress
import logging
import time
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple, Protocol

from svc.service.observability.metrics import Metrics

log: logging.Logger = logging.getLogger("svc.connections")
GRACE_SECONDS = 0.5
LOG_SECONDS = 10.0  # between two lines about the same limit
_IPV6_NETWORK_BITS = 64  # of one customer; the rest of the address is the customer's choice


class LimitedConnection(Protocol):
    """What is limited."""

    @property
    def account(self) -> str:
        """The original key of the current or last request that had a valid key; "" if none had."""

    @property
    def peer(self) -> str:
        """The client's address."""

    @property
    def is_silent(self) -> bool:
        """Whether no request is in progress."""

    def abort(self) -> None:
        """Close at once."""


class _Arrival(NamedTuple):
    """A connection's client, and when it came."""

    peer: str
    time: float


class ConnectionLimits:
    """The open connections, oldest first."""

    def __init__(
        self,
        *,
        limit: int,
        keyless_limit: int,
        keyless_per_peer: int | None,
        metrics: Metrics,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._limit = limit
        self._keyless_limit = keyless_limit
        self._keyless_per_peer = keyless_per_peer
        self._metrics = metrics
        self._clock = clock
        self._open: dict[LimitedConnection, None] = {}
        self._keyless: dict[LimitedConnection, _Arrival] = {}  # some may have shown a key since
        self._keyless_of_peer: Counter[str] = Counter()
        self._logged: dict[str, float] = {}

    def __len__(self) -> int:
        return len(self._open)

    def add(self, connection: LimitedConnection, *, is_keyless: bool = True) -> None:
        """Count a connection; if that is one too many, cut one."""
        self._open[connection] = None
        if is_keyless:
            peer = network_of(connection.peer)
            self._keyless[connection] = _Arrival(peer, self._clock())
            self._keyless_of_peer[peer] += 1
            self._cut_keyless(peer)
        if len(self._open) > self._limit:
            self._cut("max_connections", self._victim(connection))

    def has_key(self, connection: LimitedConnection) -> None:
        """Count it as one with a key from now on."""
        arrival = self._keyless.pop(connection, None)
        if arrival is not None:
            self._keyless_of_peer[arrival.peer] -= 1
            if not self._keyless_of_peer[arrival.peer]:
                del self._keyless_of_peer[arrival.peer]

    def discard(self, connection: LimitedConnection) -> None:
        """Stop counting it."""
        self._open.pop(connection, None)
        self.has_key(connection)

    def _cut_keyless(self, peer: str) -> None:
        limit = self._keyless_per_peer
        if limit is not None and self._keyless_of_peer[peer] > limit:
            before = self._clock() - GRACE_SECONDS
            own = self._really_keyless([one for one, arrival in self._keyless.items() if arrival.peer == peer])
            if len(own) > limit:
                old = [one for one in own if self._keyless[one].time <= before]
                newest = own[-1:] if len(own) > 2 * limit else []
                self._cut_first("max_keyless_per_peer", [*old, *newest])
        if len(self._keyless) > self._keyless_limit:
            keyless = self._really_keyless([*self._keyless])
            if len(keyless) > self._keyless_limit:
                self._cut_first("max_keyless_connections", keyless)

    def _really_keyless(self, connections: list[LimitedConnection]) -> list[LimitedConnection]:
        """Return those without a key, and count the others right: a stream's key is known before it reports it."""
        for connection in connections:
            if connection.account:
                self.has_key(connection)
        return [connection for connection in connections if connection in self._keyless]

    def _cut_first(self, limit: str, candidates: list[LimitedConnection]) -> None:
        """Cut the first that has no request."""
        silent = next((connection for connection in candidates if connection.is_silent), None)
        if silent is not None:
            self._cut(limit, silent)

    def _victim(self, newcomer: LimitedConnection) -> LimitedConnection:
        """Who gives way to a newcomer, which may turn out to have a key."""
        silent = (one for one in self._keyless if not one.account and one.is_silent and one is not newcomer)
        if (oldest := next(silent, None)) is not None:
            return oldest
        counts = Counter(one.account for one in self._open if one is not newcomer)
        largest = counts.most_common(1)[0][0]
        return next(one for one in self._open if one.account == largest)

    def _cut(self, limit: str, connection: LimitedConnection) -> None:
        self.discard(connection)
        self._metrics.connection_cut(limit)
        now = self._clock()
        if now - self._logged.get(limit, -LOG_SECONDS) >= LOG_SECONDS:
            self._logged[limit] = now
            log.warning("connections cut", extra={"limit": f"SVC_{limit.upper()}", "open": len(self._open)})
        connection.abort()


def network_of(peer: str) -> str:
    """The address, or the network of an IPv6 address, which is what one client has."""
    try:
        address = ipaddress.ip_address(peer)
    except ValueError:
        return peer
    if address.version == 4:
        return peer
    mapped = address.ipv4_mapped
    return str(mapped or ipaddress.ip_network((int(address), _IPV6_NETWORK_BITS), strict=False).network_address)
