"""What the skills for documents say of an attached PDF or Office document. Pure.

A few documents of an input are opened, as each takes up to a second; the others are listed as not examined.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from typing import BinaryIO

import msgspec

from svc.assistant.findings import Finding, Gap, Severity, ToolEvent
from svc.assistant.skills.archive.dangerous_names import Danger
from svc.assistant.skills.file_traits import FileTrait
from svc.assistant.skills.indicators.findings import IndicatorFacts
from svc.assistant.skills.office.tool import inspect as inspect_office
from svc.assistant.skills.pdf.tool import inspect as inspect_pdf

MAX_DOCUMENTS = 40  # of one input
MAX_DOCUMENT_BYTES = 8 * 1024 * 1024
_MAX_URLS = 20
_OFFICE = frozenset(["docx", "docm", "xlsx", "xlsm", "xlsb", "pptx", "pptm", "ole", "doc", "xls", "ppt", "rtf", "one"])
_GRAVE = (Severity.MEDIUM, Severity.HIGH, Severity.CRITICAL)


class Examined(msgspec.Struct, frozen=True, kw_only=True):
    """``how`` is what was done, as a sentence; ``urls`` are the addresses in the document."""

    how: str
    dangers: tuple[Danger, ...] = ()
    urls: tuple[str, ...] = ()


class DocumentBudget:
    """Counts the documents of one input that were opened."""

    def __init__(self) -> None:
        self._left = MAX_DOCUMENTS

    def examine(self, label: str, data: bytes, name: str) -> Examined | None:
        """Open a PDF or an Office document; None for a file of another kind."""
        tool = inspect_pdf if label == "pdf" else inspect_office if label in _OFFICE else None
        if tool is None:
            return None
        if len(data) > MAX_DOCUMENT_BYTES:
            return Examined(
                how=f"not examined: a document of more than {MAX_DOCUMENT_BYTES:,} bytes; attach it by itself"
            )
        if self._left <= 0:
            return Examined(how=f"not examined: only the first {MAX_DOCUMENTS} documents of an input are opened")
        self._left -= 1
        return _opened(tool, data, name)


def _opened(tool: Callable[..., Iterator[ToolEvent]], data: bytes, name: str) -> Examined:
    source: BinaryIO = io.BytesIO(data)
    dangers: list[Danger] = []
    urls: list[str] = []
    notes: list[str] = []
    for event in tool(source, source=name):
        if isinstance(event, Gap):
            notes.append(event.text)
        elif isinstance(event, Finding) and isinstance(event.facts, FileTrait) and event.severity in _GRAVE:
            dangers.append(Danger("content", event.title, event.severity))
        elif isinstance(event, Finding) and isinstance(event.facts, IndicatorFacts) and event.facts.type == "url":
            urls.append(event.facts.value)
    how = f"opened; {'; '.join(notes[:2])}" if notes else "opened"
    return Examined(how=how, dangers=tuple(dangers[:10]), urls=tuple(dict.fromkeys(urls[:_MAX_URLS])))
