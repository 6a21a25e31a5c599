"""Inspect an Office document: macros, formulas, fields, embedded objects, links that fetch. Nothing is run.

Readers: Office Open XML and OpenDocument (``ooxml.py``), the older formats (``ole.py``), RTF (``rtf.py``) and OneNote
(``onenote.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import BinaryIO

from svc.assistant.file_types.signatures import starts_as
from svc.assistant.findings import Coverage, Finding, Gap, Progress, ToolEvent
from svc.assistant.skills.file_traits import FilePart, Inspection, digests, read, reading
from svc.assistant.skills.indicators import tool as indicators
from svc.assistant.skills.indicators.findings import IndicatorFacts
from svc.assistant.skills.office.document import MAX_TEXT_CHARS, OfficeDocument
from svc.assistant.skills.office.findings import OFFICE, OfficeFacts

MAX_INDICATORS = 150
_TYPES = frozenset(["url", "ipv4", "email", "domain", "bitcoin", "cve", "registry_key", "file_path"])
_QUIET = frozenset(["common", "documentation"])


Reader = Callable[[bytes, Inspection, OfficeDocument], Iterator[ToolEvent]]


def inspect(content: BinaryIO, /, *, source: str) -> Iterator[ToolEvent]:
    """Yield the document's parts, traits, facts and indicators; its verdict last."""
    data, gap = read(content)
    inspection = Inspection(OFFICE, source)
    yield reading(source, data, "an Office document")
    if gap is not None:
        yield gap
    document = OfficeDocument()
    reader = _reader(data)
    if reader is None:
        yield Gap(text="not an Office document of a supported format (Word, Excel, PowerPoint, RTF, OneNote)")
        yield _coverage("file that is not an Office document", "byte", 0, len(data))
        return
    for item in reader(data, inspection, document):
        if isinstance(item, Finding) and isinstance(item.facts, FilePart) and item.facts.part == "decoded code":
            document.add_text(item.facts.text)
        yield item
    if not document.is_office:
        yield _coverage("ZIP archive that is not an Office document", "byte", 0, len(data))
        return
    yield Progress(text=f"{document.macros} macro modules; searching for indicators")
    yield inspection.facts(document.application, _facts(data, document))
    yield from _indicators(document, source)
    yield inspection.verdict()
    if document.members is not None:
        unit, total = "member", document.members
    elif document.streams is not None:
        unit, total = "stream", document.streams
    else:
        unit, total = "byte", len(data)
    yield _coverage(document.application, unit, max(0, total - document.unread) * document.is_readable, total)


def _coverage(read_as: str, unit: str, understood: int, total: int) -> Coverage:
    return Coverage(
        read_as=read_as,
        unit=unit,
        understood=understood,
        total=total,
        looked_for="macros, Excel 4 formulas, fields, embedded programs and links that fetch something",
        not_covered="images, fonts and the meaning of the text were not examined; nothing was executed",
    )


def _facts(data: bytes, document: OfficeDocument) -> OfficeFacts:
    return OfficeFacts(
        format=document.application,
        **digests(data),
        macros=document.macros,
        is_encrypted=document.is_encrypted,
        streams=document.streams,
        members=document.members,
        author=document.properties.get("author"),
        last_author=document.properties.get("last_author"),
        created=document.properties.get("created"),
        modified=document.properties.get("modified"),
        template=document.properties.get("template"),
        program=document.properties.get("program"),
        title=document.properties.get("title"),
        company=document.properties.get("company"),
    )


def _reader(data: bytes) -> Reader | None:
    """Choose a reader by the first bytes; each is imported only if its format is there."""
    if starts_as(data, "zip"):
        from svc.assistant.skills.office.ooxml import inspect_archive

        return inspect_archive
    if starts_as(data, "ole"):
        from svc.assistant.skills.office.ole import inspect_storage

        return inspect_storage
    if starts_as(data[:64].lstrip(), "rtf_start"):
        from svc.assistant.skills.office.rtf import inspect_rtf

        return inspect_rtf
    if starts_as(data, "one"):
        from svc.assistant.skills.office.onenote import inspect_section

        return inspect_section
    return None


def _indicators(document: OfficeDocument, source: str) -> Iterator[Finding[IndicatorFacts] | Gap]:
    text = "\n".join(document.texts)[:MAX_TEXT_CHARS]
    kept = 0
    for item in indicators.indicators_of(text, source=source) if text.strip() else ():
        if item.facts.type not in _TYPES:
            continue
        if item.facts.scope in _QUIET or item.facts.within:
            continue
        kept += 1
        if kept > MAX_INDICATORS:
            yield Gap(text=f"only the first {MAX_INDICATORS} indicators are listed", in_headline=True)
            return
        yield item
