"""Inspect the header and the load commands of a macOS program (Mach-O): architecture, libraries, protection.

The structures are simple enough to read without a library. Of a universal binary (fat) the first architecture is read.
Symbols are not read; strings are. Format: Apple's ``mach-o/loader.h``.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

import msgspec

from svc.assistant.findings import Gap, Severity, ToolEvent
from svc.assistant.skills.file_traits import DAMAGE, Inspection, clean_text, digests, entropy
from svc.assistant.skills.program.findings import ProgramFacts

MAX_COMMANDS = 500
_FAT = {b"\xca\xfe\xba\xbe": 20, b"\xca\xfe\xba\xbf": 32}  # bytes of an entry
_WIDE = (b"\xfe\xed\xfa\xcf", b"\xcf\xfa\xed\xfe")
_CPUS = {7: "x86", 0x01000007: "x64", 12: "ARM", 0x0100000C: "ARM64", 18: "PowerPC", 0x01000012: "PowerPC 64"}
_FORMS = {
    1: "object file",
    2: "program",
    4: "memory dump",
    6: "library",
    7: "loader",
    8: "bundle",
    10: "debug symbols",
    11: "kernel extension",
}
_LIBRARY, _WEAK, _PATH, _SIGNATURE = (0xC, 0x80000018, 0x8000001C, 0x1D)
_ENCRYPTED = (0x21, 0x2C)
_PIE, _NO_HEAP_EXECUTION, _STACK_EXECUTION = 0x200000, 0x1000000, 0x20000


class _MachoImage(msgspec.Struct):
    libraries: list[str] = []
    paths: list[str] = []
    segments: list[tuple[str, int, int, int]] = []
    is_signed: bool = False
    is_encrypted: bool = False


def inspect(data: bytes, inspection: Inspection) -> Iterator[ToolEvent]:
    """Yield the facts of the header and the traits of the load commands."""
    try:
        yield from _inspect(data, inspection)
    except DAMAGE as error:
        yield inspection.facts("Mach-O program, damaged", ProgramFacts(format="Mach-O", **digests(data)))
        yield from inspection.damaged("header", error)


def _inspect(data: bytes, inspection: Inspection) -> Iterator[ToolEvent]:
    start, architectures = _first(data)
    if len(architectures) > 1:
        yield Gap(text=f"only the first of {len(architectures)} architectures was examined ({architectures[0]})")
    magic = data[start : start + 4]
    order = ">" if magic in (b"\xfe\xed\xfa\xce", b"\xfe\xed\xfa\xcf") else "<"
    _, cpu, _, form, count, _, flags = struct.unpack_from(order + "7I", data, start)
    image = _MachoImage()
    position = start + (32 if magic in _WIDE else 28)
    for _ in range(min(count, MAX_COMMANDS)):
        command, size = struct.unpack_from(order + "II", data, position)
        _command(command, data[position : position + size], order, image)
        if size < 8:
            yield from inspection.damaged("load commands", "a command without a size", offset=position)
            break
        position += size
    cpu_name = _CPUS.get(cpu, f"machine {cpu:#x}")
    facts = ProgramFacts(
        format="Mach-O",
        **digests(data),
        architecture=", ".join(architectures) or cpu_name,
        bits=64 if magic in _WIDE else 32,
        form=_FORMS.get(form, str(form)),
        libraries=[*image.libraries[:100]],
        mitigations=[name for bit, name in ((_PIE, "PIE"), (_NO_HEAP_EXECUTION, "no heap execution")) if flags & bit],
        is_signed=image.is_signed,
        entropy=round(entropy(data), 2),
    )
    yield inspection.facts(f"Mach-O {_FORMS.get(form, 'file')} for {cpu_name}", facts)
    for name, offset, size, permissions in image.segments:
        content = data[start + offset : start + offset + size]
        note = f"entropy {entropy(content):.2f}, permissions {_permissions(permissions)}"
        yield inspection.part("segment", name, size=size, offset=start + offset, note=note)
    yield from _traits(image, flags, inspection)


def _first(data: bytes) -> tuple[int, list[str]]:
    """Return the offset of the first architecture, and the names of all if the program is fat."""
    entry = _FAT.get(data[:4])
    if entry is None:
        return 0, []
    count = min(int.from_bytes(data[4:8], "big"), 20)
    names, offsets = [], []
    for number in range(count):
        cpu, _, *place = struct.unpack_from(">IIQQ" if entry == 32 else ">IIII", data, 8 + number * entry)
        names.append(_CPUS.get(cpu, f"machine {cpu:#x}"))
        offsets.append(place[0])
    return (offsets[0] if offsets else 0), names


def _command(command: int, body: bytes, order: str, image: _MachoImage) -> None:
    if command in (_LIBRARY, _WEAK):
        image.libraries.append(clean_text(body[struct.unpack_from(order + "I", body, 8)[0] :]))
    elif command == _PATH:
        image.paths.append(clean_text(body[struct.unpack_from(order + "I", body, 8)[0] :]))
    elif command == _SIGNATURE:
        image.is_signed = True
    elif command in _ENCRYPTED:
        image.is_encrypted = struct.unpack_from(order + "I", body, 16)[0] != 0
    elif command in (0x1, 0x19):
        form, permissions_at = ("II", 44) if command == 0x1 else ("QQ", 60)
        offset, size = struct.unpack_from(order + form, body, 32 if command == 0x1 else 40)
        image.segments.append(
            (clean_text(body[8:24]), offset, size, struct.unpack_from(order + "I", body, permissions_at)[0])
        )


def _permissions(flags: int) -> str:
    return "".join(letter for bit, letter in ((1, "r"), (2, "w"), (4, "x")) if flags & bit) or "none"


def _traits(image: _MachoImage, flags: int, inspection: Inspection) -> Iterator[ToolEvent]:
    if not image.is_signed:
        yield from inspection.trait(
            "unsigned",
            "No signature",
            severity=Severity.LOW,
            why="Apple's tools sign everything for ARM64, and distributed programs are usually signed",
            value="no LC_CODE_SIGNATURE",
        )
    if image.is_encrypted:
        yield from inspection.trait(
            "encrypted_code",
            "Encrypted code",
            severity=Severity.LOW,
            why="the App Store encrypts code; elsewhere it hides the code",
            value="LC_ENCRYPTION_INFO",
            techniques=("T1027.002",),
        )
    for name, offset, size, permissions in image.segments:
        if permissions & 2 and permissions & 4 and size:
            yield from inspection.trait(
                "write_execute_segment",
                "A segment is writable and executable",
                severity=Severity.MEDIUM,
                why="compilers do not create such segments; packers and self-modifying code need them",
                value=f"{name} ({_permissions(permissions)})",
                techniques=("T1027.002",),
                offset=offset,
            )
    if flags & _STACK_EXECUTION:
        yield from inspection.trait(
            "executable_stack",
            "Executable stack",
            severity=Severity.LOW,
            why="it makes exploitation easier",
            value="MH_ALLOW_STACK_EXECUTION",
        )
