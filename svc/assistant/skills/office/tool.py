"""Inspect an Office document: macros, formulas, fields, embedded objects, links that fetch. Nothing runs.

Office's newer formats (``office_xml.py``), the older ones (``office_ole.py``), RTF (``document_rtf.py``) and OneNote
(``document_onenote.py``); OpenDocument by its macros, objects and links.
Kinds: ``office_facts``, ``office_part``, ``office_trait``, ``office_verdict`` (attributes: ``inspection.py``) and
``indicator``. Facts: application (str), is_encrypted (bool), macros (int: modules), author, last_author, created,
modified, template, program, title (str or null), streams or members (int).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import BinaryIO

import msgspec

from svc.assistant.findings import Finding as TypedFinding
from svc.assistant.findings import Gap, Progress, Scalar, ToolEvent
from svc.assistant.findings import LooseFinding as Finding
from svc.assistant.skills.file_traits import Inspection, digests, read, started
from svc.assistant.skills.indicators import tool as indicators
from svc.assistant.skills.indicators.findings import IndicatorFacts

MAX_TEXT_CHARS = 2_000_000  # of macros, formulas, links and text in which indicators are searched
MAX_INDICATORS = 150
_TYPES = frozenset(["url", "ipv4", "email", "domain", "bitcoin", "cve", "registry_key", "file_path"])
_QUIET = frozenset(["common", "documentation"])
_ZIP, _OLE, _RTF = b"PK\x03\x04", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", b"{\\rt"
_ONE = bytes.fromhex("e4525c7b8cd8a74daeb15378d02996d3")


class Seen(msgspec.Struct):
    """What a reader has seen, for the facts, the indicators and the verdict."""

    application: str = "Office document"
    facts: dict[str, Scalar | list[Scalar]] = {}
    macros: int = 0
    is_encrypted: bool = False
    texts: list[str] = []

    def add_text(self, text: str) -> None:
        """Keep ``text`` for the search for indicators, within MAX_TEXT_CHARS."""
        if sum(map(len, self.texts)) < MAX_TEXT_CHARS:
            self.texts.append(text[:MAX_TEXT_CHARS])


Reader = Callable[[bytes, Inspection, Seen], Iterator[ToolEvent]]


def inspect(feed: BinaryIO, /, *, source: str) -> Iterator[ToolEvent]:
    """The document's facts, parts, traits and indicators; its verdict last."""
    data, gap = read(feed)
    inspection = Inspection("office", source)
    yield started(source, data, "an Office document")
    if gap is not None:
        yield gap
    seen = Seen()
    reader = _reader(data)
    if reader is None:
        yield Gap(text="it is no Office document of a kind that is read here (Word, Excel, PowerPoint, RTF, OneNote)")
        return
    for item in reader(data, inspection, seen):
        if isinstance(item, Finding) and item.attributes.get("part") == "decoded code":
            seen.add_text(str(item.attributes["text"]))
        yield item
    yield Progress(text=f"{seen.macros} macro modules; searching for indicators")
    facts: dict[str, Scalar | list[Scalar]] = {"format": seen.application, **digests(data)}
    facts |= {"macros": seen.macros, "is_encrypted": seen.is_encrypted, **seen.facts}
    yield inspection.facts(seen.application, facts)
    yield from _indicators(seen, source)
    yield inspection.verdict()


def _reader(data: bytes) -> Reader | None:
    """By the first bytes; each reader is loaded when its format is there."""
    if data.startswith(_ZIP):
        from svc.assistant.skills.office.ooxml import inspect_archive

        return inspect_archive
    if data.startswith(_OLE):
        from svc.assistant.skills.office.ole import inspect_storage

        return inspect_storage
    if data[:64].lstrip().startswith(_RTF):
        from svc.assistant.skills.office.rtf import inspect_rtf

        return inspect_rtf
    if data.startswith(_ONE):
        from svc.assistant.skills.office.onenote import inspect_section

        return inspect_section
    return None


def _indicators(seen: Seen, source: str) -> Iterator[TypedFinding[IndicatorFacts] | Gap]:
    text = "\n".join(seen.texts)[:MAX_TEXT_CHARS]
    kept = 0
    for item in indicators.inspect(text, source=source) if text.strip() else ():
        if not isinstance(item, TypedFinding) or item.facts.type not in _TYPES:
            continue
        if item.facts.scope in _QUIET or item.facts.within:
            continue
        kept += 1
        if kept > MAX_INDICATORS:
            yield Gap(text=f"only the first {MAX_INDICATORS} indicators in its texts are listed")
            return
        yield item
