"""Examine an installation: what is configured, does the service answer and how fast, how old is the knowledge.

Decides what is well and what is not; prints nothing (``cli_doctor`` does). Does what a first question would do: where
nothing is configured, the local service is started. The key is never in what comes out, only the start of its SHA-256.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import platform
import time
from collections.abc import Callable, Mapping
from datetime import date
from importlib import resources
from importlib.metadata import version
from typing import TYPE_CHECKING, Literal, TypeVar

import msgspec

from svc import _requests
from svc._transport import Transport
from svc._version import __version__
from svc.assistant import knowledge
from svc.config import DEFAULT_BASE_URL, LOCAL, Config, resolve
from svc.errors import SvcError, UnreachableError
from svc.local import describe, find_or_start
from svc.messages import RegisterRequest, User, new_id

if TYPE_CHECKING:
    from svc.assistant.model.configuration import Configuration

T = TypeVar("T")

CALL_LIMIT_SECONDS = 2.0  # of failures, before a service counts as not there: who asks a doctor is waiting
REPLY_SECONDS = 5.0
UPDATED = ("attack", "cwe", "kev")  # tables that ``svc rules update`` reads anew
OLD_DAYS = 365  # knowledge of the year before last misses what attackers do now
KEY_ENDS_SOON_DAYS = 14
PROBE_TTL_SECONDS = 300  # the wire's least: a session that could not be deleted is gone soon

Status = Literal["ok", "note", "wrong", "skipped"]


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One thing looked at. ``text`` says what was found and, where it is wrong, what to do."""

    name: str
    status: Status
    text: str
    milliseconds: float | None = None


class LocalService(msgspec.Struct, frozen=True, kw_only=True):
    """Where the local service of this user lives. ``pid`` and ``age_seconds``: None where none has run."""

    folder: str
    log: str
    log_bytes: int
    database_bytes: int
    pid: int | None
    age_seconds: int | None


class Knowledge(msgspec.Struct, frozen=True, kw_only=True):
    """One table of facts of the embedded analyst of this installation."""

    name: str
    version: str
    date: date
    age_days: int
    source: str


class Diagnosis(msgspec.Struct, frozen=True, kw_only=True):
    """What was found. ``is_well``: no check is wrong. Addresses and versions are None where they are not known."""

    is_well: bool
    version: str
    python: str
    service: Literal["local", "hosted"] | None
    base_url: str | None
    ws_url: str | None
    key_sha256_start: str | None
    service_version: str | None
    local: LocalService | None
    checks: list[Check]
    knowledge: list[Knowledge]


class _Provenance(msgspec.Struct):
    """How each table of facts opens."""

    source: str
    version: str
    date: date | None


class _Checks:
    """Runs checks one after the other; what raises an SvcError is wrong, and what needs it is skipped."""

    def __init__(self) -> None:
        self.done: list[Check] = []

    def run(self, name: str, work: Callable[[], tuple[str, T]]) -> T | None:
        """What ``work`` found, with its words noted; None where it raised."""
        begin = time.perf_counter()
        try:
            text, found = work()
        except SvcError as error:
            self.done.append(Check(name=name, status="wrong", text=_in_one_line(error)))
            return None
        self.done.append(Check(name=name, status="ok", text=text, milliseconds=_milliseconds(begin)))
        return found

    def add(self, name: str, status: Status, text: str) -> None:
        """Note what was not timed."""
        self.done.append(Check(name=name, status=status, text=text))


def examine(today: date, now: float, environ: Mapping[str, str] = os.environ) -> Diagnosis:
    """Look at everything. ``now`` in seconds since the epoch. Takes some seconds where something does not answer."""
    checks = _Checks()
    named = checks.run("configuration", lambda: _configured(environ))
    config = _located(checks, named)
    health = checks.run("service", lambda: _reached(config)) if config else None
    if config and health:
        _compare_versions(checks, health)
        user = checks.run("key", lambda: _opened(config))
        if user:
            _look_at_end(checks, user, now)
            checks.run("stream", lambda: _streamed(config))
    elif named:
        checks.add("key, stream", "skipped", "not looked at: the service does not answer")
    local = checks.run("state folder", lambda: _local_service(now)) if named == LOCAL else None
    if named == LOCAL and (model := examine_model(environ)) is not None:
        checks.done.append(model)
    tables = load_knowledge(today)
    checks.add("knowledge", *_judge(tables))
    return Diagnosis(
        is_well=not any(check.status == "wrong" for check in checks.done),
        version=__version__,
        python=platform.python_version(),
        service=None if named is None else "local" if named == LOCAL else "hosted",
        base_url=config.base_url if config else None,
        ws_url=config.ws_url if config else None,
        key_sha256_start=_key_sha256_start(config) if config else None,
        service_version=health,
        local=local,
        checks=checks.done,
        knowledge=tables,
    )


def examine_model(environ: Mapping[str, str]) -> Check | None:
    """Whether the model that the environment names is in reach; None where it names none. Its key is not shown."""
    from svc.assistant.model.configuration import configuration_from, is_configured

    begin = time.perf_counter()
    try:
        if not is_configured(environ):
            return None
        configuration = configuration_from(environ)
        names = asyncio.run(_models_of(configuration))
    except SvcError as error:
        return Check(name="model", status="wrong", text=_in_one_line(error))
    is_there = configuration.name in names
    text = f"{configuration.host} answers" + (
        f" and has {configuration.name}" if is_there else f", but does not list {configuration.name}"
    )
    return Check(name="model", status="ok" if is_there else "note", text=text, milliseconds=_milliseconds(begin))


async def _models_of(configuration: Configuration) -> list[str]:
    from svc.assistant.model import open_upstream

    upstream = open_upstream(configuration)
    from svc.assistant.model.conversation import ModelFailureError  # its library is there

    try:
        async with asyncio.timeout(REPLY_SECONDS):
            return await upstream.list_models()
    except ModelFailureError as error:
        raise UnreachableError(f"the model at {configuration.host}: {error}") from error
    except TimeoutError as error:
        raise UnreachableError(
            f"the model at {configuration.host} does not answer within {REPLY_SECONDS:g} s"
        ) from error
    finally:
        await upstream.close()


def load_knowledge(today: date) -> list[Knowledge]:
    """Every dated table of this installation and of this user, the oldest first.

    A table that states no date (CWE's official CSV) is left out: its age is not known.
    """
    tables = [_table(name, knowledge.load(name, _Provenance), today) for name in _table_names()]
    known = [table for table in [*tables, *_top_level_domains(today)] if table is not None]
    return sorted(known, key=lambda table: (table.date, table.name))


def _table_names() -> list[str]:
    """Files of tables: those that ship, the rules in them, and what the user loaded."""
    shipped = resources.files(knowledge)
    names = {entry.name for entry in shipped.iterdir()} | {
        f"rules/{entry.name}" for entry in (shipped / "rules").iterdir()
    }
    own = knowledge.user_folder()
    names |= {file.relative_to(own).as_posix() for file in [*own.glob("*.json"), *own.glob("rules/*.json")]}
    return sorted(name for name in names if name.endswith((".toml", ".json")))


def _table(name: str, facts: _Provenance, today: date) -> Knowledge | None:
    if facts.date is None:
        return None
    age = (today - facts.date).days
    shown = name.removesuffix(".toml").removesuffix(".json").removesuffix("/compiled")
    return Knowledge(name=shown, version=facts.version, date=facts.date, age_days=age, source=facts.source)


def _top_level_domains(today: date) -> list[Knowledge | None]:
    """The list of public suffixes: the last part of its package's version is its date (1.0.2.20260101)."""
    name = "publicsuffixlist"
    number = version(name)
    try:
        day = date.fromisoformat(number.rpartition(".")[2])
    except ValueError:
        return []  # a version without a date says nothing of its age
    return [_table(name, _Provenance("publicsuffix.org, by the package of that name", number, day), today)]


def _configured(environ: Mapping[str, str]) -> tuple[str, Config | Literal["local"]]:
    found = resolve(environ=environ)
    if not isinstance(found, Config):
        return "nothing is configured: the local service is used", LOCAL
    origin = "SVC_BASE_URL" if environ.get("SVC_BASE_URL") else "the default address"
    key = f"key of SVC_API_KEY with SHA-256 {_key_sha256_start(found)}…"
    return f"{found.base_url} ({origin}), streams {found.ws_url}, {key}", found


def _located(checks: _Checks, named: Config | Literal["local"] | None) -> Config | None:
    """Where the service is; the local one is found or started for it."""
    if named != LOCAL:
        return named
    return checks.run("local service", _local_config)


def _local_config() -> tuple[str, Config]:
    config = find_or_start()
    return f"runs at {config.base_url}", config


def _reached(config: Config) -> tuple[str, str]:
    transport = Transport(config, reply_seconds=REPLY_SECONDS)
    try:
        health = transport.call(_requests.health(), limit_seconds=CALL_LIMIT_SECONDS)
    except UnreachableError as error:
        if config.base_url != DEFAULT_BASE_URL:
            raise
        raise UnreachableError(
            f"{error} `svc serve` starts one there; without SVC_API_KEY the local service is used."
        ) from error
    finally:
        transport.close()
    return f"{config.base_url} answers: {health.status}, version {health.version}", health.version


def _compare_versions(checks: _Checks, theirs: str) -> None:
    if theirs != __version__:
        checks.add("versions", "note", f"the service is {theirs}, this SDK {__version__}; either may be newer")


def _opened(config: Config) -> tuple[str, User]:
    transport = Transport(config, reply_seconds=REPLY_SECONDS)
    try:
        info = transport.call(_requests.user_info(), limit_seconds=CALL_LIMIT_SECONDS)
    finally:
        transport.close()
    user, models = info.user, ", ".join(model.model_string for model in info.available_models)
    logging = "may be switched off" if user.can_disable_logging else "never" if user.never_log else "required"
    text = f"user {user.id} of {user.org_id}, {len(info.sessions)} live sessions, models {models}, logging {logging}"
    return text, user


def _look_at_end(checks: _Checks, user: User, now: float) -> None:
    days = (user.key_expire_time - now) / 86_400
    if user.key_expire_time and days < KEY_ENDS_SOON_DAYS:
        checks.add("key", "note", f"the key expires in {max(days, 0):.1f} days. Ask the service's admin for a new one.")


def _streamed(config: Config) -> tuple[str, None]:
    """Open a stream of a session made for it, which is deleted again."""
    transport = Transport(config, reply_seconds=REPLY_SECONDS)
    request = RegisterRequest(id=new_id(), name="svc doctor", ttl=PROBE_TTL_SECONDS, can_log=False)
    try:
        session = transport.call(_requests.register(request), limit_seconds=CALL_LIMIT_SECONDS)
        try:
            seconds = asyncio.run(_round_trip(transport, session.id))
        finally:
            transport.call(_requests.delete(session.id), limit_seconds=CALL_LIMIT_SECONDS)
    finally:
        transport.close()
    return f"{config.ws_url} opens a stream; one round trip takes {1_000 * seconds:.1f} ms", None


async def _round_trip(transport: Transport, session_id: str) -> float:
    connection = await transport.open_stream(session_id, after=0)
    try:
        async with asyncio.timeout(REPLY_SECONDS):
            return await connection.ping()
    except TimeoutError as error:
        raise UnreachableError(
            f"{transport.config.ws_url} opened a stream but answers no ping within {REPLY_SECONDS:g} s. "
            "Check that what stands in between passes websockets on."
        ) from error
    finally:
        await connection.close()


def _local_service(now: float) -> tuple[str, LocalService]:
    files = describe()
    found = LocalService(
        folder=str(files.folder),
        log=str(files.log),
        log_bytes=files.log_bytes,
        database_bytes=files.database_bytes,
        pid=files.pid,
        age_seconds=None if files.started is None else max(0, int(now - files.started)),
    )
    return str(files.folder), found


def _judge(tables: list[Knowledge]) -> tuple[Status, str]:
    oldest = tables[0]
    text = f"{len(tables)} tables, the oldest ({oldest.name}) of {oldest.date}"
    old = [table.name for table in tables if table.age_days > OLD_DAYS]
    if not old:
        return "ok", text
    official = [f"--{name} FILE|URL" for name in UPDATED if name in old]
    advice = f"svc rules update {' '.join(official)} reads newer ones." if official else "Install a newer svc-jupyter."
    return "note", f"{text}; older than a year: {', '.join(old)}. {advice}"


def _key_sha256_start(config: Config) -> str:
    return hashlib.sha256(config.api_key.encode()).hexdigest()[:12]


def _in_one_line(error: SvcError) -> str:
    """The error's text; of one that shows lines of a log, the first and the last: it says what broke."""
    lines = str(error).strip().splitlines()
    return " ".join([*lines[:1], *lines[1:][-1:]])


def _milliseconds(begin: float) -> float:
    return round(1_000 * (time.perf_counter() - begin), 1)
