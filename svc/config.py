"""Resolve which service to use: the arguments, then the environment, then the local service.

Does no I/O: it validates the URLs and the key, and connects to nothing; ``svc.local`` finds the local service. Facts:
docs/wire.md, "Addresses and authentication" and "Network and deployment".
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

from svc._proof import is_well_formed, parse_address
from svc.errors import ConfigError

DEFAULT_BASE_URL = "http://127.0.0.1:8460"  # where `svc serve` listens by default
DEFAULT_WS_URL = "ws://127.0.0.1:8460"
LOCAL: Final = "local"  # the local service of this user, on whatever port it listens

_SECURE = {"https": True, "http": False, "wss": True, "ws": False}
_WS_SCHEME = {"https": "wss", "http": "ws"}
KEY_CHARS = 53
_KEY = re.compile(r"[!-~]+")  # what a header may contain: visible ASCII


@dataclass(frozen=True, kw_only=True)
class Config:
    """A service to connect to. The URLs have no trailing slash; the key is not part of the repr.

    ``ca_file`` has CA certificates to trust in addition to the default ones, or is None. ``tunnel_to`` is the numeric
    address that the service itself listens on, if base_url is a tunnel's end on this machine, or None.
    """

    base_url: str
    ws_url: str
    api_key: str = field(repr=False)
    ca_file: Path | None = None
    tunnel_to: str | None = None


def state_folder() -> Path:
    """The folder where this user's local service and notebooks keep their state; it may not exist yet.

    ``SVC_STATE_DIR``, else the platform's folder for state (``~/.local/state/svc`` on Linux).

    Returns:
        SVC_STATE_DIR if it is set, else the platform's folder for the state of programs.
    """
    return Path(os.environ.get("SVC_STATE_DIR") or platformdirs.user_state_dir("svc", appauthor=False))


def resolve(
    api_key: str | None = None,
    base_url: str | None = None,
    ws_url: str | None = None,
    environ: Mapping[str, str] | None = None,
) -> Config | Literal["local"]:
    """Resolve the service from the arguments, else from ``environ`` (``os.environ``), else ``"local"``.

    ``SVC_WS_URL`` is ignored if ``base_url`` is an argument, so that a question never goes to a host other than its
    session's.

    Raises:
        ConfigError: The key or a URL cannot be used; the text says which and why, without showing a secret.
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
        tunnel_to=_tunnel_end(environ.get("SVC_TUNNEL_TO")),
    )


def is_loopback(host: str) -> bool:
    """Whether ``host`` is a loopback address, ``localhost``, or a subdomain of it (RFC 6761)."""
    name = host.strip("[]").rstrip(".").lower()
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return name == "localhost" or name.endswith(".localhost")


def _local(api_key: str | None, ws_url: str | None) -> Literal["local"]:
    if api_key or ws_url:
        raise ConfigError('base_url="local" uses its own key and ws_url. Omit both, or pass the URL of a service.')
    return LOCAL


def _check_pair(key: str, base: str | None, stream: str | None) -> None:
    if stream and not base:
        raise ConfigError("ws_url was given without base_url. Set base_url (SVC_BASE_URL) as well; ws_url is optional.")
    if not key:
        raise ConfigError(
            f"base_url {_shown(base or '')} needs a key. Set SVC_API_KEY (`svc keys create` creates one), or omit "
            "base_url and SVC_BASE_URL to use the local service."
        )


def _checked_key(key: str) -> str:
    if "://" in key:
        raise ConfigError("api_key is a URL. The key is the first argument: Svc(api_key, base_url=...).")
    if not _KEY.fullmatch(key):
        raise ConfigError("the API key contains spaces or invalid characters. Copy it again, on one line.")
    if not is_well_formed(key):
        raise ConfigError(f"{_malformed(key)} It was not sent. Copy it again, whole; `svc keys create` creates one.")
    return key


def _malformed(key: str) -> str:
    """What is wrong with a key, without showing it."""
    if not key.startswith("svc_"):
        return "the API key does not begin with svc_, so it is a key of another service."
    if len(key) != KEY_CHARS:
        return f"the API key has {len(key):,} characters; a key has {KEY_CHARS}."
    return "the API key is mistyped: its checksum is wrong."


def _address(text: str, name: str, schemes: tuple[str, str]) -> str:
    """Validate a URL and drop its trailing slash; refuse what would expose the key or put a secret into a log."""
    example = f"{schemes[0]}://svc.example.org"
    if "://" not in text:
        hint = " It looks like a key, which is the first argument." if text.startswith("svc_") else ""
        raise ConfigError(f"{name} is not a URL.{hint} Use a complete URL such as {example}.")
    parts, port = _split(text, name)
    if parts.scheme not in schemes:
        raise ConfigError(
            f"{name} {_shown(text)} must start with {schemes[0]}:// or, for this machine only, {schemes[1]}://."
        )
    if not parts.hostname or port == 0 or any(c.isspace() or not c.isprintable() for c in text):
        raise ConfigError(f"{name} {_shown(text)} has no valid host and port. Use a complete URL such as {example}.")
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise ConfigError(
            f"{name} {_shown(text)} contains a password, a query or a fragment, and URLs end up in logs. "
            "Remove it; the key belongs in SVC_API_KEY."
        )
    if not _SECURE[parts.scheme] and not is_loopback(parts.hostname):
        raise ConfigError(
            f"{name} {_shown(text)} would send the key unencrypted over the network. Use {schemes[0]}://; "
            f"{schemes[1]}:// is for this machine only."
        )
    return text.rstrip("/")


def _split(text: str, name: str) -> tuple[SplitResult, int | None]:
    try:
        parts = urlsplit(text)
        return parts, parts.port
    except ValueError:  # its text quotes the invalid part, which may be a secret
        raise ConfigError(f"{name} is not a valid URL. Check its host and port.") from None


def _shown(text: str) -> str:
    """The URL as error texts show it: scheme, host and path, never what may be a secret."""
    parts = urlsplit(text)
    return repr(f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}") if parts.scheme else repr("...")


def _stream_address(base: str) -> str:
    scheme, rest = base.split("://", 1)
    return f"{_WS_SCHEME[scheme.lower()]}://{rest}"


def _tunnel_end(text: str | None) -> str | None:
    if not text:
        return None
    try:
        return parse_address(text)
    except ValueError:
        raise ConfigError(
            f"SVC_TUNNEL_TO={text!r} is not valid: it must be the numeric address and port that the service behind the "
            "tunnel listens on, such as 127.0.0.1:8460"
        ) from None


def _ca_file(text: str | None) -> Path | None:
    return Path(text).expanduser() if text else None
