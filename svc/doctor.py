"""Diagnose an installation: its configuration, whether the service responds and how fast, how old the knowledge is.

Prints nothing (``svc.cli.doctor`` does). Like a first question, it starts the local service if no service is
configured. The result never contains the key, only the beginning of its SHA-256.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import platform
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import date
from importlib import resources
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar

import msgspec

from svc import _requests
from svc._transport import Transport
from svc._version import __version__
from svc.assistant import knowledge
from svc.config import DEFAULT_BASE_URL, LOCAL, Config, resolve
from svc.errors import InvalidApiKeyError, ProtocolError, SvcError, UnreachableError
from svc.local import describe, find_or_start
from svc.messages import AnswerStatus, RegisterRequest, User, new_id
from svc.session import InteractiveSession

if TYPE_CHECKING:
    from svc.assistant.model.configuration import Configuration

T = TypeVar("T")

CALL_LIMIT_SECONDS = 2.0  # of failures before a service counts as unreachable
REPLY_SECONDS = 5.0
UPDATED = ("attack", "cwe", "kev")  # tables that ``svc rules update`` can replace
_TABLE_KINDS = ("*.toml", "*.json")
_USER_TABLES = ("*.json", "rules/*.json")
OLD_DAYS = 365  # older knowledge misses current attacks
KEY_ENDS_SOON_DAYS = 14
_MIB = 1_048_576
PROBE_TTL_SECONDS = 300  # the shortest lifetime: a session that could not be deleted expires soon
QUESTION_SECONDS = 60.0  # the embedded analyst takes one or two, a model longer
QUESTION = "Who logged in?"
QUESTION_LOG = """\
Nov 20 03:12:01 web1 sshd[811]: Failed password for root from 192.0.2.7 port 40122 ssh2
Nov 20 03:12:07 web1 sshd[815]: Accepted password for mara from 198.51.100.23 port 50210 ssh2
Nov 20 03:13:44 web1 sshd[820]: Failed password for root from 192.0.2.7 port 40188 ssh2
"""

Status = Literal["ok", "note", "wrong", "skipped"]


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one check. ``text`` says what was found and, if something is wrong, what to do."""

    name: str
    status: Status
    text: str
    milliseconds: float | None = None


class LocalService(msgspec.Struct, frozen=True, kw_only=True):
    """The files and the process of the local service. ``pid`` and ``age_seconds`` are None if it has never run.

    ``files_bytes`` are attached files, each content of a user once; ``results_bytes`` is what tools found in them, kept
    for further questions; ``total_bytes`` is the whole folder.
    """

    folder: str
    log: str
    log_bytes: int
    database_bytes: int
    files_bytes: int
    results_bytes: int
    total_bytes: int
    pid: int | None
    age_seconds: int | None


class Knowledge(msgspec.Struct, frozen=True, kw_only=True):
    """One table of knowledge of the embedded analyst."""

    name: str
    version: str
    date: date
    age_days: int
    source: str


class Diagnosis(msgspec.Struct, frozen=True, kw_only=True):
    """All results. ``is_well``: nothing is wrong. URLs and versions are None if unknown."""

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
    """The header of each table of knowledge."""

    source: str
    version: str
    date: date | None


class _Checks:
    """Runs checks one after the other; an SvcError makes a check wrong."""

    def __init__(self) -> None:
        self.done: list[Check] = []

    def run(self, name: str, work: Callable[[], tuple[str, T]]) -> T | None:
        """Run ``work``, which returns a text and a value; None if it raised an SvcError."""
        begin = time.perf_counter()
        try:
            text, found = work()
        except SvcError as error:
            self.done.append(Check(name=name, status="wrong", text=_in_one_line(error)))
            return None
        self.done.append(Check(name=name, status="ok", text=text, milliseconds=_milliseconds(begin)))
        return found

    def add(self, name: str, status: Status, text: str) -> None:
        """Add the result of a check that is not timed."""
        self.done.append(Check(name=name, status=status, text=text))


def examine(today: date, now: float, environ: Mapping[str, str] = os.environ) -> Diagnosis:
    """Run all checks. Takes some seconds if something does not respond.

    Args:
        today: The date from which the age of the knowledge is counted.
        now: Seconds since the epoch.
        environ: The environment that configures the service and the model.
    """
    checks = _Checks()
    named = checks.run("configuration", lambda: _check_configuration(environ))
    config = _find_service(checks, named)
    health = checks.run("service", lambda: _check_service(config)) if config else None
    if config and health is not None:
        if health:
            _compare_versions(checks, health)
        user = checks.run("key", lambda: _check_key(config))
        if user:
            _check_expiry(checks, user, now)
            if checks.run("stream", lambda: _check_stream(config)):
                checks.run("question", lambda: _check_question(config))
            else:
                checks.add("question", "skipped", "not asked: the stream does not work")
    elif named:
        checks.add("key, stream, question", "skipped", "not checked: the service does not respond")
    local = checks.run("state folder", lambda: _check_state_folder(now)) if named == LOCAL else None
    if named == LOCAL and (model := examine_model(environ)) is not None:
        checks.done.append(model)
    _check_packages(checks)
    _check_front_end(checks)
    tables = load_knowledge(today)
    checks.add("knowledge", *_check_knowledge(tables))
    return Diagnosis(
        is_well=not any(check.status == "wrong" for check in checks.done),
        version=__version__,
        python=platform.python_version(),
        service=None if named is None else "local" if named == LOCAL else "hosted",
        base_url=config.base_url if config else None,
        ws_url=config.ws_url if config else None,
        key_sha256_start=_key_sha256_start(config) if config else None,
        service_version=health or None,
        local=local,
        checks=checks.done,
        knowledge=tables,
    )


def examine_model(environ: Mapping[str, str]) -> Check | None:
    """Check that the configured model is reachable; None if none is configured. Its key is not shown."""
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
    text = f"{configuration.host} responds" + (
        f" and has {configuration.name}" if is_there else f", but does not list {configuration.name}"
    )
    return Check(name="model", status="ok" if is_there else "note", text=text, milliseconds=_milliseconds(begin))


async def _models_of(configuration: Configuration) -> list[str]:
    from svc.assistant.model import open_upstream

    upstream = open_upstream(configuration)
    from svc.assistant.model.conversation import (
        ModelFailureError,  # after open_upstream, which checks that its library is installed
    )

    try:
        async with asyncio.timeout(REPLY_SECONDS):
            return await upstream.list_models()
    except ModelFailureError as error:
        raise UnreachableError(f"the model at {configuration.host}: {error}") from error
    except TimeoutError as error:
        raise UnreachableError(
            f"the model at {configuration.host} did not respond within {REPLY_SECONDS:g} s"
        ) from error
    finally:
        await upstream.close()


def load_knowledge(today: date) -> list[Knowledge]:
    """Load the headers of all dated tables, those shipped and this user's own, oldest first.

    A table without a date (from CWE's official CSV) is omitted, as its age is unknown.
    """
    tables = [_table(name, _read_header(file), today) for name, file in _table_files().items()]
    known = [table for table in [*tables, *_top_level_domains(today)] if table is not None]
    return sorted(known, key=lambda table: (table.date, table.name))


def _table_files() -> dict[str, Path]:
    """Every table file by its name, such as ``attack`` or ``cvss/metrics``; the user's copies replace shipped ones."""
    assistant = Path(knowledge.__file__).parents[1]
    shipped = {file: file.relative_to(assistant).parts for kind in _TABLE_KINDS for file in assistant.rglob(kind)}
    own = knowledge.user_folder()
    added = [*own.glob("*.json"), *own.glob("rules/*.json")]
    files = {
        _table_name(*parts[1:] if parts[0] == "knowledge" else parts[-2:]): file for file, parts in shipped.items()
    }
    return files | {_table_name(*file.relative_to(own).parts): file for file in added}


def _table_name(*parts: str) -> str:
    return "/".join(parts).rpartition(".")[0].removesuffix("/compiled")


def _read_header(file: Path) -> _Provenance:
    decode = msgspec.json.decode if file.suffix == ".json" else msgspec.toml.decode
    return decode(file.read_bytes(), type=_Provenance)


def _table(name: str, facts: _Provenance, today: date) -> Knowledge | None:
    if facts.date is None:
        return None
    age = (today - facts.date).days
    return Knowledge(name=name, version=facts.version, date=facts.date, age_days=age, source=facts.source)


def _top_level_domains(today: date) -> list[Knowledge | None]:
    """The list of public suffixes; the last part of its package's version is its date (1.0.2.20260101)."""
    name = "publicsuffixlist"
    number = version(name)
    try:
        day = date.fromisoformat(number.rpartition(".")[2])
    except ValueError:
        return []  # without a date, its age is unknown
    return [_table(name, _Provenance(f"publicsuffix.org, from the package {name}", number, day), today)]


def _check_configuration(environ: Mapping[str, str]) -> tuple[str, Config | Literal["local"]]:
    found = resolve(environ=environ)
    if not isinstance(found, Config):
        return "no service is configured: using the local service", LOCAL
    origin = "SVC_BASE_URL" if environ.get("SVC_BASE_URL") else "the default URL"
    key = f"key of SVC_API_KEY with SHA-256 {_key_sha256_start(found)}…"
    return f"{found.base_url} ({origin}), websockets at {found.ws_url}, {key}", found


def _find_service(checks: _Checks, named: Config | Literal["local"] | None) -> Config | None:
    """Find the service; the local one is started if it is not running."""
    if named != LOCAL:
        return named
    return checks.run("local service", _local_config)


def _local_config() -> tuple[str, Config]:
    config = find_or_start()
    return f"running at {config.base_url}", config


def _check_service(config: Config) -> tuple[str, str]:
    transport = Transport(config, reply_seconds=REPLY_SECONDS)
    try:
        health = transport.call(_requests.health(), limit_seconds=CALL_LIMIT_SECONDS)
    except (
        InvalidApiKeyError
    ):  # over plain HTTP, a service first proves that it knows the key; the next check says more
        return f"{config.base_url} responds, but does not know the key", ""
    except UnreachableError as error:
        if config.base_url != DEFAULT_BASE_URL:
            raise
        raise UnreachableError(
            f"{error} Start one there with `svc serve`, or unset SVC_API_KEY to use the local service."
        ) from error
    finally:
        transport.close()
    warnings = "".join(f". {warning}" for warning in health.warnings)
    return f"{config.base_url} responds: {health.status}, version {health.version}{warnings}", health.version


def _compare_versions(checks: _Checks, theirs: str) -> None:
    if theirs != __version__:
        checks.add("versions", "note", f"the service has version {theirs}, this SDK {__version__}; both work together")


def _check_key(config: Config) -> tuple[str, User]:
    transport = Transport(config, reply_seconds=REPLY_SECONDS)
    try:
        info = transport.call(_requests.user_info(), limit_seconds=CALL_LIMIT_SECONDS)
    finally:
        transport.close()
    user, models = info.user, ", ".join(model.model_string for model in info.available_models)
    logging = "optional" if user.can_disable_logging else "never" if user.never_log else "required"
    text = f"user {user.id} of {user.org_id}, {len(info.sessions)} live sessions, models {models}, logging {logging}"
    return text, user


def _check_expiry(checks: _Checks, user: User, now: float) -> None:
    days = (user.key_expire_time - now) / 86_400
    if user.key_expire_time and days < KEY_ENDS_SOON_DAYS:
        checks.add(
            "key", "note", f"the key expires in {max(days, 0):.1f} days. Ask the service's administrator for a new one."
        )


@contextmanager
def _temporary_session(config: Config, reply_seconds: float) -> Iterator[tuple[Transport, InteractiveSession]]:
    """A session that is not logged, deleted at the end."""
    transport = Transport(config, reply_seconds=reply_seconds)
    request = RegisterRequest(id=new_id(), name="svc doctor", ttl=PROBE_TTL_SECONDS, log_session=False)
    try:
        session = transport.call(_requests.register(request), limit_seconds=CALL_LIMIT_SECONDS)
        try:
            yield transport, InteractiveSession(transport, session)
        finally:
            with suppress(SvcError):  # a failure is reported by what failed before; the session expires soon
                transport.call(_requests.delete(session.id), limit_seconds=CALL_LIMIT_SECONDS)
    finally:
        transport.close()


def _check_stream(config: Config) -> tuple[str, bool]:
    with _temporary_session(config, REPLY_SECONDS) as (transport, session):
        seconds = asyncio.run(_round_trip(transport, session.session_id))
    return f"{config.ws_url} opens a stream; a round trip takes {1_000 * seconds:.1f} ms", True


def _check_question(config: Config) -> tuple[str, None]:
    """Ask about a small log as a user would: upload, worker process, stream and answer."""
    with _temporary_session(config, QUESTION_SECONDS) as (_, session):
        log = session.attach_file("svc-doctor-auth.log", QUESTION_LOG)
        answer = session.query(QUESTION, files=[log], timeout_seconds=QUESTION_SECONDS)
    asked = f"asked {QUESTION!r} about a log of {len(QUESTION_LOG.splitlines())} lines"
    if not answer.text().strip():
        raise ProtocolError(f"{asked}: the answer is empty. The service's log says more.")
    if answer.status in (AnswerStatus.NOT_ANSWERED, AnswerStatus.NOT_EXAMINED):
        raise ProtocolError(f"{asked}: {answer.status.replace('_', ' ')}. The service's log says more.")
    return f"{asked}: answered", None


async def _round_trip(transport: Transport, session_id: str) -> float:
    connection = await transport.open_stream(session_id, after=0)
    try:
        async with asyncio.timeout(REPLY_SECONDS):
            return await connection.ping()
    except TimeoutError as error:
        raise UnreachableError(
            f"{transport.config.ws_url} opened a stream but did not answer a ping within {REPLY_SECONDS:g} s. "
            "Check that any proxy in between forwards WebSockets."
        ) from error
    finally:
        await connection.close()


def _check_state_folder(now: float) -> tuple[str, LocalService]:
    files = describe()
    found = LocalService(
        folder=str(files.folder),
        log=str(files.log),
        log_bytes=files.log_bytes,
        database_bytes=files.database_bytes,
        files_bytes=files.files_bytes,
        results_bytes=files.results_bytes,
        total_bytes=files.total_bytes,
        pid=files.pid,
        age_seconds=None if files.started is None else max(0, int(now - files.started)),
    )
    return f"{files.folder}, {files.total_bytes / _MIB:,.1f} MiB", found


def _check_packages(checks: _Checks) -> None:
    """Add a note if another installation has replaced a library by a version that this package is not tested with."""
    from packaging.requirements import Requirement

    wanted = [Requirement(text) for text in _requirements()]
    needed = [one for one in wanted if one.marker is None or one.marker.evaluate({"extra": ""})]
    found = {one.name: _installed_version(one.name) for one in needed}
    wrong = [one for one in needed if not one.specifier.contains(found[one.name] or "", prereleases=True)]
    if wrong:
        each = ", ".join(f"{one.name} {found[one.name] or '(missing)'} (needs {one.specifier})" for one in wrong)
        repair = " ".join(f"'{one.name}{one.specifier}'" for one in wrong)
        checks.add(
            "packages", "note", f"versions that svc-jupyter does not allow: {each}. Repair: pip install {repair}"
        )


def _requirements() -> list[str]:
    """What the installed package requires; nothing if it runs from a folder without being installed."""
    try:
        return requires("svc-jupyter") or []
    except PackageNotFoundError:
        return []


def _installed_version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _check_front_end(checks: _Checks) -> None:
    """Add a note if this installation was built without npm (SVC_SKIP_JS)."""
    if not (resources.files("svc.service") / "static" / "page.js").is_file():
        checks.add(
            "front end",
            "note",
            "the chat page, the chat panel and the JupyterLab extension are not installed; everything else works. "
            "Install the wheel to get them: pip install --force-reinstall svc-jupyter",
        )


def _check_knowledge(tables: list[Knowledge]) -> tuple[Status, str]:
    """A dated table is no fault: answers from it state its date. The text says how to update it."""
    oldest = tables[0]
    text = f"{len(tables)} tables, the oldest ({oldest.name}) of {oldest.date}"
    old = [table for table in tables if table.age_days > OLD_DAYS]
    if old:
        dated = ", ".join(f"{table.name} {table.version} of {table.date}" for table in old)
        text += f". Older than a year: {dated}; answers from them state the date and lack what was added later"
    official = [name for name in UPDATED if name in (table.name for table in old)]
    if official:
        return "note", f"{text}. Update with: svc rules update {' '.join(f'--{name} FILE|URL' for name in official)}"
    return ("note", f"{text}. Install a newer svc-jupyter") if old else ("ok", text)


def _key_sha256_start(config: Config) -> str:
    return hashlib.sha256(config.api_key.encode()).hexdigest()[:12]


def _in_one_line(error: SvcError) -> str:
    """The error's text on one line; of one that quotes a log, the first line and the last, which names the cause."""
    lines = str(error).strip().splitlines()
    return " ".join([*lines[:1], *lines[1:][-1:]])


def _milliseconds(begin: float) -> float:
    return round(1_000 * (time.perf_counter() - begin), 1)
