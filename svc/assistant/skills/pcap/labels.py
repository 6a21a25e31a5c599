"""Names and times in the findings about a capture. Pure."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from svc.assistant.findings import Evidence, Scalar
from svc.assistant.knowledge.network import service_of
from svc.assistant.skills.pcap.capture import Capture
from svc.assistant.skills.pcap.dns import address_text
from svc.assistant.skills.pcap.flows import Flow

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
EXCERPT_CHARS = 400


def iso(seconds: float) -> str | None:
    """ISO 8601 in UTC with milliseconds; None for a capture without times, or one that no calendar has."""
    if seconds <= 0:
        return None
    try:
        return (_EPOCH + timedelta(seconds=seconds)).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    except OverflowError:
        return None


class Names:
    """What an address is called in this capture, and how its packets are pointed at."""

    def __init__(self, capture: Capture, source: str) -> None:
        self.source = source
        self._names = dict(capture.dns.address_names)
        for flow, handshake in capture.handshakes.items:
            if handshake.name:
                self._names.setdefault(flow.server[0], handshake.name)
        for flow, exchange in capture.exchanges.items:
            host = exchange.host.rsplit(":", 1)[0]
            if host and not host.replace(".", "").isdigit():
                self._names.setdefault(flow.server[0], host)

    def of(self, address: bytes) -> str:
        """The name by which it was reached; "" where none is in the capture."""
        return self._names.get(address, "")

    def packet(self, number: int, excerpt: str) -> Evidence:
        """A packet as evidence."""
        return Evidence(source=self.source, excerpt=excerpt[:EXCERPT_CHARS], record=number)

    def flow(self, flow: Flow) -> str:
        """``10.0.0.5:50123 → 203.0.113.9:443 HTTPS``."""
        client, server = address_text(flow.client[0]), address_text(flow.server[0])
        spoken = flow.label or service_of(flow.protocol, flow.server[1])
        if not flow.server[1]:
            return f"{client} → {server} {spoken}"
        return f"{_with_port(client, flow.client[1])} → {_with_port(server, flow.server[1])} {spoken}"

    def ends(self, flow: Flow) -> dict[str, Scalar | list[Scalar]]:
        """Client and server as attributes."""
        return {"client": address_text(flow.client[0]), "server": address_text(flow.server[0])}


def _with_port(address: str, port: int) -> str:
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
