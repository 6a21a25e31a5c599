"""Read systemd's journal in its export format (``journalctl -o export``, systemd-journal-remote).

An entry has a field a line, ``NAME=value``; a value that is not text follows its name with a size of eight bytes,
least first. An empty line ends the entry. Source: systemd.io/JOURNAL_EXPORT_FORMATS.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO

from svc.assistant.findings import Gap
from svc.assistant.log_readers.lines import ReadItem, Unread
from svc.assistant.log_readers.syslog import journal_event, journal_message, journal_time
from svc.assistant.log_readers.tables.raw_lines import with_logins

MAX_FIELD_BYTES = 16 * 1024 * 1024  # of a core dump that an entry holds, more
_MAX_LINE_BYTES = 1024 * 1024
_SIZE_BYTES = 8
_MAX_FIELDS = 1_000  # of an entry
_BEGIN = re.compile(rb"(?:\n)*(?:_[A-Z_]{1,40}=[^\n]{0,400}\n){0,40}?__REALTIME_TIMESTAMP=\d{10,20}\n")


def is_journal_export(head: bytes) -> bool:
    """Return whether a file's first bytes are an entry of a journal's export."""
    return _BEGIN.match(head) is not None


def read(content: BinaryIO) -> Iterator[ReadItem]:
    """Yield the entries in the file's order; their numbers count entries."""
    content.seek(0)
    number = offset = unread = 0
    for entry in _entries(content):
        number += 1
        event = journal_event(entry, "", number, offset)
        offset = content.tell()
        if event is None:
            unread += 1
            continue
        said = f"{journal_time(entry)} {event.host} {event.fields['program']}: {journal_message(entry)}"
        event.excerpt = said[: len(event.excerpt) or None]
        yield from with_logins(event)
    if unread:
        yield Gap(text=f"{unread:,} entries of the journal have no time")
        yield Unread(unread)


def _entries(content: BinaryIO) -> Iterator[dict[str, object]]:
    entry: dict[str, object] = {}
    while line := content.readline(_MAX_LINE_BYTES):
        if line == b"\n":
            if entry:
                yield entry
            entry = {}
            continue
        name, is_text, value = line.rstrip(b"\n").partition(b"=")
        found = value if is_text else _binary(content)
        if len(entry) < _MAX_FIELDS:
            entry[name.decode("ascii", "replace")] = found.decode("utf-8", "replace")
    if entry:
        yield entry


def _binary(content: BinaryIO) -> bytes:
    """Return the beginning of a value that has its size before it."""
    size = int.from_bytes(content.read(_SIZE_BYTES), "little")
    found = content.read(min(size, MAX_FIELD_BYTES))
    if size > MAX_FIELD_BYTES:
        content.seek(size - MAX_FIELD_BYTES, 1)
    content.read(1)
    return found
