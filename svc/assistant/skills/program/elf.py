"""Inspect the structure of a Linux program (ELF): type, mitigations, imports, and what is unusual.

Parses with pyelftools, part by part, so that a damaged one does not affect the others. Relies on what the loader uses
(segments, the dynamic table); sections may be missing or forged. Format: System V ABI, "Object Files".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from io import BytesIO
from itertools import islice

import msgspec
from elftools.common.exceptions import DWARFError, ELFError
from elftools.construct import ConstructError
from elftools.elf.dynamic import DynamicSegment
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import NoteSection, SymbolTableSection

from svc.assistant.file_types.signatures import describe
from svc.assistant.findings import Gap, Progress, Severity, ToolEvent
from svc.assistant.skills.file_traits import DAMAGE, Inspection, clean_text, digests, entropy
from svc.assistant.skills.program.capabilities import Maker, call_traits, export_traits, find_makers
from svc.assistant.skills.program.findings import ProgramFacts

MAX_SECTIONS = 400  # a kernel module with debug data has about 100
MAX_SEGMENTS = 64
MAX_SYMBOLS = 50_000
MAX_LIBRARIES = 100
HIGH_ENTROPY = 7.2
LEAST_BYTES = 4_096
SHOWN_SYMBOLS = 200
_DAMAGE = (ELFError, DWARFError, ConstructError, *DAMAGE)
_WRITE, _EXECUTE = 2, 1  # p_flags
_FORMS = {
    "ET_REL": "object file or kernel module",
    "ET_EXEC": "program",
    "ET_DYN": "library or position-independent program",
    "ET_CORE": "memory dump",
}
_MACHINES = {
    "EM_X86_64": "x64",
    "EM_386": "x86",
    "EM_AARCH64": "ARM64",
    "EM_ARM": "ARM",
    "EM_MIPS": "MIPS",
    "EM_PPC": "PowerPC",
    "EM_PPC64": "PowerPC 64",
    "EM_RISCV": "RISC-V",
    "EM_SPARC": "SPARC",
    "EM_S390": "s390",
    "EM_SH": "SuperH",
    "EM_68K": "68000",
    "EM_LOONGARCH": "LoongArch",
    "EM_ARCOMPACT": "ARC",
}
_USUAL_LOADERS = ("/lib", "/usr/lib", "/libexec", "/system/bin/linker", "/libx32")


class _ElfImage(msgspec.Struct):
    """What was read so far, for facts and traits that need several parts."""

    interpreter: str = ""
    libraries: list[str] = []
    paths: list[str] = []
    imports: list[str] = []
    exports: list[str] = []
    mitigations: list[str] = []
    section_names: list[str] = []
    compiler: str = ""
    build_id: str = ""
    is_stripped: bool = True
    has_dynamic: bool = False
    segments: list[tuple[str, int, int, int, int]] = []
    """Type, flags, offset, size in the file, address."""


def inspect(data: bytes, inspection: Inspection) -> Iterator[ToolEvent]:
    """Yield everything about the program except its strings."""
    try:
        elf = ELFFile(BytesIO(data))
    except _DAMAGE as error:
        yield inspection.facts("ELF program, damaged", ProgramFacts(format="ELF", **digests(data)))
        yield from inspection.damaged("header", error)
        return
    image = _ElfImage()
    readers: tuple[tuple[str, Callable[[ELFFile, _ElfImage], None]], ...] = (
        ("program headers", _segments),
        ("dynamic table", _dynamic),
        ("sections", _sections),
    )
    for what, reader in readers:
        try:
            reader(elf, image)
        except _DAMAGE as error:
            yield from inspection.damaged(what, error)
    made_by = find_makers(image.section_names, data)
    yield inspection.facts(_title(elf), _facts(elf, data, image, made_by))
    yield Progress(text=f"{len(image.segments)} segments, {len(image.imports):,} imported functions")
    yield from _parts(elf, data, image, inspection)
    yield from _segment_traits(elf, data, image, inspection)
    yield from _maker_traits(made_by, inspection)
    yield from _loading_traits(image, inspection)
    yield from _missing_parts(elf, image, inspection)
    yield from call_traits(inspection, image.imports, is_imported=True)
    if elf.header.e_type == "ET_DYN" and not image.interpreter:
        yield from export_traits(inspection, image.exports)
    yield from _appended(elf, data, image, inspection)


def _machine(elf: ELFFile) -> str:
    return _MACHINES.get(str(elf.header.e_machine), str(elf.header.e_machine))


def _title(elf: ELFFile) -> str:
    return f"ELF {_FORMS.get(str(elf.header.e_type), 'file')} for {_machine(elf)}"


def _segments(elf: ELFFile, image: _ElfImage) -> None:
    for segment in islice(elf.iter_segments(), MAX_SEGMENTS):
        head = segment.header
        image.segments.append((str(head.p_type), head.p_flags, head.p_offset, head.p_filesz, head.p_vaddr))
        if head.p_type == "PT_INTERP":
            image.interpreter = clean_text(segment.data()[:256])
    kinds = {kind: flags for kind, flags, *_ in image.segments}
    if "PT_GNU_STACK" in kinds and not kinds["PT_GNU_STACK"] & _EXECUTE:
        image.mitigations.append("NX")
    if "PT_GNU_RELRO" in kinds:
        image.mitigations.append("RELRO")
    if elf.header.e_type == "ET_DYN" and image.interpreter:
        image.mitigations.append("PIE")


def _dynamic(elf: ELFFile, image: _ElfImage) -> None:
    """Read libraries, search paths and symbols from the table that the loader uses."""
    for segment in islice(elf.iter_segments(), MAX_SEGMENTS):
        if not isinstance(segment, DynamicSegment):
            continue
        image.has_dynamic = True
        for tag in islice(segment.iter_tags(), 1_000):
            kind = tag.entry.d_tag
            if kind == "DT_NEEDED":
                image.libraries.append(str(getattr(tag, "needed", "")))
            elif kind in ("DT_RPATH", "DT_RUNPATH"):
                image.paths += str(getattr(tag, "rpath", "") or getattr(tag, "runpath", "")).split(":")
            elif (kind == "DT_FLAGS" and tag.entry.d_val & 8) or (kind == "DT_FLAGS_1" and tag.entry.d_val & 1):
                image.mitigations.append("full symbol binding at start (BIND_NOW)")
        for symbol in islice(segment.iter_symbols(), MAX_SYMBOLS):
            _add_symbol(symbol.name, str(symbol.entry.st_shndx), image)
        break
    image.mitigations = list(dict.fromkeys(image.mitigations))


def _add_symbol(name: str, place: str, image: _ElfImage) -> None:
    if not name:
        return
    (image.imports if place == "SHN_UNDEF" else image.exports).append(name)
    if name == "__stack_chk_fail":
        image.mitigations.append("stack canary")


def _sections(elf: ELFFile, image: _ElfImage) -> None:
    for section in islice(elf.iter_sections(), MAX_SECTIONS):
        image.section_names.append(section.name)
        if section.name == ".comment":
            image.compiler = clean_text(section.data()[:200])
        if isinstance(section, NoteSection):
            for note in islice(section.iter_notes(), 20):
                if note["n_type"] == "NT_GNU_BUILD_ID":
                    image.build_id = str(note["n_desc"])
        if isinstance(section, SymbolTableSection):
            image.is_stripped = image.is_stripped and section.name != ".symtab"
            if not image.has_dynamic:
                for symbol in islice(section.iter_symbols(), MAX_SYMBOLS):
                    _add_symbol(symbol.name, str(symbol.entry.st_shndx), image)


def _facts(elf: ELFFile, data: bytes, image: _ElfImage, made_by: list[Maker]) -> ProgramFacts:
    return ProgramFacts(
        format="ELF",
        **digests(data),
        architecture=_machine(elf),
        bits=elf.elfclass,
        form=_FORMS.get(str(elf.header.e_type), str(elf.header.e_type)),
        interpreter=image.interpreter or None,
        is_static=not image.has_dynamic and elf.header.e_type == "ET_EXEC",
        is_stripped=image.is_stripped,
        entry_point=f"{elf.header.e_entry:#x}",
        entropy=round(entropy(data), 2),
        mitigations=list(dict.fromkeys(image.mitigations)),
        made_with=[f"{maker.name} ({maker.role})" for maker in made_by],
        libraries=[*image.libraries[:MAX_LIBRARIES]],
        imported_functions=len(image.imports),
        compiler=image.compiler or None,
        build_id=image.build_id or None,
    )


def _parts(elf: ELFFile, data: bytes, image: _ElfImage, inspection: Inspection) -> Iterator[ToolEvent]:
    """Yield the sections, or the segments if there are none, and the imported and exported names."""
    try:
        for section in islice(elf.iter_sections(), 1, MAX_SECTIONS):
            head = section.header
            if head.sh_type == "SHT_NOBITS" or not head.sh_size:
                continue
            permissions = "".join(letter for bit, letter in ((1, "w"), (4, "x")) if head.sh_flags & bit)
            figure = entropy(data[head.sh_offset : head.sh_offset + head.sh_size])
            note = f"entropy {figure:.2f}, permissions r{permissions}"
            yield inspection.part("section", section.name, size=head.sh_size, offset=head.sh_offset, note=note)
        if elf.num_sections() > MAX_SECTIONS:
            yield Gap(text=f"only the first {MAX_SECTIONS} of {elf.num_sections():,} sections were examined")
    except _DAMAGE as error:
        yield from inspection.damaged("sections", error)
    if not image.section_names:
        for kind, flags, offset, size, _ in image.segments:
            note = f"entropy {entropy(data[offset : offset + size]):.2f}, permissions {_permissions(flags)}"
            yield inspection.part("segment", kind, size=size, offset=offset, note=note)
    for part, names in (("import", image.imports), ("export", image.exports)):
        if names:
            shown = ", ".join(sorted(set(names))[:SHOWN_SYMBOLS])
            yield inspection.part(part, f"{part}ed symbols", size=len(names), note=shown)


def _permissions(flags: int) -> str:
    return "".join(letter for bit, letter in ((4, "r"), (_WRITE, "w"), (_EXECUTE, "x")) if flags & bit) or "none"


def _segment_traits(elf: ELFFile, data: bytes, image: _ElfImage, inspection: Inspection) -> Iterator[ToolEvent]:
    for kind, flags, offset, size, _ in image.segments:
        if kind == "PT_LOAD" and flags & _WRITE and flags & _EXECUTE:
            yield from inspection.trait(
                "write_execute_segment",
                "A segment is writable and executable",
                severity=Severity.MEDIUM,
                why="compilers do not create such segments; packers and self-modifying code need them",
                value=f"{size:,} bytes ({_permissions(flags)})",
                techniques=("T1027.002",),
                offset=offset,
            )
        figure = entropy(data[offset : offset + size]) if kind == "PT_LOAD" and flags & _EXECUTE else 0.0
        if figure >= HIGH_ENTROPY and size >= LEAST_BYTES:
            yield from inspection.trait(
                "packed_code",
                "The code is compressed or encrypted",
                severity=Severity.MEDIUM,
                why="nearly random bytes (code has about 6 bits per byte, noise 8): it unpacks itself at run time",
                value=f"{size:,} bytes, entropy {figure:.2f}",
                techniques=("T1027.002",),
                offset=offset,
            )
        if kind == "PT_LOAD" and offset + size > len(data):
            yield from inspection.damaged(
                "segment", f"{offset + size - len(data):,} bytes are beyond the end of the file", offset=offset
            )
    if any(kind == "PT_GNU_STACK" and flags & _EXECUTE for kind, flags, *_ in image.segments):
        yield from inspection.trait(
            "executable_stack",
            "Executable stack",
            severity=Severity.LOW,
            why="old or hand-written code needs it; it makes exploitation easier",
            value="GNU_STACK with x",
        )
    yield from _entry(elf, image, inspection)


def _entry(elf: ELFFile, image: _ElfImage, inspection: Inspection) -> Iterator[ToolEvent]:
    entry = elf.header.e_entry
    loads = [(flags, address, size) for kind, flags, _, size, address in image.segments if kind == "PT_LOAD"]
    if not entry or not loads or any(flags & _EXECUTE and a <= entry < a + size for flags, a, size in loads):
        return
    yield from inspection.trait(
        "entry_outside_code",
        "Entry point outside the code",
        severity=Severity.MEDIUM,
        why="the entry point is in no executable segment",
        value=f"{entry:#x}",
    )


def _maker_traits(made_by: list[Maker], inspection: Inspection) -> Iterator[ToolEvent]:
    for maker in made_by:
        if maker.role in ("packer", "protector"):
            yield from inspection.trait(
                f"made_by_{maker.role}",
                f"Made with {maker.name} ({maker.role})",
                severity=Severity.MEDIUM,
                why="hides the code until it runs; few Linux packages use it",
                value=maker.name,
                techniques=("T1027.002",),
            )


def _loading_traits(image: _ElfImage, inspection: Inspection) -> Iterator[ToolEvent]:
    """Yield traits of unusual paths to the loader and to libraries."""
    if image.interpreter and not image.interpreter.startswith((*_USUAL_LOADERS, "/nix/store/", "/gnu/store/")):
        yield from inspection.trait(
            "odd_loader",
            "Unusual loader",
            severity=Severity.MEDIUM,
            why="the file at that path runs first",
            value=image.interpreter,
            techniques=("T1574",),
        )
    odd = [
        path
        for path in image.paths
        if path and not path.startswith(("/usr", "/lib", "/opt", "$ORIGIN", "${ORIGIN}", "/nix", "/gnu"))
    ]
    if odd or "" in image.paths[1:]:
        yield from inspection.trait(
            "odd_library_path",
            "Unusual library search path",
            severity=Severity.LOW,
            why="anyone who can write there decides what it loads",
            value=":".join(odd) or "an empty path",
            techniques=("T1574.006",),
        )


def _missing_parts(elf: ELFFile, image: _ElfImage, inspection: Inspection) -> Iterator[ToolEvent]:
    """Yield traits of removed tables and symbols, and of kernel modules."""
    has_no_sections = not elf.header.e_shnum and elf.header.e_type in ("ET_EXEC", "ET_DYN")
    if has_no_sections:
        yield from inspection.trait(
            "no_sections",
            "Section headers removed",
            severity=Severity.MEDIUM,
            why="it runs without them; removed to hinder analysis, or by a packer",
            value="no section headers",
            techniques=("T1027",),
        )
    elif not image.has_dynamic and image.is_stripped and elf.header.e_type == "ET_EXEC":
        yield from inspection.trait(
            "static_and_stripped",
            "Statically linked and stripped",
            severity=Severity.LOW,
            why="runs on every Linux system: typical of bots and small tools",
            value=_machine(elf),
            techniques=("T1027.008",),
        )
    if ".modinfo" in image.section_names and ".gnu.linkonce.this_module" in image.section_names:
        yield from inspection.trait(
            "kernel_module",
            "Kernel module",
            severity=Severity.LOW,
            why="runs in the kernel: a driver or a rootkit",
            value=".modinfo",
            techniques=("T1547.006",),
        )


def _appended(elf: ELFFile, data: bytes, image: _ElfImage, inspection: Inspection) -> Iterator[ToolEvent]:
    ends = [offset + size for _, _, offset, size, _ in image.segments]
    ends.append(elf.header.e_shoff + elf.header.e_shnum * elf.header.e_shentsize)
    try:
        ends += [
            s.header.sh_offset + s.header.sh_size
            for s in islice(elf.iter_sections(), MAX_SECTIONS)
            if s.header.sh_type != "SHT_NOBITS"
        ]
    except _DAMAGE:
        return
    end = max(ends)
    rest = data[end:] if end < len(data) else b""
    if len(rest.strip(b"\x00")) < 64:
        return
    content_type = describe(rest)
    yield inspection.part(
        "overlay",
        content_type or "data",
        size=len(rest),
        offset=end,
        note=f"after the last section; entropy {entropy(rest):.2f}",
    )
    if "program" in content_type:
        yield from inspection.trait(
            "program_in_overlay",
            "Another program is appended",
            severity=Severity.MEDIUM,
            why="typical of droppers; the other program was not inspected",
            value=content_type,
            techniques=("T1027.009",),
            offset=end,
        )
