"""What the macros, formulas, fields, objects and links of a document mean. Table: ``traits.toml``.

Readers of the formats pass in what they found; the same trait has one wording for all formats.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date
from functools import cache
from uuid import UUID

import msgspec

from svc.assistant.file_types.signatures import describe
from svc.assistant.findings import Confidence, Severity, ToolEvent
from svc.assistant.knowledge import load
from svc.assistant.log_readers.lines import split_lines
from svc.assistant.skills.file_traits import Inspection, TraitEntry, is_runnable
from svc.assistant.skills.office.vba import VbaModule
from svc.assistant.skills.script.embedded import code_traits
from svc.assistant.skills.script.language import Language

MAX_MACRO_CHARS = 2_000_000  # of all modules together
MAX_SHOWN = 40  # modules as parts
_REMOTE = re.compile(r"^(?:https?|ftp|file|mhtml|ms-\w+|x-usc|search-ms|ldap)[:!]|^(?:\\\\|//)", re.IGNORECASE)
_SHARE = re.compile(r"^(?:file:(?://)?(?:/{0,3})?\\{0,2}\\\\|file:////|\\\\|//|file://[^/])", re.IGNORECASE)
_ATTACK_SCHEME = re.compile(
    r"^(?:mhtml:|ms-msdt:|ms-search:|search-ms:|x-usc:|ms-officecmd:|javascript:)|^[^\s]{0,400}!x-usc:", re.IGNORECASE
)
_BARE_ADDRESS = re.compile(r"^https?://\d{1,3}(?:\.\d{1,3}){3}(?:[:/]|$)", re.IGNORECASE)
_LURE = re.compile(
    r"\b(?:(?:click|press|select)\b[^.\n]{0,40}\b)?enable (?:content|editing|macros?)\b"
    r"|\bmacros? (?:must|need to) be enabled\b"
    r"|\bprotected (?:document|view)\b[^.\n]{0,80}\benable\b"
    r"|\bcreated (?:in|with) (?:an )?(?:earlier|older|newer|previous) version of (?:microsoft )?office\b",
    re.IGNORECASE,
)


class _PatternRule(TraitEntry, frozen=True, kw_only=True):
    pattern: str
    acts: bool = False
    """Does something outside the document: with an automatic start it weighs more."""


class _ClassRule(TraitEntry, frozen=True, kw_only=True):
    guid: str


class _OfficeTable(msgspec.Struct, frozen=True):
    """``traits.toml``."""

    source: str
    version: str
    date: date
    starts: list[str]
    start_endings: list[str]
    words: list[_PatternRule]
    formulas: list[_PatternRule]
    fields: list[_PatternRule]
    classes: list[_ClassRule]
    relations: list[TraitEntry]


@cache
def _table() -> _OfficeTable:
    return load("traits.toml", _OfficeTable, __package__)


@cache
def _starts() -> re.Pattern[str]:
    table = _table()
    names = "|".join([*table.starts, *(rf"\w{{1,60}}{ending}" for ending in table.start_endings)])
    return re.compile(
        rf"^[^\S\n]*+(?:Public |Private |Friend )?(?:Static )?(?:Sub|Function)\s{{1,20}}({names})\b",
        re.IGNORECASE | re.MULTILINE,
    )


@cache
def _compiled(which: str) -> list[tuple[_PatternRule, re.Pattern[str]]]:
    entries: list[_PatternRule] = getattr(_table(), which)
    return [(entry, re.compile(entry.pattern, re.IGNORECASE)) for entry in entries]


def macro_traits(inspection: Inspection, found: Sequence[VbaModule]) -> Iterator[ToolEvent]:
    """Yield each module as a part, and traits of what the macros do and whether they start automatically."""
    for module in found[:MAX_SHOWN]:
        yield inspection.part("macro", module.name, size=len(module.source), text=module.source.strip(), note="VBA")
    if not any(_has_code(module.source) for module in found) and not any(module.is_stomped for module in found):
        return
    yield from inspection.trait(
        "macros",
        "Contains VBA macros",
        severity=Severity.LOW,
        why="macros run with the user's privileges once they are enabled",
        value=", ".join(module.name for module in found[:20]),
        techniques=("T1059.005",),
    )
    source = _without_comments("\n".join(module.source for module in found)[:MAX_MACRO_CHARS])
    start = _starts().search(source)
    acting: list[str] = []
    for entry, match in _matches("words", source):
        acting += [entry.title.removeprefix("The macro ")] if entry.acts else []
        yield from _pattern_trait(inspection, "macro", entry, source, match)
    if start is not None:
        yield from _self_starting(inspection, start[1], acting)
    yield from code_traits(inspection, source, Language.VBA, is_judged=True)
    for module in found:
        if module.is_stomped:
            yield from inspection.trait(
                "stomped_macro",
                "VBA stomping: source removed, compiled code kept",
                severity=Severity.HIGH,
                why="Office runs the compiled code, which an analysis of the source does not show",
                value=module.name,
                techniques=("T1564.007",),
            )


def _self_starting(inspection: Inspection, name: str, acting: Sequence[str]) -> Iterator[ToolEvent]:
    yield from inspection.trait(
        "self_starting_macro",
        "Auto-executing macro with external effects" if acting else "Auto-executing macro",
        severity=Severity.HIGH if acting else Severity.LOW,
        why=f"it runs automatically and {', '.join(acting[:4])}" if acting else "it runs automatically",
        value=name,
        techniques=("T1204.002", "T1059.005"),
    )


def _has_code(source: str) -> bool:
    return any(
        line.strip() and not line.startswith(("Attribute ", "Option "))
        for line in split_lines(_without_comments(source))
    )


def _without_comments(source: str) -> str:
    return "\n".join(line for line in split_lines(source) if not line.lstrip().startswith(("'", "Rem ")))


def _matches(which: str, text: str) -> Iterator[tuple[_PatternRule, re.Match[str]]]:
    for entry, pattern in _compiled(which):
        match = pattern.search(text)
        if match is not None:
            yield entry, match


def _pattern_trait(
    inspection: Inspection, prefix: str, entry: _PatternRule, text: str, match: re.Match[str]
) -> Iterator[ToolEvent]:
    start = max(text.rfind("\n", 0, match.start()) + 1, match.start() - 100)
    end = text.find("\n", match.end())
    yield from inspection.trait(
        f"{prefix}_{entry.name}",
        entry.title,
        severity=entry.severity,
        why=entry.why,
        value=text[start : end if 0 <= end < start + 280 else start + 280].strip(),
        techniques=entry.techniques,
        confidence=Confidence.MEDIUM,
    )


def formula_traits(inspection: Inspection, text: str) -> Iterator[ToolEvent]:
    """Yield traits of the formulas of a workbook; ``text`` has one formula on each line."""
    for entry, match in _matches("formulas", text):
        yield from _pattern_trait(inspection, "cell", entry, text, match)


def field_traits(inspection: Inspection, text: str) -> Iterator[ToolEvent]:
    """Yield traits of field codes; ``text`` has one code on each line."""
    for entry, match in _matches("fields", text):
        yield from _pattern_trait(inspection, "text", entry, text, match)


def lure_traits(inspection: Inspection, text: str) -> Iterator[ToolEvent]:
    """Yield a trait if the text asks the user to turn off protection."""
    match = _LURE.search(text)
    if match is not None:
        yield from inspection.trait(
            "lure",
            "Text asks the user to turn off protection",
            severity=Severity.MEDIUM,
            why="malicious documents ask the user to enable content or macros",
            value=text[max(0, match.start() - 60) : match.end() + 60],
            techniques=("T1204.002", "T1566.001"),
        )


def class_traits(inspection: Inspection, name: str, content: bytes, *, where: str) -> Iterator[ToolEvent]:
    """Yield traits of the class of an embedded object, by its name or by a GUID in its first bytes."""
    for entry in _table().classes:
        is_named = name.lower().replace(" ", "").startswith(entry.name.lower())
        if not is_named and UUID(entry.guid).bytes_le not in content[:8_192]:
            continue
        yield from inspection.listed_trait(
            entry, name=f"object_{entry.name.lower().replace('.', '_')}", value=f"{name or entry.name} in {where}"
        )


def embedded_file(inspection: Inspection, name: str, content: bytes, *, where: str) -> Iterator[ToolEvent]:
    """Yield an embedded file as a part, and a trait if it is executable."""
    content_type = describe(content)
    yield inspection.part(
        "embedded file", name or where, size=len(content), note=f"{content_type or 'unknown type'}, in {where}"
    )
    if is_runnable(name, content_type):
        yield from inspection.trait(
            "embedded_program",
            "Contains a program or a script",
            severity=Severity.HIGH,
            why="a double click in the document would run it",
            value=f"{name} ({content_type or 'by its name'})",
            techniques=("T1027.009", "T1204.002"),
        )


def relationship_traits(inspection: Inspection, kind: str, target: str, *, where: str) -> Iterator[ToolEvent]:
    """Yield a relationship to a target outside the document as a part, and its traits."""
    end = kind.rsplit("/", 1)[-1]
    if end == "hyperlink":
        yield inspection.part("link", target, note=f"in {where}")
    else:
        yield inspection.part("relationship", target, note=f"{end}, in {where}")
    if _ATTACK_SCHEME.search(target):
        yield from _link_trait(
            inspection, "attack_link", "A link uses a scheme that attacks use", Severity.CRITICAL, target, ("T1203",)
        )
    elif end != "hyperlink" and _SHARE.search(target):
        yield from _link_trait(
            inspection, "share", "Contacts a share on a remote host", Severity.HIGH, target, ("T1187",)
        )
    elif end == "hyperlink" and (_BARE_ADDRESS.search(target) or is_runnable(target.split("?")[0], "")):
        yield from _link_trait(
            inspection,
            "bad_link",
            "A link leads to a bare IP address or to a program",
            Severity.MEDIUM,
            target,
            ("T1566.002",),
        )
    if not _REMOTE.search(target):
        return
    for entry in _table().relations:
        if entry.name.lower() == end.lower():
            yield from inspection.listed_trait(entry, name=f"relation_{entry.name.lower()}", value=target)


def _link_trait(
    inspection: Inspection, name: str, title: str, severity: Severity, target: str, techniques: tuple[str, ...]
) -> Iterator[ToolEvent]:
    yield from inspection.trait(
        name, title, severity=severity, why="by its target", value=target, techniques=techniques
    )
