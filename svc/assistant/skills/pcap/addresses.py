"""Which addresses belong to an internal network or to a group. Pure."""

from __future__ import annotations

from functools import lru_cache
from ipaddress import ip_address, ip_network

_INTERNAL = tuple(
    ip_network(text)
    for text in (
        "10.0.0.0/8",
        "172.16.0.0/12",
        "192.168.0.0/16",
        "100.64.0.0/10",
        "127.0.0.0/8",
        "169.254.0.0/16",
        "0.0.0.0/32",
        "::/127",
        "fc00::/7",
        "fe80::/10",
    )
)


@lru_cache(maxsize=50_000)
def is_internal(address: bytes) -> bool:
    """Whether the address is internal (RFC 1918, 6598, 4193, link-local), multicast or broadcast."""
    if len(address) not in (4, 16):
        return True
    known = ip_address(address)
    is_group = known.is_multicast or address == b"\xff\xff\xff\xff" or (len(address) == 4 and address[3] == 255)
    return is_group or any(known in network for network in _INTERNAL if network.version == known.version)


def is_group(address: bytes) -> bool:
    """Whether the address is multicast, or broadcast as far as the address alone shows."""
    if len(address) == 16:
        return address[0] == 0xFF
    return 224 <= address[0] < 240 or address[3] == 255
