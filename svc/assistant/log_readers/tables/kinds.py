"""The products whose exports are recognised by their columns (``kinds.toml``), and the column names by role."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date
from functools import cache, lru_cache

import msgspec

from svc.assistant.knowledge import load

_NOT_NAME = re.compile(r"[^a-z0-9]+")


class When(msgspec.Struct, frozen=True, kw_only=True):
    """The category (and outcome) of the records whose ``column`` matches."""

    column: str
    matches: str
    category: str = ""
    outcome: str = ""


class Kind(msgspec.Struct, frozen=True, kw_only=True):
    """One product's export.

    ``needs`` lists alternatives of columns that it has. ``columns`` are its columns by role, before the common names;
    ``joined`` are roles made of several columns. ``category`` is of records that no ``when`` fits: "activity" for
    actions of accounts, "" to decide by the columns. ``severities`` translates its own; ``unread`` says what to
    do with a kind that is recognised but not read.
    """

    name: str
    needs: list[list[str]]
    unless: list[str] = []
    product: str = ""
    service: str = ""
    category: str = ""
    is_utc: bool = False
    columns: dict[str, list[str]] = {}
    joined: dict[str, list[str]] = {}
    ignored: list[str] = []
    when: list[When] = []
    severities: dict[str, str] = {}
    unread: str = ""

    def matches(self, columns: frozenset[str]) -> bool:
        """Return whether a table with these columns (plain names) is of this kind."""
        return columns.isdisjoint(self.unless) and any(columns.issuperset(names) for names in self.needs)


class _LinePattern(msgspec.Struct, frozen=True):
    name: str
    pattern: str


class _KindTable(msgspec.Struct, frozen=True):
    """``kinds.toml``."""

    source: str
    version: str
    date: date
    lines: list[_LinePattern]
    kinds: list[Kind]


class _ColumnTable(msgspec.Struct, frozen=True):
    """``columns.toml``."""

    source: str
    version: str
    date: date
    roles: dict[str, list[str]]


@cache
def _table() -> _KindTable:
    return load("kinds.toml", _KindTable, __package__)


@cache
def line_patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Return the names and patterns of lines with a fixed layout; groups are columns."""
    return tuple((line.name, re.compile(line.pattern)) for line in _table().lines)


@cache
def roles() -> Mapping[str, list[str]]:
    """Return the common column names of each role, the best first."""
    return load("columns.toml", _ColumnTable, __package__).roles


def kind_of(columns: frozenset[str]) -> Kind | None:
    """Return the product whose export has these columns (plain names); None if it is not known."""
    return next((kind for kind in _table().kinds if kind.matches(columns)), None)


@lru_cache(maxsize=20_000)
def plain_name(column: str) -> str:
    """Return a column's name as the tables have it: ``Source IP`` is ``sourceip``."""
    return _NOT_NAME.sub("", column.lower())


@cache
def _known_names() -> frozenset[str]:
    names = {name for names in roles().values() for name in names}
    return frozenset(names | {name for kind in _table().kinds for needed in kind.needs for name in needed})


def is_known_name(column: str) -> bool:
    """Return whether a column's name is one of a role or of a known export."""
    return plain_name(column) in _known_names() or plain_name(column.rpartition(".")[2]) in _known_names()
