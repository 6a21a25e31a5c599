"""Which model stands behind the analyst, and how much of it one turn may use. From SVC_MODEL_… variables alone.

Knows no library of models: this module is read wherever it must be known whether one is configured. The key is in no
repr and no message; it is not an option of a command, where others on the machine could read it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta
from msgspec import inspect as types

from svc.errors import ConfigError

URL_VARIABLE, NAME_VARIABLE, KEY_VARIABLE = "SVC_MODEL_URL", "SVC_MODEL_NAME", "SVC_MODEL_KEY"
_WORDS = {"yes": "true", "on": "true", "no": "false", "off": "false"}


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What one turn may use of the model. Each field is a variable: ``SVC_MODEL_`` and its name in capitals."""

    requests: Annotated[int, Meta(ge=1, description="to the model in one turn; each round of tools takes one")] = 12
    tool_calls: Annotated[int, Meta(ge=0, description="that it may have made in one turn")] = 24
    tokens: Annotated[int, Meta(ge=1_000, description="of all requests of one turn; no request starts beyond it")] = (
        200_000
    )
    seconds: Annotated[float, Meta(gt=0, description="of one turn, the analyst's tools included")] = 300.0
    idle_seconds: Annotated[float, Meta(gt=0, description="without a word, after which a request is given up")] = 90.0
    retries: Annotated[int, Meta(ge=0, le=10, description="of a request that was refused with 429 or 5xx, or lost")] = 2
    fallback: Annotated[bool, Meta(description="no: a turn that the model does not answer fails (upstream_error)")] = (
        True
    )


class Configuration(msgspec.Struct, frozen=True, kw_only=True):
    """A model to ask. ``url`` is the base of an OpenAI-compatible API, without the part ``/chat/completions``."""

    url: str
    name: str
    key: str = ""
    limits: Limits = Limits()

    @property
    def host(self) -> str:
        """What people are told of the address."""
        return urlsplit(self.url).netloc

    @property
    def is_key_in_the_clear(self) -> bool:
        """Whether others on the way can read the key: it goes beyond this machine over plain http."""
        parts = urlsplit(self.url)
        return bool(self.key) and parts.scheme == "http" and parts.hostname not in ("127.0.0.1", "::1", "localhost")

    def __repr__(self) -> str:
        """Without the key."""
        return f"Configuration(url={self.url!r}, name={self.name!r}, has_key={bool(self.key)}, limits={self.limits!r})"

    def __rich_repr__(self) -> list[tuple[str, object]]:
        """The same for rich, which would show every field."""
        return [("url", self.url), ("name", self.name), ("has_key", bool(self.key)), ("limits", self.limits)]


class Described(msgspec.Struct, frozen=True, kw_only=True):
    """A limit as people see it."""

    variable: str
    value: str
    default: str
    reason: str


def is_configured(environment: Mapping[str, str]) -> bool:
    """Whether the environment names a model. Raises ConfigError where it names half of one."""
    given = {name: bool(environment.get(name, "").strip()) for name in (URL_VARIABLE, NAME_VARIABLE)}
    if given[URL_VARIABLE] != given[NAME_VARIABLE]:
        has, lacks = sorted(given, key=lambda name: not given[name])
        raise ConfigError(f"{has} is set, {lacks} is not; set both to ask a model, or neither")
    return all(given.values())


def configuration_from(environment: Mapping[str, str]) -> Configuration:
    """The model that the environment names; raises ConfigError."""
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
    """Raise ConfigError for what is no address, or holds a secret that would be shown with it."""
    try:
        parts = urlsplit(url)
        is_usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        is_usable = False
    if not is_usable:
        raise ConfigError(f"{URL_VARIABLE} is no http(s) address; write it like http://127.0.0.1:11434/v1")
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise ConfigError(
            f"{URL_VARIABLE} holds more than an address (a user, a query or a fragment); put the key into "
            f"{KEY_VARIABLE}"
        )


def describe(limits: Limits) -> list[Described]:
    """Every limit with its value, in the order of the struct."""
    default = Limits()
    info = types.type_info(Limits)
    assert isinstance(info, types.StructType)
    return [
        Described(
            variable=f"SVC_MODEL_{field.name.upper()}",
            value=_shown(getattr(limits, field.name)),
            default=_shown(getattr(default, field.name)),
            reason=_reason(field.type),
        )
        for field in info.fields
    ]


def limits_from(environment: Mapping[str, str]) -> Limits:
    """The limits with what the environment changes; raises ConfigError."""
    chosen: dict[str, str] = {}
    for name in Limits.__struct_fields__:
        variable = f"SVC_MODEL_{name.upper()}"
        text = environment.get(variable, "").strip()
        if not text:
            continue
        chosen[name] = _WORDS.get(text.lower(), text)
        try:
            if text.lower().lstrip("+-") in ("inf", "infinity", "nan"):
                raise msgspec.ValidationError("it must be a number")
            msgspec.convert({name: chosen[name]}, Limits, strict=False)
        except msgspec.ValidationError as error:
            problem = str(error).partition(" - at ")[0]
            raise ConfigError(f"{variable}={text!r} cannot be used: {problem}; correct it, or leave it out") from error
    return msgspec.convert(chosen, Limits, strict=False)


def _reason(kind: types.Type) -> str:
    extra = kind.extra_json_schema if isinstance(kind, types.Metadata) else None
    return str((extra or {}).get("description", ""))


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}"
