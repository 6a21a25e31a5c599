"""Identify a finding across runs: by its kind and the names in it, not by its counts, times or wording.

Numbers and times change from night to night for the same finding; names, addresses and rule IDs do not.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping

MAX_SUMMARIES = 1_000  # in a notebook's output; the most severe come first
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\d\d:\d\d:\d\d|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d")
_SEVERITIES = ("critical", "high", "medium", "low", "info")
_COLUMNS = ("kind", "severity", "confidence", "title", "why", "techniques", "where", "excerpt")


def summaries(rows: Iterable[Mapping[str, object]]) -> list[dict[str, str]]:
    """Return each finding once: its kind, severity, title, and an ``id`` that is stable across runs.

    Of too many the most severe stay.
    """
    found: dict[str, dict[str, str]] = {}
    for row in rows:
        summary = {name: str(row[name]) for name in ("kind", "severity", "title")}
        summary["id"] = identity(row)
        found.setdefault(summary["id"], summary)
    if len(found) <= MAX_SUMMARIES:
        return list(found.values())
    return sorted(found.values(), key=_rank)[:MAX_SUMMARIES]


def _rank(summary: Mapping[str, str]) -> int:
    return _SEVERITIES.index(summary["severity"]) if summary["severity"] in _SEVERITIES else len(_SEVERITIES)


def identity(row: Mapping[str, object]) -> str:
    """Return a short hash of the finding's kind and names, or of its title without digits if it has no names."""
    names = {
        name: value
        for name, value in row.items()
        if name not in _COLUMNS and isinstance(value, str) and value and not _MOMENT.search(value)
    }
    what: object = names or re.sub(r"[\d.,]+", "#", str(row["title"]))
    text = json.dumps([row["kind"], what], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
