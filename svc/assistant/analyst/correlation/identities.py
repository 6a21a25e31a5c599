"""When two names in different inputs are the same thing, and which names every network has. Pure.

An account is the same if the inputs name it in full (``CORP\\\\bob``, ``bob@corp.example``, a SID, an ARN) or if a
record links two of its names. Names that only look alike (``bob`` and ``CORP\\\\bob``) stay different things with the
same name.
"""

from __future__ import annotations

import ipaddress
import re
from functools import lru_cache

import msgspec

from svc.assistant.findings import NameSort

Node = tuple[str, ...]
"""What identifies a thing; the first part is the kind of name."""

_SYSTEM_DOMAINS = frozenset(
    ["nt authority", "nt service", "window manager", "font driver host", "builtin", "iis apppool", "nt-autorität",
     "autorite nt", "workgroup"]
)  # fmt: skip
_NOBODY = frozenset(
    ["", "-", "system", "local service", "network service", "localsystem", "anonymous logon", "anonymous", "nobody",
     "unknown", "invalid user", "(not named)", "(not stated)", "local", "n/a", "none", "null", "(null)", "everyone",
     "localhost"]
)  # fmt: skip
GENERIC_ACCOUNTS = frozenset(
    ["root", "admin", "administrator", "administrateur", "guest", "user", "test", "ubuntu", "debian", "ec2-user",
     "centos", "pi", "oracle", "postgres", "mysql", "www-data", "apache", "nginx", "daemon", "git", "ftp", "backup",
     "support", "operator", "service", "svc", "info", "web", "deploy", "ansible", "jenkins", "vagrant", "default",
     "info", "sales", "office", "no-reply", "noreply", "postmaster", "webmaster", "me", "student", "demo"]
)  # fmt: skip
"""Accounts that many hosts have: the name alone says nothing."""
_GENERIC_HOSTS = frozenset(
    ["localhost", "localhost6", "server", "workstation", "desktop", "laptop", "host", "pc", "router", "gateway", "gw",
     "firewall", "fw", "kali", "ubuntu", "debian", "raspberrypi", "android", "iphone", "unknown", "dc", "dns", "mail"]
)  # fmt: skip
_EMPTY_FILE = frozenset(
    ["d41d8cd98f00b204e9800998ecf8427e", "da39a3ee5e6b4b0d3255bfef95601890afd80709",
     "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"]
)  # fmt: skip
_RESOLVERS = frozenset(
    ["8.8.8.8", "8.8.4.4", "1.1.1.1", "1.0.0.1", "9.9.9.9", "149.112.112.112", "208.67.222.222", "208.67.220.220",
     "2001:4860:4860::8888", "2001:4860:4860::8844", "2606:4700:4700::1111", "168.63.129.16", "169.254.169.254"]
)  # fmt: skip
_GATEWAY_ENDS = (1, 254)  # of private networks, by custom
_DOMAIN = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,62})(?:\.[a-z0-9_-]{1,63}){1,20}")
_RUNNING = re.compile(r"(?P<image>[^()]{0,200}) \(process \S{1,20} on (?P<host>[^,]{1,255}), started \S{16}\)")
_LEAST_COMMAND_CHARS, _LEAST_COMMAND_WORDS = 20, 2
_UNNAMED_DOMAINS = (".arpa", ".local", ".localdomain", ".lan", ".home", ".internal", ".invalid", ".localhost")


class Identity(msgspec.Struct, frozen=True):
    """What a name identifies: its sort, its node, and the name and domain within it, in lower case."""

    sort: NameSort
    node: Node
    name: str
    domain: str = ""


@lru_cache(maxsize=20_000)
def identity_of(sort: NameSort, value: str, place: str) -> Identity | None:
    """Return what a name in an input identifies; None if every network has it.

    Args:
        sort: What the input uses the name for.
        value: The name as written.
        place: The input, because a name that is not complete is known within its input only.
    """
    written = value.strip().strip('"').lower()
    match sort:
        case NameSort.ACCOUNT:
            return _account(written, place)
        case NameSort.HOST:
            return _host(written)
        case NameSort.ADDRESS:
            return _address(written)
        case NameSort.DOMAIN:
            return _domain(written)
        case NameSort.HASH:
            return (
                None if written in _EMPTY_FILE or len(set(written)) < 2 else Identity(sort, ("hash", written), written)
            )
        case NameSort.PROCESS:
            return _process(written)


def _account(written: str, place: str) -> Identity | None:
    if written.startswith("s-1-"):
        is_own = written.startswith(("s-1-5-21-", "s-1-12-1-"))
        return Identity(NameSort.ACCOUNT, ("sid", written), "") if is_own else None
    if written.startswith("arn:"):
        return Identity(NameSort.ACCOUNT, ("arn", written), written.rpartition("/")[2])
    domain, slash, name = written.rpartition("\\")
    if not slash and "@" in written:
        name, _, domain = written.rpartition("@")
        return Identity(NameSort.ACCOUNT, ("upn", written), name, domain) if name and domain else None
    if name in _NOBODY or domain in _SYSTEM_DOMAINS or len(name) < 2 or " " in name:
        return None
    if name.endswith("$"):
        return _host(name[:-1])
    if domain in ("", "."):
        return None if name in GENERIC_ACCOUNTS else Identity(NameSort.ACCOUNT, ("bare", place, name), name)
    return Identity(NameSort.ACCOUNT, ("nt", f"{domain}\\{name}"), name, domain)


def _host(written: str) -> Identity | None:
    name = written.strip("\\/. ")
    if is_address(name):
        return _address(name)
    if name.endswith("$"):
        name = name[:-1].rpartition("\\")[2]
    short, _, domain = name.partition(".")
    if short in _NOBODY or short in _GENERIC_HOSTS or len(short) < 2 or " " in name:
        return None
    return Identity(NameSort.HOST, ("fqdn", name) if domain else ("short", name), short, domain)


def _address(written: str) -> Identity | None:
    try:
        address = ipaddress.ip_address(written.partition("%")[0])
    except ValueError:
        return None
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        address = address.ipv4_mapped
    if address.is_loopback or address.is_unspecified or address.is_multicast or address.is_link_local:
        return None
    text = str(address)
    if text in _RESOLVERS or address.packed[-1] == 255 or text == "0.0.0.0":  # noqa: S104 -- nothing is bound
        return None
    if is_inside(text) and address.version == 4 and address.packed[-1] in _GATEWAY_ENDS:
        return None
    return Identity(NameSort.ADDRESS, ("address", text), text)


def _domain(written: str) -> Identity | None:
    name = written.rpartition("://")[2].partition("/")[0].rstrip(".")
    name = name.rpartition("@")[2]
    host, _, port = name.rpartition(":")
    name = host if host and port.isdecimal() else name
    if is_address(name):
        return _address(name)
    if not _DOMAIN.fullmatch(name) or name.endswith(_UNNAMED_DOMAINS) or len(name) > 253:
        return None
    return Identity(NameSort.DOMAIN, ("domain", name), name)


def _process(written: str) -> Identity | None:
    """A running process of a host, or a command line, which several hosts may run."""
    if (running := _RUNNING.fullmatch(written)) is not None:
        return Identity(NameSort.PROCESS, ("running", written), running["image"], running["host"])
    words = written.replace('"', "").split()
    if not words:
        return None
    words[0] = re.split(r"[\\/]", words[0])[-1].removesuffix(".exe")
    command = " ".join(words)
    if len(words) < _LEAST_COMMAND_WORDS or len(command) < _LEAST_COMMAND_CHARS:
        return None
    return Identity(NameSort.PROCESS, ("process", command), command)


@lru_cache(maxsize=20_000)
def is_inside(address: str) -> bool:
    """Whether an address is of a private network: RFC 1918, RFC 4193, RFC 6598."""
    parsed = ipaddress.ip_address(address)
    nets = ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10") if parsed.version == 4 else ("fc00::/7",)
    return any(parsed in ipaddress.ip_network(net) for net in nets)


def is_address(value: str) -> bool:
    """Whether a value is an IP address."""
    try:
        ipaddress.ip_address(value.partition("%")[0])
    except ValueError:
        return False
    return True


def are_compatible(one: Identity, other: Identity) -> bool:
    """Whether two accounts with the same name may be one: their domains agree as far as both state one in full."""
    return bool(one.domain and other.domain) and one.domain.partition(".")[0] == other.domain.partition(".")[0]
