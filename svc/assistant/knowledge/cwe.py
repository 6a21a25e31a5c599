"""The schemas of ``cwe.json`` (names and relations) and ``weaknesses.toml`` (our descriptions and word lists)."""

from __future__ import annotations

from datetime import date

import msgspec

FILE_NAME = "cwe.json"


class Cwe(msgspec.Struct, frozen=True, kw_only=True):
    """A weakness; ``parents`` are those of the research view (1000)."""

    id: int
    name: str
    level: str
    status: str
    parents: list[int]


class CweTable(msgspec.Struct, frozen=True, kw_only=True):
    """``cwe.json``; a table made from the official CSV has no date, because that file does not state it."""

    source: str
    licence: str
    version: str
    date: date | None
    weaknesses: list[Cwe]


class Weakness(msgspec.Struct, frozen=True, kw_only=True):
    """A description of a weakness, its mitigations, and patterns of the words that texts use for it, with weights."""

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
