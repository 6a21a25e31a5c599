"""Which model backs the analyst, and its limits per turn, from the variables SVC_MODEL_….

Imports no model library, so that checking whether a model is configured is cheap. The API key is in no repr and no
message, and it is not a command-line option, which other users of the machine could read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta

from svc._settings import SettingRow, describe_settings, read_settings
from svc.errors import ConfigError

URL_VARIABLE, NAME_VARIABLE, KEY_VARIABLE = "SVC_MODEL_URL", "SVC_MODEL_NAME", "SVC_MODEL_KEY"
_LIMIT_PREFIX = "SVC_MODEL_"


class ModelLimits(msgspec.Struct, frozen=True, kw_only=True):
    """What one turn may use. Each field is a variable: ``SVC_MODEL_`` and its name in capitals."""

    requests: Annotated[int, Meta(ge=1, description="requests to the model per turn, one per round of tool calls")] = 12
    tool_calls: Annotated[int, Meta(ge=0, description="tool calls by the model per turn")] = 24
    tokens: Annotated[int, Meta(ge=1_000, description="tokens per turn; no request starts beyond it")] = 200_000
    seconds: Annotated[float, Meta(gt=0, description="time limit of a turn, tool calls included")] = 300.0
    idle_seconds: Annotated[float, Meta(gt=0, description="time limit for the model to send anything")] = 90.0
    retries: Annotated[int, Meta(ge=0, le=10, description="retries of a request that failed with 429 or 5xx")] = 2
    fallback: Annotated[bool, Meta(description="answer with the embedded analyst if the model fails")] = True


class Configuration(msgspec.Struct, frozen=True, kw_only=True):
    """The model to use. ``url`` is the base of an OpenAI-compatible API, without ``/chat/completions``."""

    url: str
    name: str
    key: str = ""
    limits: ModelLimits = ModelLimits()

    @property
    def host(self) -> str:
        """The host and port of the URL, for messages."""
        return urlsplit(self.url).netloc

    @property
    def sends_key_unencrypted(self) -> bool:
        """Whether the key leaves this machine over plain http."""
        parts = urlsplit(self.url)
        return bool(self.key) and parts.scheme == "http" and parts.hostname not in ("127.0.0.1", "::1", "localhost")

    def __repr__(self) -> str:
        """The fields, without the key."""
        return f"Configuration(url={self.url!r}, name={self.name!r}, has_key={bool(self.key)}, limits={self.limits!r})"

    def __rich_repr__(self) -> list[tuple[str, object]]:
        """The same for rich, which would otherwise show every field."""
        return [("url", self.url), ("name", self.name), ("has_key", bool(self.key)), ("limits", self.limits)]


def is_configured(environment: Mapping[str, str]) -> bool:
    """Whether the environment names a model; raises ConfigError if it has only one of the two variables."""
    given = {name: bool(environment.get(name, "").strip()) for name in (URL_VARIABLE, NAME_VARIABLE)}
    if given[URL_VARIABLE] != given[NAME_VARIABLE]:
        present, missing = sorted(given, key=lambda name: not given[name])
        raise ConfigError(f"{present} is set, but {missing} is not; set both to use a model, or neither")
    return all(given.values())


def configuration_from(environment: Mapping[str, str]) -> Configuration:
    """Read the configuration from the environment; raises ConfigError."""
    if not is_configured(environment):
        raise ConfigError(f"no model is configured; set {URL_VARIABLE} and {NAME_VARIABLE}")
    url = environment[URL_VARIABLE].strip()
    _check_url(url)
    return Configuration(
        url=url.removesuffix("/").removesuffix("/chat/completions"),
        name=environment[NAME_VARIABLE].strip(),
        key=environment.get(KEY_VARIABLE, "").strip(),
        limits=limits_from(environment),
    )


def _check_url(url: str) -> None:
    """Raise ConfigError for a URL that is invalid, or that contains a secret (messages show the host)."""
    try:
        parts = urlsplit(url)
        is_usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        is_usable = False
    if not is_usable:
        raise ConfigError(f"{URL_VARIABLE} is not an http(s) URL; it must look like http://127.0.0.1:11434/v1")
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise ConfigError(
            f"{URL_VARIABLE} must not contain a user, a query or a fragment; put the key into {KEY_VARIABLE}"
        )


def describe(limits: ModelLimits) -> list[SettingRow]:
    """Describe every limit with its value, in the order of the struct."""
    return describe_settings(limits, _LIMIT_PREFIX)


def limits_from(environment: Mapping[str, str]) -> ModelLimits:
    """Read the limits from the variables ``SVC_MODEL_…``; raises ConfigError."""
    texts = {row.name: (row.variable, environment.get(row.variable, "")) for row in describe(ModelLimits())}
    return read_settings(ModelLimits, texts)
