"""What findings about connections, logins in tables, other products' alerts and actions of accounts hold."""

from __future__ import annotations

from typing import Literal

import msgspec

from svc.assistant.findings import Facts
from svc.untrusted.markup import plural

MAX_HOSTS = 10_000  # of a scan; more are not told apart


class AddressConnections(msgspec.Struct, frozen=True):
    """An address and its connections."""

    address: str
    count: int
    denied: int


class PortConnections(msgspec.Struct, frozen=True):
    """A destination port and its number of connections."""

    port: int
    count: int


class NetworkSummary(Facts, frozen=True, kw_only=True, tag="network_summary"):
    """Totals of a firewall's log or a table of connections."""

    connections: int
    allowed: int
    denied: int
    """Denied, refused or not answered."""
    sources: int
    destinations: int
    first: str | None
    last: str | None
    by_source: list[AddressConnections]
    """Most connections first, at most 20."""
    by_port: list[PortConnections]
    """Most connections first, at most 20."""
    untold: int
    """Connections between addresses beyond the limit, which are counted in the totals only."""


class HostRequests(msgspec.Struct, frozen=True):
    """A host and the requests to it."""

    host: str
    count: int


class ProxySummary(Facts, frozen=True, kw_only=True, tag="proxy_summary"):
    """Totals of a proxy's log."""

    requests: int
    refused: int
    """Answered with 403 or 407."""
    clients: int
    hosts: int
    first: str | None
    last: str | None
    by_host: list[HostRequests]
    """Most requests first, at most 50."""
    once: list[str]
    """Hosts that were asked for once, at most 50."""
    untold: int
    """Requests to hosts beyond the limit, which are counted in the totals only."""


class PortScan(Facts, frozen=True, kw_only=True, tag="port_scan"):
    """A source that tried many ports of a host (vertical), or one port on many hosts (horizontal)."""

    source: str
    shape: Literal["vertical", "horizontal"]
    hosts: int
    """Hosts tried: those with many ports, or those with this port; if they are 10,000, at least so many."""
    targets: list[str]
    """Those with the most ports first, at most 20."""
    ports: int
    """Different ports of the host with the most; 1 for a horizontal scan."""
    tried: list[int]
    """Ports of that host, at most 50."""
    attempts: int
    denied: int
    allowed: int
    first: str | None
    last: str | None
    per_minute: float | None


def hosts_words(count: int) -> str:
    """``25 hosts``, or ``at least 10,000 hosts``, where more were not told apart."""
    return f"at least {plural(count, 'host')}" if count >= MAX_HOSTS else plural(count, "host")


class BeaconSearch(Facts, frozen=True, kw_only=True, tag="beacon_search"):
    """How far a log was searched for regular contacts."""

    pairs: int
    """Sources with a destination."""
    judged: int
    """Pairs with enough contacts to tell."""
    regular: int
    least: int
    """Contacts that are enough."""
    untold: int
    """Contacts of pairs beyond the limit, which were not searched."""


class Beaconing(Facts, frozen=True, kw_only=True, tag="beaconing"):
    """Contacts of a source with a destination at nearly equal intervals."""

    source: str
    destination: str
    """An address, the host of a proxy's request, or the queried name."""
    port: int | None
    contacts: Literal["connections", "requests", "queries"]
    program: str
    """The program that connected, if the log names it."""
    is_internal: bool
    """Whether the destination is inside the network."""
    count: int
    pause_seconds: float
    """Median interval."""
    jitter: float
    """Median deviation from the interval, as a share of it."""
    reason: str
    """Why it is most likely ordinary; "" if nothing says so."""
    first: str | None
    last: str | None
    offsets: list[float]
    """Seconds from the first contact to each one, at most 200: of more, every second, third …"""


class DeniedTraffic(Facts, frozen=True, kw_only=True, tag="denied_traffic"):
    """Connections from one address to another that were denied repeatedly, or allowed after that."""

    source: str
    destination: str
    denied: int
    ports: list[int]
    """Ports that were denied, at most 20."""
    allowed_port: int | None
    """Port of the first connection that was allowed after the denials; None if none was."""
    allowed_time: str | None
    first: str | None
    last: str | None


class UnusualLogin(Facts, frozen=True, kw_only=True, tag="unusual_login"):
    """A successful login that differs from the account's other logins in the same log."""

    account: str
    source: str
    reasons: list[str]
    time: str | None
    record: int
    """Line or record of the login."""
    usual_sources: list[str]
    """Sources of the account's other logins, most frequent first, at most 10."""
    logins: int
    """Successful logins of the account."""


class ProductAlert(Facts, frozen=True, kw_only=True, tag="product_alert"):
    """An alert that another product raised; it is reported, not verified."""

    alert: str
    product: str = ""
    """The product that raised it; "" if the export does not tell."""
    level: str
    """As that product rates it."""
    count: int
    hosts: list[str]
    users: list[str]
    addresses: list[str]
    first: str | None
    last: str | None
