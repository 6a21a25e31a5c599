"""Every limit of the service with its unit and its reason. Facts: docs/wire.md, "Limits".

The unit is the end of a field's name, the reason its description. Each can be set by the environment: ``SVC_`` and the
field's name in capitals (``SVC_TURN_SECONDS=600``), or by the option of ``svc serve`` of that name
(``--turn-seconds 600``), which wins; lists are comma-separated. Reads nothing but the mappings that it is given.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import msgspec
from msgspec import Meta
from msgspec import inspect as types

from svc.errors import ConfigError

MIB = 1_048_576


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """The limits that one service runs with."""

    # sessions
    min_ttl_seconds: Annotated[int, Meta(ge=1, description="a shorter life would end during its first turn")] = 300
    max_ttl_seconds: Annotated[int, Meta(ge=1, description="30 days: no session is an archive")] = 2_592_000
    default_ttl_seconds: Annotated[int, Meta(ge=1, description="a day: an incident's shift and the next")] = 86_400
    chat_ttl_seconds: Annotated[int, Meta(ge=1, description="of sessions that /chat/completions makes")] = 300
    max_name_chars: Annotated[int, Meta(ge=1, description="of a session; it is a line in lists")] = 200
    max_description_chars: Annotated[int, Meta(ge=1, description="of a session; a paragraph")] = 2_000
    retention_seconds: Annotated[int, Meta(ge=0, description="a logged session is kept after its end; 0: no time")] = (
        604_800
    )
    purge_interval_seconds: Annotated[float, Meta(gt=0, description="between two purges of what is kept no longer")] = (
        60.0
    )

    # messages
    max_content_bytes: Annotated[
        int, Meta(ge=1, description="of one message, so that a frame stays below the next")
    ] = 1_000_000
    max_message_bytes: Annotated[
        int, Meta(ge=8_192, description="of one encoded message: the usual frame limit of clients")
    ] = MIB
    max_frame_bytes: Annotated[
        int, Meta(ge=1, description="taken in: a full content with every byte escaped in JSON as six")
    ] = 6_400_000

    # files
    max_attach_body_bytes: Annotated[int, Meta(ge=1, description="of attach_file, which is held in memory")] = 32 * MIB
    max_upload_bytes: Annotated[int, Meta(ge=1, description="of a file; it is streamed to disk")] = 1_024 * MIB
    max_session_files: Annotated[int, Meta(ge=0, description="attached to one session")] = 64
    max_memory_file_bytes: Annotated[int, Meta(ge=0, description="of all files of unlogged sessions together")] = (
        256 * MIB
    )
    max_file_name_chars: Annotated[int, Meta(ge=1, description="the usual limit of file systems")] = 255

    # turns
    turn_seconds: Annotated[float, Meta(gt=0, description="a turn that runs longer is ended")] = 1_800.0
    max_history_bytes: Annotated[int, Meta(ge=0, description="of earlier exchanges given to the assistant")] = 16 * MIB
    history_cache_bytes: Annotated[
        int, Meta(ge=0, description="of histories kept in memory, six a character: tens of thousands of short answers")
    ] = 64 * MIB
    max_turn_attempts: Annotated[int, Meta(ge=1, description="a turn whose process died runs again, once")] = 2
    max_local_tools: Annotated[int, Meta(ge=0, description="that a query may offer; a model loses its way in more")] = (
        32
    )
    max_local_tools_bytes: Annotated[int, Meta(ge=0, description="of what it says of them; sent with each request")] = (
        65_536
    )
    confirmation_seconds: Annotated[float, Meta(gt=0, description="a person may take to allow a local tool")] = 300.0
    local_call_seconds: Annotated[float, Meta(gt=0, description="a local tool may take to answer a call")] = 120.0
    batch_messages: Annotated[int, Meta(ge=1, description="of one commit; a reader's queue takes five of these")] = 200
    batch_bytes: Annotated[int, Meta(ge=1, description="of one commit; a reader's queue takes eight of these")] = MIB

    # streams
    stream_behind_messages: Annotated[int, Meta(ge=1, description="a slower reader is closed and comes back")] = 1_000
    stream_behind_bytes: Annotated[int, Meta(ge=1, description="the same in bytes")] = 8 * MIB
    ping_seconds: Annotated[float, Meta(gt=0, description="between pings; half of what proxies cut at")] = 20.0
    watch_seconds: Annotated[float, Meta(gt=0, description="between looks for expired sessions and revoked keys")] = 0.5
    close_seconds: Annotated[float, Meta(gt=0, description="a closing frame waits for a reader that does not read")] = (
        5.0
    )

    # around it
    stop_seconds: Annotated[float, Meta(ge=0, description="running turns may take to end at a graceful stop")] = 5.0
    body_idle_seconds: Annotated[float, Meta(gt=0, description="a request's body may pause before it is given up")] = (
        30.0
    )
    head_seconds: Annotated[float, Meta(gt=0, description="a connection may take to send a request's head")] = 10.0
    max_keyless_connections: Annotated[
        int, Meta(ge=1, description="that no valid key was shown on; for one more the oldest is cut, not the new one")
    ] = 500
    max_head_bytes: Annotated[int, Meta(ge=1, description="of a request's address and headers together")] = 65_536
    allowed_origins: Annotated[tuple[str, ...], Meta(description="beside the service's own; they get CORS")] = ()
    allowed_hosts: Annotated[
        tuple[str, ...], Meta(description="names that it answers to; empty: loopback, or any behind a proxy")
    ] = ()
    metrics: Annotated[bool, Meta(description="whether GET /metrics is served")] = False
    telemetry: Annotated[bool, Meta(description="whether requests are traced (extra otel, OTEL_… variables)")] = False


_WORDS = {"yes": "true", "on": "true", "no": "false", "off": "false"}


class Described(msgspec.Struct, frozen=True, kw_only=True):
    """A setting as people see it."""

    name: str
    variable: str
    option: str
    value: str
    default: str
    reason: str
    is_list: bool


def describe(settings: Settings) -> list[Described]:
    """Every setting with its value, in the order of the struct."""
    default = Settings()
    info = types.type_info(Settings)
    assert isinstance(info, types.StructType)
    return [
        Described(
            name=field.name,
            variable=f"SVC_{field.name.upper()}",
            option=f"--{field.name.replace('_', '-')}",
            value=_shown(getattr(settings, field.name)),
            default=_shown(getattr(default, field.name)),
            reason=_reason(field.type),
            is_list=field.name.startswith("allowed_"),
        )
        for field in info.fields
    ]


def settings_from(environment: Mapping[str, str], options: Mapping[str, str] | None = None) -> Settings:
    """The settings with what the environment and then the options (by field) change; raises ConfigError."""
    chosen: dict[str, str | list[str]] = {}
    for row in describe(Settings()):
        given = (options or {}).get(row.name)
        source, text = (row.variable, environment.get(row.variable, "")) if given is None else (row.option, given)
        if not (text := text.strip()):
            continue
        _check_finite(source, text)
        value = (
            [part.strip() for part in text.split(",") if part.strip()]
            if row.is_list
            else _WORDS.get(text.lower(), text)
        )
        chosen[row.name] = value
        try:
            msgspec.convert({row.name: value}, Settings, strict=False)
        except msgspec.ValidationError as error:
            problem = str(error).partition(" - at ")[0]
            raise ConfigError(f"{source}={text!r} cannot be used: {problem}; correct it, or leave it out") from error
    return msgspec.convert(chosen, Settings, strict=False)


def _check_finite(source: str, text: str) -> None:
    if text.lower().lstrip("+-") in ("inf", "infinity", "nan"):
        raise ConfigError(f"{source}={text!r} cannot be used: it must be a number; correct it, or leave it out")


def _reason(kind: types.Type) -> str:
    extra = kind.extra_json_schema if isinstance(kind, types.Metadata) else None
    return str((extra or {}).get("description", ""))


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return ",".join(value)
    return f"{value:,}"
