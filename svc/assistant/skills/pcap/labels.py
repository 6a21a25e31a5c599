"""Host names and times in the findings about a capture. Pure."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from svc.assistant.findings import Evidence
from svc.assistant.knowledge.network import service_of
from svc.assistant.skills.pcap.capture import Capture
from svc.assistant.skills.pcap.dns import address_text
from svc.assistant.skills.pcap.flows import Flow

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
EXCERPT_CHARS = 400


def iso(seconds: float) -> str | None:
    """Return ISO 8601 in UTC with milliseconds, or None for a missing or impossible time."""
    if seconds <= 0:
        return None
    try:
        return (_EPOCH + timedelta(seconds=seconds)).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    except OverflowError:
        return None


class CaptureNames:
    """The host names of addresses in one capture, and evidence for its packets."""

    def __init__(self, capture: Capture, source: str) -> None:
        self.source = source
        self._resolved = capture.dns.address_names
        self._names = dict(self._resolved)
        for flow, handshake in capture.handshakes.items:
            if handshake.name:
                self._names.setdefault(flow.server[0], handshake.name)
        for flow, exchange in capture.exchanges.items:
            host = exchange.host.rsplit(":", 1)[0]
            if host and not host.replace(".", "").isdigit():
                self._names.setdefault(flow.server[0], host)

    def of(self, address: bytes) -> str:
        """Return the name by which it was reached, or "" if the capture has none."""
        return self._names.get(address, "")

    def resolved(self, address: bytes) -> str:
        """Return the name that a name server gave the address to, or ""."""
        return self._resolved.get(address, "")

    def packet(self, number: int, excerpt: str) -> Evidence:
        """Return a packet as evidence."""
        return Evidence(source=self.source, excerpt=excerpt[:EXCERPT_CHARS], record=number)

    def flow(self, flow: Flow) -> str:
        """``10.0.0.5:50123 → 203.0.113.9:443 HTTPS``."""
        client, server = address_text(flow.client[0]), address_text(flow.server[0])
        spoken = flow.label or service_of(flow.protocol, flow.server[1])
        if not flow.server[1]:
            return f"{client} → {server} {spoken}"
        return f"{_with_port(client, flow.client[1])} → {_with_port(server, flow.server[1])} {spoken}"


def _with_port(address: str, port: int) -> str:
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
