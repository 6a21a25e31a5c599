"""The forms of the tables about weaknesses: ``cwe.json`` (all names) and ``weaknesses.toml`` (our words)."""

from __future__ import annotations

from datetime import date

import msgspec

FILE_NAME = "cwe.json"


class Cwe(msgspec.Struct, frozen=True, kw_only=True):
    """A weakness; ``parents`` are those that it is a kind of, in the research view (1000)."""

    id: int
    name: str
    level: str
    status: str
    parents: list[int]


class CweTable(msgspec.Struct, frozen=True, kw_only=True):
    """``cwe.json``; a table made of the official CSV has no date, which that file does not state."""

    source: str
    licence: str
    version: str
    date: date | None
    weaknesses: list[Cwe]


class Weakness(msgspec.Struct, frozen=True, kw_only=True):
    """What a weakness is and how it is mended, and the patterns by which texts speak of it, each with its weight."""

    id: int
    what: str
    fix: list[str]
    words: list[tuple[str, float]]


class WeaknessTable(msgspec.Struct, frozen=True, kw_only=True):
    """``weaknesses.toml``."""

    source: str
    version: str
    date: date
    weaknesses: list[Weakness]
