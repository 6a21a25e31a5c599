"""Find what a document type declares that harms an XML parser: entities that expand without end, or name other files.

Pure, and linear in the text: entities are counted, never expanded. CWE-776 (entity expansion), CWE-611 (external
entities).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Literal

import msgspec

from svc.assistant.findings import Severity

EntityAttack = Literal["expansion", "recursion", "external_entity", "external_dtd"]
MAX_SIZE = 10**18  # of an expanded entity; more is not counted
MIN_EXPANDED_CHARS = 1_000_000  # what a parser may hold without harm
MIN_FACTOR = 20  # expanded size by the size of the text; ordinary documents stay below 2
MAX_SHOWN = 5
_ENTITY = re.compile(
    r"<!ENTITY\s{1,40}(?P<parameter>%\s{1,40})?(?P<name>[^\s%\"'<>&;]{1,200})\s{1,40}"
    r"(?:(?P<external>SYSTEM|PUBLIC)\b(?P<where>[^<>]{0,1000})|\"(?P<double>[^\"]*)\"|'(?P<single>[^']*)')"
)
_DOCTYPE = re.compile(
    r"<!DOCTYPE\s{1,40}[^\s\[\]<>\"']{1,200}\s{1,40}(?:SYSTEM|PUBLIC)\b(?P<where>[^<>\[\]]{0,1000})", re.IGNORECASE
)
_REFERENCE = re.compile(r"[&%]([^\s&%;<>#\"']{1,200});")
_QUOTED = re.compile(r"\"([^\"]{0,500})\"|'([^']{0,500})'")
_CUSTOMARY = re.compile(
    r"(?:https?:)?//(?:[\w-]{1,40}\.){0,3}(?:w3\.org|oasis-open\.org|docbook\.org|apple\.com|sun\.com|oracle\.com|apache\.org"
    r"|hibernate\.org|mybatis\.org|springframework\.org|gnome\.org|kde\.org|microsoft\.com|openxmlformats\.org)/"
    r"|about:legacy-compat\Z",
    re.IGNORECASE,
)


class EntityDanger(msgspec.Struct, frozen=True):
    """One way in which a document type attacks a parser; ``value`` is what shows it."""

    attack: EntityAttack
    severity: Severity
    title: str
    why: str
    value: str
    line: int


def entity_dangers(text: str) -> Iterator[EntityDanger]:
    """Yield what the document type of an XML, SVG or HTML text declares to attack its parser, each kind once."""
    if "<!" not in text:
        return
    declared = [match for match in _ENTITY.finditer(text) if match["external"] is None]
    values = {match["name"]: match["double"] or match["single"] or "" for match in declared}
    yield from _expansion(text, values, {match["name"]: match.start() for match in declared})
    external = [match for match in _ENTITY.finditer(text) if match["external"] is not None]
    if external:
        names = ", ".join(_named(match["where"]) for match in external[:MAX_SHOWN])
        yield EntityDanger(
            attack="external_entity",
            severity=Severity.HIGH,
            title="XML external entity (XXE)",
            why="a parser that resolves it reads a local file or sends a request (CWE-611)",
            value=names,
            line=_line(text, external[0].start()),
        )
    doctype = _DOCTYPE.search(text)
    if doctype is not None and (where := _named(doctype["where"])) and not _CUSTOMARY.match(where):
        yield EntityDanger(
            attack="external_dtd",
            severity=Severity.MEDIUM,
            title="External document type definition",
            why="a parser that loads it sends a request, and takes entities from there (CWE-611)",
            value=where,
            line=_line(text, doctype.start()),
        )


def _expansion(text: str, values: Mapping[str, str], places: Mapping[str, int]) -> Iterator[EntityDanger]:
    references = {name: Counter(_REFERENCE.findall(value)) for name, value in values.items()}
    sizes, recursive = _expanded_sizes(values, references)
    if recursive:
        yield EntityDanger(
            attack="recursion",
            severity=Severity.HIGH,
            title="XML entities that contain themselves",
            why="a parser that expands them never terminates (CWE-776, entity expansion attack)",
            value=", ".join(recursive[:MAX_SHOWN]),
            line=_line(text, places[recursive[0]]),
        )
    end = max(places.values(), default=0)
    used = sum(sizes.get(name, 0) * count for name, count in Counter(_REFERENCE.findall(text, end)).items())
    name = max(sizes, key=lambda one: sizes[one], default="")
    largest = max(used, sizes.get(name, 0))
    if largest >= max(MIN_EXPANDED_CHARS, MIN_FACTOR * len(text)):
        more = "more than " if largest >= MAX_SIZE else ""
        yield EntityDanger(
            attack="expansion",
            severity=Severity.HIGH,
            title="XML entity expansion attack (billion laughs)",
            why=f"{len(values):,} entities in {len(text):,} characters expand to {more}{min(largest, MAX_SIZE):,} "
            "characters, which exhausts the memory of a parser that expands them (CWE-776); not expanded here",
            value=name,
            line=_line(text, places[name]),
        )


def _expanded_sizes(
    values: Mapping[str, str], references: Mapping[str, Counter[str]]
) -> tuple[dict[str, int], list[str]]:
    """The number of characters of each entity once expanded, and the names of those that contain themselves."""
    sizes: dict[str, int] = {}
    recursive: list[str] = []
    open_names: set[str] = set()
    for first in values:
        waiting = [first]
        while waiting:
            name = waiting[-1]
            if name in sizes:
                waiting.pop()
            elif name in open_names:  # all that it refers to is known now
                waiting.pop()
                open_names.discard(name)
                inner = sum(sizes.get(other, 0) * count for other, count in references[name].items())
                sizes[name] = min(MAX_SIZE, len(values[name]) + inner)
            else:
                open_names.add(name)
                inside = [other for other in references[name] if other in values and other not in sizes]
                recursive += [other for other in inside if other in open_names]
                waiting += [other for other in inside if other not in open_names]
    return sizes, list(dict.fromkeys(recursive))


def _named(where: str) -> str:
    """The last quoted text: the address, after a public identifier."""
    quoted = [one or other for one, other in _QUOTED.findall(where)]
    return quoted[-1] if quoted else ""


def _line(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1
