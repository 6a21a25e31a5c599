"""Recognise collectors by their folders, rank members by importance, and name kinds that no tool reads. Pure.

The table is ``layouts.toml``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date
from functools import cache

import msgspec

from svc.assistant.knowledge import load


class _Layout(msgspec.Struct, frozen=True):
    name: str
    patterns: list[str]


class _KindName(msgspec.Struct, frozen=True):
    pattern: str
    kind: str


class _LayoutTable(msgspec.Struct, frozen=True):
    source: str
    version: str
    date: date
    layouts: list[_Layout]
    importance: list[str]
    kinds: dict[str, str]
    kind_names: list[_KindName]


@cache
def _table() -> _LayoutTable:
    return load("layouts.toml", _LayoutTable, __package__)


@cache
def _importance() -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(pattern) for pattern in _table().importance)


@cache
def _kind_names() -> tuple[tuple[re.Pattern[str], str], ...]:
    return tuple((re.compile(row.pattern), row.kind) for row in _table().kind_names)


def layouts_of(names: Sequence[str]) -> list[str]:
    """Return the collectors whose layout these members have."""
    lowered = [name.lower() for name in names]
    return [
        layout.name
        for layout in _table().layouts
        if all(any(re.search(pattern, name) for name in lowered) for pattern in layout.patterns)
    ]


def rank(name: str) -> int:
    """Return how important a member is by its path; 0 is the most important."""
    lowered = name.lower()
    found = (number for number, pattern in enumerate(_importance()) if pattern.search(lowered))
    return next(found, len(_importance()))


def kind_words(name: str, label: str, mime_type: str) -> str:
    """Return what a file is in plain words, as far as its content or its name tells; else its media type, or ""."""
    if (by_label := _table().kinds.get(label)) is not None:
        return by_label
    lowered = name.lower()
    by_name = next((kind for pattern, kind in _kind_names() if pattern.search(lowered)), "")
    return by_name or ("" if mime_type in ("", "application/octet-stream") else mime_type)
