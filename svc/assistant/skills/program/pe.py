"""Inspect the structure of a Windows program (PE): type, build, imports, and what is unusual.

Parses with pefile, one directory at a time, so that a damaged one does not affect the others. Signature:
``pe_signature.py``; resources, version and overlay: ``pe_resources.py``. Format: Microsoft's "PE Format".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime

import msgspec
import pefile

from svc.assistant.findings import Gap, Progress, Severity, ToolEvent
from svc.assistant.skills.file_traits import DAMAGE, Inspection, clean_text, digests, entropy
from svc.assistant.skills.program import pe_resources as contents
from svc.assistant.skills.program.capabilities import Maker, call_traits, export_traits, find_makers, table
from svc.assistant.skills.program.findings import ProgramFacts
from svc.assistant.skills.program.pe_signature import signature

MAX_SECTIONS = 96  # the limit of Windows' loader
MAX_LIBRARIES = 200
HIGH_ENTROPY = 7.2  # bits a byte: compressed or encrypted; code has 5 to 6.7
LEAST_BYTES = 1_024  # of a section; the entropy of fewer bytes is meaningless
FEW_IMPORTS = 8
OLDEST = 631_152_000  # 1990: before Windows NT
DELPHI_STAMP = 708_992_537  # old Delphi linkers always write it: 1992-06-19 22:22:17 UTC
_WRITE, _EXECUTE, _CODE = 0x80000000, 0x20000000, 0x20
_PE_DAMAGE = (pefile.PEFormatError, *DAMAGE)
_IMPORT, _EXPORT, _DEBUG, _TLS, _DELAY, _COM = (
    pefile.DIRECTORY_ENTRY[f"IMAGE_DIRECTORY_ENTRY_{name}"]
    for name in ("IMPORT", "EXPORT", "DEBUG", "TLS", "DELAY_IMPORT", "COM_DESCRIPTOR")
)
_REPRO = 16  # debug entry of a reproducible build: the compile time is a hash
_MITIGATIONS = (
    (0x0020, "high-entropy ASLR"),
    (0x0040, "ASLR"),
    (0x0080, "forced integrity"),
    (0x0100, "DEP"),
    (0x4000, "control flow guard"),
)
_SUBSYSTEMS = {
    1: "native (driver)",
    2: "windows",
    3: "console",
    7: "POSIX console",
    9: "Windows CE",
    10: "EFI application",
    11: "EFI boot driver",
    12: "EFI driver",
    14: "Xbox",
    16: "boot application",
}
_MACHINES = {
    0x14C: "x86",
    0x8664: "x64",
    0xAA64: "ARM64",
    0x1C0: "ARM",
    0x1C4: "ARM (Thumb-2)",
    0x200: "Itanium",
    0x5064: "RISC-V 64",
    0x6264: "LoongArch 64",
    0xEBC: "EFI byte code",
}
_WIDTHS = {0x10B: 32, 0x20B: 64}
_DOTNET_NAME = re.compile(rb"(?<![\w.])[A-Z][A-Za-z0-9_]{3,40}(?=\x00)")


class _ImportTable(msgspec.Struct):
    """Imported libraries, and ``(library, function)`` pairs in the order of the tables."""

    libraries: list[str] = []
    functions: list[tuple[str, str]] = []


def inspect(data: bytes, inspection: Inspection) -> Iterator[ToolEvent]:
    """Yield everything about the program except its strings."""
    try:
        pe = pefile.PE(data=data, fast_load=True)
    except _PE_DAMAGE as error:
        yield inspection.facts("Windows program, damaged", ProgramFacts(format="PE", **digests(data)))
        yield from inspection.damaged("headers", _error_text(error))
        return
    imports = _ImportTable()
    yield from _read_imports(pe, inspection, imports)
    made_by = find_makers([_name(section) for section in pe.sections], data)
    yield inspection.facts(_title(pe), _facts(pe, data, imports, made_by))
    yield Progress(text=f"{len(pe.sections)} sections, {len(imports.functions):,} imported functions")
    yield from _sections(pe, data, inspection)
    yield from _maker_traits(made_by, inspection)
    yield from _imports(pe, data, imports, inspection)
    yield from _exports(pe, inspection)
    yield from _entry_point(pe, inspection)
    yield from _compile_time(pe, inspection)
    yield from contents.resources(pe, data, inspection)
    yield from contents.version(pe, inspection, is_signed=_is_signed(pe))
    yield from contents.overlay(pe, data, inspection, made_by)
    yield from signature(pe, data, inspection)


def _error_text(error: BaseException) -> str:
    return str(getattr(error, "value", "") or f"{type(error).__name__}: {error}").strip("'\"")


def _name(section: pefile.SectionStructure) -> str:
    return clean_text(bytes(section.Name))


def _machine(pe: pefile.PE) -> str:
    return _MACHINES.get(pe.FILE_HEADER.Machine, f"machine {pe.FILE_HEADER.Machine:#x}")


def _form(pe: pefile.PE) -> str:
    if pe.OPTIONAL_HEADER.Subsystem == 1:
        return "driver"
    return "library" if pe.FILE_HEADER.Characteristics & 0x2000 else "program"


def _title(pe: pefile.PE) -> str:
    managed = ".NET " if is_managed(pe) else ""
    return f"Windows {managed}{_form(pe)} for {_machine(pe)}"


def _directory(pe: pefile.PE, number: int) -> tuple[int, int]:
    """Return address and size of a data directory; zeros if there is none."""
    entries = pe.OPTIONAL_HEADER.DATA_DIRECTORY
    return (entries[number].VirtualAddress, entries[number].Size) if number < len(entries) else (0, 0)


def is_managed(pe: pefile.PE) -> bool:
    """Whether it is a .NET assembly."""
    return bool(_directory(pe, _COM)[0])


def _is_signed(pe: pefile.PE) -> bool:
    return bool(_directory(pe, 4)[0])  # 4: the certificate table


def _facts(pe: pefile.PE, data: bytes, imports: _ImportTable, made_by: list[Maker]) -> ProgramFacts:
    header, optional = pe.FILE_HEADER, pe.OPTIONAL_HEADER
    return ProgramFacts(
        format="PE",
        **digests(data),
        imphash=_imphash(pe) or None,
        architecture=_machine(pe),
        bits=_WIDTHS.get(optional.Magic),
        form=_form(pe),
        is_managed=is_managed(pe),
        subsystem=_SUBSYSTEMS.get(optional.Subsystem, str(optional.Subsystem)),
        compile_time=_timestamp(header.TimeDateStamp),
        entry_point=f"{optional.AddressOfEntryPoint:#x}",
        entropy=round(entropy(data), 2),
        linker=f"{optional.MajorLinkerVersion}.{optional.MinorLinkerVersion:02}",
        mitigations=[name for bit, name in _MITIGATIONS if optional.DllCharacteristics & bit],
        made_with=[f"{maker.name} ({maker.role})" for maker in made_by],
        libraries=[*imports.libraries[:MAX_LIBRARIES]],
        imported_functions=len(imports.functions),
        is_signed=_is_signed(pe),
        pdb=_pdb(pe),
    )


def _imphash(pe: pefile.PE) -> str:
    try:
        return str(pe.get_imphash())
    except _PE_DAMAGE:
        return ""


def _timestamp(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _parse_directory(pe: pefile.PE, number: int, what: str, inspection: Inspection) -> Iterator[ToolEvent]:
    try:
        pe.parse_data_directories(directories=[number])
    except _PE_DAMAGE as error:
        yield from inspection.damaged(what, _error_text(error))


def _pdb(pe: pefile.PE) -> str | None:
    """Return the path of the symbols on the build machine, which often names a user and a project."""
    for entry in getattr(pe, "DIRECTORY_ENTRY_DEBUG", ()):
        name = getattr(getattr(entry, "entry", None), "PdbFileName", None)
        if name:
            return clean_text(bytes(name))[:300]
    return None


def _read_imports(pe: pefile.PE, inspection: Inspection, imports: _ImportTable) -> Iterator[ToolEvent]:
    """Fill ``imports`` from the import tables; parse the debug directory, whose path is among the facts."""
    yield from _parse_directory(pe, _IMPORT, "import table", inspection)
    yield from _parse_directory(pe, _DELAY, "delayed import table", inspection)
    yield from _parse_directory(pe, _DEBUG, "debug directory", inspection)
    libraries, functions = [], []
    for attribute in ("DIRECTORY_ENTRY_IMPORT", "DIRECTORY_ENTRY_DELAY_IMPORT"):
        for entry in getattr(pe, attribute, ()):
            library = clean_text(bytes(entry.dll or b""))
            libraries.append(library)
            functions += [(library, _function(symbol)) for symbol in entry.imports]
    imports.libraries, imports.functions = list(dict.fromkeys(libraries)), functions


def _function(symbol: pefile.ImportData) -> str:
    return clean_text(bytes(symbol.name)) if symbol.name else f"#{symbol.ordinal}"


def _sections(pe: pefile.PE, data: bytes, inspection: Inspection) -> Iterator[ToolEvent]:
    if len(pe.sections) > MAX_SECTIONS:
        yield Gap(text=f"only the first {MAX_SECTIONS} of {len(pe.sections)} sections were examined")
    for section in pe.sections[:MAX_SECTIONS]:
        start, size = section.PointerToRawData, section.SizeOfRawData
        figure = entropy(data[start : start + size])
        flags = section.Characteristics
        permissions = "".join(
            letter for bit, letter in ((0x40000000, "r"), (_WRITE, "w"), (_EXECUTE, "x")) if flags & bit
        )
        name = _name(section)
        yield inspection.part(
            "section", name, size=size, offset=start, note=f"entropy {figure:.2f}, permissions {permissions or 'none'}"
        )
        if flags & _WRITE and flags & _EXECUTE:
            yield from inspection.trait(
                "write_execute_section",
                "A section is writable and executable",
                severity=Severity.MEDIUM,
                why="compilers do not create such sections; packers and self-modifying code need them",
                value=f"{name} ({permissions})",
                techniques=("T1027.002",),
                offset=start,
            )
        if figure >= HIGH_ENTROPY and size >= LEAST_BYTES and flags & (_EXECUTE | _CODE):
            yield from inspection.trait(
                "packed_code",
                "The code is compressed or encrypted",
                severity=Severity.MEDIUM,
                why="nearly random bytes (code has about 6 bits per byte, noise 8): it unpacks itself at run time",
                value=f"{name}, {size:,} bytes, entropy {figure:.2f}",
                techniques=("T1027.002",),
                offset=start,
            )
        if start < len(data) < start + size:
            yield from inspection.damaged(
                f"section {name}", f"{start + size - len(data):,} bytes are beyond the end of the file", offset=start
            )


def _maker_traits(made_by: list[Maker], inspection: Inspection) -> Iterator[ToolEvent]:
    severities = {"packer": Severity.MEDIUM, "protector": Severity.MEDIUM, "bundle": Severity.LOW}
    for maker in made_by:
        if maker.role in severities:
            yield from inspection.trait(
                f"made_by_{maker.role}",
                f"Made with {maker.name} ({maker.role})",
                severity=severities[maker.role],
                why="hides the code until it runs; legitimate programs use it too",
                value=maker.name,
                techniques=("T1027.002",) if maker.role != "bundle" else (),
            )


def _imports(pe: pefile.PE, data: bytes, imports: _ImportTable, inspection: Inspection) -> Iterator[ToolEvent]:
    by_library: dict[str, list[str]] = {}
    for library, function in imports.functions:
        by_library.setdefault(library, []).append(function)
    for library, functions in list(by_library.items())[:MAX_LIBRARIES]:
        yield inspection.part("import", library, size=len(functions), note=", ".join(functions[:40]))
    names = {function for _, function in imports.functions}
    yield from call_traits(inspection, names, is_imported=True)
    if is_managed(pe):
        managed = {match.decode() for match in _DOTNET_NAME.findall(data)}
        yield from call_traits(inspection, managed - names, is_imported=False)
    elif len(names) <= FEW_IMPORTS and _form(pe) != "library":
        yield from _few_imports(names, inspection)


def _few_imports(names: set[str], inspection: Inspection) -> Iterator[ToolEvent]:
    """Very few imports mean that the program resolves its functions at run time, or is packed."""
    finders = sorted(names & {"LoadLibraryA", "LoadLibraryW", "LoadLibraryExA", "GetProcAddress", "LdrLoadDll"})
    yield from inspection.trait(
        "few_imports",
        "Very few imported functions",
        severity=Severity.MEDIUM if finders else Severity.LOW,
        why=f"{len(names)} imported functions: the program resolves the others at run time",
        value=", ".join(sorted(names)) or "none",
        techniques=("T1027.007",),
    )


def _exports(pe: pefile.PE, inspection: Inspection) -> Iterator[ToolEvent]:
    yield from _parse_directory(pe, _EXPORT, "export table", inspection)
    directory = getattr(pe, "DIRECTORY_ENTRY_EXPORT", None)
    if directory is None:
        return
    names = [clean_text(bytes(symbol.name)) for symbol in directory.symbols if symbol.name]
    own = clean_text(bytes(directory.name or b"")) if getattr(directory, "name", None) else ""
    note = f"internal name {own}; " if own else ""
    yield inspection.part("export", own or "exports", size=len(directory.symbols), note=note + ", ".join(names[:40]))
    yield from export_traits(inspection, names)


def _entry_point(pe: pefile.PE, inspection: Inspection) -> Iterator[ToolEvent]:
    """Check the section of the entry point, and callbacks that run before it."""
    yield from _parse_directory(pe, _TLS, "TLS directory", inspection)
    entry = pe.OPTIONAL_HEADER.AddressOfEntryPoint
    section = next((one for one in pe.sections if one.contains_rva(entry)), None)
    is_odd = section is None or not section.Characteristics & _EXECUTE
    if entry and is_odd and not is_managed(pe):
        yield from inspection.trait(
            "entry_outside_code",
            "Entry point outside the code",
            severity=Severity.MEDIUM,
            why="the entry point is in no section, or in one that is not executable",
            value=f"{entry:#x} in {_name(section) if section else 'no section'}",
        )
    tls = getattr(pe, "DIRECTORY_ENTRY_TLS", None)
    callbacks = tls.struct.AddressOfCallBacks if tls is not None else 0
    if callbacks:
        yield inspection.part("start", "TLS callbacks", note=f"table at {callbacks:#x}; run before the entry point")


def _compile_time(pe: pefile.PE, inspection: Inspection) -> Iterator[ToolEvent]:
    """Yield a trait if the compile time is impossible and no reproducible build explains it."""
    stamp = pe.FILE_HEADER.TimeDateStamp
    is_hash = any(
        getattr(getattr(entry, "struct", None), "Type", 0) == _REPRO
        for entry in getattr(pe, "DIRECTORY_ENTRY_DEBUG", ())
    )
    known_until = int(datetime.combine(table().date, datetime.min.time(), UTC).timestamp()) + 5 * 365 * 86_400
    if is_hash or stamp == DELPHI_STAMP or OLDEST <= stamp <= known_until:
        return
    yield from inspection.trait(
        "odd_compile_time",
        "Impossible compile time",
        severity=Severity.INFO if stamp == 0 else Severity.LOW,
        why="zero, before 1990 or in the future: removed, forged, or the hash of a reproducible build",
        value=_timestamp(stamp),
        techniques=() if stamp == 0 else ("T1070.006",),
    )
