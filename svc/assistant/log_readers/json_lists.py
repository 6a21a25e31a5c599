"""Find the list of an export that is one object with a list: ``Records``, ``value``, ``hits.hits``, rows of a query.

An event may have a list, too; ``is_record`` tells those that have a list of events of their own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable

IsRecord = Callable[[dict[str, object]], bool]
_LISTS = (
    "hits", "Events", "events", "records", "Records", "results", "data", "value", "logs", "items", "resources",
    "Findings", "findings", "alerts", "authlogs", "entries", "rows", "detections", "incidents", "Results", "Items",
    "edges", "logEvents", "documents", "activities", "nodes", "logins", "activity_logs", "operation_logs", "audit_logs",
    "clickLogs", "attachmentLogs", "impersonationLogs", "messagesDelivered", "messagesBlocked", "clicksPermitted",
    "clicksBlocked",
)  # fmt: skip
_RECORD_NAMES = frozenset({"id", "time", "timestamp", "@timestamp", "eventTime", "actor", "event"})  # of one event
_WRAPPED = re.compile(rf'"(?:{"|".join(_LISTS)})"\s*:\s*\[\s*(?=\{{)')
_WRAPPER_CHARS = 4_096  # in which the list of an export begins
_WRAPPER_DEPTH = 4  # objects around the list
_WRAPPER_MEMBERS = 5  # of an object around a list further in; an event has more
_COLUMNS = ("columns", "fields", "Columns", "schema")  # with "rows": a table whose rows are lists
_COLUMN_NAMES = ("name", "Name", "ColumnName", "columnName")


def inner_list(found: dict[str, object], is_record: IsRecord, depth: int = 1) -> list[object] | None:
    """Return the list in an export that is one object; None if the object is an event."""
    if not _RECORD_NAMES.isdisjoint(found) or is_record(found):
        return None
    if (query := _rows_of(found)) is not None:
        return query
    for name in _LISTS:
        value = found.get(name)
        if isinstance(value, dict):  # Elasticsearch response: hits in hits
            value = value.get(name)
        if isinstance(value, list) and any(isinstance(item, dict) for item in value[:3]):
            return value
    if len(found) > _WRAPPER_MEMBERS or depth >= _WRAPPER_DEPTH:
        return None
    inner = (inner_list(value, is_record, depth + 1) for value in found.values() if isinstance(value, dict))
    return next((listed for listed in inner if listed is not None), None)


def _rows_of(found: dict[str, object]) -> list[object] | None:
    """Return the rows of a table whose rows are lists: the answers of query APIs; None if the object is no such one."""
    tables = found.get("tables")
    if isinstance(tables, list):  # Log Analytics
        named = [rows for one in tables if isinstance(one, dict) and (rows := _rows_of(one)) is not None]
        return [row for rows in named for row in rows] if named else None
    merged = found.get("QueryResultRows")  # CloudTrail Lake: each row is a list of objects with one member
    if isinstance(merged, list):
        return [{k: v for part in row if isinstance(part, dict) for k, v in part.items()} for row in merged if row]
    cells = found.get("rows")
    columns = next((value for name in _COLUMNS if isinstance(value := found.get(name), list)), None)
    if columns is None or not isinstance(cells, list) or not all(isinstance(row, list) for row in cells[:3]):
        return None
    names = [_column_name(column) for column in columns]
    return [dict(zip(names, row, strict=False)) for row in cells if isinstance(row, list)]


def _column_name(column: object) -> str:
    if isinstance(column, dict):
        return str(next((column[name] for name in _COLUMN_NAMES if name in column), ""))
    return str(column)


def list_start(text: str, is_record: IsRecord) -> int:
    """Return where the list of an export begins that is one object with a list, otherwise 0."""
    found = _WRAPPED.search(text, 0, _WRAPPER_CHARS)
    if found is None or not text.lstrip("\ufeff \t\r\n").startswith("{"):
        return 0
    before = text[: found.start()]
    is_event = any(f'"{name}"' in before for name in _RECORD_NAMES)
    return (
        0
        if is_event or _is_record(text, is_record) or before.count("{") - before.count("}") > _WRAPPER_DEPTH
        else found.end()
    )


def _is_record(text: str, is_record: IsRecord) -> bool:
    """Whether a text begins with a whole object that is a record."""
    try:
        found, _ = json.JSONDecoder(strict=False).raw_decode(text, text.index("{"))
    except (ValueError, RecursionError):
        return False
    return isinstance(found, dict) and is_record(found)
