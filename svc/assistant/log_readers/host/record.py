"""One row of a host artefact: what happened or exists, when, and what exactly its time means. Pure.

An artefact is a trace that a system keeps for its own use: a registry hive, a prefetch file, a login record, a history.
Its times differ in meaning from a log's, so each row says what its time is (``time_means``).
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from enum import StrEnum

import msgspec

from svc.assistant.findings import Gap
from svc.assistant.log_readers.lines import Unread
from svc.assistant.sigma.event import MAX_EXCERPT_CHARS, Event

MAX_TEXT_CHARS = 4_000  # of one field
_FILETIME_EPOCH = datetime(1601, 1, 1, tzinfo=UTC)
_UNIX_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MAX_SECONDS = 253_402_300_799  # the last second of the year 9999
_MAX_TICKS = 2_650_467_743_990_000_000


class TraceKind(StrEnum):
    """What a row is evidence of."""

    RAN = "execution"
    PRESENT = "file presence"
    PERSISTS = "autostart"
    COMMAND = "command"
    VISIT = "visit"
    DOWNLOAD = "download"
    LOGIN = "login"
    FAILED_LOGIN = "failed login"
    LOGOUT = "logout"
    SYSTEM = "system event"
    CREATED = "file creation"
    DELETED = "file deletion"
    RENAMED = "file renaming"
    CHANGED = "file change"
    OPENED = "opened item"
    NETWORK = "network use"
    ENTRY = "log entry"
    SETTING = "setting"
    RUNNING = "running process"
    SOCKET = "connection"
    ACCOUNT = "account"
    GROUP = "group"
    RIGHT = "right"
    KEY = "authorized key"
    NAME = "host name"
    RULE = "firewall rule"
    ADDRESS = "network address"
    ROUTE = "route"
    NEIGHBOUR = "neighbour"
    SERVICE = "service"
    MODULE = "kernel module"


class Artefact(msgspec.Struct, kw_only=True):
    """One row. ``number`` is its line or record number, from 1.

    ``time`` is ISO 8601 in UTC; without a zone if the artefact states none; "" if it has none. ``what`` is the program,
    address, command or account; ``where`` is the key, unit, terminal or file that holds it. ``category``, ``product``
    and ``fields`` are Sigma's, so that rules run on the row; "" and empty if none are made for it.
    """

    number: int
    activity: TraceKind
    what: str
    excerpt: str
    time: str = ""
    time_means: str = ""
    user: str = ""
    source: str = ""
    where: str = ""
    detail: str = ""
    count: int = 1
    offset: int | None = None
    product: str = ""
    service: str = ""
    category: str = ""
    event_id: int | None = None
    fields: dict[str, str] = {}

    def event(self) -> Event | None:
        """The row as an event for detection rules; None if no rule is made for it."""
        if not self.fields:
            return None
        return Event(
            number=self.number,
            offset=self.offset,
            time=self.time,
            product=self.product,
            service=self.service,
            category=self.category,
            host="",
            event_id=self.event_id,
            fields=self.fields,
            excerpt=self.excerpt[:MAX_EXCERPT_CHARS],
        )


class HostNote(msgspec.Struct, frozen=True):
    """What is to be known about the artefact itself: its owner's name, its version, its state."""

    name: str
    value: str


class Merged(msgspec.Struct, frozen=True):
    """Records that were read and add nothing to a row of their own: a change in several steps is one row."""

    count: int


class Records(msgspec.Struct, frozen=True):
    """The kinds of activity that this artefact can record, if its form alone does not say so."""

    activities: tuple[TraceKind, ...]


class Tampering(msgspec.Struct, frozen=True):
    """A sign that the artefact itself was changed."""

    title: str
    why: str
    evidence: str
    record: int


Item = Artefact | HostNote | Records | Merged | Tampering | Gap | Unread
Items = Iterator[Item]


def from_unix(seconds: float) -> str:
    """ISO 8601 in UTC of seconds since 1970; "" if it is 0 or no date."""
    if not 0 < seconds < _MAX_SECONDS:
        return ""
    return iso(_UNIX_EPOCH + timedelta(seconds=seconds))


def from_filetime(ticks: int) -> str:
    """ISO 8601 in UTC of Windows' time (100 ns since 1601); "" if it is 0 or no date."""
    if not 0 < ticks < _MAX_TICKS:
        return ""
    return iso(_FILETIME_EPOCH + timedelta(microseconds=ticks // 10))


def from_webkit(microseconds: int) -> str:
    """ISO 8601 in UTC of Chromium's time (microseconds since 1601); "" if it is 0 or no date."""
    return from_filetime(microseconds * 10)


def iso(moment: datetime) -> str:
    """ISO 8601 in UTC with milliseconds."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03}Z"


def clean(data: bytes, encoding: str = "utf-8") -> str:
    """Text up to the first NUL; bytes that are not text become U+FFFD."""
    return data.decode(encoding, errors="replace").partition("\x00")[0][:MAX_TEXT_CHARS]


def basename(path: str) -> str:
    """The last part of a Windows or POSIX path."""
    return path.replace("\\", "/").rstrip("/").rpartition("/")[2]
