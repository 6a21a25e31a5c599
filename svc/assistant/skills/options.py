"""Values of the options that the plan passes to tools (``Skill.takes``)."""

from __future__ import annotations

from datetime import UTC, datetime


def parse_now(text: str) -> datetime | None:
    """Return the time in ``text`` (ISO 8601; UTC if it names no zone), or None if there is none."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
