"""Questions about a kind of evidence that is not among the inputs: "anything in the registry?" with a log alone. Pure.

That nothing was found in a log must not read as if the registry had been looked at.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date
from functools import cache

import msgspec

from svc.assistant.knowledge import load
from svc.untrusted.markup import code_span

MAX_NAMED = 4


class EvidencePlace(msgspec.Struct, frozen=True):
    """A kind of evidence: its words in a question, what shows that it was read, and what to attach."""

    name: str
    words: list[str]
    read: list[str]
    attach: str

    @property
    def asked(self) -> re.Pattern[str]:
        """Finds it in a question."""
        return re.compile(rf"\b(?:{'|'.join(self.words)})\b", re.IGNORECASE)

    @property
    def is_read(self) -> re.Pattern[str]:
        """Finds what shows that it was read."""
        return re.compile("|".join(self.read), re.IGNORECASE)


class _EvidencePlaces(msgspec.Struct, frozen=True):
    """``unread.toml``."""

    source: str
    version: str
    date: date
    places: list[EvidencePlace]


@cache
def _places() -> list[EvidencePlace]:
    return load("unread.toml", _EvidencePlaces, __package__).places


_LOOKS_IN = re.compile(
    r"\b(?:any\w*|something|what(?:'s| is| does| do)?|check|look|see|show\w*|find|evidence"
    r"|traces?|hits?|stuff|was|is|did)\b"
    r"[^?\n]{0,40}\b(?:in|from|inside|within|on|of)\b(?: the| my| his| her| their| a)?(?: \w+)?\s*\Z"
    r"|\b(?:check|show|what does|and|what about|how about)(?: me)?(?: the| in the)?\s*\Z",
    re.IGNORECASE,
)
"""What stands before the name of a place if the question is to look there."""


def place_of(clause: str) -> EvidencePlace | None:
    """The kind of evidence in which a clause asks to look."""
    for one in _places():
        if (match := one.asked.search(clause)) is not None:
            before, after = clause[: match.start()], clause[match.end() :].strip(" ?!.")
            return one if _LOOKS_IN.search(before) and len(after.split()) <= MAX_AFTER else None
    return None


MAX_AFTER = 3  # words: "anything in the registry that looks odd?"


def unread_answer(clause: str, read_as: Sequence[str], names: Sequence[str]) -> str:
    """The sentence that a kind of evidence is not among the inputs; "" if it is, or if the clause is about none.

    Args:
        clause: The question, in English.
        read_as: What shows what was read: the inputs' names and forms, their columns and kinds of events.
        names: The inputs' names.
    """
    place = place_of(clause)
    if place is None or any(place.is_read.search(one) for one in read_as):
        return ""
    listed = ", ".join(code_span(name, limit=80) for name in names[:MAX_NAMED])
    more = f" and {len(names) - MAX_NAMED:,} more" if len(names) > MAX_NAMED else ""
    return (
        f"**Cannot tell** {code_span(clause, limit=160)}: {place.name} is not among the inputs ({listed}{more}), so it "
        f"was not looked at. Attach {place.attach} to have it read."
    )
