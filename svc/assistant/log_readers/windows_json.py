"""Read Windows events in the JSON formats of various programs.

Either one object per line, a list, or a sequence of objects over many lines. An event is structured like the XML
(``Event``, ``System``), flat (NXLog, Get-WinEvent, EvtxECmd, exports of hosts), or as Elastic's shippers write it
(``winlog``, ``event_data``), also with dotted names and inside ``_source`` or ``result``. Objects without an event ID
are counted in a gap.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import BinaryIO

import msgspec

from svc.assistant.findings import Gap
from svc.assistant.log_readers.windows import MAX_FIELDS, Header, add_field, utc, windows_event
from svc.assistant.log_readers.windows_nested import add_data, add_user_data, nested_event, whole_number
from svc.assistant.sigma.event import Event

MAX_LINE_BYTES = 4 * 1024 * 1024  # of one object on a line; a script block with its message has about 200,000
MAX_OBJECT_CHARS = 32 * 1024 * 1024  # of one object over many lines; it takes six times as much memory
MAX_WIDE_BYTES = 64 * 1024 * 1024  # of a file in UTF-16, which is decoded as a whole
_PIECE_BYTES = 1024 * 1024
_FEW_FIELDS = 4  # with fewer, only the message has the details
_WRAPPERS = ("_source", "result", "Event", "event")
_LISTS = ("hits", "Events", "events", "records", "results", "data", "value", "logs")
_HEADS = {
    "event_id": ("EventID", "event_id", "EventId", "eventid", "event.code", "Id"),
    "channel": ("Channel", "channel", "log_name", "LogName", "EventLog", "log"),
    "provider": ("SourceName", "ProviderName", "provider_name", "source_name", "Provider", "provider", "Source"),
    "host": ("Hostname", "Computer", "computer_name", "ComputerName", "MachineName", "hostname", "computer", "host"),
    "record": ("RecordNumber", "EventRecordID", "EventRecordId", "record_id", "record_number", "RecordId"),
    "time": ("TimeCreated", "@timestamp", "SystemTime", "EventTime", "timestamp", "time", "UtcTime", "UtcTimeCreated"),
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

_decode_line = msgspec.json.Decoder().decode


class _Skipped:
    """What was skipped, for the gaps at the end."""

    def __init__(self) -> None:
        self.broken: list[int] = []
        self.foreign: list[int] = []
        self.long: list[int] = []

    def gaps(self) -> Iterator[Gap]:
        for places, what in (
            (self.broken, "damaged: not a JSON object"),
            (self.foreign, "JSON, but not a Windows event"),
            (self.long, f"longer than {MAX_LINE_BYTES:,} bytes"),
        ):
            if places:
                yield Gap(text=f"{len(places):,} lines or objects were skipped as {what}; the first is {places[0]:,}")


def read(content: BinaryIO) -> Iterator[Event | Gap]:
    """Yield the events in the file's order; an event's number is its line or its position in a list, from 1."""
    skipped = _Skipped()
    head = content.read(4)
    content.seek(0)
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        text = content.read(MAX_WIDE_BYTES + 1)
        if len(text) > MAX_WIDE_BYTES:
            yield Gap(text=f"only the first {MAX_WIDE_BYTES:,} bytes were examined, because the file is in UTF-16")
        objects = _from_text(text[:MAX_WIDE_BYTES].decode("utf-16", errors="replace"), skipped)
    elif _is_by_line(content):
        objects = _from_lines(content, skipped)
    else:
        objects = _from_file(content, skipped)
    for number, found in objects:
        event = event_of(found, number)
        if event is None:
            skipped.foreign.append(number)
        else:
            yield event
    yield from skipped.gaps()


def _is_by_line(content: BinaryIO) -> bool:
    """Return whether the first line that is not empty is a whole object."""
    line = b""
    for _ in range(100):
        line = content.readline(MAX_LINE_BYTES)
        if line.strip(b"\xef\xbb\xbf \t\r\n") or not line:
            break
    content.seek(0)
    return isinstance(_object(line.strip(b"\xef\xbb\xbf \t\r\n,")), dict) and not _listed(line)


def _listed(line: bytes) -> bool:
    """Return whether a line is a whole export with its list."""
    found = _object(line.strip(b"\xef\xbb\xbf \t\r\n,"))
    return isinstance(found, dict) and _inner_list(found) is not None


def _object(line: bytes | str) -> object:
    """Return the value on a line, None if there is none."""
    try:
        return _decode_line(line)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        pass
    try:
        text = line.decode("utf-8", errors="replace") if isinstance(line, bytes) else line
        return json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return None


def _from_lines(content: BinaryIO, skipped: _Skipped) -> Iterator[tuple[int, dict[str, object]]]:
    number = 0
    while line := content.readline(MAX_LINE_BYTES):
        number += 1
        if len(line) == MAX_LINE_BYTES and not line.endswith(b"\n"):
            skipped.long.append(number)
            while (rest := content.readline(MAX_LINE_BYTES)) and not rest.endswith(b"\n"):
                pass
            continue
        text = line.strip(b"\xef\xbb\xbf \t\r\n,[]")
        if not text:
            continue
        found = _object(text)
        if isinstance(found, dict):
            yield number, found
        else:
            skipped.broken.append(number)


def _from_text(text: str, skipped: _Skipped) -> Iterator[tuple[int, dict[str, object]]]:
    lines = text.split("\n")
    first = next((line for line in lines if line.strip("\ufeff \t\r")), "")
    if not isinstance(_object(first.strip("\ufeff \t\r,")), dict):
        yield from _from_stream(iter([text]), skipped)
        return
    for number, line in enumerate(lines, start=1):
        stripped = line.strip("\ufeff \t\r,")
        if stripped:
            found = _object(stripped)
            if isinstance(found, dict):
                yield number, found
            else:
                skipped.broken.append(number)


def _from_file(content: BinaryIO, skipped: _Skipped) -> Iterator[tuple[int, dict[str, object]]]:
    import codecs

    decoder = codecs.getincrementaldecoder("utf-8-sig")(errors="replace")
    pieces = iter(lambda: content.read(_PIECE_BYTES), b"")
    yield from _from_stream((decoder.decode(piece) for piece in pieces), skipped)


def _from_stream(pieces: Iterator[str], skipped: _Skipped) -> Iterator[tuple[int, dict[str, object]]]:
    """Yield the objects of a list or of a sequence, each over any number of lines."""
    parse = json.JSONDecoder(strict=False).raw_decode
    buffer, position, number = "", 0, 0
    wanted = 0  # an incomplete object is retried once twice as much is there: linear overall
    for piece in pieces:
        buffer = buffer[position:] + piece
        position = 0
        if len(buffer) < wanted:
            continue
        while (start := _next_start(buffer, position)) >= 0:
            try:
                found, position = parse(buffer, start)
            except (ValueError, RecursionError):
                position = start
                break
            for item in _inner_list(found) or [found]:
                if isinstance(item, dict):
                    number += 1
                    yield number, item
        else:
            position = len(buffer)
        rest = len(buffer) - position
        wanted = 2 * rest if rest > _PIECE_BYTES else 0
        if rest > MAX_OBJECT_CHARS:
            break
    if buffer[position:].strip("\ufeff \t\r\n,[]"):
        skipped.broken.append(number + 1)


def _next_start(text: str, position: int) -> int:
    return text.find("{", position)


def _inner_list(found: dict[str, object]) -> list[object] | None:
    """Return the list in an export that is one object; None if the object is an event."""
    for name in _LISTS:
        value = found.get(name)
        if isinstance(value, dict):  # Elasticsearch response: hits in hits
            value = value.get(name)
        if isinstance(value, list) and any(isinstance(item, dict) for item in value[:3]):
            return value
    return None


def event_of(found: dict[str, object], number: int) -> Event | None:
    """Return the event of one object; None if it has neither an event ID nor a log's name."""
    for _ in range(2):
        if isinstance(found.get("System"), dict):
            return nested_event(found, number=number)
        inner = next((value for name in _WRAPPERS if isinstance(value := found.get(name), dict)), None)
        if inner is None or not (_has_head(inner) or isinstance(inner.get("System"), dict)):
            break
        found = inner
    if isinstance(found.get("System"), dict):
        return nested_event(found, number=number)
    return _flat(_nested(found), number)


def _has_head(found: dict[str, object]) -> bool:
    return "winlog" in found or any(name in found for name in _HEADS["event_id"]) or "winlog.event_id" in found


def _nested(found: dict[str, object]) -> dict[str, object]:
    """Return an object with dotted names (``winlog.event_data.Image``) as nested objects."""
    if not any(name.startswith("winlog.") for name in found):
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
    inner = _object(payload)
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
