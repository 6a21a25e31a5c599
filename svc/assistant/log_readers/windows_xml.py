"""Read Windows events as XML, as written by the Event Viewer and wevtutil. Each event is parsed by itself.

An event is the text between ``<Event`` and ``</Event>``. A document type, which such exports never have, is refused,
so no entity is ever expanded.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from typing import BinaryIO
from xml.etree import ElementTree

from svc.assistant.findings import Gap
from svc.assistant.log_readers.lines import ReadItem, Unread
from svc.assistant.log_readers.windows_nested import nested_event
from svc.assistant.sigma.event import Event

MAX_EVENT_CHARS = 1024 * 1024  # of one event; script blocks are logged in parts of 32,000
MAX_DEPTH = 12  # of elements; Windows' own have five levels
_PIECE_BYTES = 256 * 1024
_END = "</Event>"
_START = re.compile(r"<Event[ >]")
_DECLARATION = re.compile(r"<!(?:DOCTYPE|ENTITY)", re.IGNORECASE)
_NAMESPACE = re.compile(r"^\{[^}]*\}")
_LOOK = re.compile(
    r"<Event xmlns=[\"']http://schemas\.microsoft\.com/win/2004/08/events/event|<Event><System><Provider Name=[\"']"
)  # Sysmon for Linux writes no namespace
_BOMS = ((b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"), (b"\xef\xbb\xbf", "utf-8-sig"))


def is_event_xml(head: bytes) -> bool:
    """Return whether the first bytes of a file or text contain events in XML."""
    text = head.decode(_encoding(head), errors="replace").lstrip("\ufeff \t\r\n")
    is_in_a_table = text.startswith(("{", "[")) or "_raw" in text.partition("\n")[0]
    return not is_in_a_table and _LOOK.search(text) is not None


def _encoding(head: bytes) -> str:
    return next((encoding for bom, encoding in _BOMS if head.startswith(bom)), "utf-8")


def read(content: BinaryIO) -> Iterator[ReadItem]:
    """Yield the events in the file's order; an event's number is its record number, otherwise its position."""
    encoding = _encoding(content.read(4))
    content.seek(0)
    decoder = codecs.getincrementaldecoder(encoding)(errors="replace")
    number, broken, text = 0, 0, ""
    while piece := content.read(_PIECE_BYTES):
        text += decoder.decode(piece)
        position = 0
        while (start := _START.search(text, position)) and (end := text.find(_END, start.end())) >= 0:
            position = end + len(_END)
            number += 1
            event = event_of_text(text[start.start() : position], number)
            if event is None:
                broken += 1
            else:
                yield event
        text = text[position:]
        if len(text) > MAX_EVENT_CHARS:
            broken += 1
            text = text[-100:]
    if _START.search(text):
        yield Gap(text=f"damaged after event {number:,}: the last event is incomplete")
    if broken:
        yield Gap(text=f"{broken:,} events are damaged or longer than {MAX_EVENT_CHARS:,} characters; not examined")
        yield Unread(broken)


def read_lines(content: BinaryIO) -> Iterator[ReadItem]:
    """Yield the events of lines that hold one each; an event's number is its line."""
    number = 0
    while line := content.readline():
        number += 1
        event = event_of_text(line.decode("utf-8", errors="replace").strip(), number)
        if event is None:
            yield Unread(1)
        else:
            event.number = number
            yield event


def event_of_text(text: str, number: int) -> Event | None:
    """Return the event of one ``Event`` element; None if it is damaged, too long or has a document type."""
    if len(text) > MAX_EVENT_CHARS or _DECLARATION.search(text):
        return None
    try:
        root = ElementTree.fromstring(text)  # noqa: S314 - no document type, so no entity
    except ElementTree.ParseError:
        return None
    body = _as_members(root, 0)
    return nested_event(body, number=number, is_own_number=True) if isinstance(body, dict) else None


def _as_members(element: ElementTree.Element, depth: int) -> dict[str, object] | str | None:
    """Return an element's members by name, attributes under ``#attributes``, ``Data`` elements as a list."""
    if depth > MAX_DEPTH:
        return None
    members: dict[str, object] = {"#attributes": dict(element.attrib)} if element.attrib else {}
    data: list[object] = []
    for child in element:
        name = _NAMESPACE.sub("", child.tag) if isinstance(child.tag, str) else ""
        if name == "Data":
            named = child.get("Name")
            data.append({"@Name": named, "#text": child.text or ""} if named else child.text or "")
        elif name:
            members[name] = _as_members(child, depth + 1)
    if data:
        members["Data"] = data
    if len(element) == 0:
        text = (element.text or "").strip()
        return {**members, "#text": text} if members else text
    return members
