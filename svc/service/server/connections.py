"""Which connections may stay open, so that one client cannot use up the process's file descriptors.

- At most ``max_keyless_connections`` have shown no valid key, and ``max_keyless_per_peer`` of these come from one
  address: one more cuts the oldest. A client with a key sends it at once; one that only fills memory does not.
- At most ``max_connections`` altogether: one more cuts the oldest without a key or, if there is none, the oldest of the
  key that has the most. So a client that may connect always can.

Pure but for the log: connections are given, and cut by their own method.
"""

from __future__ import annotations

import ipaddress
import logging
import time
from collections import Counter
from collections.abc import Callable
from typing import Protocol

from svc.service.observability.metrics import Metrics

log = logging.getLogger("svc.connections")
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

    def abort(self) -> None:
        """Close at once."""


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
        self._keyless: dict[LimitedConnection, str] = {}  # with the peer; some may have shown a key since
        self._keyless_of_peer: Counter[str] = Counter()
        self._logged: dict[str, float] = {}

    def __len__(self) -> int:
        return len(self._open)

    def add(self, connection: LimitedConnection, *, is_keyless: bool = True) -> None:
        """Count a connection; if that is one too many, cut one."""
        self._open[connection] = None
        if is_keyless:
            peer = network_of(connection.peer)
            self._keyless[connection] = peer
            self._keyless_of_peer[peer] += 1
            self._cut_keyless(peer)
        if len(self._open) > self._limit:
            self._cut("max_connections", self._victim())

    def has_key(self, connection: LimitedConnection) -> None:
        """Count it as one with a key from now on."""
        peer = self._keyless.pop(connection, None)
        if peer is not None:
            self._keyless_of_peer[peer] -= 1
            if not self._keyless_of_peer[peer]:
                del self._keyless_of_peer[peer]

    def discard(self, connection: LimitedConnection) -> None:
        """Stop counting it."""
        self._open.pop(connection, None)
        self.has_key(connection)

    def _cut_keyless(self, peer: str) -> None:
        if self._keyless_per_peer is not None and self._keyless_of_peer[peer] > self._keyless_per_peer:
            self._cut_oldest("max_keyless_per_peer", [one for one, its in self._keyless.items() if its == peer])
        if len(self._keyless) > self._keyless_limit:
            self._cut_oldest("max_keyless_connections", [*self._keyless])

    def _cut_oldest(self, limit: str, candidates: list[LimitedConnection]) -> None:
        """Cut the oldest that still has no key; those before it are counted right from now on."""
        for connection in candidates:
            if not connection.account:
                self._cut(limit, connection)
                return
            self.has_key(connection)

    def _victim(self) -> LimitedConnection:
        counts = Counter(connection.account for connection in self._open)
        account = "" if counts[""] else counts.most_common(1)[0][0]
        return next(connection for connection in self._open if connection.account == account)

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
