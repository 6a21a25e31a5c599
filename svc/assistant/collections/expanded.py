"""What becomes of a turn's archives: their members as files, and what could not be examined. Pure."""

from __future__ import annotations

import msgspec

from svc.assistant.turn import TurnFile


class NotExamined(msgspec.Struct, frozen=True, kw_only=True):
    """A member that no tool gets, and why. ``kind`` is what it is in plain words, "" if that is not known."""

    name: str
    reason: str
    size: int
    kind: str = ""


class ArchiveContent(msgspec.Struct, frozen=True, kw_only=True):
    """One opened archive: its form, how many of its members the tools get, and how many not."""

    name: str
    form: str
    members: int
    examinable: int
    depth: int


class ExpandedFiles(msgspec.Struct, frozen=True, kw_only=True):
    """A turn's files with the members of its archives; the important members of each come first.

    ``files`` keeps each archive itself, before its members. ``layouts`` names recognised collectors: "KAPE collection".
    ``notes`` are pairs of an archive's name and what to know about it.
    """

    files: tuple[TurnFile, ...]
    archives: tuple[ArchiveContent, ...] = ()
    not_examined: tuple[NotExamined, ...] = ()
    notes: tuple[tuple[str, str], ...] = ()
    layouts: tuple[tuple[str, str], ...] = ()
