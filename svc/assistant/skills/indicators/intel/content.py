"""What a file with threat intelligence holds, whatever its form: entries and objects. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

from svc.assistant.skills.indicators.intel.values import Listed, value_of

MAX_TEXT_CHARS = 400
_TECHNIQUE = re.compile(r"\bT\d{4}(?:\.\d{3})?\b")


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """An indicator with what the file says about it; ``line`` counts from 1, ``record`` is its place in a list."""

    listed: Listed
    note: str = ""
    valid_from: str = ""
    valid_until: str = ""
    revoked: bool = False
    line: int | None = None
    record: int | None = None


class Described(msgspec.Struct, frozen=True, kw_only=True):
    """Another object of the file."""

    type: str
    name: str
    technique: str = ""
    description: str = ""
    record: int | None = None


class Content(msgspec.Struct, kw_only=True):
    """Everything in one file. ``unsearchable`` are pairs of an entry and why it cannot be looked for."""

    form: str
    unit: str
    total: int = 0
    understood: int = 0
    name: str = ""
    tlp: list[str] = []
    entries: list[Entry] = []
    objects: list[Described] = []
    unsearchable: list[tuple[str, str]] = []

    def add(self, written: str, hint: str = "", **said: object) -> None:
        """Add a value as the file writes it."""
        listed = value_of(written, hint)
        if listed is None:
            self.unsearchable.append((written[:MAX_TEXT_CHARS], "it is not a value that can be looked for"))
        else:
            self.entries.append(Entry(listed=listed, **said))  # type: ignore[arg-type]


def distinct(entries: Iterable[Entry]) -> list[Entry]:
    """The entries, each value once; one that is valid goes before one that is revoked."""
    known: dict[Listed, Entry] = {}
    for one in entries:
        if one.listed not in known or known[one.listed].revoked:
            known[one.listed] = one
    return list(known.values())


def technique_in(*texts: str) -> str:
    """The first ID of a technique in the texts."""
    return next((match[0] for text in texts for match in [_TECHNIQUE.search(text)] if match), "")


def text_of(value: object) -> str:
    """A text field of a foreign object on one line, bounded; "" for anything else."""
    return " ".join(value[: 4 * MAX_TEXT_CHARS].split())[:MAX_TEXT_CHARS] if isinstance(value, str) else ""


def records_of(value: object) -> list[dict[str, object]]:
    """The objects in a list of a foreign document."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
