"""Look up services, RPC interfaces and patterns of suspicious traffic (``network.toml``)."""

from __future__ import annotations

import re
from datetime import date
from functools import cache
from urllib.parse import unquote_plus
from uuid import UUID

import msgspec

from svc.assistant.findings import Severity
from svc.assistant.knowledge import load

ICMP, TCP, UDP, ICMP6 = 1, 6, 17, 58  # IANA, "Assigned Internet Protocol Numbers"


class Interface(msgspec.Struct, frozen=True):
    """A DCE/RPC interface; ``operations`` describes calls by their number."""

    uuid: str
    name: str
    what: str
    severity: Severity
    techniques: list[str]
    operations: dict[str, str] = {}


class Mark(msgspec.Struct, frozen=True):
    """A pattern and what it indicates."""

    pattern: str
    what: str
    severity: Severity
    techniques: list[str]


class Network(msgspec.Struct, frozen=True):
    """``network.toml``."""

    source: str
    version: str
    date: date
    services: dict[str, dict[str, str]]
    interfaces: list[Interface]
    names: list[Mark]
    phrases: list[Mark]
    agents: list[Mark]
    requests: list[Mark]


@cache
def network() -> Network:
    """Return the table."""
    return load("network.toml", Network)


@cache
def interfaces() -> dict[bytes, Interface]:
    """Return interfaces by their UUID as it is in a little-endian packet."""
    return {UUID(entry.uuid).bytes_le: entry for entry in network().interfaces}


def interface_by_text(uuid: str) -> Interface | None:
    """Return the interface with a UUID in text form, or None."""
    return interfaces().get(UUID(uuid).bytes_le)


@cache
def _compiled(kind: str) -> list[tuple[re.Pattern[str], Mark]]:
    table = network()
    marks = {"names": table.names, "phrases": table.phrases, "agents": table.agents, "requests": table.requests}
    flags = re.NOFLAG if kind == "phrases" else re.IGNORECASE
    return [(re.compile(mark.pattern, flags), mark) for mark in marks[kind]]


def mark_of_name(name: str) -> Mark | None:
    """Return what the name of a pipe or a file indicates, or None."""
    return _mark("names", name)


def mark_of_text(text: str) -> Mark | None:
    """Return what text in a flow of an unknown protocol indicates, or None."""
    return _mark("phrases", text)


def mark_of_agent(agent: str) -> Mark | None:
    """Return what a User-Agent indicates, or None if it may be a browser's."""
    return _mark("agents", agent)


def mark_of_request(target: str) -> Mark | None:
    """Return which attack the target of a request indicates, or None."""
    decoded = unquote_plus(target)
    return _mark("requests", unquote_plus(decoded) if "%" in decoded else decoded)


def _mark(kind: str, text: str) -> Mark | None:
    return next((mark for pattern, mark in _compiled(kind) if pattern.search(text)), None)


def service_of(protocol: int, port: int) -> str:
    """Return the usual service of a port, or the protocol and port."""
    if protocol in (ICMP, ICMP6):
        return "ICMP"
    name = {TCP: "tcp", UDP: "udp"}.get(protocol)
    if name is None:
        return f"IP protocol {protocol}"
    return network().services[name].get(str(port), f"{name}/{port}")
