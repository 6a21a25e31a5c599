"""The products whose exports are recognised by their columns (``sources/``), and the column names by role.

A file of ``sources/`` defines the exports of one product: how they are recognised, what their columns mean, and which
of Sigma's log sources their records are. All names of columns in it are plain (``plain_name``). The user's own
definitions (``user_sources.py``) have the same form and precede ours. How to write one: docs/how_to/sources.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import date
from functools import cache, lru_cache
from importlib import resources
from typing import Literal, NamedTuple

import msgspec

from svc.assistant.knowledge import load

TimeUnit = Literal["", "seconds", "milliseconds", "microseconds", "nanoseconds", "filetime", "webkit", "cocoa"]
Result = Literal["success", "failure", ""]
_NOT_NAME = re.compile(r"[^a-z0-9]+")


class When(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the records are whose ``column`` matches, and all columns of ``also``, and none of ``unless``.

    A column that a record does not have is empty. ``sets`` are fields with a constant value. ``skip``: such a record is
    no event. ``fields`` precede the kind's. With ``event_id`` (and ``service``) the record is equivalent to this event
    of Windows.
    """

    column: str
    matches: str
    also: dict[str, str] = {}
    unless: dict[str, str] = {}
    category: str = ""
    outcome: Result = ""
    product: str = ""
    service: str = ""
    event_id: int | None = None
    fields: dict[str, list[str]] = {}
    sets: dict[str, str] = {}
    skip: bool = False


class System(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The operating system (Sigma's product) of the records whose ``column`` matches."""

    column: str
    matches: str
    product: str


class Extract(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Columns in the text of a column: the named groups of ``pattern``."""

    column: str
    pattern: str


class Field(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a field of Sigma's gets its value: from the first of ``columns`` that has one.

    With ``joined``, from all of them, with this text between them. ``part`` is a pattern whose first group is the part
    that is used. ``values`` translates; a value that it does not have stays as it is, unless it has ``*``.
    """

    columns: list[str]
    joined: str | None = None
    part: str = ""
    values: dict[str, str] = {}


class Kind(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One product's export.

    ``needs`` lists alternatives of columns that it has, and ``unless`` columns that it never has. ``each`` names an
    array of a JSON record, each item of which is an event of its own.

    ``product``, ``service`` and ``category`` are Sigma's log source of the records; the first ``when`` that fits a
    record takes precedence. The category is "activity" for actions of accounts, "" to decide by the columns.
    ``columns`` are the columns by role (``columns.toml``), before the common names; ``joined`` are roles made of
    several columns; ``ignored`` columns have no role. ``fields`` are further fields under the names of Sigma's rules
    for the product (``name.*``: all members of the column); the record's own names stay, too. ``prefixes`` rename
    nested columns for rules, whatever their case (``{ "events.parameters." = "parameters." }``), because a product's
    exports nest differently.

    Times without a zone are in UTC if ``is_utc``, else in ``zone`` (``+02:00``, ``Europe/Berlin``) or in that of the
    column ``zone_column``; ``time_unit`` is the unit of times that are numbers, if their size does not tell.
    ``outcomes`` and ``severities`` translate the product's values; ``*`` is any other and "" a missing outcome.
    ``unread`` says what to do with a kind that is recognised but not read.

    ``inside`` are objects whose members are the record's own (``event.UserId`` is ``UserId``), ``extract`` patterns of
    columns that hold several values. ``systems`` decide the product of each record. ``is_windows``: each record is a
    Windows event with ``event_id``, ``channel`` and the text of its data in ``details``; ``names`` and ``channels``
    translate short names. ``verdict`` is the product whose own detection and severity the records carry, ``lacks`` what
    its form does not record and rules would need.
    """

    name: str
    needs: list[list[str]]
    unless: list[str] = []
    each: str = ""
    product: str = ""
    service: str = ""
    category: str = ""
    is_utc: bool = False
    zone: str = ""
    zone_column: str = ""
    time_unit: TimeUnit = ""
    columns: dict[str, list[str]] = {}
    joined: dict[str, list[str]] = {}
    fields: dict[str, list[str] | Field] = {}
    prefixes: dict[str, str] = {}
    ignored: list[str] = []
    when: list[When] = []
    outcomes: dict[str, Result] = {}
    severities: dict[str, str] = {}
    unread: str = ""
    inside: list[str] = []
    extract: list[Extract] = []
    systems: list[System] = []
    is_windows: bool = False
    names: dict[str, str] = {}
    channels: dict[str, str] = {}
    verdict: str = ""
    lacks: str = ""

    def fit(self, columns: frozenset[str]) -> int:
        """Return how many columns show that a table with these (plain names) is of this kind; 0 if it is not."""
        if not columns.isdisjoint(self.unless):
            return 0
        return max((len(names) for names in self.needs if columns.issuperset(names)), default=0)

    def field_rules(self) -> dict[str, Field]:
        """Return ``fields``, all in the long form."""
        return {name: rule if isinstance(rule, Field) else Field(columns=rule) for name, rule in self.fields.items()}

    def other_columns(self) -> frozenset[str]:
        """Return the columns that are used for something else than a role."""
        fields = (name for rule in self.field_rules().values() for name in rule.columns)
        conditions = (name for rule in self.when for name in (rule.column, *rule.also, *rule.unless))
        return frozenset((*fields, *conditions, self.zone_column))


class LinePattern(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A layout of lines; the named groups of ``pattern`` are columns.

    Lines that ``skip`` matches are headings, not records. A group ``NAME_labels`` is a name as Windows' DNS server
    writes it, ``(3)www(7)example(3)org(0)``, and becomes the column NAME.
    """

    name: str
    pattern: str
    skip: str = ""


class Source(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The exports of one product: a file of ``sources/``."""

    source: str
    version: str
    date: date
    kinds: list[Kind]
    lines: list[LinePattern] = []


class _ColumnTable(msgspec.Struct, frozen=True):
    """``columns.toml``."""

    source: str
    version: str
    date: date
    roles: dict[str, list[str]]


class _Definitions:
    """All definitions of this process: the user's, which ``prefer`` adds, then ours."""

    def __init__(self, found: Iterable[Source]) -> None:
        self.sources = tuple(found)
        self.kinds = tuple(kind for source in self.sources for kind in source.kinds)
        self.lines = tuple(
            LineLayout(line.name, re.compile(line.pattern), re.compile(line.skip or r"(?!)"))
            for source in self.sources
            for line in source.lines
        )
        self.by_column: dict[str, list[tuple[frozenset[str], int]]] = {}
        for position, kind in enumerate(self.kinds):
            for names in kind.needs:
                self.by_column.setdefault(names[0], []).append((frozenset(names), position))
        needed = {name for kind in self.kinds for names in kind.needs for name in names}
        self.known_names = frozenset(needed | {name for names in roles().values() for name in names})


@cache
def shipped_sources() -> tuple[Source, ...]:
    """Return the definitions of all products that come with svc, by folder and name."""
    folders = [one for one in resources.files(__package__).joinpath("sources").iterdir() if one.is_dir()]
    files = [file for folder in folders for file in folder.iterdir() if file.name.endswith(".toml")]
    return tuple(msgspec.toml.decode(file.read_bytes(), type=Source) for file in sorted(files, key=str))


class _Known:
    """The definitions that are in use in this process."""

    def __init__(self) -> None:
        self._preferred: tuple[Source, ...] = ()
        self._found: _Definitions | None = None

    def prefer(self, preferred: Iterable[Source]) -> None:
        self._preferred, self._found = tuple(preferred), None

    def get(self) -> _Definitions:
        if self._found is None:
            self._found = _Definitions((*self._preferred, *shipped_sources()))
        return self._found


_KNOWN = _Known()


def prefer(preferred: Iterable[Source]) -> None:
    """Use these definitions, too, from now on; of kinds that fit equally well, theirs is used."""
    _KNOWN.prefer(preferred)


class LineLayout(NamedTuple):
    """A layout of lines, ready for use: its name, the pattern of a record, and that of headings."""

    name: str
    record: re.Pattern[str]
    heading: re.Pattern[str]


def line_layouts() -> tuple[LineLayout, ...]:
    """Return the fixed layouts of lines of all products."""
    return _KNOWN.get().lines


@cache
def roles() -> Mapping[str, list[str]]:
    """Return the common column names of each role, the best first."""
    return load("columns.toml", _ColumnTable, __package__).roles


def kind_of(columns: frozenset[str]) -> Kind | None:
    """Return the product whose export has these columns (plain names); None if it is not known.

    Of several kinds that fit, the one that more columns show.
    """
    found = _KNOWN.get()
    best, best_size = None, 0
    for column in columns:
        for names, position in found.by_column.get(column, ()):
            size = len(names)
            if size < best_size or not columns.issuperset(names):
                continue
            is_better = size > best_size or best is None or position < best
            if is_better and columns.isdisjoint(found.kinds[position].unless):
                best, best_size = position, size
    return None if best is None else found.kinds[best]


@lru_cache(maxsize=20_000)
def plain_name(column: str) -> str:
    """Return a column's name as the tables have it: ``Source IP`` is ``sourceip``."""
    return _NOT_NAME.sub("", column.lower())


def is_known_name(column: str) -> bool:
    """Return whether a column's name is one of a role or of a known export."""
    known = _KNOWN.get().known_names
    return plain_name(column) in known or plain_name(column.rpartition(".")[2]) in known
