"""Every limit of the service with its unit and its reason. Facts: the wire page, "Limits", "Websocket", "Around it".

Each field can be set by the environment: ``SVC_`` and the field's name in capitals (``SVC_TURN_SECONDS=600``); lists
are comma-separated. Decides no behaviour and reads nothing but the mapping it is given.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from svc.errors import ConfigError

MIB = 1_048_576


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """The limits that one service runs with."""

    # sessions
    min_ttl_seconds: int = 300
    max_ttl_seconds: int = 2_592_000  # 30 days
    default_ttl_seconds: int = 86_400
    max_name_chars: int = 200
    max_description_chars: int = 2_000
    retention_seconds: int = 604_800  # 7 days that a logged session is kept after its end; 0: erased at once
    purge_interval_seconds: float = 60.0

    # messages
    max_content_bytes: int = 1_000_000  # of one message, so that a frame stays below the next line
    max_message_bytes: int = MIB  # of one encoded message: the default frame limit of Python's and Node's clients
    max_frame_bytes: int = 6_400_000  # accepted: 1,000,000 bytes of content, each escaped in JSON as six (\\u001b)

    # files
    max_attach_body_bytes: int = 32 * MIB
    max_upload_bytes: int = 1024 * MIB
    max_session_files: int = 64
    max_memory_file_bytes: int = 256 * MIB  # of all unlogged sessions together
    max_file_name_chars: int = 255

    # turns
    turn_seconds: float = 1_800.0
    max_history_bytes: int = 16 * MIB  # of earlier exchanges given to the assistant, the newest first
    max_turn_attempts: int = 2  # a turn whose process died is run again once; a second death ends it
    batch_messages: int = 200  # one commit's most; a reader's queue takes five of them
    batch_bytes: int = MIB  # the same in bytes; a reader's queue takes eight

    # streams
    stream_behind_messages: int = 1_000
    stream_behind_bytes: int = 8 * MIB
    ping_seconds: float = 20.0
    watch_seconds: float = 0.5  # how often expiry and revoked keys are looked for among open streams
    close_seconds: float = 5.0  # how long a closing frame may wait for a reader that does not read

    # around it
    stop_seconds: float = 5.0  # how long running turns may take to end at a graceful stop
    body_idle_seconds: float = 30.0  # how long a request's body may pause before it is given up
    allowed_origins: tuple[str, ...] = ()  # beside the service's own; they get CORS
    allowed_hosts: tuple[str, ...] = ()  # names the service answers to; empty: see ``guard.allowed_hosts``


def settings_from(environment: Mapping[str, str]) -> Settings:
    """The settings with what the environment changes. Raises ConfigError where a value cannot be used."""
    chosen: dict[str, str | list[str]] = {}
    for name in Settings.__struct_fields__:
        variable = f"SVC_{name.upper()}"
        if not (text := environment.get(variable, "").strip()):
            continue
        is_list = name.startswith("allowed_")
        chosen[name] = [part.strip() for part in text.split(",") if part.strip()] if is_list else text
        _check_number(variable, text, is_list=is_list)
    try:
        return msgspec.convert(chosen, Settings, strict=False)
    except msgspec.ValidationError as error:
        raise ConfigError(f"a setting in the environment cannot be used: {error} (variables: SVC_ and it)") from error


def _check_number(variable: str, text: str, *, is_list: bool) -> None:
    if is_list:
        return
    try:
        is_usable = 0 <= float(text) < float("inf")
    except ValueError:
        is_usable = False
    if not is_usable:
        raise ConfigError(f"{variable}={text!r} is not a number of 0 or more; correct it, or unset it for the default")
