"""What a program can do, by the functions it imports, the names it exports and its strings.

An import shows what a program can do, not what it does; the table's severities reflect that. Tables:
``capabilities.toml`` and ``packers.toml``.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from datetime import date
from functools import cache

import msgspec

from svc.assistant.findings import Confidence, ToolEvent
from svc.assistant.knowledge import load
from svc.assistant.skills.file_traits import Inspection, TraitEntry

MARKER_BYTES = 32 * 1024 * 1024  # of a program, searched for the marks of packers
SHOWN_NAMES = 12


class _CallRule(TraitEntry, frozen=True, kw_only=True):
    groups: list[list[str]]
    at_least: int


class _ExportRule(TraitEntry, frozen=True, kw_only=True):
    functions: list[str]
    at_least: int


class _StringRule(TraitEntry, frozen=True, kw_only=True):
    pattern: str


class _CapabilityTable(msgspec.Struct, frozen=True):
    """``skills/program/capabilities.toml``."""

    source: str
    version: str
    date: date
    calls: list[_CallRule]
    exports: list[_ExportRule]
    words: list[_StringRule]


class Maker(msgspec.Struct, frozen=True):
    """A tool that packed, protected, bundled or built a program."""

    name: str
    role: str
    sections: list[str] = []
    markers: list[str] = []


class _PackerTable(msgspec.Struct, frozen=True):
    source: str
    version: str
    date: date
    tools: list[Maker]


@cache
def table() -> _CapabilityTable:
    """Return the table as it ships."""
    return load("capabilities.toml", _CapabilityTable, __package__)


@cache
def _makers() -> list[Maker]:
    return load("packers.toml", _PackerTable, __package__).tools


@cache
def _words() -> list[tuple[_StringRule, re.Pattern[str]]]:
    return [(entry, re.compile(entry.pattern, re.IGNORECASE)) for entry in table().words]


@cache
def called_names() -> frozenset[str]:
    """Return every function that the table knows."""
    return frozenset(name for entry in table().calls for group in entry.groups for name in group)


def plain_name(function: str) -> str:
    """Return the name of a Windows function without the A (ANSI) or W (wide) at its end."""
    if len(function) > 3 and function[-1] in "AW" and function[:-1] in called_names():
        return function[:-1]
    return function


def call_traits(inspection: Inspection, functions: Collection[str], *, is_imported: bool) -> Iterator[ToolEvent]:
    """Yield the capabilities that the functions provide; with less confidence if they are not imported."""
    names = {plain_name(function) for function in functions}
    for entry in table().calls:
        hits = [sorted(names & set(group)) for group in entry.groups]
        if sum(1 for hit in hits if hit) < entry.at_least:
            continue
        shown = ", ".join(sorted({name for hit in hits for name in hit})[:SHOWN_NAMES])
        where = "imports" if is_imported else "contains the names of"
        yield from inspection.listed_trait(
            entry,
            why=f"{where} {shown}: {entry.why}",
            value=shown,
            confidence=Confidence.MEDIUM if is_imported else Confidence.LOW,
        )


def export_traits(inspection: Inspection, functions: Collection[str]) -> Iterator[ToolEvent]:
    """Yield the traits that the exported names show."""
    for entry in table().exports:
        hits = [name for name in entry.functions if name in functions]
        if len(hits) >= entry.at_least:
            yield from inspection.listed_trait(entry, name=f"export_{entry.name}", value=", ".join(hits[:SHOWN_NAMES]))


def string_traits(inspection: Inspection, text: str, offsets: list[int]) -> Iterator[ToolEvent]:
    """Yield the traits that strings show; ``text`` has one string on each line, ``offsets`` their offsets."""
    for entry, pattern in _words():
        match = pattern.search(text)
        if match is None:
            continue
        start = text.rfind("\n", 0, match.start()) + 1
        end = text.find("\n", match.end())
        line = text.count("\n", 0, start)
        yield from inspection.listed_trait(
            entry,
            name=f"words_{entry.name}",
            value=_around(text[start : end if end >= 0 else len(text)], match.start() - start),
            offset=offsets[line] if line < len(offsets) else None,
            confidence=Confidence.MEDIUM,
        )


def _around(line: str, position: int) -> str:
    start = max(0, position - 60)
    return ("…" if start else "") + line[start : start + 240]


def find_makers(section_names: Collection[str], data: bytes) -> list[Maker]:
    """Return the tools that made the program, by the names of its sections and by marks in its bytes."""
    sample = data[:MARKER_BYTES]
    names = set(section_names)
    return [
        maker
        for maker in _makers()
        if names & set(maker.sections) or any(_contains(mark, sample) for mark in maker.markers)
    ]


def _contains(mark: str, data: bytes) -> bool:
    return mark.encode("latin-1") in data or mark.encode("utf-16-le") in data
