"""Take apart an object that lists several records: snapshots of osquery and AWS Config, matches of a tool's rule.

Each record gets the plain values of the object around it.
"""

from __future__ import annotations

from collections.abc import Iterator

MAX_ROWS = 1_000_000  # of one object
_Object = dict[str, object]


def rows_of(found: _Object) -> Iterator[_Object]:
    """Yield the records of an object; the object itself if it is one record."""
    if rows := _listed(found.get("snapshot")):
        yield from _each(found, rows, "columns")
    elif isinstance(changes := found.get("diffResults"), dict):
        for action in ("added", "removed"):
            yield from ({**one, "action": action} for one in _each(found, _listed(changes.get(action)), "columns"))
    elif "rule_level" in found and (rows := _listed(found.get("matches"))):
        yield from _each(found, rows, "matches")
    elif "level" in found and (rows := _listed(found.get("documents"))):
        yield from _each(found, rows, "document")
    elif rows := _listed(found.get("configurationItems")):
        yield from rows
    else:
        yield found


def _listed(value: object) -> list[_Object]:
    if not isinstance(value, list):
        return []
    return [one for one in value[:MAX_ROWS] if isinstance(one, dict)]


def _each(found: _Object, rows: list[_Object], name: str) -> Iterator[_Object]:
    outer = {key: value for key, value in found.items() if not isinstance(value, dict) and not _listed(value)}
    for row in rows:
        yield {**outer, name: row}
