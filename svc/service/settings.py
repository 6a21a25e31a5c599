"""The service's limits: default, unit and description of each. Facts: docs/wire.md, "Limits".

A field's name ends in its unit. ``svc serve`` has an option for each (``--turn-seconds 600``), and the environment a
variable (``SVC_TURN_SECONDS=600``); the option wins. Lists are comma-separated. Reads only the mappings it is given.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from svc._settings import SettingRow, describe_settings, read_settings

MIB = 1_048_576
_PREFIX = "SVC_"


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """The limits that one service runs with."""

    # sessions
    min_ttl_seconds: Annotated[int, Meta(ge=1, description="minimum session lifetime")] = 300
    max_ttl_seconds: Annotated[int, Meta(ge=1, description="maximum session lifetime (30 days)")] = 2_592_000
    default_ttl_seconds: Annotated[
        int, Meta(ge=1, description="session lifetime if the client gives none (one day)")
    ] = 86_400
    chat_ttl_seconds: Annotated[int, Meta(ge=1, description="lifetime of sessions made by /chat/completions")] = 300
    max_name_chars: Annotated[int, Meta(ge=1, description="maximum length of a session name")] = 200
    max_description_chars: Annotated[int, Meta(ge=1, description="maximum length of a session description")] = 2_000
    retention_seconds: Annotated[int, Meta(ge=0, description="retention of expired sessions (0 = delete at once)")] = (
        604_800
    )
    purge_interval_seconds: Annotated[float, Meta(gt=0, description="interval between deletions of expired data")] = (
        60.0
    )

    clock_grace_seconds: Annotated[
        float, Meta(ge=0, description="grace period after a clock jump, during which nothing is deleted")
    ] = 86_400.0

    # messages
    max_content_bytes: Annotated[
        int, Meta(ge=1, description="maximum message content; the encoded message must fit into max_message_bytes")
    ] = 1_000_000
    max_message_bytes: Annotated[
        int, Meta(ge=8_192, description="maximum encoded message: the default frame limit of websocket clients")
    ] = MIB
    max_frame_bytes: Annotated[
        int, Meta(ge=1, description="largest accepted websocket frame (a full message with every byte escaped in JSON)")
    ] = 6_400_000

    # files
    max_attach_body_bytes: Annotated[
        int, Meta(ge=1, description="maximum body of attach_file, which is held in memory")
    ] = 32 * MIB
    max_upload_bytes: Annotated[
        int, Meta(ge=1, description="maximum size of an attached file, which is streamed to disk")
    ] = 1_024 * MIB
    max_session_files: Annotated[int, Meta(ge=0, description="maximum number of files attached to a session")] = 64
    max_memory_file_bytes: Annotated[
        int, Meta(ge=0, description="memory for the files of all unlogged sessions together")
    ] = 256 * MIB
    max_memory_message_bytes: Annotated[
        int, Meta(ge=0, description="memory for the messages of all unlogged sessions together")
    ] = 256 * MIB
    kept_results_bytes: Annotated[
        int, Meta(ge=0, description="disk space for cached tool results, for follow-up questions; 0: read files again")
    ] = 512 * MIB
    kept_results_memory_bytes: Annotated[
        int, Meta(ge=0, description="memory for cached tool results of unlogged sessions; 0: read files again")
    ] = 64 * MIB
    files_cache_bytes: Annotated[
        int, Meta(ge=0, description="disk space for files fetched from an object store; at least max_upload_bytes")
    ] = 4_096 * MIB
    max_file_name_chars: Annotated[
        int, Meta(ge=1, description="maximum length of a file name: the usual limit of file systems")
    ] = 255

    min_free_bytes: Annotated[
        int, Meta(ge=0, description="free disk space kept for running turns (at most a twentieth of the disk)")
    ] = 64 * MIB

    # turns
    workers: Annotated[
        Annotated[int, Meta(ge=0, le=256)] | Literal["forkserver", "spawn"],
        Meta(
            description="worker processes that read files (0: one per processor core), or how one per core starts: "
            "forkserver (default, if the platform has it) or spawn"
        ),
    ] = 0
    tools: Annotated[
        str,
        Meta(
            pattern=r"^(dask(\+tls)?://[^\s/?#@]+:[0-9]{1,5}/?)?$",
            examples=["dask://10.0.0.5:8786"],
            description="dask cluster (dask://HOST:PORT, dask+tls://HOST:PORT) whose workers read the files of logged "
            "sessions, from the same folder; without it this machine reads them",
        ),
    ] = ""
    tools_at_once: Annotated[
        int, Meta(ge=0, description="files that the cluster reads at the same time (0: one per thread of its workers)")
    ] = 0
    tools_patience_seconds: Annotated[
        float, Meta(ge=0, description="time a question waits for a dask scheduler that is out of reach")
    ] = 60.0
    turns_at_once: Annotated[
        int, Meta(ge=0, description="turns that run at the same time; others wait (0: no limit)")
    ] = 0
    turn_seconds: Annotated[float, Meta(gt=0, description="time limit of a turn without large files")] = 1_800.0
    turn_seconds_per_gib: Annotated[
        float, Meta(ge=0, description="additional time of a turn for each GiB of the session's files")
    ] = 3_600.0
    max_turn_seconds: Annotated[
        float, Meta(gt=0, description="time limit of a turn with large files (12 hours), unless turn_seconds is longer")
    ] = 43_200.0
    max_history_bytes: Annotated[int, Meta(ge=0, description="maximum earlier conversation given to the assistant")] = (
        16 * MIB
    )
    history_cache_bytes: Annotated[
        int, Meta(ge=0, description="memory for cached conversations, estimated at six bytes per character")
    ] = 64 * MIB
    max_turn_attempts: Annotated[
        int, Meta(ge=1, description="maximum attempts at a turn whose process died, including the first")
    ] = 2
    max_local_tools: Annotated[
        int, Meta(ge=0, description="maximum number of local tools per query; models choose badly among more")
    ] = 32
    max_local_tools_bytes: Annotated[
        int, Meta(ge=0, description="maximum size of their definitions, which every model request repeats")
    ] = 65_536
    max_agents_config_bytes: Annotated[
        int, Meta(ge=0, description="maximum size of a registration's agents_config")
    ] = 65_536
    confirmation_seconds: Annotated[float, Meta(gt=0, description="time a user has to allow a local tool")] = 300.0
    local_call_seconds: Annotated[float, Meta(gt=0, description="time a local tool has to answer a call")] = 120.0
    batch_messages: Annotated[
        int, Meta(ge=1, description="maximum messages per transaction (a client's queue holds five times as many)")
    ] = 200
    batch_bytes: Annotated[
        int, Meta(ge=1, description="maximum content per transaction (a client's queue holds eight times as much)")
    ] = MIB

    # streams
    stream_behind_messages: Annotated[
        int, Meta(ge=1, description="disconnect clients that lag by this many messages; they can resume")
    ] = 1_000
    stream_behind_bytes: Annotated[
        int, Meta(ge=1, description="disconnect clients that lag by this many bytes; they can resume")
    ] = 8 * MIB
    ping_seconds: Annotated[
        float, Meta(gt=0, description="websocket keepalive interval (half the idle timeout of common proxies)")
    ] = 20.0
    watch_seconds: Annotated[
        float, Meta(gt=0, description="interval between checks for expired sessions and revoked keys")
    ] = 0.5
    close_seconds: Annotated[float, Meta(gt=0, description="close-handshake timeout")] = 5.0

    # quotas: of one key with the keys made from it, or of one user; 0 is no limit
    key_requests_per_minute: Annotated[
        int, Meta(ge=0, description="requests per key and minute, if the key has no rpm; 0: no limit")
    ] = 12_000
    key_tokens_per_minute: Annotated[
        int, Meta(ge=0, description="tokens per key and minute, if the key has no tpm; 0: no limit")
    ] = 20_000_000
    key_tokens_per_day: Annotated[int, Meta(ge=0, description="tokens per key and day; 0: no limit")] = 500_000_000
    key_bytes_per_day: Annotated[
        int, Meta(ge=0, description="bytes of request bodies and files per key and day; 0: no limit")
    ] = 102_400 * MIB
    key_worker_seconds_per_day: Annotated[
        int, Meta(ge=0, description="seconds of worker processes per key and day; 0: no limit")
    ] = 86_400
    key_requests_at_once: Annotated[int, Meta(ge=0, description="concurrent HTTP requests per key; 0: no limit")] = 200
    key_body_bytes: Annotated[int, Meta(ge=0, description="request bodies in memory per key; 0: no limit")] = 256 * MIB
    key_streams: Annotated[int, Meta(ge=0, description="open streams per key; 0: no limit")] = 100
    key_turns: Annotated[int, Meta(ge=0, description="running turns per key; 0: no limit")] = 100
    key_sessions: Annotated[int, Meta(ge=0, description="live sessions per user; 0: no limit")] = 10_000
    key_disk_bytes: Annotated[
        int, Meta(ge=0, description="bytes on disk per user for messages and files of logged sessions; 0: no limit")
    ] = 20_480 * MIB
    key_memory_bytes: Annotated[
        int, Meta(ge=0, description="bytes in memory per user for messages and files of unlogged sessions; 0: no limit")
    ] = 192 * MIB

    # several services on one database
    shared_database: Annotated[
        bool, Meta(description="let several services use one PostgreSQL database; each needs this setting")
    ] = False
    advertise: Annotated[
        str,
        Meta(
            pattern=r"^(https?://[^\s/?#@]+:[0-9]{1,5}/?)?$",
            examples=["http://10.0.0.5:8460"],
            description="address (http://HOST:PORT) at which the other services reach this one, for unlogged sessions; "
            "without it there are none",
        ),
    ] = ""
    lease_seconds: Annotated[
        float, Meta(ge=1, description="time until the turns of a service that died are taken over by another")
    ] = 10.0
    store_patience_seconds: Annotated[
        float, Meta(ge=0, description="time running turns wait for a PostgreSQL server that is out of reach")
    ] = 60.0

    # connections and the process
    partial_seconds: Annotated[
        float,
        Meta(
            ge=0,
            description="time a turn that is cancelled or over its limit has to answer from what it read (0: none)",
        ),
    ] = 8.0
    drain_seconds: Annotated[
        float, Meta(ge=0, description="time after SIGTERM in which the service still serves, but is not ready")
    ] = 5.0
    stop_seconds: Annotated[float, Meta(ge=0, description="time running turns have to finish at shutdown")] = 5.0
    body_idle_seconds: Annotated[float, Meta(gt=0, description="maximum pause within a request body")] = 30.0
    head_seconds: Annotated[float, Meta(gt=0, description="time a client has to send a request's head")] = 10.0
    max_keyless_connections: Annotated[
        int, Meta(ge=1, description="maximum unauthenticated connections; the oldest is dropped")
    ] = 500
    max_keyless_per_peer: Annotated[
        int, Meta(ge=1, description="maximum unauthenticated connections per address; ignored behind a proxy")
    ] = 100
    max_connections: Annotated[
        int, Meta(ge=1, description="maximum connections; lower if the limit on open files is lower")
    ] = 10_000
    max_head_bytes: Annotated[int, Meta(ge=1, description="maximum size of a request's URL and headers together")] = (
        65_536
    )
    allowed_origins: Annotated[tuple[str, ...], Meta(description="additional allowed CORS origins")] = ()
    front_addresses: Annotated[
        tuple[str, ...],
        Meta(
            max_length=8,
            description="numeric loopback addresses of a balancer (127.0.0.1:8443) that clients on its machine use "
            "over plain http; the service proves itself for them, too",
        ),
    ] = ()
    allowed_hosts: Annotated[
        tuple[str, ...],
        Meta(description="host names the service answers to (default: loopback names; any behind a proxy)"),
    ] = ()
    chat_streaming: Annotated[
        bool, Meta(description="answer stream: true on /chat/completions with server-sent events")
    ] = False
    metrics: Annotated[bool, Meta(description="serve GET /metrics")] = False
    metrics_users: Annotated[tuple[str, ...], Meta(description="users whose keys may read GET /metrics")] = ("local",)
    hsts_seconds: Annotated[
        int, Meta(ge=0, description="max-age of Strict-Transport-Security, for a service behind https (0 = not sent)")
    ] = 0
    telemetry: Annotated[bool, Meta(description="trace requests with OpenTelemetry (extra otel, OTEL_… variables)")] = (
        False
    )


def describe(settings: Settings) -> list[SettingRow]:
    """Describe every setting with its value, in the order of the struct."""
    return describe_settings(settings, _PREFIX)


def settings_from(environment: Mapping[str, str], options: Mapping[str, str] | None = None) -> Settings:
    """Read the settings.

    Args:
        environment: The variables ``SVC_…``; others are ignored.
        options: Command-line options by field name. They win over the environment.

    Raises:
        ConfigError: A value cannot be used; the text names the variable or the option.
    """
    texts = {row.name: (row.variable, environment.get(row.variable, "")) for row in describe(Settings())}
    texts |= {name: (f"--{name.replace('_', '-')}", text) for name, text in (options or {}).items()}
    return read_settings(Settings, texts)
