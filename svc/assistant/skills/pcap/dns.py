"""DNS queries and replies by registered domain; which domains look like a tunnel, and which clients like a DGA.

Messages: RFC 1035. They are read here and not with dpkt, which refuses the names that matter most: tunnels put any
bytes into labels. Decides: a tunnel has many different, long or random names under one domain; a generator of domains
(DGA) queries many random domains that do not exist. Some mail filters and anti-virus products look the same, and the
finding says so.
"""

from __future__ import annotations

import math
import struct
from array import array
from collections import Counter
from functools import lru_cache

from publicsuffixlist import PublicSuffixList

from svc.assistant.skills.pcap.packets import Packet

PORTS = frozenset({53, 5353, 5355})  # DNS, mDNS, LLMNR
MAX_DOMAINS = 20_000  # registered domains that are listed
MAX_NAMES = 5_000  # different names kept of one domain: enough to judge it
MAX_TIMES = 1_000  # of questions of one client for one domain
MAX_ANSWERS = 20
MAX_ADDRESSES = 50_000  # whose names are remembered
MAX_LABELS = 128
MAX_RECORDS = 200  # of one message
TUNNEL_NAMES = 20  # different names under one domain, below which it is no tunnel
TUNNEL_CHARS = 20  # of the part below the domain, on average
TUNNEL_ENTROPY = 3.2  # bits a character: words have about 2.5 to 3, hex 4, base32 5
DGA_DOMAINS = 10  # that do not exist, asked for by one client
DGA_SHARE = 0.5  # of all domains that it asked for
DGA_ENTROPY = 2.8
_TYPES = {
    1: "A", 2: "NS", 5: "CNAME", 6: "SOA", 10: "NULL", 12: "PTR", 13: "HINFO", 15: "MX", 16: "TXT", 28: "AAAA",
    33: "SRV", 35: "NAPTR", 64: "SVCB", 65: "HTTPS", 255: "ANY", 252: "AXFR",
}  # fmt: skip
DATA_TYPES = frozenset({"TXT", "NULL", "CNAME", "MX", "SRV", "KEY", "ANY"})
"""Types that tunnels query, since the answers hold many bytes."""


class Domain:
    """Queries and replies about one registered domain."""

    failed: int
    first: float
    first_number: int
    last: float
    last_number: int
    queries: int
    received: int

    __slots__ = (
        "answers", "clients", "failed", "first", "first_number", "last", "last_number", "name", "names", "queries",
        "received", "sample", "times", "types",
    )  # fmt: skip

    def __init__(self, name: str, packet: Packet) -> None:
        self.name: str = name
        self.first = self.last = packet.seconds
        self.first_number = self.last_number = packet.number
        self.queries = self.failed = self.received = 0
        self.names: set[str] = set()
        self.types: Counter[str] = Counter()
        self.clients: Counter[bytes] = Counter()
        self.answers: dict[str, None] = {}
        self.times: dict[bytes, array[float]] = {}
        self.sample: str = ""

    @property
    def below(self) -> list[str]:
        """The parts of the names in front of the domain."""
        cut = len(self.name) + 1
        return [name[:-cut] for name in self.names if len(name) > cut]

    @property
    def mean_chars(self) -> float:
        """Length of the parts in front of the domain."""
        below = self.below
        return sum(map(len, below)) / len(below) if below else 0.0

    @property
    def entropy(self) -> float:
        """Bits a character of all parts in front of the domain together."""
        return entropy("".join(sorted(self.below)[:500]).replace(".", ""))

    @property
    def is_tunnel(self) -> bool:
        """Whether its names carry data, by their number, length and randomness."""
        if len(self.names) < TUNNEL_NAMES or self.name.endswith((".arpa", ".local")) or "." not in self.name:
            return False
        asks_for_data = sum(self.types[kind] for kind in DATA_TYPES) > self.queries / 2
        long_enough = TUNNEL_CHARS / 2 if asks_for_data else TUNNEL_CHARS
        return self.mean_chars >= long_enough and self.entropy >= TUNNEL_ENTROPY


class Dns:
    """All DNS of a capture. ``address_names`` maps an address to the name whose answer it was."""

    queries: int
    replies: int
    unread: int
    unlisted: int

    def __init__(self) -> None:
        self.domains: dict[str, Domain] = {}
        self.address_names: dict[bytes, str] = {}
        self.queries = self.replies = self.unread = self.unlisted = 0
        self._missing: dict[bytes, set[str]] = {}
        self._asked: dict[bytes, set[str]] = {}

    def add(self, packet: Packet, message: bytes) -> None:
        """Read one message; one that is damaged is counted."""
        try:
            self._read(packet, message)
        except (struct.error, IndexError):
            self.unread += 1

    def _read(self, packet: Packet, message: bytes) -> None:
        _, flags, questions, answers = struct.unpack_from(">HHHH", message)
        at = 12
        if questions != 1:
            return
        name, at = read_name(message, at)
        kind = struct.unpack_from(">H", message, at)[0]
        domain = self._domain(name.lower(), packet)
        if domain is None:
            return
        if flags & 0x8000:
            self.replies += 1
            domain.received += len(message)
            self._reply(domain, packet, name.lower(), flags & 15)
            self._answers(domain, message, at + 4, min(answers, MAX_RECORDS))
        else:
            self.queries += 1
            self._question(domain, packet, name.lower(), _TYPES.get(kind, f"type {kind}"))

    def _domain(self, name: str, packet: Packet) -> Domain | None:
        registered = registered_domain(name)
        domain = self.domains.get(registered)
        if domain is None:
            if len(self.domains) >= MAX_DOMAINS:
                self.unlisted += 1
                return None
            domain = self.domains[registered] = Domain(registered, packet)
        domain.last, domain.last_number = packet.seconds, packet.number
        return domain

    def _question(self, domain: Domain, packet: Packet, name: str, kind: str) -> None:
        domain.queries += 1
        domain.types[kind] += 1
        if len(domain.names) < MAX_NAMES:
            domain.names.add(name)
        if len(name) > len(domain.sample):
            domain.sample = name
        client = packet.source
        if client in domain.clients or len(domain.clients) < MAX_NAMES:
            domain.clients[client] += 1
            times = domain.times.setdefault(client, array("d"))
            if len(times) < MAX_TIMES:
                times.append(packet.seconds)
        self._asked.setdefault(client, set()).add(domain.name)

    def _reply(self, domain: Domain, packet: Packet, name: str, code: int) -> None:
        if len(domain.names) < MAX_NAMES:
            domain.names.add(name)
        if code == 3:
            domain.failed += 1
            self._missing.setdefault(packet.target, set()).add(domain.name)

    def _answers(self, domain: Domain, message: bytes, at: int, count: int) -> None:
        for _ in range(count):
            name, at = read_name(message, at)
            kind, _, _, size = struct.unpack_from(">HHIH", message, at)
            at += 10
            data = message[at : at + size]
            if kind in (1, 28) and len(data) in (4, 16):
                if len(self.address_names) < MAX_ADDRESSES:
                    self.address_names.setdefault(data, (domain.sample or name).lower())
                if len(domain.answers) < MAX_ANSWERS:
                    domain.answers[address_text(data)] = None
            elif kind == 5 and len(domain.answers) < MAX_ANSWERS:
                domain.answers[read_name(message, at)[0].lower()] = None
            at += size

    def generators(self) -> list[tuple[bytes, list[str], int]]:
        """Return clients that queried many random nonexistent domains: client, those domains, number of all domains."""
        found = []
        for client, missing in self._missing.items():
            asked = self._asked.get(client, missing) | missing
            random = sorted(name for name in missing if entropy(name.split(".")[0]) >= DGA_ENTROPY)
            if len(random) >= DGA_DOMAINS and len(random) >= DGA_SHARE * len(asked):
                found.append((client, random, len(asked)))
        return found


def read_name(message: bytes, at: int) -> tuple[str, int]:
    """Return the name at ``at`` and its end; bytes beyond ASCII become ``\\xNN``. Raises IndexError if truncated."""
    labels: list[str] = []
    end = -1
    for _ in range(MAX_LABELS):
        size = message[at]
        if size == 0:
            return ".".join(labels), at + 1 if end < 0 else end
        if size & 0xC0 == 0xC0:
            end = at + 2 if end < 0 else end
            at = (size & 0x3F) << 8 | message[at + 1]
            continue
        label = message[at + 1 : at + 1 + size]
        if len(label) < size or size > 63:
            break
        labels.append(label.decode("ascii", errors="backslashreplace"))
        at += 1 + size
    raise IndexError("the name does not end")


def address_text(address: bytes) -> str:
    """``192.0.2.1`` or ``2001:db8::1``."""
    from ipaddress import ip_address

    return str(ip_address(address)) if len(address) in (4, 16) else address.hex()


def entropy(text: str) -> float:
    """Shannon's entropy, bits a character."""
    total = len(text)
    return -sum(n / total * math.log2(n / total) for n in Counter(text).values()) if total else 0.0


_suffixes = PublicSuffixList(accept_unknown=True)


@lru_cache(maxsize=20_000)
def registered_domain(name: str) -> str:
    """Return the registrable domain of a name, or the name itself if it has none."""
    if name.endswith((".in-addr.arpa", ".ip6.arpa")):
        return name.split(".", name.count(".") - 1)[-1]
    return _suffixes.privatesuffix(name.strip(".")) or name
