"""The forms in which products hand out the same JSON records; half were written before the readers (``HELD``)."""

from __future__ import annotations

import base64
import csv
import gzip
import io
import json
from collections.abc import Callable, Sequence

Record = dict[str, object]


def record(number: int) -> Record:
    """A record of Okta's system log."""
    return {
        "actor": {"alternateId": f"user{number}@example.org", "id": f"00u{number}", "type": "User"},
        "client": {"ipAddress": f"192.0.2.{number}"},
        "displayMessage": "User, login\nto Okta",
        "eventType": "user.session.start",
        "outcome": {"result": "FAILURE", "reason": "INVALID_CREDENTIALS"},
        "published": f"2026-11-18T03:{number:02}:00.000Z",
        "uuid": f"u{number}",
    }


def _csv(rows: Sequence[Sequence[str]], separator: str = ",") -> str:
    text = io.StringIO()
    csv.writer(text, delimiter=separator).writerows(rows)
    return text.getvalue()


def _flat(one: Record, prefix: str = "") -> dict[str, str]:
    found: dict[str, str] = {}
    for name, value in one.items():
        found |= _flat(value, f"{prefix}{name}.") if isinstance(value, dict) else {prefix + name: str(value)}
    return found


def _table(records: Sequence[Record], separator: str = ",", prefix: str = "") -> str:
    rows = [_flat(one) for one in records]
    return _csv([[prefix + name for name in rows[0]], *(list(row.values()) for row in rows)], separator)


def _lines(items: Sequence[object]) -> str:
    return "".join(json.dumps(one) + "\n" for one in items)


def _matrix(records: Sequence[Record]) -> tuple[list[str], list[list[str]]]:
    rows = [_flat(one) for one in records]
    return list(rows[0]), [list(row.values()) for row in rows]


def _columns(records: Sequence[Record], names: str, rows: str) -> Record:
    columns, cells = _matrix(records)
    return {names: [{"name": name, "type": "string"} for name in columns], rows: cells}


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode()


Writer = Callable[[Sequence[Record]], str | bytes]
OPEN: dict[str, Writer] = {
    "lines": _lines,
    "array": json.dumps,
    "pretty array": lambda records: json.dumps(records, indent=2),
    "pretty objects in a row": lambda records: "\n".join(json.dumps(one, indent=2) for one in records),
    "Records": lambda records: json.dumps({"Records": list(records)}),
    "value of a Graph answer": lambda records: json.dumps({"@odata.context": "x", "value": list(records)}, indent=1),
    "Elasticsearch hits": lambda records: json.dumps(
        {"took": 3, "hits": {"total": {"value": 9}, "hits": [{"_index": "x", "_source": one} for one in records]}}
    ),
    "Splunk results by line": lambda records: _lines([{"preview": False, "result": one} for one in records]),
    "_raw in CSV": lambda records: _csv([["_time", "_raw"], *(["x", json.dumps(one)] for one in records)]),
    "Log Analytics tables": lambda records: json.dumps(
        {"tables": [{"name": "t", **_columns(records, "columns", "rows")}]}
    ),
    "inside properties": lambda records: json.dumps(
        {"records": [{"time": "2026-11-18T04:00:00Z", "category": "x", "properties": one} for one in records]}
    ),
    "messages of Pub/Sub": lambda records: _lines(
        [{"message": {"data": _base64(json.dumps(one).encode()), "messageId": "1"}} for one in records]
    ),
    "compressed records of Kinesis": lambda records: _lines(
        [{"kinesis": {"data": _base64(gzip.compress(json.dumps(one).encode(), mtime=0))}} for one in records]
    ),
    "CSV with a mark and semicolons": lambda records: "\ufeff" + _table(records, ";"),
}
HELD: dict[str, Writer] = {
    "objects on one line": lambda records: "".join(map(json.dumps, records)),
    "an array on each line": lambda records: _lines([list(records[:2]), list(records[2:])]),
    "records on each line": lambda records: _lines([{"records": list(records[:2])}, {"records": list(records[2:])}]),
    "Splunk json_rows": lambda records: json.dumps(dict(zip(("fields", "rows"), _matrix(records), strict=True))),
    "Elasticsearch SQL": lambda records: json.dumps(_columns(records, "columns", "rows")),
    "hunting Results": lambda records: json.dumps({"Stats": {}, "Schema": [{"Name": "a"}], "Results": list(records)}),
    "Kibana CSV": lambda records: _table(records, ",", "_source."),
    "TSV in UTF-16": lambda records: _table(records, "\t").encode("utf-16"),
    "two objects around": lambda records: _lines([{"id": 1, "payload": {"okta": one}} for one in records]),
    "text of JSON on each line": lambda records: _lines([json.dumps(one) for one in records]),
    "pretty JSON in a cell": lambda records: _csv(
        [["id", "AuditData"], *(["1", json.dumps(one, indent=1)] for one in records)]
    ),
    "edges of GraphQL": lambda records: json.dumps({"data": {"events": {"edges": [{"node": one} for one in records]}}}),
    "text of JSON in a member": lambda records: _lines([{"host": "h", "message": json.dumps(one)} for one in records]),
    "rows of members": lambda records: json.dumps(
        {
            "QueryStatus": "FINISHED",
            "QueryResultRows": [[{name: cell} for name, cell in _flat(one).items()] for one in records],
        }
    ),
}
