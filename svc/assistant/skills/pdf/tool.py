"""Inspect a PDF: automatic actions, scripts, links, embedded files, and how they are hidden.

Nothing in it is run. The bytes are scanned (``raw_scan.py``) and the objects walked with pypdf (``objects.py``), each
independently of the other, so that a damaged file still yields findings.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import BinaryIO

from svc.assistant.file_types.signatures import signature
from svc.assistant.findings import Coverage, Finding, Gap, Progress, ToolEvent
from svc.assistant.skills.file_traits import Inspection, digests, read, reading
from svc.assistant.skills.indicators import tool as indicators
from svc.assistant.skills.indicators.findings import IndicatorFacts
from svc.assistant.skills.pdf.findings import PDF, PdfFacts
from svc.assistant.skills.pdf.raw_scan import HEAD_BYTES, NameScan, raw_traits, scan_names
from svc.assistant.skills.pdf.traits import PdfDocument, name_traits

MAX_TEXT_CHARS = 2_000_000  # of scripts, links and metadata in which indicators are searched
_TYPES = frozenset(["url", "ipv4", "email", "domain", "bitcoin", "cve"])
_QUIET = frozenset(["common", "documentation"])


def inspect(content: BinaryIO, /, *, source: str) -> Iterator[ToolEvent]:
    """Yield the document's parts, facts, traits and indicators; its verdict last."""
    data, gap = read(content)
    inspection = Inspection(PDF, source)
    yield reading(source, data, "a PDF")
    if gap is not None:
        yield gap
    if signature("pdf_start") not in data[:HEAD_BYTES] and b" obj" not in data:
        yield Gap(text="not a PDF")
        yield _coverage(PdfDocument(), None)
        return
    names = scan_names(data)
    yield Progress(text=f"{sum(names.counts.values()):,} names in and outside {names.streams:,} compressed streams")
    from svc.assistant.skills.pdf import objects as pdf_objects  # pypdf: 130 ms

    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # damage is reported as findings
    document = PdfDocument()
    yield from pdf_objects.walk(data, inspection, document)
    yield inspection.facts(_title(document), _facts(data, names, document))
    yield from name_traits(inspection, names, document)
    yield from raw_traits(data, names, inspection)
    yield from _indicators(document, source)
    yield inspection.verdict()
    yield _coverage(document, names)


def _coverage(document: PdfDocument, names: NameScan | None) -> Coverage:
    """In objects; of a document whose objects cannot be read in bytes outside of streams, which were searched."""
    is_read = document.objects > document.unread
    is_searched = names is not None and bool(names.counts) and not is_read
    total = names.size if is_searched and names is not None else document.all_objects
    return Coverage(
        read_as="file that is not a PDF" if names is None else "PDF" if is_read else "PDF whose objects cannot be read",
        unit="byte" if is_searched else "object",
        understood=names.outside if is_searched and names is not None else document.objects - document.unread,
        total=total,
        looked_for=(
            "names of actions, scripts and embedded files"
            if is_searched
            else "actions on opening, scripts, links, embedded files and hidden names"
        ),
        not_covered="fonts and images that exploit a viewer were not examined; nothing was executed",
    )


def _title(document: PdfDocument) -> str:
    pages = (
        "unknown number of pages"
        if document.pages is None
        else f"{document.pages:,} page{'s' if document.pages != 1 else ''}"
    )
    return f"PDF, {pages}"


def _facts(data: bytes, names: NameScan, document: PdfDocument) -> PdfFacts:
    return PdfFacts(
        format="PDF",
        **digests(data),
        version=names.version,
        pages=document.pages,
        objects=document.objects,
        unread_objects=document.unread,
        updates=max(0, names.ends - 1),
        is_encrypted=document.is_encrypted,
        producer=document.metadata.get("producer"),
        creator=document.metadata.get("creator"),
        author=document.metadata.get("author"),
        title=document.metadata.get("title"),
        created=document.metadata.get("created"),
        modified=document.metadata.get("modified"),
        names=[f"{name} ({count})" for name, count in names.active()],
    )


def _indicators(document: PdfDocument, source: str) -> Iterator[Finding[IndicatorFacts]]:
    text = "\n".join(document.texts)[:MAX_TEXT_CHARS]
    for item in indicators.indicators_of(text, source=source) if text else ():
        if item.facts.type in _TYPES and item.facts.scope not in _QUIET and not item.facts.within:
            yield item
