"""Read name servers' query messages in syslog: BIND (named), dnsmasq and Pi-hole, Unbound.

A message becomes the fields of Sigma's DNS category: ``QueryName``, ``record_type`` and ``SourceIp``. Forwarded
questions and replies stay messages: they are no queries of a client.
"""

from __future__ import annotations

import re

import msgspec

MAX_CHARS = 1_024
_ADDRESS = r"[0-9A-Fa-f.:]{2,45}"
_NAME = r"[^\s'/]{1,255}"
_TYPE = r"(?P<type>[A-Z0-9]{1,10})"
_PATTERNS = {
    "named": re.compile(
        rf"(?:[a-z-]{{1,20}}: ){{0,2}}client (?:@0x[0-9a-f]{{1,16}} )?(?P<client>{_ADDRESS})#\d{{1,5}}"
        rf"(?: \([^)]{{0,255}}\))?: (?:view [^:]{{1,60}}: )?query: (?P<name>{_NAME}) [A-Z]{{2}} {_TYPE} "
    ),
    "dnsmasq": re.compile(
        rf"(?:\d{{1,10}} {_ADDRESS}/\d{{1,5}} )?query\[{_TYPE}\] (?P<name>{_NAME}) from (?P<client>{_ADDRESS})"
    ),
    "unbound": re.compile(
        rf"(?:\[\d{{1,10}}:\d{{1,4}}\] )?(?:info: )?(?P<client>{_ADDRESS}) (?P<name>{_NAME}) {_TYPE} IN\b"
    ),
}
_PRODUCTS = {"named": "bind", "dnsmasq": "dnsmasq", "unbound": "unbound"}


class DnsMessage(msgspec.Struct, frozen=True):
    """A client's question: the name server's product and Sigma's fields."""

    product: str
    fields: dict[str, str]


def dns_message(program: str, message: str) -> DnsMessage | None:
    """Return what a name server's message asks; None for any other message."""
    server = program.rpartition("/")[2]
    pattern = _PATTERNS.get(server)
    found = pattern.match(message[:MAX_CHARS]) if pattern is not None else None
    if found is None:
        return None
    name = found["name"].rstrip(".") or "."
    fields = {"QueryName": name, "query": name, "record_type": found["type"], "SourceIp": found["client"]}
    return DnsMessage(_PRODUCTS[server], fields)
