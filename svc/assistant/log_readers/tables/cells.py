"""Add the columns that are inside a cell: a JSON object, Athena's form of a row, or a log line with named values."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from svc.assistant.log_readers.flatten import flatten
from svc.assistant.log_readers.json_objects import object_of
from svc.assistant.log_readers.tables.kinds import plain_name
from svc.assistant.log_readers.tables.records import TableRecord, parser_of_lines

MAX_CELL_CHARS = 65_536
MAX_MEMBERS = 300  # of one row in a cell
_WHOLE = frozenset(
    ["auditdata", "raw", "message", "payload", "body", "log", "eventoriginal", "rawevent", "data", "event", "line",
     "cloudtrailevent", "logmessage", "textpayload", "rawlog", "originalmessage", "propertieslog"]
)  # fmt: skip
"""Columns whose object is the record itself: its members get no name before theirs."""
_OBJECT = re.compile(r"\s{0,20}(?:\{|\[\s{0,20}\{)")
_ROW = re.compile(r"\{\w{1,100}=")
_ROW_PARTS = re.compile(r", (?=\w{1,100}=)|[{}\[\]]")


def expanded(records: Iterable[TableRecord]) -> Iterator[TableRecord]:
    """Yield the records, each with the members of the objects in its cells."""
    for record in records:
        if record.may_nest:
            expand(record.values)
        yield record


def expand(values: dict[str, str]) -> None:
    """Add the members of the objects in a record's cells; columns of the record stay as they are."""
    if "{" not in "".join(values.values()):  # as in most records
        return
    pending = [item for item in values.items() if item[1][:1] in ("{", "[", " ")]
    for name, cell in pending:
        if len(cell) > MAX_CELL_CHARS or not _OBJECT.match(cell):
            continue
        is_whole = plain_name(name) in _WHOLE
        found = object_of(cell) if not _ROW.match(cell) else _row(cell)
        if not isinstance(found, dict | list) or (is_whole and not isinstance(found, dict)):
            continue
        inner: dict[str, str] = {}
        flatten(inner, "" if is_whole else name, found)
        for member, value in inner.items():
            if member not in values:
                values[member] = value
                if value[:1] in ("{", "[") and len(pending) < MAX_MEMBERS:  # JSON text inside of JSON text
                    pending.append((member, value))


def _row(cell: str) -> dict[str, object] | None:
    """Parse a row as Athena writes it, ``{type=IAMUser, sessioncontext={…}}``; None if its braces do not match."""
    members: dict[str, object] = {}
    depth, start = 0, 1
    for found in _ROW_PARTS.finditer(cell):
        sign = found[0]
        depth += (sign in "{[") - (sign in "}]")
        if depth == 0 or (depth == 1 and sign[0] == ","):
            name, _, value = cell[start : found.start()].partition("=")
            start = found.end()
            if value and value != "null" and len(members) < MAX_MEMBERS:
                members[name] = (_row(value) or value) if _ROW.match(value) and len(value) < len(cell) else value
        if depth == 0:
            return members
    return None


LineParser = Callable[[str], dict[str, str] | None]


class RawColumn:
    """The column, if any, whose cells are log lines with named values: CEF, LEEF, key=value, a known layout."""

    def __init__(self, candidates: Sequence[str], sample: Sequence[TableRecord]) -> None:
        self.name: str = ""
        self._parse: LineParser | None = None
        for column in candidates:
            cells = [one_line(cell) for record in sample if (cell := record.values.get(column))]
            if cells and (parse := parser_of_lines(cells)) is not None:
                self.name, self._parse = column, parse
                return

    def added(self, records: Iterable[TableRecord]) -> Iterator[TableRecord]:
        """Yield the records, each with the named values of its line; they precede those of the table."""
        for record in records:
            if self._parse is not None and (line := record.values.get(self.name)):
                values = self._parse(one_line(line)) or {}
                yield record._replace(values={**record.values, **values})
            else:
                yield record


def one_line(cell: str) -> str:
    """Return a cell's text as a line."""
    return cell.replace("\r", " ").replace("\n", " ").strip()
