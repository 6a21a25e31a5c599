"""Make Windows events of the records of tools that read event logs, with the verdict of the tool.

Hayabusa, Chainsaw, Zircolite and SIEMs write an event in columns: ID, log, and its data as text, JSON, XML or columns.
Several rules of a tool may name one event; it becomes an event once, and an alert for each further rule.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from html import unescape

from svc.assistant.log_readers.json_objects import object_of
from svc.assistant.log_readers.tables.kinds import Kind, plain_name
from svc.assistant.log_readers.tables.mapping import ColumnMapping
from svc.assistant.log_readers.tables.records import TableRecord
from svc.assistant.log_readers.windows import MAX_FIELD_CHARS, MAX_FIELDS, Header, service_of, windows_event
from svc.assistant.log_readers.windows_messages import message_fields
from svc.assistant.log_readers.windows_nested import add_data, add_user_data
from svc.assistant.log_readers.windows_xml import event_of_text
from svc.assistant.sigma.event import Event, Verdict

MAX_SEEN = 200_000  # records remembered, to know a second verdict on one of them
MAX_DETAILS_CHARS = 262_144
_SEPARATOR = " ¦ "
_ABSENT = frozenset({"", "n/a", "-"})
_XML_DATA = re.compile(r"""<(?:Data Name=["']([^"'<>]{1,80})["']|([A-Z]\w{0,80}))>([^<]*)<""")
_INNER = re.compile(r"(?:^|\.)(?:EventData\.(?:Data\.)?|eventdata\.|UserData\.(?:[^.]{1,80}\.)*)")
_HEAD = re.compile(r"(?:^|\.)[Ss]ystem\.")
_ATTRIBUTES = ("_attributes.", "#attributes.", ".@")


def verdict_of(kind: Kind | None, mapping: ColumnMapping, values: Mapping[str, str]) -> Verdict | None:
    """Return what the exporting product says about a record; None if it says nothing."""
    if kind is None or not kind.verdict:
        return None
    name = mapping.value(values, "alert").replace("\n", ", ")
    level = mapping.value(values, "severity").partition("\n")[0]
    return Verdict(kind.verdict, name, kind.severities.get(level, level)) if name else None


class WindowsRows:
    """Makes the events of one export of Windows events."""

    def __init__(self, kind: Kind, mapping: ColumnMapping) -> None:
        self._kind, self._mapping = kind, mapping
        self._names = {name.lower(): field for name, field in kind.names.items()}
        heads = {"event_id", "channel", "provider", "record", "details", "time", "host", "alert", "severity"}
        self._heads = frozenset(plain for role, plains in kind.columns.items() if role in heads for plain in plains)
        self.seen: set[tuple[str, str, str]] = set()

    def event(self, record: TableRecord) -> Event | None:
        """Return the event of a record; None if it has no event ID."""
        mapping, values = self._mapping, record.values
        number = mapping.value(values, "event_id").partition("\n")[0].strip()
        if not number.isdecimal() or len(number) > 9:
            return None
        channel = mapping.value(values, "channel").partition("\n")[0].replace("%4", "/")  # as files are named
        header = Header(
            number=record.number,
            offset=record.offset,
            event_id=int(number),
            channel=self._kind.channels.get(channel, channel),
            provider=mapping.value(values, "provider"),
            host=mapping.value(values, "host").partition("\n")[0],
            time=mapping.time(values),
        )
        if not service_of(header.channel, "") and service_of("", header.provider):
            header.channel = ""  # the name of a file, not of a log
        verdict = verdict_of(self._kind, mapping, values)
        key = header.host.lower(), header.channel, mapping.value(values, "record")
        if verdict is not None and self._is_known(key):
            return _repeated(record, header, verdict)
        if (whole := self._whole(values, record)) is not None:
            whole.verdict = verdict
            return whole
        fields: dict[str, str] = {}
        for name, value in self._data(values):
            if len(fields) < MAX_FIELDS and value.strip() not in _ABSENT:
                fields.setdefault(*self._field(name, value, number))
        event = windows_event(header, fields)
        event.verdict = verdict
        return event

    def _whole(self, values: Mapping[str, str], record: TableRecord) -> Event | None:
        """Return the event if a column has all of it as XML."""
        for column in self._mapping.columns.get("details", ()):
            cell = values.get(column, "").lstrip()
            if cell.startswith("<Event ") and (event := event_of_text(cell, record.number)) is not None:
                event.number, event.offset = record.number, record.offset
                return event
        return None

    def _is_known(self, key: tuple[str, str, str]) -> bool:
        if not key[2]:
            return False
        if key in self.seen:
            return True
        if len(self.seen) < MAX_SEEN:
            self.seen.add(key)
        return False

    def _field(self, name: str, value: str, event_id: str) -> tuple[str, str]:
        """Return a field under Windows' own name; a number that the tool explains, without the explanation."""
        lower = name.lower()
        field = self._names.get(f"{event_id} {lower}") or self._names.get(lower) or name
        is_number = field == "LogonType" and " - " in value
        return field, (value.partition(" - ")[0] if is_number else value)[:MAX_FIELD_CHARS]

    def _data(self, values: Mapping[str, str]) -> Iterator[tuple[str, str]]:
        """Yield names and values of the event's own data."""
        detailed = False
        for column in self._mapping.columns.get("details", ()):
            if cell := values.get(column, ""):
                detailed = True
                yield from details(cell)
        for name, value in values.items():
            if (inner := _INNER.search(name)) is not None:
                if not any(mark in name for mark in _ATTRIBUTES):
                    own = name[inner.end() :].removesuffix(".#text")
                    yield (own[:1].upper() + own[1:] if _is_lowered(inner[0], own) else own), value
            elif not detailed and not _HEAD.search(name) and plain_name(name) not in self._heads:
                yield name, value


def _is_lowered(path: str, name: str) -> bool:
    """Whether a name begins in lower case because the exporter (Wazuh) changed it; a few of Windows' own do."""
    return path.endswith("eventdata.") and not name.startswith("param")


def details(text: str) -> Iterator[tuple[str, str]]:
    """Yield the fields in the text of one event: JSON, XML, ``Name: value ¦ Name: value`` or a message's lines."""
    text = text[:MAX_DETAILS_CHARS].strip()
    if text.startswith("{") and isinstance(found := object_of(text), dict):
        inner: dict[str, str] = {}
        if isinstance(data := found.get("EventData", found.get("UserData")), dict):
            add_data(inner, data) if "EventData" in found else add_user_data(inner, data)
        else:
            add_data(inner, found)
        yield from inner.items()
    elif text.startswith("<"):
        for found_xml in _XML_DATA.finditer(text):
            yield found_xml[1] or found_xml[2], unescape(found_xml[3])
    elif "\n" in text and _SEPARATOR not in text:
        yield from message_fields(text)
    else:
        for part in text.split(_SEPARATOR):
            name, is_pair, value = part.partition(": ")
            if is_pair:
                yield name.strip(), value.strip()


def _repeated(record: TableRecord, header: Header, verdict: Verdict) -> Event:
    """Return a further verdict on an event that is already known."""
    return Event(
        number=record.number, offset=record.offset, time=header.time, product="windows", service="", category="alert",
        host=header.host, event_id=None, fields={}, excerpt=record.excerpt, verdict=verdict,
    )  # fmt: skip
