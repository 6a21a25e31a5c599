"""What makes a finding the same one tomorrow: its kind and what it names, not its counts, times or words. Pure.

Numbers and moments change from night to night while the thing found does not; a name, an address, a rule's id stay.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping

MAX_SUMMARIES = 1_000  # in a notebook's output; the worst come first
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\d\d:\d\d:\d\d|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d")
_COLUMNS = ("kind", "severity", "confidence", "title", "why", "techniques", "where", "excerpt")


def summaries(rows: Iterable[Mapping[str, object]]) -> list[dict[str, str]]:
    """Each finding once: its kind, severity, title, and an ``id`` that is the same where it is the same finding."""
    found: dict[str, dict[str, str]] = {}
    for row in rows:
        summary = {name: str(row[name]) for name in ("kind", "severity", "title")}
        summary["id"] = identity(row)
        found.setdefault(summary["id"], summary)
        if len(found) == MAX_SUMMARIES:
            break
    return list(found.values())


def identity(row: Mapping[str, object]) -> str:
    """A short hash of the finding's kind and names; of its title without digits where it names nothing."""
    names = {
        name: value
        for name, value in row.items()
        if name not in _COLUMNS and isinstance(value, str) and value and not _MOMENT.search(value)
    }
    what: object = names or re.sub(r"[\d.,]+", "#", str(row["title"]))
    text = json.dumps([row["kind"], what], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
