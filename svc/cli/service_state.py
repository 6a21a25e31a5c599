"""The commands ``svc status`` and ``svc stop``. Neither starts the local service."""

from __future__ import annotations

import sys
from datetime import UTC, datetime

import click
import msgspec

from svc.config import Config, resolve
from svc.errors import ServiceError
from svc.messages import State
from svc.untrusted.characters import one_line
from svc.untrusted.terminal import echo, echo_json


class Model(msgspec.Struct, kw_only=True):
    """A model that the key may use."""

    id: str
    description: str


class Status(msgspec.Struct, kw_only=True):
    """What ``svc status --json`` prints; fields that are unknown are null, as of a service that is not running."""

    kind: str
    is_running: bool
    base_url: str | None = None
    version: str | None = None
    health: str | None = None
    warnings: list[str] = []
    pid: int | None = None
    started: float | None = None
    user: str | None = None
    sessions: int | None = None
    running_questions: int | None = None
    models: list[Model] = []


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def status(*, as_json: bool) -> None:
    """Show the service: address, version, sessions, models.

    The service is the one in SVC_API_KEY and SVC_BASE_URL, else the local one, which is not started. svc doctor checks
    the whole installation.

    Exit codes: 0 running, 1 not running or not usable.
    """
    found = _status()
    if as_json:
        echo_json(found)
    else:
        _show(found)
    sys.exit(0 if found.is_running else 1)


@click.command()
def stop() -> None:
    """Stop the local service.

    Running questions get a moment to end. The next question starts the service again. A service that was configured by
    SVC_BASE_URL, or started by svc serve without a connection file, is not stopped.
    """
    from svc import local

    pid = local.stop()
    echo("The local service is not running." if pid is None else f"Stopped the local service (PID {pid}).", err=True)


def _status() -> Status:
    from svc import local

    configured = resolve()
    config = configured if isinstance(configured, Config) else local.find()
    kind = "hosted" if isinstance(configured, Config) else "local"
    if config is None:
        return Status(kind=kind, is_running=False)
    found = _asked(kind, config)
    if kind == "local":
        files = local.describe()
        found.pid, found.started = files.pid, files.started
    return found


def _asked(kind: str, config: Config) -> Status:
    from svc import _requests
    from svc._transport import Transport

    found = Status(kind=kind, is_running=True, base_url=config.base_url)
    transport = Transport(config, reply_seconds=10.0)
    try:
        info = transport.call(_requests.user_info(), limit_seconds=10.0)
        found.user = info.user.id
        found.sessions = len(info.sessions)
        found.running_questions = sum(one.state == State.RUNNING_AGENT for one in info.sessions)
        found.models = [Model(id=one.model_string, description=one.description) for one in info.available_models]
        health = transport.call(_requests.health(), limit_seconds=10.0)
        found.version, found.health, found.warnings = health.version, health.status, health.warnings
    except ServiceError as error:
        if found.user is None:
            raise
        found.health, found.warnings = "degraded", [error.message]  # it answers, but cannot store
    finally:
        transport.close()
    return found


def _show(found: Status) -> None:
    if not found.is_running:
        echo("The local service is not running. The first question starts it.")
        return
    rows = [
        ("service", f"{found.kind}, {found.base_url}"),
        ("version", one_line(found.version or "unknown")),
        ("health", found.health or "unknown"),
        *(("warning", one_line(warning)) for warning in found.warnings),
        ("user", one_line(found.user or "")),
        ("sessions", f"{found.sessions or 0:,} ({found.running_questions or 0:,} answering a question)"),
        *(("model", f"{one_line(one.id)}  {one_line(one.description)}".rstrip()) for one in found.models),
    ]
    if found.pid is not None and found.started is not None:
        rows.insert(
            1, ("process", f"{found.pid}, started {datetime.fromtimestamp(found.started, UTC):%Y-%m-%d %H:%M} UTC")
        )
    for name, value in rows:
        echo(f"{name + ':':<10}{value}")
