"""The formats of event logs: how each is recognised, and what reads it, also from where an earlier part ended."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import chain
from typing import BinaryIO

import msgspec

from svc.assistant.file_types.signatures import starts_as
from svc.assistant.log_readers import (
    auditd,
    cloudtrail,
    container_logs,
    evtx,
    parquet,
    syslog,
    web_server,
    windows_csv,
    windows_json,
    windows_text,
    windows_xml,
)
from svc.assistant.log_readers.applications import journal_export, modsecurity, scan_reports
from svc.assistant.log_readers.applications import reader as applications
from svc.assistant.log_readers.lines import ReadItem
from svc.assistant.log_readers.parts import Part, part_of
from svc.assistant.log_readers.tables import reader as tables
from svc.assistant.sigma.event import Event

HEAD_BYTES = 65_536


class LogReader(msgspec.Struct, frozen=True):
    """One log format: how to recognise it by its first bytes, what reads it, and what is counted in it."""

    form: str
    read_as: str
    matches: Callable[[bytes], bool]
    read: Callable[[BinaryIO], Iterator[ReadItem]]
    unit: str = "line"
    has_records: bool = False
    whole_because: str = ""
    """Why a log of this format is read at once, however large it is; "" if its reader can pause between records."""


_JSON_EVENT = re.compile(
    rb'"(?:EventID|EventId|event_id|winlog|winlog\.event_id|EventRecordID|event_data|SourceName|ProviderName|EventCode)"'
    rb'\s*:|\\nEventCode=\d|"_raw"\s*:\s*"\s*<Event '
)


_JSON_START = re.compile(rb"^(?:\xef\xbb\xbf)?[ \t\r]*[\[{]", re.MULTILINE)  # a question may precede it


def _is_evtx(head: bytes) -> bool:
    return starts_as(head, "evtx")


def _is_json_event(head: bytes) -> bool:
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        head = head.decode("utf-16", errors="replace").encode(errors="replace")
    return _JSON_START.search(head) is not None and _JSON_EVENT.search(head) is not None


READERS = (
    LogReader(
        "EVTX",
        "Windows event log (EVTX)",
        _is_evtx,
        evtx.read,
        "event",
        has_records=True,
        whole_because="an EVTX file is binary",
    ),
    LogReader(
        "Parquet",
        "Parquet table",
        parquet.is_parquet,
        parquet.read,
        "record",
        has_records=True,
        whole_because="a Parquet table is binary",
    ),
    LogReader(
        "XML",
        "Windows events (XML)",
        windows_xml.is_event_xml,
        windows_xml.read,
        "event",
        has_records=True,
        whole_because="it is one XML document",
    ),
    LogReader(
        "container log",
        "container log",
        container_logs.is_container_log,
        container_logs.read,
        whole_because="lines of several streams are joined",
    ),
    LogReader("CloudTrail", "AWS CloudTrail log", cloudtrail.is_cloudtrail, cloudtrail.read, "event", has_records=True),
    LogReader("journal", "systemd journal (JSON)", syslog.is_journal, syslog.read, "entry"),
    LogReader("export", "export of another product", tables.is_known_export, tables.read, "record"),
    LogReader("JSON", "Windows events (JSON)", _is_json_event, windows_json.read, "event"),
    LogReader(
        "audit log",
        "Linux audit log",
        auditd.is_audit_log,
        auditd.read,
        "record",
        whole_because="the records of an event are spread over lines of other events",
    ),
    LogReader(
        "CSV",
        "Windows events (CSV)",
        windows_csv.is_event_csv,
        windows_csv.read,
        "event",
        whole_because="a message of Event Viewer has several lines",
    ),
    LogReader(
        "text",
        "Windows events (text)",
        windows_text.is_event_text,
        windows_text.read,
        "event",
        whole_because="an event's message has several lines",
    ),
    LogReader("table", "table of events", tables.is_event_table, tables.read, "record"),
    LogReader(
        "journal export",
        "systemd journal (export format)",
        journal_export.is_journal_export,
        journal_export.read,
        "entry",
        has_records=True,
        whole_because="an entry may hold binary values",
    ),
    LogReader(
        "ModSecurity audit log",
        "ModSecurity audit log",
        modsecurity.is_modsecurity_audit,
        modsecurity.read,
        whole_because="a transaction has several sections",
    ),
    LogReader(
        "scanner's report",
        "scanner's report",
        scan_reports.is_scan_report,
        scan_reports.read,
        whole_because="a scanner's report is read at once",
    ),
    LogReader("web log", "web server log", web_server.is_web_log, web_server.read),
    LogReader("syslog", "syslog", syslog.is_syslog, syslog.read),
    LogReader("application log", "log of an application", applications.is_application_log, applications.read),
)
"""In the order of the check; the first that matches reads the log."""


def reader_of(content: BinaryIO) -> tuple[LogReader, Iterator[ReadItem]] | None:
    """Return the first reader that finds an event, and what it reads; if none does, the first that knows the format.

    Names of other formats may occur in a log, so that the first bytes alone do not always tell.
    """
    part = part_of(content)
    if not part.is_first:
        return _going_on(content, part)
    head = content.read(HEAD_BYTES)
    content.seek(0)
    if tables.is_unread_kind(head):
        return None
    fallback: tuple[LogReader, Iterator[ReadItem]] | None = None
    for reader in READERS:
        if not reader.matches(head):
            continue
        part.begin_again()
        items = reader.read(content)
        with part.unbroken():
            before = list(_until_event(items))
        if before and isinstance(before[-1], Event):
            if reader.whole_because:
                part.refuse(reader.whole_because)
            part.carry(_Form).name = reader.form
            return reader, chain(before, items)
        fallback = fallback or (reader, iter(before))
        content.seek(0)
    is_text = fallback is not None and fallback[0].form in ("syslog", "web log")
    return None if is_text and tables.name_of(head) else fallback


class _Form:
    """The format of a log that is read in parts."""

    def __init__(self) -> None:
        self.name = ""


def _going_on(content: BinaryIO, part: Part) -> tuple[LogReader, Iterator[ReadItem]]:
    """Return the reader of the parts before, which goes on where it paused."""
    name = part.carry(_Form).name
    reader = next(one for one in READERS if one.form == name)
    return reader, reader.read(content)


def _until_event(items: Iterator[ReadItem]) -> Iterator[ReadItem]:
    """Yield up to the first event."""
    for item in items:
        yield item
        if isinstance(item, Event):
            return
