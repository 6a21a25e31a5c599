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


class Operation(msgspec.Struct, frozen=True):
    """What a call does; ``techniques`` None: those of its interface."""

    what: str
    severity: Severity
    techniques: list[str] | None = None


class Interface(msgspec.Struct, frozen=True):
    """A DCE/RPC interface; ``operations`` describes calls by their number, the rest is what binding to it means."""

    uuid: str
    name: str
    what: str
    severity: Severity
    techniques: list[str]
    operations: dict[str, Operation] = {}


class Mark(msgspec.Struct, frozen=True):
    """A pattern and what it indicates."""

    pattern: str
    what: str
    severity: Severity
    techniques: list[str]


class Regular(msgspec.Struct, frozen=True):
    """What connects at regular intervals without an attacker: services (``tcp/993``), a pattern of names.

    ``is_inside``: only within a network.
    """

    what: str
    services: list[str] = []
    names: str = ""
    is_inside: bool = False


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
    heads: list[Mark]
    bodies: list[Mark]
    hosts: list[Mark]
    calls: list[Mark]
    objects: dict[str, str]
    searches: list[Mark]
    changes: list[Mark]
    certificates: list[Mark]
    regular: list[Regular]


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
    flags = re.NOFLAG if kind == "phrases" else re.IGNORECASE
    marks: list[Mark] = getattr(network(), kind)
    return [(re.compile(mark.pattern, flags), mark) for mark in marks]


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


def mark_of_head(head: str) -> Mark | None:
    """Return what the head of a request indicates beyond its target, or None."""
    return _mark("heads", head)


def mark_of_body(body: str) -> Mark | None:
    """Return what the beginning of a request's body indicates, or None."""
    return _mark("bodies", unquote_plus(body))


def mark_of_host(name: str) -> Mark | None:
    """Return what a host name indicates, or None for any ordinary one."""
    return _mark("hosts", name)


def mark_of_call(words: str) -> Mark | None:
    """Return what the readable words of a remote call indicate, or None."""
    return _mark("calls", words)


def mark_of_search(text: str) -> Mark | None:
    """Return what a search of a directory (base, filter, attributes) indicates, or None."""
    return _mark("searches", text)


def mark_of_change(text: str) -> Mark | None:
    """Return what a change of a directory's entry indicates, or None."""
    return _mark("changes", text)


def mark_of_certificate(names: str) -> Mark | None:
    """Return what the names of a certificate indicate, or None."""
    return _mark("certificates", names)


@cache
def objects() -> dict[bytes, str]:
    """Return what scripts other hosts by DCOM: names by class id as it is in a little-endian packet."""
    return {UUID(key).bytes_le: name for key, name in network().objects.items()}


@cache
def _regular() -> tuple[dict[str, Regular], list[tuple[re.Pattern[str], str]]]:
    listed = network().regular
    services = {service: entry for entry in listed for service in entry.services}
    return services, [(re.compile(entry.names, re.IGNORECASE), entry.what) for entry in listed if entry.names]


def regular_by_nature(protocol: str, port: int | None, name: str, *, is_inside: bool) -> str:
    """Return why regular contacts of a service (``tcp`` or ``udp``) or a host are ordinary, or "".

    ``name`` is one that the client cannot choose freely: from a name server's answer, or resolved by a proxy.
    """
    services, names = _regular()
    found = services.get(f"{protocol}/{port}")
    if found is not None and (is_inside or not found.is_inside):
        return found.what
    wanted = name.rstrip(".")
    return next((what for pattern, what in names if wanted and pattern.search(wanted)), "")


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
