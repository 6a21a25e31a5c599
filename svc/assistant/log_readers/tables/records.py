"""Read the records of a table in any form: CSV, JSON, Zeek, W3C, key=value lines, CEF and LEEF, lines of fixed layout.

A record is a dictionary of text by column; nested JSON is flat, with dotted names. What the columns mean is decided
in ``mapping.py``.
"""

from __future__ import annotations

import base64
import binascii
import csv
import json
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import BinaryIO, NamedTuple, Protocol

from svc.assistant.findings import Gap
from svc.assistant.log_readers.auditd import is_audit_log
from svc.assistant.log_readers.flatten import flatten
from svc.assistant.log_readers.json_objects import Skipped, object_of, read_objects
from svc.assistant.log_readers.lines import Lines, Unread, split_lines
from svc.assistant.log_readers.messages.firewall_lines import netfilter_action
from svc.assistant.log_readers.parts import part_of
from svc.assistant.log_readers.syslog import is_syslog
from svc.assistant.log_readers.tables.kinds import is_known_name, kind_of, line_layouts, plain_name, roles
from svc.assistant.log_readers.tables.nested_rows import rows_of
from svc.assistant.log_readers.tables.panos_rows import panos_row
from svc.assistant.sigma.event import MAX_EXCERPT_CHARS

MAX_COLUMNS = 300
MAX_CELL_CHARS = 262_144
LINE_SHARE = 0.6  # of the first lines that must have the form
SAMPLE_LINES = 50
MIN_PAIRS = 5  # key=value pairs in a line, members of a record inside another object
MIN_QUEUED_CHARS = 40  # of a record in Base64
_MESSAGES = ("message", "kinesis", "awslogs")  # of Pub/Sub, Kinesis and CloudWatch Logs
_WRAPPERS = ("result", "_source", "node", "event", "Event", "record", "log", "data")
_SYSLOG_LEAD = re.compile(r"\s*(?:<\d{1,3}>)?(?:1 )?")


class TableRecord(NamedTuple):
    """One record: its line or its number in a list, from 1; its offset in the file if known; its columns.

    ``may_nest``: whether a cell may hold an object; False is sure.
    """

    number: int
    offset: int | None
    values: dict[str, str]
    excerpt: str
    may_nest: bool = True


class Form(Protocol):
    """One form of table, for one file. ``header`` has the columns that its head names, known once a record is read."""

    name: str
    header: tuple[str, ...]

    def records(self, content: BinaryIO) -> Iterator[TableRecord]:
        """Yield the records in the file's order."""

    def gaps(self) -> Iterator[Gap | Unread]:
        """Yield what could not be read."""


_SHOWN = json.JSONEncoder(ensure_ascii=False)


class JsonForm:
    """Objects in any arrangement."""

    name = "JSON records"
    header: tuple[str, ...] = ()

    def __init__(self) -> None:
        self._skipped = Skipped()
        self.each = ""
        """The path of an array whose items are events of their own, with the rest of the object."""

    def records(self, content: BinaryIO) -> Iterator[TableRecord]:
        """Yield the objects, flat."""
        self._skipped = part_of(content).carry(Skipped)
        path = self.each.split(".") if self.each else []
        objects = read_objects(content, self._skipped, _is_record)
        for number, found in ((number, one) for number, outer in objects for one in rows_of(outer)):
            for item in _each(_unwrapped(found), path) if path else (_unwrapped(found),):
                values: dict[str, str] = {}
                flatten(values, "", item)
                shown = item if path else found
                yield TableRecord(number, None, values, _SHOWN.encode(shown)[:MAX_EXCERPT_CHARS])

    def gaps(self) -> Iterator[Gap | Unread]:
        """Yield what was damaged."""
        return self._skipped.gaps("a record")


def _unwrapped(found: dict[str, object]) -> dict[str, object]:
    """Return the record in an object around it, as Splunk, Elasticsearch, collectors and queues write it."""
    if (queued := _queued(found)) is not None:
        return queued
    if any(plain_name(name) in roles()["time"] for name in found):
        return found
    for name in _WRAPPERS:
        inner = found.get(name)
        if isinstance(inner, dict) and len(inner) >= MIN_PAIRS and kind_of(frozenset(map(plain_name, found))) is None:
            return {key: value for key, value in found.items() if key != name} | inner
    return found


def _queued(found: dict[str, object]) -> dict[str, object] | None:
    """Return the record that a queue's message holds in Base64, maybe compressed; None if there is none."""
    bodies = (found, *(inner for name in _MESSAGES if isinstance(inner := found.get(name), dict)))
    text = next((data for body in bodies if isinstance(data := body.get("data"), str)), "")
    if not MIN_QUEUED_CHARS <= len(text) <= MAX_CELL_CHARS or not text.isascii():
        return None
    try:
        data = base64.b64decode(text, validate=True)
        if not data.lstrip().startswith(b"{"):  # then it is compressed, or no record
            data = zlib.decompressobj(wbits=31).decompress(data, MAX_CELL_CHARS)
    except (binascii.Error, zlib.error):
        return None
    record = object_of(data.decode(errors="replace"))
    return record if isinstance(record, dict) else None


def _is_record(found: dict[str, object]) -> bool:
    """Whether an object is a record of a known kind, which may have a list of objects, too."""
    values: dict[str, str] = {}
    flatten(values, "", found)
    return kind_of(frozenset(map(plain_name, values))) is not None


def _each(found: dict[str, object], path: list[str]) -> Iterator[dict[str, object]]:
    """Yield the object for each item of the array at ``path``, with the item in its place; as it is without one."""
    name, *rest = path
    inner = found.get(name)
    if rest:
        items = _each(inner, rest) if isinstance(inner, dict) else ()
    else:
        items = (item for item in inner if isinstance(item, dict)) if isinstance(inner, list) else ()
    is_empty = True
    for item in items:
        is_empty = False
        yield {**found, name: item}
    if is_empty:
        yield found


_LineParser = Callable[[str], dict[str, str] | None]


class LineForm:
    """Each line is a record; lines that start with ``skip`` or match ``skipped`` are not."""

    def __init__(
        self,
        name: str,
        parse: _LineParser,
        *,
        skip: str = "",
        skipped: re.Pattern[str] | None = None,
        header_line: int = 0,
        header: Sequence[str] = (),
    ) -> None:
        self.name = name
        self.header: tuple[str, ...] = tuple(header)
        self.parse = parse
        self._skip = skip
        self._skipped = skipped
        self._header_line = header_line
        self._lines: Lines | None = None

    def records(self, content: BinaryIO) -> Iterator[TableRecord]:
        """Yield the lines that have the form."""
        lines = self._lines = Lines.in_parts(content)
        for number, offset, line in lines:
            if number == self._header_line or (self._skip and line.startswith(self._skip)):
                continue
            values = self.parse(line)
            if values is None and self._skipped is not None and self._skipped.match(line) is not None:
                continue
            if values is None:
                lines.foreign.append(number)
            else:
                yield TableRecord(number, offset, values, line[:MAX_EXCERPT_CHARS], "{" in line)

    def gaps(self) -> Iterator[Gap | Unread]:
        """Yield what was not in the form."""
        return self._lines.gaps("records of this form") if self._lines is not None else iter(())


class CsvForm:
    """Rows of cells under a header; a cell may have several lines."""

    def __init__(self, header_line: int, separator: str) -> None:
        self.name = "TSV table" if separator == "\t" else "CSV table"
        self.header: tuple[str, ...] = ()
        self._header_line, self._separator = header_line, separator
        self._rows = _Rows()
        self._lines: Lines | None = None

    def records(self, content: BinaryIO) -> Iterator[TableRecord]:
        """Yield the rows; a row's number is the line on which it begins."""
        csv.field_size_limit(MAX_CELL_CHARS)
        part = part_of(content)
        known = self._rows = part.carry(_Rows)
        lines = self._lines = Lines.in_parts(content, pauses=False)
        text = _Numbered(lines, self._header_line)
        rows = csv.reader(text, delimiter=self._separator)
        self.header = known.header
        while not part.is_over(lines.offset):  # a row may have several lines: it ends where csv says
            text.begin()
            try:
                row = next(rows)
            except StopIteration:
                return
            except csv.Error:
                known.broken += 1
                continue
            if not self.header:
                self.header = known.header = tuple(name.strip() for name in row[:MAX_COLUMNS])
                continue
            if not any(row):
                continue
            values = {name: value for name, value in zip(self.header, row, strict=False) if value and name}
            if len(row) > len(self.header):
                values.setdefault("message", row[len(self.header)])  # Event Viewer has no header for the last column
            joined = self._separator.join(row)
            yield TableRecord(text.first, text.offset, values, joined[:MAX_EXCERPT_CHARS], "{" in joined)

    def gaps(self) -> Iterator[Gap | Unread]:
        """Yield what was damaged."""
        if broken := self._rows.broken:
            yield Gap(text=f"{broken:,} rows are damaged")
            yield Unread(broken)
        if self._lines is not None:
            yield from self._lines.gaps("rows")


class _Rows:
    """What is known of a CSV table so far."""

    def __init__(self) -> None:
        self.header: tuple[str, ...] = ()
        self.broken = 0


class _Numbered:
    """Lines as csv needs them, with the number and offset of a row's first line."""

    def __init__(self, lines: Iterable[tuple[int, int, str]], first: int) -> None:
        self._lines = iter(lines)
        self._from = first
        self._is_first = True
        self.first, self.offset = 0, 0

    def begin(self) -> None:
        """The next line begins a row."""
        self._is_first = True

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        number, offset, line = next(self._lines)
        while number < self._from:
            number, offset, line = next(self._lines)
        if self._is_first:
            self.first, self.offset, self._is_first = number, offset, False
        return line.replace("\x00", "").replace("\r", " ") + "\n"


def form_of(text: str) -> Form | None:
    """Return how to read a file that starts with ``text``; None if it is no table."""
    body = text.lstrip("\ufeff \t\r\n")
    if body.startswith(("{", "[{", '"{')) or re.match(r"\[\s*[\[{]", body):
        return JsonForm()
    lines = [line for line in split_lines(text.lstrip("\ufeff"))[: 2 * SAMPLE_LINES] if line.strip()][:SAMPLE_LINES]
    if not lines:
        return None
    return _commented(lines) or _spaced(lines) or _by_lines(lines) or _separated(lines) or _pairs_form(lines)


def _commented(lines: list[str]) -> Form | None:
    """Return the form of a file whose comment names the columns: Zeek's and W3C's."""
    for line in lines:
        if not line.startswith("#"):
            return None
        if line.startswith("#fields\t"):
            return _form_with_columns("Zeek log", line.split("\t")[1:], "\t", skip="#")
        if line.startswith("#Fields:"):
            return _form_with_columns("W3C log", line[8:].split(), " ", skip="#")
    return None


def _form_with_columns(name: str, columns: list[str], separator: str, *, skip: str = "", header_line: int = 0) -> Form:
    parse = _columns_parser(columns, separator, unset="-")
    return LineForm(name, parse, skip=skip, header_line=header_line, header=columns)


def _columns_parser(columns: list[str], separator: str, *, unset: str) -> _LineParser:
    names, nothing = columns[:MAX_COLUMNS], frozenset((unset, "", "(empty)"))

    def parse(line: str) -> dict[str, str] | None:
        cells = line.split(separator)
        if len(cells) != len(names):
            return None
        return {name: cell for name, cell in zip(names, cells, strict=True) if cell not in nothing}

    return parse


def _by_lines(lines: list[str]) -> LineForm | None:
    """Return the form of lines with a fixed layout: CEF, LEEF, and the patterns of ``sources/``."""
    known: tuple[tuple[str, _LineParser], ...] = (("CEF log", _cef), ("LEEF log", _leef), ("PAN-OS log", panos_row))
    for name, parse in known:
        if _share(lines, parse) >= LINE_SHARE:
            return LineForm(name, parse)
    for layout in line_layouts():
        parse = _pattern_parser(layout.record)
        kept = [line for line in lines if layout.heading.match(line) is None]
        if kept and _share(kept, parse) >= LINE_SHARE:
            return LineForm(layout.name, parse, skipped=layout.heading)
    return None


def parser_of_lines(lines: list[str]) -> _LineParser | None:
    """Return what parses these lines as named values; None if they have none."""
    form = _by_lines(lines[:SAMPLE_LINES]) or _pairs_form(lines[:SAMPLE_LINES])
    return form.parse if form is not None else None


def _share(lines: list[str], parse: _LineParser) -> float:
    return sum(1 for line in lines if parse(line) is not None) / len(lines)


def _pattern_parser(pattern: re.Pattern[str]) -> _LineParser:
    def parse(line: str) -> dict[str, str] | None:
        found = pattern.match(line)
        if found is None:
            return None
        cells = {name: cell for name, cell in found.groupdict().items() if cell not in ("-", None)}
        for name in [name for name in cells if name.endswith(_LABELS)]:
            cells[name.removesuffix(_LABELS)] = _LENGTH.sub(".", cells.pop(name)).strip(".")
        return cells

    return parse


_LABELS = "_labels"
_LENGTH = re.compile(r"\(\d{1,2}\)")
_CEF_PAIR = re.compile(r"(?:^| )([A-Za-z][\w.\[\]-]{0,60})=")
_ESCAPED = re.compile(r"\\([|=\\])")


def _cef(line: str) -> dict[str, str] | None:
    """Parse a line of ArcSight's Common Event Format, after any syslog header."""
    at = line.find("CEF:", 0, 300)
    parts = re.split(r"(?<!\\)\|", line[at:], maxsplit=7) if at >= 0 else []
    if len(parts) < 8:
        return None
    values = {"deviceVendor": parts[1], "deviceProduct": parts[2], "signatureId": parts[4], "name": parts[5],
              "severity": parts[6]}  # fmt: skip
    found = list(_CEF_PAIR.finditer(parts[7]))[:MAX_COLUMNS]
    for pair, following in zip(found, [*found[1:], None], strict=True):
        cell = parts[7][pair.end() : following.start() if following else None].strip()
        values[pair[1]] = _ESCAPED.sub(r"\1", cell)
    return values


def _leef(line: str) -> dict[str, str] | None:
    """Parse a line of QRadar's Log Event Extended Format, version 1 or 2."""
    at = line.find("LEEF:", 0, 300)
    if at < 0:
        return None
    parts = line[at:].split("|", 6)
    if len(parts) < 6:
        return None
    rest = "|".join(parts[5:])
    separator = "\t"
    if parts[0] == "LEEF:2.0" and len(parts) == 7:
        written = parts[5]
        separator = chr(int(written.lstrip("0x") or "9", 16)) if written.lower().startswith("0x") else written or "\t"
        rest = parts[6]
    values = {"deviceVendor": parts[1], "deviceProduct": parts[2], "name": parts[4]}
    for cell in rest.split(separator)[:MAX_COLUMNS]:
        name, is_pair, value = cell.partition("=")
        if is_pair and name.strip():
            values[name.strip()] = value.strip()
    return values


_CELL = re.compile(r"[\"\w@]")
_DIGITS = re.compile(r"[\d.:/ -]+")


def _spaced(lines: list[str]) -> Form | None:
    """Return the form of a table with spaces between its columns, as flow logs have it."""
    names, rows = lines[0].split(), lines[1:-1] or lines[1:]
    if len(names) < 4 or "," in lines[0] or not _are_names(names) or not rows:
        return None
    if all(len(row.split(" ")) == len(names) for row in rows):
        return _form_with_columns("table", names, " ", header_line=1)
    return None


def _separated(lines: list[str]) -> Form | None:
    """Return the form of a table whose first line names its columns."""
    first = 1 if lines[0].startswith(("#TYPE", "sep=")) and len(lines) > 1 else 0
    header = lines[first]
    separator = max(",;\t|", key=header.count)
    if not _CELL.match(header) or not header.count(separator):
        return None
    try:
        names = next(csv.reader([header], delimiter=separator), [])
    except csv.Error:  # a cell is longer than the limit
        return None
    return CsvForm(first + 1, separator) if _are_names(names) else None


def header_form(text: str) -> Form | None:
    """Return how to read a table with a header whose names are not known; None if its rows differ in their cells."""
    lines = [line for line in split_lines(text.lstrip("\ufeff"))[:SAMPLE_LINES] if line.strip()]
    if len(lines) < 2:
        return None
    separator = max(",;\t|", key=lines[0].count)
    widths = {line.count(separator) for line in lines[:-1] if '"' not in line}
    named = [cell.strip().strip('"') for cell in lines[0].split(separator)]
    is_named = len(set(named)) == len(named) >= 2 and all(one and not _DIGITS.fullmatch(one) for one in named)
    return CsvForm(1, separator) if is_named and len(widths) <= 1 else None


def _are_names(cells: list[str]) -> bool:
    """Return whether these cells can be the names of columns: different, short, and not numbers."""
    named = [cell.strip() for cell in cells]
    filled = [name for name in named if name]
    is_short = all(len(name) <= 80 and not _DIGITS.fullmatch(name) and "=" not in name for name in filled)
    is_header = len(filled) >= 2 and len(filled) >= len(named) - 1 and len(set(filled)) == len(filled) and is_short
    return is_header and any(is_known_name(name) for name in filled)


_PAIR = re.compile(r"""(?:^|[ ,;\t])([A-Za-z_][\w.-]{0,60})=("(?:[^"\\]|\\.)*"|[^ ,;\t"]*)""")


_LEADING_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?")


def _pairs(line: str) -> dict[str, str] | None:
    """Parse a line of key=value pairs; None if it has fewer than MIN_PAIRS."""
    start = _SYSLOG_LEAD.match(line)
    found = _PAIR.findall(line, start.end() if start else 0)
    if len(found) < MIN_PAIRS:
        return None
    values = {name: value.strip('"') for name, value in found[:MAX_COLUMNS] if value.strip('"')}
    if (time := _LEADING_TIME.match(line)) is not None and not any(
        plain_name(one) in roles()["time"] for one in values
    ):
        values["time"] = time[0]
    if "SRC" in values and "action" not in values and (action := netfilter_action(line)):
        values["action"] = action
    return values


def _pairs_form(lines: list[str]) -> LineForm | None:
    is_other = is_audit_log("\n".join(lines).encode()) or is_syslog("\n".join(lines).encode())
    return LineForm("key=value log", _pairs) if not is_other and _share(lines, _pairs) >= LINE_SHARE else None
