"""A session's title: its first question, in one short line.

The service stores it; a client that follows turns derives it. Facts: docs/wire.md, "Session".
"""

from __future__ import annotations

from svc.untrusted.characters import one_line

TITLE_CHARS = 80  # the migration that added titles has the same number


def title_of(question: str | None) -> str:
    """The title of a session whose first question this is."""
    return one_line((question or "").strip(), limit=TITLE_CHARS)
