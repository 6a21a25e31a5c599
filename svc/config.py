"""Which service to talk to: the argument, then the environment, then the local service. Does no I/O.

Decides addresses and key from values that come in; never looks for the local service (``svc.local`` does) and connects
to nothing. Facts: docs/wire.md, "Addresses and authentication" and "Network and deployment".
"""

from __future__ import annotations

import ipaddress
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal
from urllib.parse import SplitResult, urlsplit

import platformdirs

from svc.errors import ConfigError

DEFAULT_BASE_URL = "http://127.0.0.1:8460"  # where `svc serve` listens by default
DEFAULT_WS_URL = "ws://127.0.0.1:8460"
LOCAL: Final = "local"  # the service of this user on this machine, wherever it listens just now

_SECURE = {"https": True, "http": False, "wss": True, "ws": False}
_WS_SCHEME = {"https": "wss", "http": "ws"}
_KEY = re.compile(r"[!-~]+")  # what can stand in a header: visible ASCII


@dataclass(frozen=True, kw_only=True)
class Config:
    """A service that can be connected to. Addresses end without a slash; the key is never shown.

    ``ca_file`` holds certificates that are trusted beside the usual ones, or None.
    """

    base_url: str
    ws_url: str
    api_key: str = field(repr=False)
    ca_file: Path | None = None


def state_folder() -> Path:
    """Where this user's local service and notebooks keep their state: ``SVC_STATE_DIR``, else the system's place.

    The folder may not exist yet.
    """
    return Path(os.environ.get("SVC_STATE_DIR") or platformdirs.user_state_dir("svc", appauthor=False))


def resolve(
    api_key: str | None = None,
    base_url: str | None = None,
    ws_url: str | None = None,
    environ: Mapping[str, str] | None = None,
) -> Config | Literal["local"]:
    """The service that the arguments name, else the one that the environment names, else ``"local"``.

    An address follows its fellow: ``SVC_WS_URL`` counts only beside ``SVC_BASE_URL`` or the default address, so that a
    question never goes to another host than its session. Raises ConfigError where something cannot be used.
    """
    environ = os.environ if environ is None else environ
    if base_url == LOCAL or (not base_url and environ.get("SVC_BASE_URL") == LOCAL):
        return _local(api_key, ws_url)
    key = (api_key or environ.get("SVC_API_KEY") or "").strip()
    base, stream = base_url or environ.get("SVC_BASE_URL"), ws_url
    if not base_url and not stream:
        stream = environ.get("SVC_WS_URL")
    if not key and not base and not stream:
        return LOCAL
    _check_pair(key, base, stream)
    base = _address(base or DEFAULT_BASE_URL, "base_url", ("https", "http"))
    return Config(
        base_url=base,
        ws_url=_address(stream, "ws_url", ("wss", "ws")) if stream else _stream_address(base),
        api_key=_checked_key(key),
        ca_file=_ca_file(environ.get("SVC_CA_BUNDLE")),
    )


def is_loopback(host: str) -> bool:
    """Whether ``host`` is this machine alone: a loopback address, ``localhost``, or a name below it (RFC 6761)."""
    name = host.strip("[]").rstrip(".").lower()
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return name == "localhost" or name.endswith(".localhost")


def _local(api_key: str | None, ws_url: str | None) -> Literal["local"]:
    if api_key or ws_url:
        raise ConfigError('base_url="local" brings its own key and ws_url. Leave both out, or give the address.')
    return LOCAL


def _check_pair(key: str, base: str | None, stream: str | None) -> None:
    if stream and not base:
        raise ConfigError("ws_url is given without base_url. Set base_url (SVC_BASE_URL), too; ws_url may be left out.")
    if not key:
        raise ConfigError(
            f"base_url {_shown(base or '')} needs a key. Set SVC_API_KEY (`svc keys create` makes one), or leave "
            "base_url and SVC_BASE_URL out to use the local service."
        )


def _checked_key(key: str) -> str:
    if "://" in key:
        raise ConfigError("api_key holds an address. The key comes first: Svc(api_key, base_url=...).")
    if not _KEY.fullmatch(key):
        raise ConfigError("the key holds spaces or characters that no key has. Copy it again, alone, on one line.")
    return key


def _address(text: str, name: str, schemes: tuple[str, str]) -> str:
    """``text`` without its last slash; refused where a key would be in the open, in it, or in a log."""
    example = f"{schemes[0]}://svc.example.org"
    if "://" not in text:
        hint = " It looks like a key: the key comes first." if text.startswith("svc_") else ""
        raise ConfigError(f"{name} is not an address.{hint} Give it whole, as {example}.")
    parts, port = _split(text, name)
    if parts.scheme not in schemes:
        raise ConfigError(
            f"{name} {_shown(text)} must begin with {schemes[0]}:// or, on this machine, {schemes[1]}://."
        )
    if not parts.hostname or port == 0 or any(c.isspace() or not c.isprintable() for c in text):
        raise ConfigError(f"{name} {_shown(text)} has no usable host and port. Give it whole, as {example}.")
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise ConfigError(
            f"{name} {_shown(text)} carries a password, a query or a fragment, and addresses end up in logs. "
            "Give the address alone; the key goes into SVC_API_KEY."
        )
    if not _SECURE[parts.scheme] and not is_loopback(parts.hostname):
        raise ConfigError(
            f"{name} {_shown(text)} would send the key unencrypted over the network. Use {schemes[0]}://; "
            f"{schemes[1]}:// is for this machine alone."
        )
    return text.rstrip("/")


def _split(text: str, name: str) -> tuple[SplitResult, int | None]:
    try:
        parts = urlsplit(text)
        return parts, parts.port
    except ValueError:  # its text shows the part it could not read, which may be a secret
        raise ConfigError(f"{name} is not an address that can be read. Check its host and port.") from None


def _shown(text: str) -> str:
    """The address for an error's text: its scheme, host and path, never what may be a secret."""
    parts = urlsplit(text)
    return repr(f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}") if parts.scheme else repr("...")


def _stream_address(base: str) -> str:
    scheme, rest = base.split("://", 1)
    return f"{_WS_SCHEME[scheme.lower()]}://{rest}"


def _ca_file(text: str | None) -> Path | None:
    return Path(text).expanduser() if text else None
