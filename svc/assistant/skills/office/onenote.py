"""Inspect a OneNote section: the embedded files, and the names of files that run.

Only the stored files are read (MS-ONESTORE 2.6.13, FileDataStoreObject). Pages are not parsed; their readable strings
are searched.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from svc.assistant.file_types.signatures import describe
from svc.assistant.findings import Gap, Severity, ToolEvent
from svc.assistant.skills.file_traits import Inspection, is_runnable
from svc.assistant.skills.office.document import OfficeDocument
from svc.assistant.skills.office.traits import embedded_file, lure_traits

MAX_FILES = 100
_STORE = bytes.fromhex("e716e3bd65261145a4c48d4d0b7a9eac")
_HEAD_BYTES = 36  # GUID, length (8), unused (4), reserved (8)
_WIDE = re.compile(rb"(?:[\x20-\x7e]\x00){4,500}")
_SCRIPT = re.compile(rb"<script|<job|createobject|powershell|wscript|@echo off|<hta:", re.IGNORECASE)


def inspect_section(data: bytes, inspection: Inspection, document: OfficeDocument) -> Iterator[ToolEvent]:
    """Inspect every embedded file by its content, and names of files in the texts."""
    document.application = "OneNote section"
    texts = [match[0].decode("utf-16-le") for match in _WIDE.finditer(data)]
    document.add_text("\n".join(texts))
    names = [text for text in dict.fromkeys(texts) if is_runnable(text, "") and len(text) < 200]
    position, count = data.find(_STORE), 0
    while position >= 0:
        count += 1
        if count > MAX_FILES:
            yield Gap(text=f"only the first {MAX_FILES} embedded files were examined")
            break
        size = int.from_bytes(data[position + 16 : position + 24], "little")
        content = data[position + _HEAD_BYTES : position + _HEAD_BYTES + min(size, len(data))]
        yield from embedded_file(inspection, f"file {count}", content, where=f"the section at offset {position:,}")
        if not describe(content) and _SCRIPT.search(content[:65_536]):
            document.add_text(content[:65_536].decode("utf-8", errors="replace"))
            yield from inspection.trait(
                "embedded_program",
                "Contains a program or a script",
                severity=Severity.CRITICAL,
                why="a double click on the page runs it",
                value=content[:200].decode("utf-8", errors="replace"),
                techniques=("T1027.009", "T1204.002"),
                offset=position,
            )
        position = data.find(_STORE, position + _HEAD_BYTES)
    for name in names[:20]:
        yield from inspection.trait(
            "runnable_name",
            "Names an executable file",
            severity=Severity.MEDIUM,
            why="probably the name of an attachment",
            value=name,
            techniques=("T1204.002",),
        )
    yield from lure_traits(inspection, " ".join(texts))
