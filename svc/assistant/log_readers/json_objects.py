"""Read the objects of a JSON export: one per line, a list, a sequence over many lines, or a list inside one object.

An export that is one object (``{"value": […]}``) is read object by object, too, so that its size does not matter.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator
from typing import BinaryIO

import msgspec

from svc.assistant.findings import Gap
from svc.assistant.log_readers.json_lists import IsRecord, inner_list, list_start
from svc.assistant.log_readers.lines import Places, Unread, wide_lines
from svc.assistant.log_readers.parts import Part, part_of

MAX_LINE_BYTES = 4 * 1024 * 1024  # of one object on a line; a script block with its message has about 200,000
MAX_OBJECT_CHARS = 32 * 1024 * 1024  # of one object over many lines; it takes six times as much memory
_PIECE_BYTES = 1024 * 1024
_decode_line = msgspec.json.Decoder().decode


class Skipped:
    """What was skipped, for the gaps at the end; a reader counts in ``foreign`` the objects that it does not know."""

    def __init__(self) -> None:
        self.broken: Places = Places()
        self.foreign: Places = Places()
        self.long: Places = Places()
        self.number = self.offset = 0
        """The last line that was read, of a file with one object on each, and where the next one begins."""

    def gaps(self, what: str) -> Iterator[Gap | Unread]:
        """Yield what was skipped; ``what`` the objects should have been."""
        for places, problem in (
            (self.broken, "damaged: not a JSON object"),
            (self.foreign, f"JSON, but not {what}"),
            (self.long, f"longer than {MAX_LINE_BYTES:,} bytes"),
        ):
            if places.count:
                text = f"{places.count:,} lines or objects were skipped as {problem}; the first is {places.first:,}"
                yield Gap(text=text)
                yield Unread(places.count)


def _no_record(_found: dict[str, object]) -> bool:
    return False


def read_objects(
    content: BinaryIO, skipped: Skipped, is_record: IsRecord = _no_record
) -> Iterator[tuple[int, dict[str, object]]]:
    """Yield the objects with their number: the line, or the position in a list, from 1.

    ``is_record`` tells an event that has a list of objects from an export that is one object with a list.
    """
    part = part_of(content)
    content.seek(0)
    head = content.read(4)
    content.seek(0)
    is_wide = head.startswith((b"\xff\xfe", b"\xfe\xff"))
    if not is_wide and _is_by_line(content, is_record):
        return _from_lines(content, skipped, part)
    part.refuse("it is in UTF-16" if is_wide else "its JSON objects are in a list or on several lines each")
    if is_wide:
        return _from_wide(content, skipped, is_record)
    return _from_file(content, skipped, is_record)


def _is_by_line(content: BinaryIO, is_record: IsRecord) -> bool:
    """Return whether the first line that is not empty is a whole object."""
    line = b""
    for _ in range(100):
        line = content.readline(MAX_LINE_BYTES)
        if line.strip(b"\xef\xbb\xbf \t\r\n") or not line:
            break
    content.seek(0)
    return isinstance(object_of(line.strip(b"\xef\xbb\xbf \t\r\n,")), dict) and not _listed(line, is_record)


def _listed(line: bytes, is_record: IsRecord) -> bool:
    """Return whether a line is a whole export with its list."""
    found = object_of(line.strip(b"\xef\xbb\xbf \t\r\n,"))
    return isinstance(found, dict) and inner_list(found, is_record) is not None


def object_of(line: bytes | str) -> object:
    """Return the value on a line, None if there is none; an object that is written as a string is that object."""
    found = _value_of(line)
    return _value_of(found) if isinstance(found, str) and found.startswith("{") else found


def _value_of(line: bytes | str) -> object:
    try:
        return _decode_line(line)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        pass
    try:
        text = line.decode("utf-8", errors="replace") if isinstance(line, bytes) else line
        return json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return None


def _from_lines(content: BinaryIO, skipped: Skipped, part: Part) -> Iterator[tuple[int, dict[str, object]]]:
    content.seek(skipped.offset)
    number = skipped.number
    while not part.is_over(skipped.offset) and (line := content.readline(MAX_LINE_BYTES)):
        skipped.number = number = number + 1
        skipped.offset += len(line)
        if len(line) == MAX_LINE_BYTES and not line.endswith(b"\n"):
            skipped.long.append(number)
            while (rest := content.readline(MAX_LINE_BYTES)) and not rest.endswith(b"\n"):
                skipped.offset += len(rest)
            skipped.offset += len(rest)
            continue
        text = line.strip(b"\xef\xbb\xbf \t\r\n,[]")
        if not text:
            continue
        found = object_of(text)
        if isinstance(found, dict):
            yield number, found
        else:
            skipped.broken.append(number)


def _from_wide(content: BinaryIO, skipped: Skipped, is_record: IsRecord) -> Iterator[tuple[int, dict[str, object]]]:
    """Read a file in UTF-16."""
    lines = (line for line, _, _ in wide_lines(content, MAX_LINE_BYTES))
    first = next((line for line in lines if line.strip("\ufeff \t\r")), "")
    if not isinstance(object_of(first.strip("\ufeff \t\r,")), dict):
        content.seek(0)
        yield from _from_file(content, skipped, is_record, encoding="utf-16")
        return
    for number, (line, _, is_cut) in enumerate(wide_lines(content, MAX_LINE_BYTES), start=1):
        if is_cut:
            skipped.long.append(number)
            continue
        stripped = line.strip("\ufeff \t\r,")
        if stripped:
            found = object_of(stripped)
            if isinstance(found, dict):
                yield number, found
            else:
                skipped.broken.append(number)


def _from_file(
    content: BinaryIO, skipped: Skipped, is_record: IsRecord, encoding: str = "utf-8-sig"
) -> Iterator[tuple[int, dict[str, object]]]:
    decoder = codecs.getincrementaldecoder(encoding)(errors="replace")
    pieces = iter(lambda: content.read(_PIECE_BYTES), b"")
    yield from _from_stream((decoder.decode(piece) for piece in pieces), skipped, is_record)


def _from_stream(
    pieces: Iterator[str], skipped: Skipped, is_record: IsRecord
) -> Iterator[tuple[int, dict[str, object]]]:
    """Yield the objects of a list or of a sequence, each over any number of lines."""
    parse = json.JSONDecoder(strict=False).raw_decode
    buffer, position, number = "", 0, 0
    is_first, is_inside = True, False
    wanted = 0  # an incomplete object is retried once twice as much is there: linear overall
    for piece in pieces:
        buffer = buffer[position:] + piece
        position = 0
        if is_first:
            is_first, position = False, list_start(buffer, is_record)
            is_inside = position > 0
        if len(buffer) < wanted:
            continue
        while (start := _next_start(buffer, position)) >= 0:
            try:
                found, position = parse(buffer, start)
            except (ValueError, RecursionError):
                position = start
                break
            if (
                is_inside and buffer[max(0, start - 20) : start].rstrip()[-1:] == ":"
            ):  # a member after the list: ``"pagination": {}``
                continue
            for item in inner_list(found, is_record) or [found]:
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
