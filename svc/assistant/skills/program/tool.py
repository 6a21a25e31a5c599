"""Inspect a program (PE, ELF or Mach-O) by its structure, its calls and its strings. Nothing is run."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO

from svc.assistant.file_types.signatures import is_windows_program, starts_as
from svc.assistant.findings import Coverage, Gap, Progress, Severity, ToolEvent
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
        yield _coverage(data, inspection, searched=False)
        return
    yield from _by_format(data, inspection)
    yield Progress(text="searching strings")
    strings = extract_strings(data)
    yield from string_traits(inspection, strings.text, strings.offsets)
    yield from _name_traits(source, inspection)
    yield from indicators_in(strings, source=source)
    yield inspection.verdict()
    yield _coverage(data, inspection, searched=True)


_PARTS = {
    "Windows program": {"headers", "sections", "import table", "export table", "resources", "signature"},
    "ELF program": {"header", "program headers", "dynamic table", "sections"},
    "Mach-O program": {"header", "load commands"},
    "DOS program, or Windows program with a damaged header": {"header"},
}
"""The parts of each format that are read, besides the strings."""


def _coverage(data: bytes, inspection: Inspection, *, searched: bool) -> Coverage:
    """Without its header no part is found, and only the strings were searched."""
    read_as = _format(data) if searched else "file that is not a program"
    known = _PARTS.get(read_as, set())
    is_headless = not inspection.damages.isdisjoint({"header", "headers"})
    return Coverage(
        read_as=read_as,
        unit="part",
        understood=(0 if is_headless else len(known - inspection.damages)) + searched,
        total=len(known | inspection.damages) + 1,
        looked_for="packing, suspicious calls and strings, odd sections and signatures, disguises, appended data",
        not_covered="it was not run, and packed or encrypted code was not examined",
    )


def _format(data: bytes) -> str:
    names = list(_PARTS)
    if is_windows_program(data):
        return names[0]
    return names[1] if starts_as(data, "elf") else names[2] if starts_as(data, *_MACHO) else names[3]


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
        inspection.damages.add("header")
        yield Gap(text="a DOS program, or a PE with a damaged header: only its strings were examined")


def _name_traits(source: str, inspection: Inspection) -> Iterator[ToolEvent]:
    """Yield traits of names that hide that the file is a program."""
    if RIGHT_TO_LEFT in source:
        yield from inspection.trait(
            "reversed_name",
            "Its name contains a right-to-left override",
            severity=Severity.CRITICAL,
            why="the character makes the name appear to have a different extension",
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
