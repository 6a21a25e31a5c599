"""Inspect a PDF: what it does by itself, its scripts, links and embedded files, and how it hides. Nothing runs.

Reads the bytes for what every reader would see (``pdf_bytes.py``) and the objects with pypdf (``pdf_objects.py``), each
without the other, so that a damaged file still tells something. Facts: ``skills/pdf/traits.toml``.
Kinds: ``pdf_facts``, ``pdf_part``, ``pdf_trait``, ``pdf_verdict`` (``inspection.py`` has their attributes) and
``indicator``. Facts: version, pages (int or null), objects, updates (int), is_encrypted, producer, creator, author,
title, created, modified (str or null), names (list of str).
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import BinaryIO

from svc.assistant.findings import Finding as TypedFinding
from svc.assistant.findings import Gap, Progress, Scalar, ToolEvent
from svc.assistant.skills.file_traits import Inspection, digests, read, started
from svc.assistant.skills.indicators import tool as indicators
from svc.assistant.skills.indicators.findings import IndicatorFacts
from svc.assistant.skills.pdf.raw_scan import HEAD_BYTES, Names, names_of, traits_of_bytes
from svc.assistant.skills.pdf.traits import Seen, from_names

MAX_TEXT_CHARS = 2_000_000  # of scripts, links and metadata in which indicators are searched
_TYPES = frozenset(["url", "ipv4", "email", "domain", "bitcoin", "cve"])
_QUIET = frozenset(["common", "documentation"])


def inspect(feed: BinaryIO, /, *, source: str) -> Iterator[ToolEvent]:
    """The document's facts, parts, traits and indicators; its verdict last."""
    data, gap = read(feed)
    inspection = Inspection("pdf", source)
    yield started(source, data, "a PDF")
    if gap is not None:
        yield gap
    if b"%PDF" not in data[:HEAD_BYTES] and b" obj" not in data:
        yield Gap(text="it is no PDF")
        return
    names = names_of(data)
    yield Progress(
        text=f"{sum(names.counts.values()):,} names in {names.streams:,} compressed streams and outside them"
    )
    from svc.assistant.skills.pdf import objects as pdf_objects  # pypdf: 130 ms

    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # what it says of damage is told as findings
    seen = Seen()
    yield from pdf_objects.walk(data, inspection, seen)
    yield inspection.facts(_title(seen), {"format": "PDF", **digests(data), **_facts(names, seen)})
    yield from from_names(inspection, names, seen)
    yield from traits_of_bytes(data, names, inspection)
    yield from _indicators(seen, source)
    yield inspection.verdict()


def _title(seen: Seen) -> str:
    pages = "unknown number of pages" if seen.pages is None else f"{seen.pages:,} page{'s' if seen.pages != 1 else ''}"
    return f"PDF, {pages}"


def _facts(names: Names, seen: Seen) -> dict[str, Scalar | list[Scalar]]:
    return {
        "version": names.version,
        "pages": seen.pages,
        "objects": seen.objects,
        "updates": max(0, names.ends - 1),
        "is_encrypted": seen.is_encrypted,
        **seen.metadata,
        "names": [f"{name} ({count})" for name, count in names.interesting()],
    }


def _indicators(seen: Seen, source: str) -> Iterator[TypedFinding[IndicatorFacts]]:
    text = "\n".join(seen.texts)[:MAX_TEXT_CHARS]
    for item in indicators.inspect(text, source=source) if text else ():
        if (
            isinstance(item, TypedFinding)
            and item.facts.type in _TYPES
            and item.facts.scope not in _QUIET
            and not item.facts.within
        ):
            yield item
