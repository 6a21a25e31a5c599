"""What a Windows program contains: resources, version information, and what was appended to it (the overlay)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pefile

from svc.assistant.file_types.signatures import describe, is_windows_program, signature, starts_as
from svc.assistant.findings import Gap, Severity, ToolEvent
from svc.assistant.skills.file_traits import DAMAGE, Inspection, clean_text, entropy
from svc.assistant.skills.program.capabilities import Maker

MAX_RESOURCES = 300  # of one program; a large one has more images and menus
LARGE_BYTES = 16 * 1024  # of a resource or an overlay; the entropy of fewer bytes is meaningless
NOISE = 7.6  # bits per byte; compressed images are recognised by their first bytes
SEARCHED_BYTES = 8 * 1024 * 1024  # of an overlay, searched for a program
_DAMAGE = (pefile.PEFormatError, *DAMAGE)
_RESOURCE = pefile.DIRECTORY_ENTRY["IMAGE_DIRECTORY_ENTRY_RESOURCE"]
_VERSION_FIELDS = ("CompanyName", "FileDescription", "OriginalFilename", "InternalName", "ProductName", "FileVersion")


def resources(pe: pefile.PE, data: bytes, inspection: Inspection) -> Iterator[ToolEvent]:
    """Yield notable resources, and traits of those that hold a program or random data."""
    try:
        pe.parse_data_directories(directories=[_RESOURCE])
    except _DAMAGE as error:
        yield from inspection.damaged("resources", error)
        return
    for count, (kind, name, offset, size) in enumerate(_leaves(pe), start=1):
        if count > MAX_RESOURCES:
            yield Gap(text=f"only the first {MAX_RESOURCES} resources were examined")
            return
        content = data[offset : offset + size] if offset else b""
        content_type = describe(content)
        figure = entropy(content)
        note = "; ".join(part for part in (content_type, f"entropy {figure:.2f}") if part)
        if content_type or size >= LARGE_BYTES:
            yield inspection.part("resource", f"{kind} {name}", size=size, offset=offset, note=note)
        yield from _resource_traits(inspection, f"{kind} {name}", content, offset, figure)


def _leaves(pe: pefile.PE) -> Iterator[tuple[str, str, int, int]]:
    """Yield type, name, offset and size of each resource; offset 0 if it is not in the file."""
    root = getattr(pe, "DIRECTORY_ENTRY_RESOURCE", None)
    for first in getattr(root, "entries", ()):
        kind = str(first.name) if first.name else pefile.RESOURCE_TYPE.get(first.id, str(first.id))
        for second in getattr(getattr(first, "directory", None), "entries", ()):
            for third in getattr(getattr(second, "directory", None), "entries", ()):
                place = getattr(third, "data", None)
                if place is None:
                    continue
                yield kind, str(second.name or second.id), _offset(pe, place.struct.OffsetToData), place.struct.Size


def _offset(pe: pefile.PE, address: int) -> int:
    try:
        return int(pe.get_offset_from_rva(address))
    except _DAMAGE:
        return 0


def _resource_traits(
    inspection: Inspection, name: str, content: bytes, offset: int, figure: float
) -> Iterator[ToolEvent]:
    if is_windows_program(content) or starts_as(content, "elf"):
        yield from inspection.trait(
            "embedded_program",
            "Another program in its resources",
            severity=Severity.MEDIUM,
            why="typical of droppers and installers; the other program was not inspected",
            value=f"{name}, {len(content):,} bytes",
            techniques=("T1027.009",),
            offset=offset,
        )
    elif figure >= NOISE and len(content) >= LARGE_BYTES and not describe(content):
        yield from inspection.trait(
            "encrypted_resource",
            "Compressed or encrypted resource",
            severity=Severity.MEDIUM,
            why="its bytes are nearly random and match no known format",
            value=f"{name}, {len(content):,} bytes, entropy {figure:.2f}",
            techniques=("T1027.009",),
            offset=offset,
        )


def version(pe: pefile.PE, inspection: Inspection, *, is_signed: bool) -> Iterator[ToolEvent]:
    """Yield the version information, and traits of claims that do not fit."""
    words = _version_strings(pe)
    for name in _VERSION_FIELDS:
        if words.get(name):
            yield inspection.part("version", name, note=words[name])
    original = words.get("OriginalFilename", "")
    if original and _differs(original, inspection.source):
        yield inspection.part("version", "original name differs", note=f"named {original} when it was built")
    if "microsoft" in words.get("CompanyName", "").lower() and not is_signed:
        yield from inspection.trait(
            "claims_microsoft",
            "Claims to be from Microsoft but is not signed",
            severity=Severity.LOW,
            why="Windows system files are often signed in a separate catalog; all others should be signed",
            value=words["CompanyName"],
            techniques=("T1036.005",),
        )


def _version_strings(pe: pefile.PE) -> dict[str, str]:
    found: dict[str, str] = {}
    for block in getattr(pe, "FileInfo", ()):
        for entry in block if isinstance(block, list) else [block]:
            for table in getattr(entry, "StringTable", ()):
                found.update({clean_text(bytes(k)): clean_text(bytes(v))[:200] for k, v in table.entries.items()})
    return found


def _differs(original: str, source: str) -> bool:
    """Whether the names differ in more than case, extension (``.mui``) or folder."""
    stems = [name.replace("\\", "/").rsplit("/", 1)[-1].lower().split(".")[0] for name in (original, source)]
    return stems[0] != stems[1]


def _overlay_span(pe: pefile.PE, data: bytes) -> tuple[int, int]:
    """Return start and end of the data after the last section, without the signature; zeros if there is none."""
    try:
        start = pe.get_overlay_data_start_offset()
    except _DAMAGE:
        start = None
    if start is None:
        return 0, 0
    signed = pe.OPTIONAL_HEADER.DATA_DIRECTORY[4] if len(pe.OPTIONAL_HEADER.DATA_DIRECTORY) > 4 else None
    if signed is not None and signed.VirtualAddress and start <= signed.VirtualAddress <= len(data):
        return start, signed.VirtualAddress
    return start, len(data)


def overlay(pe: pefile.PE, data: bytes, inspection: Inspection, made_by: Sequence[Maker]) -> Iterator[ToolEvent]:
    """Yield what follows the last section, without the signature; installers keep their files there."""
    start, end = _overlay_span(pe, data)
    content = data[start:end]
    if len(content.strip(b"\x00")) < 64:
        return
    content_type = describe(content)
    figure = entropy(content)
    yield inspection.part(
        "overlay",
        content_type or "data",
        size=len(content),
        offset=start,
        note=f"after the last section; entropy {figure:.2f}",
    )
    is_explained = (
        any(maker.role in ("installer", "bundle", "language") for maker in made_by) or content_type == "ZIP archive"
    )
    program = _program_in(content)
    if program is not None:
        yield from inspection.trait(
            "program_in_overlay",
            "Another program is appended",
            severity=Severity.LOW if is_explained else Severity.MEDIUM,
            why="typical of installers and droppers; the other program was not inspected",
            value=f"at offset {start + program:,}",
            techniques=("T1027.009",),
            offset=start + program,
        )
    elif figure >= NOISE and len(content) >= LARGE_BYTES and not is_explained:
        yield from inspection.trait(
            "encrypted_overlay",
            "Compressed or encrypted data is appended",
            severity=Severity.LOW,
            why="nearly random data after the last section, in no known format",
            value=f"{len(content):,} bytes, entropy {figure:.2f}",
            techniques=("T1027.009",),
            offset=start,
        )


def _program_in(content: bytes) -> int | None:
    mark = signature("mz")
    position = content.find(mark, 0, SEARCHED_BYTES)
    tries = 0
    while position >= 0 and tries < 2_000:
        if is_windows_program(content[position : position + 4_096]):
            return position
        tries += 1
        position = content.find(mark, position + 1, SEARCHED_BYTES)
    return None
