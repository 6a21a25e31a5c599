"""Read Windows events that were printed as text: ``wevtutil qe /f:text`` and ``Get-WinEvent | Format-List``.

An event is a block of ``name: value``; its message goes on until the next block. The names become those that
``windows_json.py`` knows, and the lines of the message the event's own fields, as in an export to CSV.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO

from svc.assistant.log_readers.lines import Lines, ReadItem, split_lines
from svc.assistant.log_readers.windows_csv import event_of_row
from svc.assistant.sigma.event import Event

HEAD_LINES = 60
MAX_MESSAGE_LINES = 500
_WEVTUTIL = re.compile(r"Event\s?\[\d{1,9}\]:?\s{0,9}\Z")
_MEMBER = re.compile(r"\s{0,4}(?P<name>[A-Z][A-Za-z ]{1,40}?)\s{0,40}:(?: (?P<value>.{0,4000}))?\Z", re.DOTALL)
_LIST_FIRST = frozenset({"TimeCreated", "ProviderName", "LogName", "Id", "Message"})
_EVENT_NAMES = frozenset({"Event ID", "Id", "EventID", "InstanceId"})
_MESSAGE_NAMES = frozenset({"Description", "Message"})
_NAMES = {
    "Log Name": "LogName", "Source": "ProviderName", "Event ID": "Id", "Date": "TimeCreated", "Computer": "MachineName",
    "InstanceId": "Id", "TimeGenerated": "TimeCreated", "Record ID": "RecordId",
}  # fmt: skip


def is_event_text(head: bytes) -> bool:
    """Return whether a file's first lines are an event as ``wevtutil`` or ``Format-List`` prints it."""
    encoding = "utf-16" if head.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"
    lines = split_lines(head[: len(head) & ~1].decode(encoding, errors="replace"))
    kept = [line for line in lines[:HEAD_LINES] if line.strip()]
    names = {found["name"].strip() for line in kept if (found := _MEMBER.match(line)) is not None}
    if kept and _WEVTUTIL.match(kept[0]) is not None:
        return bool(names & _EVENT_NAMES)
    first = _MEMBER.match(kept[0]) if kept else None
    is_list = first is not None and first["name"].strip() in _LIST_FIRST
    return is_list and bool(names & _EVENT_NAMES) and bool(names & {"ProviderName", "LogName", "Source"})


def read(content: BinaryIO) -> Iterator[ReadItem]:
    """Yield the events in the file's order, each with the number of its first line."""
    lines = Lines(content)
    block = _Block()
    latest = 0
    for number, _, line in lines:
        # an empty line is not among the lines, but ends a block of Format-List
        is_after_gap = number > latest + 1
        latest = number
        if block.is_ended_by(line, is_after_gap=is_after_gap):
            yield from block.event()
            block = _Block(number)
        block.add(line, number)
    yield from block.event()
    yield from lines.gaps("lines of an event")


class _Block:
    """The lines of one event."""

    def __init__(self, number: int = 0) -> None:
        self._number = number
        self._members: dict[str, str] = {}
        self._message: list[str] = []
        self._is_message = False
        self._first = ""

    def is_ended_by(self, line: str, *, is_after_gap: bool) -> bool:
        """Whether a line begins the next event: a line of ``wevtutil``'s own, or the first name again."""
        if _WEVTUTIL.match(line) is not None:
            return bool(self._members)
        found = _MEMBER.match(line)
        return is_after_gap and found is not None and found["name"].strip() == self._first

    def add(self, line: str, number: int) -> None:
        """Take a line."""
        self._number = self._number or number
        found = _MEMBER.match(line)
        if self._is_message or found is None:
            if self._is_message and len(self._message) < MAX_MESSAGE_LINES:
                self._message.append(line)
            return
        name, value = found["name"].strip(), found["value"] or ""
        self._first = self._first or name
        if name in _MESSAGE_NAMES:
            self._is_message, self._message = True, [value]
        else:
            self._members.setdefault(_NAMES.get(name, name), value.strip())

    def event(self) -> Iterator[Event]:
        """Yield the event, if the block has one."""
        if not self._members:
            return
        members = self._members | ({"Message": "\n".join(self._message).strip()} if self._message else {})
        made = event_of_row(list(members), list(members.values()), self._number)
        if made is not None:
            yield made
