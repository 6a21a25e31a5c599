"""Read Windows events in the JSON formats of various programs.

Either one object per line, a list, or a sequence of objects over many lines. An event is structured like the XML
(``Event``, ``System``), flat (NXLog, Get-WinEvent, EvtxECmd, exports of hosts), or as Elastic's shippers write it
(``winlog``, ``event_data``), also with dotted names and inside ``_source`` or ``result``. Objects without an event ID
are counted in a gap.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import BinaryIO

from svc.assistant.log_readers.json_objects import Skipped, object_of, read_objects
from svc.assistant.log_readers.lines import ReadItem
from svc.assistant.log_readers.parts import part_of
from svc.assistant.log_readers.windows import MAX_FIELDS, Header, add_field, utc, windows_event
from svc.assistant.log_readers.windows_messages import message_fields
from svc.assistant.log_readers.windows_nested import add_data, add_user_data, nested_event, whole_number
from svc.assistant.log_readers.windows_xml import event_of_text
from svc.assistant.sigma.event import Event

_FEW_FIELDS = 4  # with fewer, only the message has the details
_WRAPPERS = ("_source", "result", "Event", "event")
_HEADS = {
    "event_id": ("EventID", "event_id", "EventId", "eventid", "event.code", "EventCode", "Id"),
    "channel": ("Channel", "channel", "log_name", "LogName", "EventLog", "log"),
    "provider": ("SourceName", "ProviderName", "provider_name", "source_name", "Provider", "provider", "Source"),
    "host": ("Hostname", "Computer", "computer_name", "ComputerName", "MachineName", "hostname", "computer", "host"),
    "record": ("RecordNumber", "EventRecordID", "EventRecordId", "record_id", "record_number", "RecordId"),
    "time": (
        "TimeCreated",
        "@timestamp",
        "SystemTime",
        "EventTime",
        "timestamp",
        "time",
        "UtcTime",
        "UtcTimeCreated",
        "_time",
    ),
}
_IS_UTC = frozenset({"TimeCreated", "@timestamp", "SystemTime", "UtcTime", "UtcTimeCreated"})
_OTHER_HEADS = frozenset(
    [
        "@version", "Keywords", "Level", "Opcode", "OpcodeValue", "SeverityValue", "Severity", "SourceModuleName",
        "SourceModuleType", "EventReceivedTime", "ProviderGuid", "Version", "ActivityID", "RelatedActivityID",
        "ThreadID", "ExecutionProcessID", "ExecutionThreadID", "port", "tags", "level", "keywords", "opcode",
        "version", "type", "beat", "agent", "ecs", "input", "AccountType", "Category",
    ]
)  # fmt: skip
_MESSAGES = ("Message", "message")
_CLASSIC_HEAD_CHARS = 4_096
_CLASSIC_ID = re.compile(r"^EventCode=\d{1,6}\s*$", re.MULTILINE)
_CLASSIC_PAIR = re.compile(r"^(\w{1,40})=([^\r\n]*)", re.MULTILINE)


def read(content: BinaryIO) -> Iterator[ReadItem]:
    """Yield the events in the file's order; an event's number is its line or its position in a list, from 1."""
    part = part_of(content)
    skipped = part.carry(Skipped)
    for number, found in read_objects(content, skipped):
        event = event_of(found, number)
        if event is None:
            skipped.foreign.append(number)
        else:
            yield event
    if not part.is_paused:
        yield from skipped.gaps("a Windows event")


def event_of(found: dict[str, object], number: int) -> Event | None:
    """Return the event of one object; None if it has neither an event ID nor a log's name."""
    for _ in range(2):
        if isinstance(raw := found.get("_raw"), str) and (event := _of_raw(raw, found, number)) is not None:
            return event
        if isinstance(found.get("System"), dict):
            return nested_event(found, number=number)
        inner = next((value for name in _WRAPPERS if isinstance(value := found.get(name), dict)), None)
        if inner is None or not (_has_head(inner) or isinstance(inner.get("System"), dict)):
            break
        found = inner
    if isinstance(found.get("System"), dict):
        return nested_event(found, number=number)
    return _flat(_nested(found), number)


def _of_raw(raw: str, found: dict[str, object], number: int) -> Event | None:
    """Return the event in Splunk's original text: XML, or ``name=value`` lines and the message."""
    raw = raw.strip()
    if raw.startswith("<Event"):
        event = event_of_text(raw, number)
        if event is not None:
            event.number = number
        return event
    if _CLASSIC_ID.search(raw, 0, _CLASSIC_HEAD_CHARS) is None:
        return None
    heads, _, message = raw.partition("\nMessage=")
    own: dict[str, object] = dict(_CLASSIC_PAIR.findall(heads[:_CLASSIC_HEAD_CHARS]))
    for name, value in message_fields(message):
        own.setdefault(name, value)
    own |= {name: found[name] for name in ("_time", "host") if name in found}
    own["Message"] = message
    return _flat(own, number)


def _has_head(found: dict[str, object]) -> bool:
    return (
        "winlog" in found
        or "_raw" in found
        or any(name in found for name in _HEADS["event_id"])
        or "winlog.event_id" in found
    )


def _nested(found: dict[str, object]) -> dict[str, object]:
    """Return an object with dotted names (``winlog.event_data.Image``) as nested objects."""
    if not _are_dotted(tuple(found)):
        return found
    result: dict[str, object] = {}
    for name, value in found.items():
        *path, last = name.split(".") if name.startswith("winlog.") else [name]
        place = result
        for part in path[:3]:
            inner = place.setdefault(part, {})
            place = inner if isinstance(inner, dict) else {}
        place[last] = value[0] if isinstance(value, list) and len(value) == 1 else value
    return result


@lru_cache(maxsize=1_000)  # the objects of a log have the same names
def _are_dotted(names: tuple[str, ...]) -> bool:
    return any(name.startswith("winlog.") for name in names)


def _flat(found: dict[str, object], number: int) -> Event | None:
    winlog = found.get("winlog")
    own = winlog if isinstance(winlog, dict) else found
    heads = {what: _head(own, found, names) for what, names in _HEADS.items()}
    event_id = whole_number(heads["event_id"][1])
    channel, provider = _name(heads["channel"][1]), _name(heads["provider"][1])
    if event_id is None or not (channel or provider):
        return None
    fields: dict[str, str] = {}
    _add_fields(fields, own, found)
    name, value = heads["time"]
    time = utc(value, is_utc=name in _IS_UTC) if isinstance(value, str) else ""
    if not time.endswith("Z"):
        time = _better_time(found, fields) or time
    header = Header(
        number=number, event_id=event_id, channel=channel, provider=provider, host=_name(heads["host"][1]), time=time
    )
    return windows_event(header, fields)


def _head(own: dict[str, object], found: dict[str, object], names: tuple[str, ...]) -> tuple[str, object]:
    """Return the first of the names that exists, and its value; Elastic has some outside ``winlog``."""
    for place in (own, found) if own is not found else (own,):
        for name in names:
            if (value := place.get(name)) is not None:
                return name, value
    event = found.get("event")
    if "EventID" in names and isinstance(event, dict):
        return "event.code", event.get("code")
    return "", None


def _name(value: object) -> str:
    if isinstance(value, dict):
        value = value.get("name", value.get("Name", value.get("hostname")))
    return value if isinstance(value, str) else ""


def _better_time(found: dict[str, object], fields: dict[str, str]) -> str:
    """Return a timestamp with a time zone, or known to be UTC, if the first one has none."""
    for name in ("@timestamp", "SystemTime", "UtcTime"):
        value = found.get(name) or fields.get(name)
        if isinstance(value, str) and (time := utc(value, is_utc=True)).endswith("Z"):
            return time
    return ""


_HEAD_NAMES = frozenset(name for names in _HEADS.values() for name in names) - {"UtcTime", "host", "log"} | _OTHER_HEADS


def _add_fields(fields: dict[str, str], own: dict[str, object], found: dict[str, object]) -> None:
    """Add the event's own data, in whichever member the format has it."""
    data = own.get("event_data", own.get("EventData"))
    payload = found.get("Payload")
    if isinstance(data, dict | str):
        add_data(fields, data)
    elif isinstance(payload, str) and payload.startswith('{"'):  # EvtxECmd
        _add_payload(fields, payload)
    else:
        _add_members(fields, own)
    add_user_data(fields, own.get("user_data", own.get("UserData")))
    if len(fields) < _FEW_FIELDS:
        for name in _MESSAGES:
            add_field(fields, "Message", own.get(name) or found.get(name))


def _add_payload(fields: dict[str, str], payload: str) -> None:
    inner = object_of(payload)
    if isinstance(inner, dict):
        add_data(fields, inner.get("EventData"))
        add_user_data(fields, inner.get("UserData"))


def _add_members(fields: dict[str, str], own: dict[str, object]) -> None:
    for name, value in own.items():
        if len(fields) >= MAX_FIELDS:
            return
        if name in _HEAD_NAMES or name in _MESSAGES or isinstance(value, dict):
            continue
        add_field(fields, name, _joined(value) if isinstance(value, list) else value)


def _joined(values: list[object]) -> str:
    return "\n".join(str(item) for item in values[:MAX_FIELDS])
