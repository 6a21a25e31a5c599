"""What the readers of Office formats collect about one document, for its facts and the search for indicators."""

from __future__ import annotations

import msgspec

MAX_TEXT_CHARS = 2_000_000  # of macros, formulas, links and text in which indicators are searched


class OfficeDocument(msgspec.Struct):
    """What was read so far. ``properties`` are the document's own, by the names of their facts."""

    application: str = "Office document"
    properties: dict[str, str] = {}
    streams: int | None = None
    members: int | None = None
    unread: int = 0
    """Streams or members that were not read: damaged, encrypted, or beyond a limit."""
    is_office: bool = True
    is_readable: bool = True
    """False if the container itself is damaged, so that nothing in it was read."""
    macros: int = 0
    is_encrypted: bool = False
    texts: list[str] = []

    def add_text(self, text: str) -> None:
        """Keep ``text`` for the search for indicators, within MAX_TEXT_CHARS."""
        if sum(map(len, self.texts)) < MAX_TEXT_CHARS:
            self.texts.append(text[:MAX_TEXT_CHARS])
