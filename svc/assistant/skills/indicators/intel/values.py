"""Decide what a listed value is: an address, a network, a domain, a hash, a path, an account or a text. Pure."""

from __future__ import annotations

import ipaddress
import re
from functools import lru_cache

import msgspec

from svc.assistant.skills.indicators import patterns as looks
from svc.untrusted.defang import plain, refang

MAX_VALUE_CHARS = 2_048
LEAST_CHARS = 3  # a shorter text is in every file
TYPES = frozenset(
    [
        "ipv4", "ipv6", "ipv4_cidr", "ipv6_cidr", "domain", "url", "email", "md5", "sha1", "sha224", "sha256",
        "sha384", "sha512", "file_name", "file_path", "registry_key", "account", "user_agent", "mutex", "text",
    ]
)  # fmt: skip
"""What can be looked for."""
_HINTS = {
    "user": "account", "username": "account", "useraccount": "account", "accounts": "account", "login": "account",
    "filename": "file_name", "filepath": "file_path", "path": "file_path", "file": "file_name", "process": "file_name",
    "processname": "file_name", "regkey": "registry_key", "registry": "registry_key", "registrykey": "registry_key",
    "useragent": "user_agent", "mutex": "mutex", "mutexname": "mutex", "account": "account", "hostname": "domain",
    "domainname": "domain", "host": "domain", "fqdn": "domain", "domain": "domain",
}  # fmt: skip
"""Names of types that a value does not show by itself, in lower case without punctuation."""
_NAMED = frozenset({"account", "file_name", "file_path", "registry_key", "user_agent", "mutex", "text"})
_EMAIL = re.compile(r"[\w.+%'=/-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,9}")
_URL = re.compile(r"[a-z][a-z0-9+.-]{1,20}://[^\s\"'<>]+", re.IGNORECASE)
_URL_PATH = re.compile(r"[\w-]{1,63}(?:\.[\w-]{1,63}){1,9}(?::\d{1,5})?/[^\s\"'<>]+")
_HOST = re.compile(r"[\w-]{1,63}(?:\.[\w-]{1,63}){1,9}\.?")
_KEY = re.compile(r"(?:HKEY_[A-Z_]{4,20}|HK(?:LM|CU|U|CR|CC)|\\REGISTRY)[\\:].{2,}", re.IGNORECASE)
_WINDOWS_PATH = re.compile(r"(?:[A-Za-z]:|%\w{2,30}%|\\\\[\w.$-]+)\\.+")
_ACCOUNT = re.compile(r"[\w.-]{1,30}\\[\w.$ -]{1,64}")
_PORT = re.compile(r"((?:\d{1,3}\.){3}\d{1,3}|\[[0-9A-Fa-f:.]+\]):\d{1,5}")


class Listed(msgspec.Struct, frozen=True):
    """A value to look for."""

    type: str
    value: str


@lru_cache(maxsize=4_096)
def hinted(name: str) -> str:
    """The type that a column or a format calls ``name``; "" if the value itself must decide."""
    if name in TYPES:
        return name
    key = re.sub(r"[\W_]+", "", name).lower()
    return _HINTS.get(key, key if key in TYPES else "")


def value_of(written: str, hint: str = "") -> Listed | None:
    """What is written as one value, defanged or not; None if nothing could be looked for.

    Args:
        written: The value.
        hint: What the list calls it, if it does.
    """
    value = plain(refang(written[: 2 * MAX_VALUE_CHARS])).strip().strip("\"'`<>,;").strip()
    if not LEAST_CHARS <= len(value) <= MAX_VALUE_CHARS or "\n" in value:
        return None
    if (sure := _sure(value)) is not None:
        return sure
    type_ = hinted(hint)
    if type_ == "domain" and not _HOST.fullmatch(value):
        return Listed("text", value)
    if type_ == "domain":
        return Listed("domain", value.rstrip(".").lower())
    if type_ in _NAMED:
        is_path = type_ == "file_name" and ("\\" in value or "/" in value)
        return Listed("file_path" if is_path else type_, value)
    return _likely(value)


def _sure(value: str) -> Listed | None:
    """An address, a network, a hash, a URL, a mail address or a registry key: the form leaves no doubt."""
    if (address := _address(value)) is not None:
        return address
    if (kind := looks.HASH_KINDS.get(len(value))) and re.fullmatch(r"[0-9A-Fa-f]+", value):
        return Listed(kind, value.lower())
    if _URL.fullmatch(value):
        return Listed("url", value)
    if _EMAIL.fullmatch(value):
        return Listed("email", value.lower())
    return Listed("registry_key", value) if _KEY.fullmatch(value) else None


def _address(value: str) -> Listed | None:
    ported = _PORT.fullmatch(value)
    text = ported[1].strip("[]") if ported else value
    try:
        if "/" not in text:
            address = ipaddress.ip_address(text)
            return Listed(f"ipv{address.version}", str(address))
        network = ipaddress.ip_network(text, strict=False)
    except ValueError:
        return None
    if network.prefixlen == network.max_prefixlen:
        return Listed(f"ipv{network.version}", str(network.network_address))
    return Listed(f"ipv{network.version}_cidr", str(network)) if network.prefixlen else None


def _likely(value: str) -> Listed | None:
    if _WINDOWS_PATH.fullmatch(value) or re.fullmatch(r"/[\w.-]+/.+", value):
        return Listed("file_path", value)
    if _ACCOUNT.fullmatch(value):
        return Listed("account", value)
    if _URL_PATH.fullmatch(value):
        return Listed("url", value)
    if _HOST.fullmatch(value):
        name = value.rstrip(".")
        ending = name.rpartition(".")[2].lower()
        is_file = ending in looks.words().file_endings and not looks.is_host(name, is_certain=False)
        if is_file:
            return Listed("file_name", name)
        if looks.is_host(name, is_certain=True):
            return Listed("domain", name.lower())
        return Listed("file_name", name)
    return Listed("text", value) if " " not in value else None
