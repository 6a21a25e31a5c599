"""Map Windows events to Sigma: channel and ID to service and category, fields to the names that rules use.

File formats are parsed elsewhere (``evtx.py``, ``windows_json.py``, …). Data: ``windows_events.toml``. Events 4688,
4657, 5156 and 5157 also get Sysmon's names for the same fields.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from functools import cache, lru_cache

import msgspec

from svc.assistant.knowledge import load
from svc.assistant.sigma.event import MAX_EXCERPT_CHARS, Event

MAX_FIELD_CHARS = 65_536  # of one value; script blocks are logged in parts of at most half of that
MAX_FIELDS = 200  # of one record; Windows' own have at most 60
_PART_CHARS = 160  # of one value in an excerpt
_SALIENT = (
    "CommandLine", "Image", "ParentImage", "SourceImage", "TargetImage", "GrantedAccess", "CallTrace", "StartModule",
    "TargetObject", "Details", "TargetFilename", "ImageLoaded", "Signature", "PipeName", "QueryName", "SourceIp",
    "DestinationIp", "DestinationPort", "ServiceName", "ImagePath", "ServiceFileName", "TaskName", "ActionName",
    "ShareName", "RelativeTargetName", "ObjectName", "ObjectType", "Properties", "ProcessName", "ScriptBlockText",
    "Payload", "HostApplication", "TargetUserName", "TargetDomainName", "SubjectUserName", "IpAddress",
    "WorkstationName", "Workstation", "LogonType", "AuthenticationPackageName", "LogonProcessName", "Status",
    "SubStatus", "TicketEncryptionType", "MemberName", "MemberSid", "SamAccountName", "AuditPolicyChanges",
    "Threat Name", "Path", "param1", "param2", "param3", "param4", "Param1", "Param2", "Param3",
    "Consumer", "Filter", "Query", "Data",
)  # fmt: skip


class Service(msgspec.Struct, frozen=True):
    """One event log: known event IDs with their meaning, Sigma category, and notable ones.

    ``notable`` gives tactic, technique and weight (1 to 4).
    """

    channels: list[str]
    providers: list[str] = []
    categories: dict[str, str] = {}
    events: dict[str, str] = {}
    notable: dict[str, tuple[str, str, str]] = {}


class WindowsEvents(msgspec.Struct, frozen=True):
    """The table of ``windows_events.toml``."""

    source: str
    version: str
    date: date
    services: dict[str, Service]


class Notable(msgspec.Struct, frozen=True):
    """The tactic and technique that an event ID points to by itself."""

    tactic: str
    technique: str
    weight: int


@cache
def windows_events() -> WindowsEvents:
    """Return the table of Windows events."""
    return load("windows_events.toml", WindowsEvents, __package__)


@cache
def _services() -> dict[str, str]:
    """Map channels and providers in lower case to services; a channel wins over a provider of the same name."""
    table = windows_events().services
    found = {provider.lower(): name for name, service in table.items() for provider in service.providers}
    return found | {channel.lower(): name for name, service in table.items() for channel in service.channels}


@lru_cache(maxsize=200)
def service_of(channel: str, provider: str) -> str:
    """Return Sigma's service; "" for an unknown log."""
    known = _services()
    return known.get(channel.lower()) or ("" if channel else known.get(provider.lower(), ""))


@cache
def words_for(service: str, event_id: int | None) -> str:
    """Return the meaning of an event ID; "" if it is not in the table."""
    log = windows_events().services.get(service)
    return log.events.get(str(event_id), "") if log else ""


@cache
def notable(service: str, event_id: int | None) -> Notable | None:
    """Return what an event ID points to by itself; None for most."""
    log = windows_events().services.get(service)
    entry = log.notable.get(str(event_id)) if log else None
    return Notable(entry[0], entry[1], int(entry[2])) if entry else None


@cache
def category_of(service: str, event_id: int | None) -> str:
    """Return Sigma's category of an event ID; "" if it has none."""
    log = windows_events().services.get(service)
    return log.categories.get(str(event_id), "") if log else ""


class Header(msgspec.Struct, kw_only=True):
    """The fields of every Windows event, whatever the file format."""

    number: int
    event_id: int | None
    channel: str = ""
    provider: str = ""
    host: str = ""
    time: str = ""
    offset: int | None = None


def windows_event(header: Header, fields: dict[str, str]) -> Event:
    """Return the event; ``fields`` (its own data) is completed in place."""
    service = service_of(header.channel, header.provider)
    category = category_of(service, header.event_id)
    completion = _COMPLETIONS.get((service, header.event_id))
    if completion is not None:
        completion(fields)
    if service == "sysmon" and header.event_id == 12 and fields.get("EventType", "").startswith("Delete"):
        category = "registry_delete"
    excerpt = _excerpt(header, fields)
    if header.channel:
        fields.setdefault("Channel", header.channel)
    if header.provider:
        fields.setdefault("Provider_Name", header.provider)
    return Event(
        number=header.number,
        offset=header.offset,
        time=header.time,
        product="linux" if header.provider == "Linux-Sysmon" else "windows",
        service=service,
        category=category,
        host=header.host,
        event_id=header.event_id,
        fields=fields,
        excerpt=excerpt,
    )


def _excerpt(header: Header, fields: dict[str, str]) -> str:
    """Return the informative part of a record that is binary or starts with what all records have."""
    parts = "; ".join([f"{name}={fields[name][:_PART_CHARS]}" for name in _shown(tuple(fields))])
    return f"{header.event_id} {parts}"[:MAX_EXCERPT_CHARS]


@lru_cache(maxsize=1_000)
def _shown(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the fields that an excerpt shows: records of a log have the same fields."""
    there = set(names)
    salient = [name for name in _SALIENT if name in there]
    others = [name for name in names if name not in _SALIENT][:8] if len(salient) < 2 else []
    return (*salient, *others)


def add_field(fields: dict[str, str], name: str, value: object) -> None:
    """Add ``value`` as text under ``name``, unless it is empty or there are too many fields."""
    if value is None or len(fields) >= MAX_FIELDS:
        return
    if value is True or value is False:
        fields[name] = "true" if value else "false"
    else:
        fields[name] = (value if isinstance(value, str) else str(value))[:MAX_FIELD_CHARS]


def decimal(number: str) -> str:
    """Return a process ID as Sysmon writes it (``6700`` for ``0x1a2c``); other text is unchanged."""
    try:
        return str(int(number, 0)) if number[:2].lower() == "0x" else number
    except ValueError:
        return number


def _process_started(fields: dict[str, str]) -> None:
    """Add Sysmon's field names to 4688, whose ProcessId is the parent's."""
    for ours, theirs in (("Image", "NewProcessName"), ("ParentImage", "ParentProcessName")):
        if theirs in fields:
            fields[ours] = fields[theirs]
    if "NewProcessId" in fields:
        fields["ParentProcessId"] = decimal(fields.get("ProcessId", ""))
        fields["ProcessId"] = decimal(fields["NewProcessId"])
    name = fields.get("TargetUserName", "-")
    side = "Target" if name != "-" else "Subject"
    if f"{side}UserName" in fields:
        fields["User"] = f"{fields.get(f'{side}DomainName', '')}\\{fields[f'{side}UserName']}".strip("\\")


_HIVES = (("\\REGISTRY\\MACHINE", "HKLM"), ("\\REGISTRY\\USER", "HKU"))


def _value_changed(fields: dict[str, str]) -> None:
    """Add Sysmon's field names to 4657."""
    key = fields.get("ObjectName", "")
    for long, short in _HIVES:
        if key.upper().startswith(long):
            key = short + key[len(long) :]
    fields["TargetObject"] = f"{key}\\{fields.get('ObjectValueName', '')}".rstrip("\\")
    for ours, theirs in (("Details", "NewValue"), ("Image", "ProcessName")):
        if theirs in fields:
            fields.setdefault(ours, fields[theirs])


_OUTBOUND = "%%14593"  # a connection's direction, in the message table of the filtering platform
_SAME = (
    ("Image", "Application"), ("SourceIp", "SourceAddress"), ("SourcePort", "SourcePort"),
    ("DestinationIp", "DestAddress"), ("DestinationPort", "DestPort"),
)  # fmt: skip


def _connected(fields: dict[str, str]) -> None:
    """Add Sysmon's field names to 5156 and 5157."""
    for ours, theirs in _SAME:
        if theirs in fields:
            fields.setdefault(ours, fields[theirs])
    if "Direction" in fields:
        fields.setdefault("Initiated", "true" if fields["Direction"] == _OUTBOUND else "false")


_CLASSIC = re.compile(
    r"^[^\S\n]*+(HostApplication|CommandLine|EngineVersion|HostName|ScriptName|UserId)=(.*)$", re.MULTILINE
)


def _classic_shell(fields: dict[str, str]) -> None:
    """Add the fields of 400, 600 and 800, which hold ``name=value`` lines in one text."""
    for name, value in _CLASSIC.findall(fields.get("Data", "") or fields.get("Message", "")):
        if value := value.strip():
            fields.setdefault(name, value)


_COMPLETIONS: dict[tuple[str, int | None], Callable[[dict[str, str]], None]] = {
    ("security", 4688): _process_started,
    ("security", 4657): _value_changed,
    ("security", 5156): _connected,
    ("security", 5157): _connected,
    ("powershell-classic", 400): _classic_shell,
    ("powershell-classic", 403): _classic_shell,
    ("powershell-classic", 600): _classic_shell,
    ("powershell-classic", 800): _classic_shell,
}

_PLAIN = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:[.,](\d{1,9}))?\s*(Z|UTC|[+-]00:?00)?( UTC)?")


def utc(text: str, *, is_utc: bool = False) -> str:
    """Return ``2026-11-20T03:12:45.123Z``; ``text`` unchanged if it has no time zone or another format.

    ``is_utc`` says that a stamp without a zone is in UTC.
    """
    if len(text) == 24 and text[10] == "T" and text[19] == "." and text[23] == "Z":
        return text
    match = _PLAIN.fullmatch(text.strip())
    if match is not None and (match[4] or match[5] or is_utc):
        return f"{match[1]}T{match[2]}.{(match[3] or '0')[:3]:0<3}Z"
    return text[:40] if match is not None else _with_offset(text.strip())


_OFFSET = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d{1,9})?[+-]\d\d:?\d\d")
_EPOCH = re.compile(r"/Date\((-?\d{1,14})(?:[+-]\d{4})?\)/")  # ConvertTo-Json of Windows PowerShell


def _with_offset(text: str) -> str:
    try:
        if _OFFSET.fullmatch(text):
            moment = datetime.fromisoformat(text).astimezone(UTC)
        elif match := _EPOCH.fullmatch(text):
            moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=int(match[1]))
        else:
            return text[:40]
    except (ValueError, OverflowError):
        return text[:40]
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
