"""Inspect a program (PE, ELF or Mach-O) by its structure, its calls and its strings. Nothing is run."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO

from svc.assistant.file_types.signatures import is_windows_program, starts_as
from svc.assistant.findings import Gap, Progress, Severity, ToolEvent
from svc.assistant.skills.file_traits import Inspection, digests, read, reading
from svc.assistant.skills.program.capabilities import string_traits
from svc.assistant.skills.program.findings import PROGRAM, ProgramFacts
from svc.assistant.skills.program.strings import extract_strings, indicators_in

_RUNS = r"exe|scr|pif|com|cpl|dll|bat|cmd|js|vbs|hta|lnk|msi"
_READS = r"pdf|docx?|xlsx?|pptx?|rtf|txt|csv|jpe?g|png|gif|mp[34]|zip|html?|odt"
_DOUBLE_ENDING = re.compile(rf"\.(?:{_READS})[\s_]*\.(?:{_RUNS})$", re.IGNORECASE)
_DOCUMENT_ENDING = re.compile(rf"\.(?:{_READS})$", re.IGNORECASE)
_MACHO = ("macho", "macho_fat")
RIGHT_TO_LEFT = "\u202e"


def inspect(content: BinaryIO, /, *, source: str) -> Iterator[ToolEvent]:
    """Yield the program's facts, parts, traits and indicators; its verdict last."""
    data, gap = read(content)
    inspection = Inspection(PROGRAM, source)
    if gap is not None:
        yield gap
    if not starts_as(data, "mz", "elf", *_MACHO):
        yield Progress(text=f"looking for a program in {source}")
        yield Gap(text="not a program of a supported format (PE, ELF, Mach-O)")
        return
    yield from _by_format(data, inspection)
    yield Progress(text="searching strings")
    strings = extract_strings(data)
    yield from string_traits(inspection, strings.text, strings.offsets)
    yield from _name_traits(source, inspection)
    yield from indicators_in(strings, source=source)
    yield inspection.verdict()


def _by_format(data: bytes, inspection: Inspection) -> Iterator[ToolEvent]:
    """Choose a parser by the first bytes; each is imported only if its format is there."""
    if is_windows_program(data):
        yield reading(inspection.source, data, "a Windows program")
        from svc.assistant.skills.program import pe

        yield from pe.inspect(data, inspection)
    elif starts_as(data, "elf"):
        yield reading(inspection.source, data, "an ELF program")
        from svc.assistant.skills.program import elf

        yield from elf.inspect(data, inspection)
    elif starts_as(data, *_MACHO):
        yield reading(inspection.source, data, "a Mach-O program")
        from svc.assistant.skills.program import macho

        yield from macho.inspect(data, inspection)
    else:
        yield reading(inspection.source, data, "a DOS program")
        yield inspection.facts("DOS program", ProgramFacts(format="MZ", **digests(data)))
        yield Gap(text="a DOS program, or a PE with a damaged header: only its strings were examined")


def _name_traits(source: str, inspection: Inspection) -> Iterator[ToolEvent]:
    """Yield traits of names that hide that the file is a program."""
    if RIGHT_TO_LEFT in source:
        yield from inspection.trait(
            "reversed_name",
            "Its name contains a right-to-left override",
            severity=Severity.CRITICAL,
            why="the character makes the name seem to have another extension",
            value=source,
            techniques=("T1036.002",),
        )
    if _DOUBLE_ENDING.search(source) or _DOCUMENT_ENDING.search(source):
        yield from inspection.trait(
            "document_name",
            "Program with the name of a document",
            severity=Severity.HIGH,
            why="the name suggests a document, but the content is executable",
            value=source,
            techniques=("T1036.007",),
        )
