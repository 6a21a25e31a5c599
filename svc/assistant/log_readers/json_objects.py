"""Read the objects of a JSON export: one per line, a list, a sequence over many lines, or a list inside one object.

An export that is one object (``{"value": […]}``) is read object by object, too, so that its size does not matter.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from typing import BinaryIO

import msgspec

from svc.assistant.findings import Gap
from svc.assistant.log_readers.lines import Unread

MAX_LINE_BYTES = 4 * 1024 * 1024  # of one object on a line; a script block with its message has about 200,000
MAX_OBJECT_CHARS = 32 * 1024 * 1024  # of one object over many lines; it takes six times as much memory
MAX_WIDE_BYTES = 64 * 1024 * 1024  # of a file in UTF-16, which is decoded as a whole
_PIECE_BYTES = 1024 * 1024
_LISTS = (
    "hits", "Events", "events", "records", "Records", "results", "data", "value", "logs", "items", "resources",
    "Findings", "findings", "alerts", "authlogs", "entries", "rows", "detections", "incidents",
)  # fmt: skip
_RECORD_NAMES = frozenset({"id", "time", "timestamp", "@timestamp", "eventTime", "actor", "event"})  # of one event
_WRAPPED = re.compile(rf'"(?:{"|".join(_LISTS)})"\s*:\s*\[\s*(?=\{{)')
_WRAPPER_CHARS = 4_096  # in which the list of an export begins

_decode_line = msgspec.json.Decoder().decode


class Skipped:
    """What was skipped, for the gaps at the end; a reader counts in ``foreign`` the objects that it does not know."""

    def __init__(self) -> None:
        self.broken: list[int] = []
        self.foreign: list[int] = []
        self.long: list[int] = []
        self.is_cut = False

    def gaps(self, what: str) -> Iterator[Gap | Unread]:
        """Yield what was skipped; ``what`` the objects should have been."""
        if self.is_cut:
            yield Gap(text=f"only the first {MAX_WIDE_BYTES:,} bytes were examined, because the file is in UTF-16")
        for places, problem in (
            (self.broken, "damaged: not a JSON object"),
            (self.foreign, f"JSON, but not {what}"),
            (self.long, f"longer than {MAX_LINE_BYTES:,} bytes"),
        ):
            if places:
                text = f"{len(places):,} lines or objects were skipped as {problem}; the first is {places[0]:,}"
                yield Gap(text=text)
                yield Unread(len(places))


def read_objects(content: BinaryIO, skipped: Skipped) -> Iterator[tuple[int, dict[str, object]]]:
    """Yield the objects with their number: the line, or the position in a list, from 1."""
    head = content.read(4)
    content.seek(0)
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        text = content.read(MAX_WIDE_BYTES + 1)
        skipped.is_cut = len(text) > MAX_WIDE_BYTES
        return _from_text(text[:MAX_WIDE_BYTES].decode("utf-16", errors="replace"), skipped)
    return _from_lines(content, skipped) if _is_by_line(content) else _from_file(content, skipped)


def _is_by_line(content: BinaryIO) -> bool:
    """Return whether the first line that is not empty is a whole object."""
    line = b""
    for _ in range(100):
        line = content.readline(MAX_LINE_BYTES)
        if line.strip(b"\xef\xbb\xbf \t\r\n") or not line:
            break
    content.seek(0)
    return isinstance(object_of(line.strip(b"\xef\xbb\xbf \t\r\n,")), dict) and not _listed(line)


def _listed(line: bytes) -> bool:
    """Return whether a line is a whole export with its list."""
    found = object_of(line.strip(b"\xef\xbb\xbf \t\r\n,"))
    return isinstance(found, dict) and _inner_list(found) is not None


def object_of(line: bytes | str) -> object:
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


def _from_lines(content: BinaryIO, skipped: Skipped) -> Iterator[tuple[int, dict[str, object]]]:
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
        found = object_of(text)
        if isinstance(found, dict):
            yield number, found
        else:
            skipped.broken.append(number)


def _from_text(text: str, skipped: Skipped) -> Iterator[tuple[int, dict[str, object]]]:
    lines = text.split("\n")
    first = next((line for line in lines if line.strip("\ufeff \t\r")), "")
    if not isinstance(object_of(first.strip("\ufeff \t\r,")), dict):
        yield from _from_stream(iter([text]), skipped)
        return
    for number, line in enumerate(lines, start=1):
        stripped = line.strip("\ufeff \t\r,")
        if stripped:
            found = object_of(stripped)
            if isinstance(found, dict):
                yield number, found
            else:
                skipped.broken.append(number)


def _from_file(content: BinaryIO, skipped: Skipped) -> Iterator[tuple[int, dict[str, object]]]:
    decoder = codecs.getincrementaldecoder("utf-8-sig")(errors="replace")
    pieces = iter(lambda: content.read(_PIECE_BYTES), b"")
    yield from _from_stream((decoder.decode(piece) for piece in pieces), skipped)


def _from_stream(pieces: Iterator[str], skipped: Skipped) -> Iterator[tuple[int, dict[str, object]]]:
    """Yield the objects of a list or of a sequence, each over any number of lines."""
    parse = json.JSONDecoder(strict=False).raw_decode
    buffer, position, number = "", 0, 0
    is_first = True
    wanted = 0  # an incomplete object is retried once twice as much is there: linear overall
    for piece in pieces:
        buffer = buffer[position:] + piece
        position = 0
        if is_first:
            is_first, position = False, _list_start(buffer)
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


def _list_start(text: str) -> int:
    """Return where the list of an export begins that is one object with a list, otherwise 0."""
    found = _WRAPPED.search(text, 0, _WRAPPER_CHARS)
    if found is None or not text.lstrip("\ufeff \t\r\n").startswith("{"):
        return 0
    before = text[: found.start()]
    is_event = any(f'"{name}"' in before for name in _RECORD_NAMES)
    return 0 if is_event or before.count("{") - before.count("}") > 2 else found.end()


def _next_start(text: str, position: int) -> int:
    return text.find("{", position)


def _inner_list(found: dict[str, object]) -> list[object] | None:
    """Return the list in an export that is one object; None if the object is an event."""
    if not _RECORD_NAMES.isdisjoint(found):
        return None
    for name in _LISTS:
        value = found.get(name)
        if isinstance(value, dict):  # Elasticsearch response: hits in hits
            value = value.get(name)
        if isinstance(value, list) and any(isinstance(item, dict) for item in value[:3]):
            return value
    return None
