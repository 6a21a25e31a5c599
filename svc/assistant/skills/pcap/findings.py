"""What findings about packet captures hold. Times are ISO 8601 in UTC, None if the capture has none.

Addresses and names are as they are, not defanged; the evidence is a packet by its number, from 1.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from svc.assistant.findings import Facts

ScanType = Literal["ports", "hosts", "pings"]
RemoteAction = Literal["call", "object", "exploit", "share", "file", "program", "login", "dialect"]
ActivityType = Literal[
    "tickets",
    "directory",
    "names",
    "relay",
    "guessing",
    "desktop",
    "management",
    "tunnel",
    "flood",
    "hosts",
    "probing",
    "transfer",
]
PcapIndicatorType = Literal["address", "domain", "host", "sha256"]


class ProtocolVolume(msgspec.Struct, frozen=True):
    """The bytes of one protocol."""

    protocol: str
    bytes: int


class ActivityBin(msgspec.Struct, frozen=True):
    """The bytes of one interval, by the time at which it begins."""

    time: str | None
    bytes: int


class PcapSuspiciousText(Facts, frozen=True, kw_only=True, tag="pcap_suspicious_text"):
    """Text of a shell or a program in a connection of no known protocol."""

    what: str
    client: str
    server: str
    port: int
    excerpt: str


class PcapRemote(Facts, frozen=True, kw_only=True, tag="pcap_remote"):
    """Remote administration of a host: SMB, DCE/RPC, DCOM, NTLM."""

    what: RemoteAction
    name: str
    """The interface, object, exploit, share, file, account or dialect."""
    operation: str
    """What was done, in words."""
    words: str
    """The readable arguments of a call, or the share of a file; "" if there are none or they are encrypted."""
    client: str
    server: str
    count: int
    result: str
    first: str | None


class PcapActivity(Facts, frozen=True, kw_only=True, tag="pcap_activity"):
    """What the messages of a protocol, or the number and shape of flows, show of a technique."""

    activity: ActivityType
    """Kerberos tickets, searches and changes of a directory, answers for names of others, a relayed login, guessed
    passwords, remote desktops, remote management by WinRM, a tunnel, a flood, looked-up hosts, probed pages, files sent
    away."""
    protocol: str
    client: str
    """"" for many."""
    server: str
    """"" for many."""
    port: int | None
    count: int
    names: list[str]
    """Accounts, services, hosts, filters: at most 20."""
    packets: list[int]
    """At most 20."""
    first: str | None
    last: str | None


class PcapDnsTunnel(Facts, frozen=True, kw_only=True, tag="pcap_dns_tunnel"):
    """A domain whose many long random names carry data."""

    domain: str
    names: int
    """Different names below the domain."""
    mean_chars: float
    """Mean length of the part in front of the domain."""
    entropy: float
    """Of that part, in bits per character."""
    queries: int
    clients: list[str]
    types: list[str]
    sample: str
    """The longest name."""
    first: str | None
    last: str | None


class PcapDnsGenerator(Facts, frozen=True, kw_only=True, tag="pcap_dns_generator"):
    """A client that queried many random domains that do not exist (DGA)."""

    client: str
    missing: int
    """Random domains that do not exist."""
    asked: int
    """All domains that it queried."""
    examples: list[str]


class PcapHttp(Facts, frozen=True, kw_only=True, tag="pcap_http"):
    """A web request, with its repetitions."""

    client: str
    server: str
    port: int
    method: str
    host: str
    target: str
    agent: str
    referer: str
    statuses: list[int]
    content_type: str
    """As the reply states."""
    body: str
    """The type of the reply's body by content."""
    sha256: str
    sent: int
    """Bytes of the requests' bodies."""
    received: int
    """Bytes of the replies' bodies."""
    count: int
    first: str | None
    last: str | None
    signs: list[str]
    """What makes it suspicious, worst first."""


class PcapScan(Facts, frozen=True, kw_only=True, tag="pcap_scan"):
    """A port scan, a sweep over hosts, or pings over a network."""

    scan: ScanType
    source: str
    target: str
    """The scanned host; "" for hosts and pings."""
    port: int | None
    """The port that was tried on many hosts."""
    count: int
    failed: int
    open: list[str]
    """Ports or hosts that answered."""
    first: str | None
    last: str | None


class PcapCredential(Facts, frozen=True, kw_only=True, tag="pcap_credential"):
    """Logins of one user over a protocol that sends the password in cleartext. The password is not kept."""

    protocol: str
    client: str
    server: str
    user: str
    secret: str
    """The length of the password."""
    count: int
    accepted: int
    refused: int


class PcapBeacon(Facts, frozen=True, kw_only=True, tag="pcap_beacon"):
    """Connections or DNS queries at regular intervals."""

    client: str
    server: str
    """"" for DNS queries."""
    port: int
    service: str
    name: str
    """The server's name in the capture, or the queried domain."""
    is_internal: bool
    """Whether the server is inside the network."""
    count: int
    pause_seconds: float
    """Median interval."""
    jitter: float
    """Median deviation from the interval, as a share of it."""
    first: str | None
    last: str | None
    offsets: list[float]
    """Seconds from the first contact to each one, at most 200: of more, every second, third …"""


class PcapTls(Facts, frozen=True, kw_only=True, tag="pcap_tls"):
    """TLS handshakes with the same server, name, client fingerprint and certificate."""

    clients: list[str]
    server: str
    port: int
    name: str
    """The requested server name (SNI)."""
    version: str
    ja3: str
    ja4: str
    subject: str
    issuer: str
    not_before: str
    not_after: str
    count: int
    first: str | None
    signs: list[str]
    """What makes it suspicious, worst first."""


class PcapUpload(Facts, frozen=True, kw_only=True, tag="pcap_upload"):
    """A client that sent far more to an outside server than it received."""

    client: str
    server: str
    port: int
    name: str
    sent: int
    """Bytes of payload."""
    received: int
    """Bytes of payload."""
    first: str | None


class PcapArp(Facts, frozen=True, kw_only=True, tag="pcap_arp"):
    """An IP address that several hardware addresses claim."""

    address: str
    hardware: list[str]


class PcapSummary(Facts, frozen=True, kw_only=True, tag="pcap_summary"):
    """The capture as a whole."""

    packets: int
    bytes: int
    """On the wire."""
    first: str | None
    last: str | None
    seconds: float
    flows: int
    hosts: int
    outside_hosts: int | None
    """None if nothing shows which addresses are inside: none is private, and no resolver or single host tells."""
    protocols: list[ProtocolVolume]
    """Most bytes first."""
    dns_queries: int
    http_requests: int
    tls_handshakes: int
    activity: list[ActivityBin]


class PcapTalker(Facts, frozen=True, kw_only=True, tag="pcap_talker"):
    """One host's traffic."""

    address: str
    name: str
    is_internal: bool | None
    """None if nothing shows which addresses are inside."""
    sent: int
    received: int
    packets: int
    flows: int
    peers: int


class PcapFlow(Facts, frozen=True, kw_only=True, tag="pcap_flow"):
    """One flow between two endpoints."""

    client: str
    server: str
    client_port: int
    server_port: int
    server_name: str
    service: str
    state: str
    """answered, no answer, under way, refused, half open, reset, closed or open."""
    sent: int
    received: int
    packets: int
    first: str | None
    last: str | None
    last_packet: int


class PcapDns(Facts, frozen=True, kw_only=True, tag="pcap_dns"):
    """The DNS queries for one registered domain."""

    domain: str
    queries: int
    names: int
    """Different names below the domain."""
    failed: int
    """NXDOMAIN replies."""
    clients: int
    types: list[str]
    answers: list[str]
    sample: str
    """The longest name."""
    first: str | None
    last: str | None


class PcapIndicator(Facts, frozen=True, kw_only=True, tag="pcap_indicator"):
    """An outside address, a domain, a host or the hash of a fetched program."""

    type: PcapIndicatorType
    value: str
    context: str
